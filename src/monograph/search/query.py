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
"""Longer queries are cut: about 2,700 words."""

SMALL = 1e-9
"""A query's vector whose largest value is smaller, or larger than its inverse, is scaled to a largest value of 1."""


@runtime_checkable
class Strategy(Protocol):
    """A search mode. One of your own may be given wherever the name of one may.

    It may have attributes that are read before it is called: ``needs_graph``, whether a file without a graph is to be
    refused; ``needs_vector``, whether results depend on the query's vector; ``asks_model``, whether it reads
    ``query.answer_types``.
    """

    def search(self, reader: Reader, query: Query) -> list[Hit]:
        """Return at most ``query.k`` hits of one open state of an archive, best first; ranks count from 0."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Reranking:
    """A reranker for one search: how well each of some texts answers a question, and the weight of that."""

    score: Callable[[str, Sequence[str]], list[float]]
    weight: float = 1.0


@dataclass(frozen=True, slots=True, eq=False)
class Query:
    """A search, as the public method builds it.

    Parameters
    ----------
    text:
        The question; if it is longer than MOST_CHARACTERS, the first of these, with a warning.
    k:
        Most hits, at least 0.
    how:
        The strategy.
    filter:
        Which chunks may be found.
    vector:
        The question's vector, float32 (dimension,), if the caller gave it.
    reranker:
        Reranks the first hits: see :mod:`monograph.search.rerank`.
    answer_types:
        The types that the answer may have, according to a language model; empty unless the strategy ``asks_model``.

    Raises
    ------
    InputError
        If the text cannot be searched for, or k is no such number.
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
            said = f"the query has {len(self.text):,} characters: the first {MOST_CHARACTERS:,} are searched for"
            warnings.warn(said, stacklevel=2)
            object.__setattr__(self, "text", self.text[:MOST_CHARACTERS])
        object.__setattr__(self, "k", arguments.whole_number(self.k, "k", 0))

    def vector_by(self, reader: Reader) -> Float32:
        """Return the question's vector, (dimension,): the given one, or one by the archive's embedder."""
        return reader.models.embed([self.text])[0] if self.vector is None else self.vector


def given_vector(vector: Sequence[float] | Float32 | None) -> Float32 | None:
    """Return a vector that the caller gave, as float32 (dimension,).

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
