"""A query, and how the best that codes find are compared exactly in the end."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from monograph.errors import InputError
from monograph.store.vectors import vectors as stored_vectors
from monograph.values import Float32, arguments, inner_products
from monograph.vectors import kernel

if TYPE_CHECKING:
    from monograph.store.file.database import Connection
    from monograph.store.words.prefetch import Prefetcher
    from monograph.vectors.stop import StopCondition

Int64: TypeAlias = npt.NDArray[np.int64]
Bits: TypeAlias = npt.NDArray[np.uint8]
Read: TypeAlias = tuple[Int64, Float32]

COMPARED_AT_ONCE = 8_192
"""Vectors that are read together, to be compared as they are stored."""
MORE = 8
"""Results that are kept beyond those of :meth:`Query.room`, where codes are of two bits."""


@dataclass(frozen=True, slots=True)
class Query:
    """How a search is done.

    Parameters
    ----------
    k:
        Most results.
    allowed:
        Bitmap of the memo rows that may be found (bit i of byte j for row 8j + i); None allows all.
    stop:
        When it is enough; None goes by the index's calibration and target.
    stretch:
        A factor on the window of a stop condition that goes by those: above 1 for queries unlike the vectors held.
    rerank:
        Whether the best are compared by their vectors as stored; else by their codes.
    ties:
        Whether all that tie with the k-th come too, for the caller to choose among them. Where every cluster is
        searched, what is found is then a function of the vectors alone: no cut is made by row.

    Raises
    ------
    InputError
        If k is negative.
    """

    k: int
    allowed: Bits | None = None
    stop: StopCondition | None = None
    stretch: float = 1.0
    rerank: bool = True
    ties: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", arguments.whole_number(self.k, "k", 0))

    def room(self, width: int) -> int:
        """Results kept while the search goes on: of codes of two bits, which tell less well, ``width`` times k more."""
        return self.pool + width * self.k + MORE if width else self.pool

    @property
    def pool(self) -> int:
        """Results that are compared in the end, by their vectors where that is asked."""
        kept = self.k + max(3, self.k // 4) if self.rerank else self.k
        return kept + 1 if self.ties else kept  # One more shows where the last that counts ties with what was let go.

    def count_allowed(self) -> int | None:
        """How many memo rows are allowed; None when all are."""
        return None if self.allowed is None else int(np.bitwise_count(self.allowed).sum())


@dataclass(frozen=True, slots=True)
class Neighbours:
    """What lies near a query.

    Parameters
    ----------
    items:
        Memo rows, nearest first.
    scores:
        Cosines, highest first, ties by row. The same vector has the same score to the bit whatever it is compared with.
    loads:
        Clusters that were read.
    compared:
        Codes that the query was compared with.
    stopped:
        Why the search ended: ``"enough"`` (its stop condition said so), ``"short"`` (so did the widest that was
        measured, with which fewer are found than are aimed at), ``"all"`` (no cluster was left) or ``"exact"`` (every
        vector that is allowed was compared).
    read:
        (memo rows (n,), their vectors (n, dimension) as stored): those that a single query was compared with in one
        piece, the items among them; None else.
    """

    items: tuple[int, ...] = ()
    scores: tuple[float, ...] = ()
    loads: int = 0
    compared: int = 0
    stopped: str = "all"
    read: Read | None = field(default=None, compare=False, repr=False)


def prepare(vector: Float32, dimension: int) -> Float32:
    """A vector as it is compared: float32, of unit length.

    Raises
    ------
    InputError
        If it has another dimension, is zero or not finite.
    """
    given = np.ascontiguousarray(vector, dtype=np.float32)
    square = float(given @ given) if given.shape == (dimension,) else math.nan
    if not square or not math.isfinite(square):
        one: Float32 = prepare_many(given[None], dimension)[0]  # Which says what is wrong.
        return one
    unit: Float32 = given / np.float32(math.sqrt(square))
    return unit


def prepare_many(vectors: npt.ArrayLike, dimension: int) -> Float32:
    """Vectors as they are compared and coded: float32 (n, dimension), C-contiguous. Raises as :func:`prepare`."""
    given = np.ascontiguousarray(vectors, dtype=np.float32)
    if given.ndim != 2 or given.shape[1] != dimension:
        raise InputError(
            f"vectors of shape {given.shape} for an index of dimension {dimension}", "embed with the same model"
        )
    # A sum is finite only where all of it is, and is found without another array.
    if not np.isfinite(given.sum()) and not np.isfinite(given).all():
        row = int(np.flatnonzero(~np.isfinite(given).all(axis=1))[0])
        raise InputError(f"vector {row} holds a value that is not finite", "check what made it")
    lengths: Float32 = np.sqrt(inner_products(given, given))
    if not lengths.all():
        raise InputError(
            f"vector {int(np.flatnonzero(lengths == 0)[0])} is zero: it has no cosine to anything", "leave it out"
        )
    unit: Float32 = given / lengths[:, None]
    return unit


@dataclass(frozen=True, slots=True)
class SearchEffort:
    """When a search ends, and how many times k more results it keeps than it would of codes by value.

    ``falls_short`` says that no condition that was measured reaches the recall that is asked for.
    """

    stop: StopCondition
    width: int = 0
    falls_short: bool = False

    @property
    def stopped(self) -> str:
        """Why a search ended that its condition stopped."""
        return "short" if self.falls_short else "enough"


class Search:
    """What one query has found among the clusters.

    Parameters
    ----------
    query, how:
        What is asked, and when it is enough.
    asked:
        The query's vector, prepared.
    """

    __slots__ = ("asked", "compared", "how", "loaded", "pool", "query")

    def __init__(self, query: Query, how: SearchEffort, asked: Float32) -> None:
        self.query, self.how, self.asked = query, how, asked
        self.pool = kernel.Pool(query.room(how.width))
        self.loaded = self.compared = 0

    def finish(self, connection: Connection, stopped: str, ahead: Prefetcher) -> Neighbours:
        """The k best, compared exactly unless that was not asked."""
        items, scores = self.best
        read = None
        if self.query.rerank:
            memos = items.tolist()
            ahead.memos(connection, memos)
            items, scores, read = _compared(connection, memos, self.asked)
        return _neighbours(items, scores, self, stopped, read)

    @property
    def best(self) -> tuple[Int64, Float32]:
        """What was found by codes, as far as it may be among the k best."""
        items, scores = self.pool.ids, self.pool.scores
        if self._certain >= self.query.k:
            return items[: self._certain], scores[: self._certain]
        return items, scores

    @property
    def cuts_ties(self) -> bool:
        """Whether the codes of some of the k best tie with codes that were let go."""
        return self._certain < min(self.query.k, self.pool.filled)

    @property
    def _certain(self) -> int:
        """How many results are kept whatever their rows are: those above the last, where there may be more like it."""
        pool = self.pool
        if not self.query.ties or pool.filled < self.query.room(self.how.width):
            return pool.filled
        return int((pool.scores > pool.scores[-1]).sum())


def compare_all(connection: Connection, memos: list[int], asked: Float32, query: Query, loads: int = 0) -> Neighbours:
    """Return the k nearest of some memo rows, each compared by its vector as stored, after so many loads."""
    items, scores, read = _compared(connection, memos, asked)
    count = count_results(query, scores)
    return Neighbours(tuple(items[:count].tolist()), tuple(scores[:count].tolist()), loads, len(memos), "exact", read)


def count_results(query: Query, scores: Float32) -> int:
    """How many of some scores, highest first, are results: k, or with ties all that are as high as the k-th."""
    if not query.ties or not 0 < query.k < len(scores):
        return query.k
    return int((scores >= scores[query.k - 1]).sum())


def cosines(vectors: Float32, asked: Float32) -> Float32:
    """Cosines of vectors as stored to a prepared one, or each to that of its place: the same to the bit anywhere."""
    found: Float32 = np.divide(inner_products(vectors, asked), np.sqrt(inner_products(vectors, vectors)))
    return found


def _compared(connection: Connection, memos: list[int], asked: Float32) -> tuple[Int64, Float32, Read | None]:
    """Memo rows by their exact scores, highest first, ties by row; and what was read, where it was at once."""
    found, read = [], None
    for first in range(0, max(1, len(memos)), COMPARED_AT_ONCE):
        read = stored_vectors.load(connection, memos[first : first + COMPARED_AT_ONCE], len(asked))
        found.append((read[0], cosines(read[1], asked)))
    rows, scores = found[0] if len(found) == 1 else (np.concatenate(parts) for parts in zip(*found, strict=True))
    order = np.lexsort((rows, -scores))
    return rows[order], scores[order], read if len(found) == 1 else None


def _neighbours(items: Int64, scores: Float32, search: Search, stopped: str, read: Read | None = None) -> Neighbours:
    count = count_results(search.query, scores)
    return Neighbours(
        tuple(items[:count].tolist()), tuple(scores[:count].tolist()), search.loaded, search.compared, stopped, read
    )
