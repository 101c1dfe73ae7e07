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
    from monograph.store.documents.filters import CompiledFilter
    from monograph.values import Float32, Hit
    from monograph.vectors.stop import RankedRecall, StopCondition

MOST_CHARACTERS = 16_384
"""Longest query, in characters, about 2,700 words. Longer queries are cut to this length."""

SMALL = 1e-9
"""Least size of a query vector that is used as it is: if its largest absolute value is not between SMALL and 1 / SMALL,
the vector is scaled so that this value is 1."""


@runtime_checkable
class Strategy(Protocol):
    """Interface of a search mode. Callers may pass an object of their own wherever a mode's name is accepted.

    These optional attributes are read before the search:

    - ``needs_graph``: whether files without a graph are refused.
    - ``needs_vector``: whether the results depend on the query's vector.
    - ``asks_model``: whether the mode reads ``query.answer_types``, for which a language model is asked.
    """

    def search(self, reader: Reader, query: Query) -> list[Hit]:
        """Return at most ``query.k`` hits from one state of an archive, best first. Their ranks count from 0."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Reranking:
    """A reranker for one search, and the weight of its scores.

    ``score`` is a function of a question and texts. It returns a number for each text: the higher, the better the text
    answers the question. ``weight`` is the factor on the standardised scores of the reranker.
    """

    score: Callable[[str, Sequence[str]], list[float]]
    weight: float = 1.0


@dataclass(frozen=True, slots=True, eq=False)
class Query:
    """A validated search request. The public search methods build it.

    Parameters
    ----------
    text:
        The question. If it is longer than MOST_CHARACTERS it is cut to that length, with a warning.
    k:
        Maximum number of hits, at least 0.
    how:
        The search mode.
    filter:
        Only chunks that match this filter are found.
    vector:
        The question's vector, float32 (dimension,), if the caller gave one. None embeds ``text`` when it is needed.
    reranker:
        Puts the first hits in a new order (see :mod:`monograph.search.rerank`); None keeps the order of the search.
    answer_types:
        The entity types that the answer may have, according to a language model; empty unless the mode has
        ``asks_model``.
    stop:
        Ends the search of the vector index: a stop condition, or a ranked recall to reach. None stops at the index's
        target recall.

    Raises
    ------
    InputError
        If the text cannot be searched for, k is not a whole number of at least 0, or ``stop`` is given for a mode that
        searches no vectors.
    """

    text: str
    k: int
    how: Strategy
    filter: CompiledFilter = EVERYTHING
    vector: Float32 | None = None
    reranker: Reranking | None = None
    answer_types: tuple[str, ...] = ()
    stop: StopCondition | RankedRecall | None = None

    def __post_init__(self) -> None:
        arguments.text(self.text, "the query")
        if len(self.text) > MOST_CHARACTERS:
            message = f"the query has {len(self.text):,} characters: only the first {MOST_CHARACTERS:,} are used"
            warnings.warn(message, stacklevel=2)
            object.__setattr__(self, "text", self.text[:MOST_CHARACTERS])
        object.__setattr__(self, "k", arguments.whole_number(self.k, "k", 0))
        if self.stop is not None and not getattr(self.how, "needs_vector", True):
            raise InputError(
                f"the search mode {self.how} searches no vectors, so nothing can stop that search",
                "leave out stop and ranked_recall, or search by dense, hybrid, graph, tree or auto",
            )

    def vector_by(self, reader: Reader) -> Float32:
        """Return the question's vector, float32 (dimension,).

        It is the caller's vector or, if there is none, the vector that the archive's embedder makes of the text.
        """
        return reader.models.embed([self.text])[0] if self.vector is None else self.vector


def given_vector(vector: Sequence[float] | Float32 | None) -> Float32 | None:
    """Return the caller's vector as float32 (dimension,), or None if the caller gave none.

    A vector with very large or very small values is scaled. Raises InputError if a value is not finite.
    """
    if vector is None:
        return None
    array = arguments.vector(vector, "the query's vector")
    largest = float(np.abs(array).max(initial=0.0))
    if not math.isfinite(largest):
        raise InputError("the query's vector contains a value that is not finite", "check the embedder that made it")
    # Only the direction matters, and the square of the length must fit in a float32.
    return array if largest == 0 or SMALL < largest < 1 / SMALL else (array / np.float32(largest)).astype(np.float32)
