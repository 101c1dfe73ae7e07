"""One query: text, k, mode, filter, vector and reranker, with their limits; and the protocol of a search mode."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np

from monograph.errors import InputError
from monograph.store.documents.filters import EVERYTHING
from monograph.values import arguments

if TYPE_CHECKING:
    from monograph.search.reader import Reader
    from monograph.store.documents.filters import Allowed
    from monograph.values import Float32, Hit

MOST_CHARACTERS = 16_384
"""Longest query in characters, about 2,700 words; longer ones are cut."""

SMALL = 1e-9
"""If the largest absolute value of a query's vector is below this, or above its inverse, the vector is scaled so that
it is 1."""


@runtime_checkable
class Strategy(Protocol):
    """A search mode. Callers may pass an object of their own wherever a mode's name is accepted.

    Optional attributes, read before the search: ``needs_graph`` (refuse files without a graph), ``needs_vector``
    (results depend on the query's vector) and ``asks_model`` (it reads ``query.answer_types``).
    """

    def search(self, reader: Reader, query: Query) -> list[Hit]:
        """Return at most ``query.k`` hits from one open state of an archive, best first; ranks count from 0."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Reranking:
    """A reranker for one search, and the weight of its scores.

    ``score`` takes a question and texts, and returns how well each text answers the question.
    """

    score: Callable[[str, Sequence[str]], list[float]]
    weight: float = 1.0


@dataclass(frozen=True, slots=True, eq=False)
class Query:
    """A validated search request, built by the public search methods.

    Parameters
    ----------
    text:
        The question. If it is longer than MOST_CHARACTERS it is cut to that length, with a warning.
    k:
        Maximum number of hits, at least 0.
    how:
        The search mode.
    filter:
        The chunks that may be found.
    vector:
        The question's vector, float32 (dimension,), if the caller gave one.
    reranker:
        Reranks the first hits: see :mod:`monograph.search.rerank`.
    answer_types:
        The entity types that a language model expects of the answer; empty unless the mode has ``asks_model``.

    Raises
    ------
    InputError
        If the text cannot be searched for, or k is not a whole number of at least 0.
    """

    text: str
    k: int
    how: Strategy
    filter: Allowed = EVERYTHING
    vector: Float32 | None = None
    reranker: Reranking | None = None
    answer_types: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        arguments.text(self.text, "the query")
        if len(self.text) > MOST_CHARACTERS:
            message = f"the query has {len(self.text):,} characters: only the first {MOST_CHARACTERS:,} are used"
            warnings.warn(message, stacklevel=2)
            object.__setattr__(self, "text", self.text[:MOST_CHARACTERS])
        object.__setattr__(self, "k", arguments.whole_number(self.k, "k", 0))

    def vector_by(self, reader: Reader) -> Float32:
        """Return the question's vector, float32 (dimension,): the caller's, or one from the archive's embedder."""
        return reader.models.embed([self.text])[0] if self.vector is None else self.vector


def given_vector(vector: Sequence[float] | Float32 | None) -> Float32 | None:
    """Return the caller's vector as float32 (dimension,); None if there is none. Raises InputError if not finite."""
    if vector is None:
        return None
    array = arguments.vector(vector, "the query's vector")
    largest = float(np.abs(array).max(initial=0.0))
    if not math.isfinite(largest):
        raise InputError("the query's vector contains a value that is not finite", "check the embedder that made it")
    # Only the direction matters, and the square of the length must fit in a float32.
    return array if largest == 0 or SMALL < largest < 1 / SMALL else (array / np.float32(largest)).astype(np.float32)
