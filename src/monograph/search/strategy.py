"""What a way to search is: a frozen value that carries what only it understands, and finds hits."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import Field, dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from monograph.errors import InputError
from monograph.store.documents.filters import EVERYTHING
from monograph.values import arguments

if TYPE_CHECKING:
    from monograph.models import Embedder
    from monograph.search.snapshot import Snapshot
    from monograph.store.documents.filters import Allowed
    from monograph.values import Float32, Hit

MOST_CHARACTERS = 16_384
"""Of a query that is searched for: about 2,700 words."""

SMALL = 1e-9
"""A query's vector with no larger value, or with one larger than its inverse, is brought to one of 1."""


@dataclass(frozen=True, slots=True, eq=False)
class Query:
    """What every strategy is asked.

    Parameters
    ----------
    text:
        As it was put; of a longer one the first MOST_CHARACTERS, with a warning.
    k:
        Most hits, at least 0.
    allowed:
        Which chunks may be found.
    vector:
        float32 (dimension,), where it came with the query.

    Raises
    ------
    InputError
        If the text is none that can be searched for, or k no such number.
    """

    text: str
    k: int
    allowed: Allowed = EVERYTHING
    vector: Float32 | None = None

    def __post_init__(self) -> None:
        arguments.text(self.text, "the query")
        if len(self.text) > MOST_CHARACTERS:
            said = f"the query has {len(self.text):,} characters: the first {MOST_CHARACTERS:,} are searched for"
            warnings.warn(said, stacklevel=2)
            object.__setattr__(self, "text", self.text[:MOST_CHARACTERS])
        object.__setattr__(self, "k", arguments.whole_number(self.k, "k", 0))


@dataclass(frozen=True, slots=True, eq=False)
class Rerank:
    """How well each of some texts answers a question, and what that counts beside what a search found by itself."""

    score: Callable[[str, Sequence[str]], list[float]]
    weight: float = 1.0


@dataclass(frozen=True, slots=True, eq=False)
class Corpus:
    """What is searched, and what is plugged in.

    Parameters
    ----------
    read:
        Begins to read a state of it, which stays the same until the context ends.
    embed:
        float32 (n, dimension) of n texts of queries, by the embedder of its vectors. Raises ModelError if there is none
        here.
    reads_context:
        Whether that embedder reads words in their context: see :func:`monograph.models.reads_context`.
    embedder:
        That embedder, which embeds documents too. Raises ModelError as well.
    answer_types:
        Of which types a model says the answer to a question may be; none without a model. Asked outside of a
        transaction: what the model says is remembered.
    rerank:
        Where what is found is to be put in order by what another model says of it; None where it is not. See
        :mod:`monograph.search.rerank`.
    """

    read: Callable[[], AbstractContextManager[Snapshot]]
    embed: Callable[[Sequence[str]], Float32]
    reads_context: Callable[[], bool]
    embedder: Callable[[], Embedder]
    answer_types: Callable[[str], tuple[str, ...]]
    rerank: Rerank | None = None

    def vector_of(self, query: Query) -> Float32:
        """The query's vector: the one that came with it, or made here."""
        return self.embed([query.text])[0] if query.vector is None else query.vector


@runtime_checkable
class Strategy(Protocol):
    """A way to search. One of your own may be given wherever the name of one may."""

    def search(self, corpus: Corpus, query: Query) -> list[Hit]:
        """At most ``query.k`` hits, best first; ranks count from 0."""
        ...


class Named:
    """A strategy of this package: as a text it is what :func:`monograph.search.how.strategy` reads."""

    __slots__ = ()
    needs_graph: ClassVar[bool] = False
    """Whether it reads the graph or the trigrams, which a file with ``Settings(graph=False)`` lacks."""
    needs_vector: ClassVar[bool] = True
    """Whether results depend on the query's vector."""
    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    def __str__(self) -> str:
        """The name, and what differs from its defaults: ``hybrid:alpha=0.3``."""
        values = ((one.name, getattr(self, one.name), one.default) for one in fields(self))
        changed = ",".join(f"{name}={json.dumps(value)}" for name, value, usual in values if value != usual)
        name = type(self).__name__.lower()
        return f"{name}:{changed}" if changed else name


def given_vector(vector: Sequence[float] | Float32 | None) -> Float32 | None:
    """A vector that came with a query, as float32 (dimension,).

    Raises
    ------
    InputError
        If it is not a row of finite numbers.
    """
    if vector is None:
        return None
    made = arguments.vector(vector, "the query's vector")
    largest = float(np.abs(made).max(initial=0.0))
    if not math.isfinite(largest):
        raise InputError("the query's vector holds a value that is not finite", "check what made it")
    # Its direction is what counts, and the square of its length must be a float32.
    return made if largest == 0 or SMALL < largest < 1 / SMALL else (made / np.float32(largest)).astype(np.float32)
