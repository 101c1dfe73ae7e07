"""One query through the clusters: probe, merge, and in the end compare the best exactly."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from monograph.errors import InputError
from monograph.store import clusters as store
from monograph.store import codes
from monograph.store import vectors as stored_vectors
from monograph.store.database import Connection
from monograph.store.prefetch import Prefetcher
from monograph.values import Float32, arguments, inner_products
from monograph.vectors import kernel
from monograph.vectors.centroids import Centroids
from monograph.vectors.cluster import Metric, body_size
from monograph.vectors.design import Design, Space
from monograph.vectors.stop import Ranks, StopCondition

Int64: TypeAlias = npt.NDArray[np.int64]
Bits: TypeAlias = npt.NDArray[np.uint8]
Read: TypeAlias = tuple[Int64, Float32]
Load: TypeAlias = Callable[[int], list[bytes]]
"""Reads the bodies of a cluster."""

COMPARED_AT_ONCE = 8_192
"""Vectors that are read together, to be compared as they are stored."""
MOST_FIRST = 48
"""Clusters put in order at first, at most; four times as many, and then all, when those do not suffice."""
MORE = 8
"""Results that are kept beyond those of :meth:`Query.room`, where codes are of bits."""


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
    ef:
        Nodes kept in view where a cluster is walked by its graph; None takes 32, or the results kept when that is more.
    ties:
        Whether all that tie with the k-th come too, for the caller to choose among them. Where every cluster is
        searched, what is found is then a function of the vectors alone: no cut is made by row.

    Raises
    ------
    InputError
        If k is negative or ef below 1.
    """

    k: int
    allowed: Bits | None = None
    stop: StopCondition | None = None
    stretch: float = 1.0
    rerank: bool = True
    ef: int | None = None
    ties: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", arguments.whole_number(self.k, "k", 0))
        if self.ef is not None:
            object.__setattr__(self, "ef", arguments.whole_number(self.ef, "ef", 1))

    def room(self, width: int) -> int:
        """Results kept while the search goes on: of compact codes, which tell less well, ``width`` times k more."""
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
        Cosines, inner products, or for L2 minus the squared distances: highest first, ties by row. The same vector has
        the same score to the bit whatever it is compared with.
    loads:
        Clusters that were read.
    compared:
        Codes that the query was compared with.
    stopped:
        Why the search ended: ``"enough"`` (its stop condition said so), ``"short"`` (so did the widest that was
        measured, with which fewer are found than are aimed at), ``"all"`` (no cluster was left) or ``"exact"`` (few
        vectors were allowed, and all of those were compared).
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


def prepare(vector: Float32, dimension: int, metric: Metric) -> Float32:
    """A vector as it is compared: float32, of unit length under cosine.

    Raises
    ------
    InputError
        If it has another dimension, is zero under cosine or not finite.
    """
    given = np.ascontiguousarray(vector, dtype=np.float32)
    square = float(given @ given) if given.shape == (dimension,) else math.nan
    if not square or not math.isfinite(square):
        one: Float32 = prepare_many(given[None], dimension, metric)[0]  # Which says what is wrong.
        return one
    unit: Float32 = given / np.float32(math.sqrt(square)) if metric == "cosine" else given
    return unit


def prepare_many(vectors: npt.ArrayLike, dimension: int, metric: Metric) -> Float32:
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
    if metric != "cosine":
        return given
    lengths: Float32 = np.sqrt(inner_products(given, given))
    if not lengths.all():
        raise InputError(
            f"vector {int(np.flatnonzero(lengths == 0)[0])} is zero: it has no cosine to anything", "leave it out"
        )
    unit: Float32 = given / lengths[:, None]
    return unit


def probes(centroids: Centroids, asked: Float32, expected: float | None = None) -> Iterator[int]:
    """All clusters, nearest first; ``expected`` is how many are likely to be wanted."""
    first = MOST_FIRST if expected is None else min(MOST_FIRST, max(8, round(2 * expected)))
    done: set[int] = set()
    for count in (first, 4 * first, len(centroids)):
        if count > len(done):
            fresh = [name for name in centroids.nearest(asked, count).tolist() if name not in done]
            yield from fresh
            done.update(fresh)


@dataclass(frozen=True, slots=True)
class Effort:
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
    """A query on its way: what it has found, and what each load brought."""

    __slots__ = (
        "_asked", "_design", "_query", "_room", "_space", "_stop", "_walked_from",
        "by_value", "compared", "loaded", "loads", "pool",
    )  # fmt: skip

    def __init__(self, query: Query, how: Effort, asked: Float32, space: Space) -> None:
        self._query, self._stop, self._asked, self._space = query, how.stop, asked, space
        self._design = design = space.design
        self._walked_from = 0 if design.compact else body_size(design.walked_from, len(asked), design.coded)
        self._room = query.room(how.width)
        self.pool = kernel.Pool(self._room)
        self.loads: list[Ranks] = []
        self.loaded = self.compared = 0
        self.by_value = not design.compact
        """Whether what was found is in the order of codes by value."""

    def probe(self, connection: Connection, cluster: int, bodies: list[bytes]) -> bool:
        """Search one cluster; returns whether it is enough, which it never is before k results are found.

        Raises
        ------
        DamagedBytes
            If the cluster is not what was written.
        """
        query = self._query
        # A walk sees what is near whether it is allowed or not: a filter asks for a scan.
        if bodies and 0 < self._walked_from <= len(bodies[0]) and query.allowed is None:
            found = self._walk(connection, cluster, bodies)
        else:
            found = kernel.scan(bodies, self._asked, self.pool, query.k, query.allowed)
        self.loads.append(found.ranks)
        self.loaded += 1
        self.compared += found.compared
        return self.pool.filled >= query.k and self._stop.after(self.loads)

    def _walk(self, connection: Connection, cluster: int, bodies: list[bytes]) -> kernel.Found:
        """Walk the graph of what was folded, and compare all that came since."""
        query = self._query
        graph = store.graph(connection, cluster)
        if graph is None:
            return kernel.scan(bodies, self._asked, self.pool, query.k, query.allowed)
        ef = query.ef or max(32, query.pool)
        walked = kernel.walk(kernel.Cluster(bodies[0], graph), self._asked, self.pool, query.k, ef, query.allowed)
        scanned = kernel.scan(bodies[1:], self._asked, self.pool, query.k, query.allowed)
        compared = walked.compared + scanned.compared
        if self.pool.filled < query.k:
            # More is wanted than the walk came by.
            scanned = kernel.scan(bodies[:1], self._asked, self.pool, query.k)
            compared += scanned.compared
        return kernel.Found(tuple(sorted({*walked.ranks, *scanned.ranks})), compared)

    def finish(self, connection: Connection, stopped: str, ahead: Prefetcher) -> Neighbours:
        """The k best, compared exactly unless that was not asked."""
        items, scores = self._best(connection)
        read = None
        if self._query.rerank:
            memos = items.tolist()
            ahead.memos(connection, memos)
            items, scores, read = _compared(connection, memos, self._asked, self._design.metric)
        return _neighbours(items, scores, self._asked, self, stopped, read)

    def _best(self, connection: Connection) -> tuple[Int64, Float32]:
        """What was found by codes, as far as it may be among the k best."""
        items, scores = self.pool.ids, self.pool.scores
        if self._certain >= self._query.k:
            items, scores = items[: self._certain], scores[: self._certain]
        if not self.by_value and not (self._query.rerank and self._query.ties):
            items, scores = self._by_value(connection, items)
        return items, scores

    def _by_value(self, connection: Connection, items: Int64) -> tuple[Int64, Float32]:
        """The best of what compact codes found, by codes of a byte a value."""
        best = kernel.Pool(self._query.pool)
        bodies = codes.load(connection, self._space.number, items.tolist())
        if len(bodies) < len(items):
            raise kernel.DamagedBytes("vectors lack the codes that they are compared by")
        kernel.scan(bodies, self._asked, best, 0)
        return best.ids, best.scores

    @property
    def cuts_ties(self) -> bool:
        """Whether the codes of some of the k best tie with codes that were let go."""
        return self._certain < min(self._query.k, self.pool.filled)

    @property
    def _certain(self) -> int:
        """How many results are kept whatever their rows are: those above the last, where there may be more like it."""
        pool = self.pool
        if not self._query.ties or pool.filled < self._room:
            return pool.filled
        return int((pool.scores > pool.scores[-1]).sum())

    @property
    def design(self) -> Design:
        """Of the index that is searched."""
        return self._design

    def count(self, scores: Float32) -> int:
        """How many of some scores, highest first, are results: k, or with ties all that are as high as the k-th."""
        k = self._query.k
        if not self._query.ties or not 0 < k < len(scores):
            return k
        return int((scores >= scores[k - 1]).sum())


def finish_many(
    connection: Connection, searches: Sequence[Search], stopped: Sequence[str], ahead: Prefetcher
) -> list[Neighbours]:
    """What :meth:`Search.finish` gives for each search of one query, to the same bit; vectors are read once."""
    best = [one._best(connection) for one in searches]
    if searches and searches[0]._query.rerank:
        ahead.memos(connection, np.concatenate([items for items, _ in best]).tolist())
        asked = np.stack([one._asked for one in searches])
        best = _compared_many(connection, [items for items, _ in best], asked, searches[0].design.metric)
    return [
        _neighbours(items, scores, one._asked, one, why)
        for one, why, (items, scores) in zip(searches, stopped, best, strict=True)
    ]


def exact(connection: Connection, memos: list[int], search: Search, asked: Float32) -> Neighbours:
    """The k nearest of some memo rows, each compared by its vector as stored."""
    items, scores, read = _compared(connection, memos, asked, search.design.metric)
    search.compared = len(memos)
    return _neighbours(items, scores, asked, search, "exact", read)


def exact_among(rows: Int64, vectors: Float32, search: Search, asked: Float32) -> Neighbours:
    """The k nearest of some memo rows (n,), each compared by its vector, of (n, dimension)."""
    search.compared = len(rows)
    scores = _scores(vectors, asked, search.design.metric)
    order = np.lexsort((rows, -scores))
    return _neighbours(rows[order], scores[order], asked, search, "exact")


def _compared(
    connection: Connection, memos: list[int], asked: Float32, metric: Metric
) -> tuple[Int64, Float32, Read | None]:
    """Memo rows by their exact scores, highest first, ties by row; and what was read, where it was at once."""
    found, read = [], None
    for first in range(0, max(1, len(memos)), COMPARED_AT_ONCE):
        read = stored_vectors.load(connection, memos[first : first + COMPARED_AT_ONCE], len(asked))
        found.append((read[0], _scores(read[1], asked, metric)))
    rows, scores = found[0] if len(found) == 1 else (np.concatenate(parts) for parts in zip(*found, strict=True))
    order = np.lexsort((rows, -scores))
    return rows[order], scores[order], read if len(found) == 1 else None


def _compared_many(
    connection: Connection, items: Sequence[Int64], asked: Float32, metric: Metric
) -> list[tuple[Int64, Float32]]:
    """Memo rows of each query, by their exact scores: as :func:`_compared`, in one piece."""
    wanted = np.concatenate(items)
    whose = np.repeat(np.arange(len(items)), [len(some) for some in items])
    held, vectors = stored_vectors.load(connection, np.unique(wanted).tolist(), asked.shape[1])
    there = np.isin(wanted, held)
    wanted, whose = wanted[there], whose[there]
    sorted_by_row = np.argsort(held)
    places = sorted_by_row[np.searchsorted(held, wanted, sorter=sorted_by_row)]
    scores = _scores(vectors[places], asked[whose], metric)
    order = np.lexsort((wanted, -scores, whose))
    ends = np.cumsum(np.bincount(whose, minlength=len(items)))[:-1]
    return list(zip(np.split(wanted[order], ends), np.split(scores[order], ends), strict=True))


def _scores(vectors: Float32, asked: Float32, metric: Metric) -> Float32:
    scores: Float32 = inner_products(vectors, asked)
    if metric != "inner_product":
        squares: Float32 = inner_products(vectors, vectors)
        told = scores / np.sqrt(squares) if metric == "cosine" else scores - 0.5 * squares
        scores = told.astype(np.float32, copy=False)
    return scores


def _neighbours(
    items: Int64, scores: Float32, asked: Float32, search: Search, stopped: str, read: Read | None = None
) -> Neighbours:
    count = search.count(scores)
    items, scores = items[:count], scores[:count]
    if search.design.metric == "l2":
        scores = 2 * scores - asked @ asked
    return Neighbours(tuple(items.tolist()), tuple(scores.tolist()), search.loaded, search.compared, stopped, read)
