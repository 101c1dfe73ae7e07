"""How long a search must go on to find what it should: measured on the index's own vectors when it is built."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass
from itertools import islice

import numpy as np
import numpy.typing as npt

from monograph.store import clusters as store
from monograph.store import vectors as stored_vectors
from monograph.store.database import Connection
from monograph.values import Float32
from monograph.vectors import kernel
from monograph.vectors.centroids import Centroids
from monograph.vectors.search import Query, Search, prepare_many, probes
from monograph.vectors.stop import Exponential, Never, RankAware, StopCondition, Weight
from monograph.vectors.update import Space

WINDOWS = (*range(1, 17), 18, 20, 22, 24, 28, 32, 40, 48, 56, 64, 80, 96, 128)
RESULTS = (10, 100)
"""The k that are calibrated; a search for others goes by the next larger one."""
CALIBRATED_FROM = 5_000
"""Vectors from which on a search may stop early: below, seeing every cluster takes less than half a millisecond."""
RANKED = Exponential()
"""The weight of ranked recall@k."""
_QUERIES = 256
_MOST_LOADS = 192


@dataclass(frozen=True, slots=True)
class Point:
    """What a window gives: mean recall@k and ranked recall@k, and mean loads a query."""

    k: int
    window: int
    recall: float
    ranked_recall: float
    loads: float


@dataclass(frozen=True, slots=True)
class Trace:
    """One query searched to the end: whether each load brought something, and (recall, ranked recall) after it."""

    useful: tuple[bool, ...]
    recalls: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class Calibration:
    """What was measured, and at how many vectors."""

    vectors: int = 0
    points: tuple[Point, ...] = ()

    def condition(self, k: int, target: float, *, ranked: bool = False, stretch: float = 1.0) -> StopCondition:
        """The cheapest stop condition that reaches a recall.

        Parameters
        ----------
        k:
            Results asked for.
        target:
            Recall@k, or ranked recall@k, to reach on average.
        ranked:
            Which of the two.
        stretch:
            A factor on the window, for searches that see fewer results a load.
        """
        calibrated = [point.k for point in self.points]
        if not calibrated:
            return Never()
        nearest = min((one for one in calibrated if one >= k), default=max(calibrated))
        for point in self.points:
            if point.k == nearest and (point.ranked_recall if ranked else point.recall) >= target:
                return RankAware(window=max(1, round(point.window * stretch)))
        return Never()

    def expected_loads(self, k: int, target: float) -> float | None:
        """Mean loads of a query that is stopped so; None where it is not stopped before the end."""
        found = (point.loads for point in self.points if point.k == k and point.recall >= target)
        return next(found, None)

    @property
    def likely(self) -> float | None:
        """Loads of a query of usual k and recall."""
        return self.expected_loads(RESULTS[0], 0.95)

    def to_json(self) -> str:
        """As it is stored."""
        return json.dumps([self.vectors, [astuple(point) for point in self.points]])

    @classmethod
    def from_json(cls, text: str) -> Calibration:
        """As it was stored."""
        vectors, points = json.loads(text)
        return cls(vectors, tuple(Point(*point) for point in points))


def curve(traces: Sequence[Trace], k: int) -> list[Point]:
    """What each window gives on some queries, narrowest first, up to the one with which nothing is missed."""
    points: list[Point] = []
    for window in WINDOWS if traces else ():
        ends = [_end(trace.useful, window) for trace in traces]
        reached = [trace.recalls[end - 1] for trace, end in zip(traces, ends, strict=True)]
        found, ranked = (sum(values) / len(traces) for values in zip(*reached, strict=True))
        points.append(Point(k, window, round(found, 4), round(ranked, 4), round(sum(ends) / len(traces), 2)))
        if found >= 1:
            break
    return points


def _end(useful: Sequence[bool], window: int) -> int:
    """After how many loads a search ends that stops when the last ``window`` brought nothing."""
    idle = 0
    for place, one in enumerate(useful, start=1):
        idle = 0 if one else idle + 1
        if idle == window:
            return place
    return len(useful)


def recall(found: Sequence[int], truth: Sequence[int], weight: Weight | None = None) -> float:
    """Recall@k, the share of the true results that were found; with a weight, ranked recall@k (Terminus, Eq. 4).

    Parameters
    ----------
    found:
        Ids that were found.
    truth:
        The true ids, nearest first.
    weight:
        Of a true result by its rank from 0; all count alike without.
    """
    held = set(found)
    weights = [1.0 if weight is None else weight(rank) for rank in range(len(truth))]
    return sum(w for one, w in zip(truth, weights, strict=True) if one in held) / (sum(weights) or 1.0)


def measure(connection: Connection, space: Space, centroids: Centroids, count: int) -> Calibration:
    """Calibrate an index of so many vectors: search for some of them, each as if it were not there itself.

    The truth is what a search of every cluster finds by the same codes.
    """
    if count < CALIBRATED_FROM:
        return Calibration(count)
    sampled = store.sample(connection, space.number, _QUERIES)
    memos, vectors = stored_vectors.load(connection, sampled, space.dimension)
    queries = prepare_many(vectors, space.dimension, space.design.metric)
    bits = np.full(store.highest(connection, space.number) // 8 + 1, 255, dtype=np.uint8)
    truths = _truths(connection, centroids, memos.tolist(), queries, bits)
    traces: list[list[Trace]] = []
    for memo, asked, truth in zip(memos.tolist(), queries, truths, strict=True):
        _flip(bits, memo)
        search = Search(Query(max(RESULTS), bits, rerank=False), Never(), asked, space.design)
        traces.append(_trace(connection, search, probes(centroids, asked), truth))
        _flip(bits, memo)
    points = [point for place, k in enumerate(RESULTS) for point in curve([one[place] for one in traces], k)]
    return Calibration(count, tuple(points))


def _truths(
    connection: Connection, centroids: Centroids, memos: list[int], queries: Float32, bits: npt.NDArray[np.uint8]
) -> list[list[int]]:
    pools = [kernel.Pool(max(RESULTS)) for _ in memos]
    for cluster in centroids.names.tolist():
        bodies = store.bodies(connection, cluster)
        for memo, asked, pool in zip(memos, queries, pools, strict=True):
            _flip(bits, memo)
            kernel.scan(bodies, asked, pool, 0, bits)
            _flip(bits, memo)
    return [pool.ids.tolist() for pool in pools]


def _trace(connection: Connection, search: Search, clusters: Iterable[int], truth: list[int]) -> list[Trace]:
    """One search, as it looks for each k: what stands among the best k does not depend on what stands below."""
    useful: list[list[bool]] = [[] for _ in RESULTS]
    recalls: list[list[tuple[float, float]]] = [[] for _ in RESULTS]
    for cluster in islice(clusters, _MOST_LOADS):
        search.probe(connection, cluster, store.bodies(connection, cluster))
        ranks = search.loads[-1]
        for place, k in enumerate(RESULTS):
            useful[place].append(bool(ranks) and ranks[0] < k)
            if useful[place][-1] or not recalls[place]:
                found = search.pool.ids[:k].tolist()
                recalls[place].append((recall(found, truth[:k]), recall(found, truth[:k], RANKED)))
            else:
                recalls[place].append(recalls[place][-1])
    return [Trace(tuple(one), tuple(two)) for one, two in zip(useful, recalls, strict=True)]


def _flip(bits: npt.NDArray[np.uint8], row: int) -> None:
    bits[row // 8] ^= 1 << (row % 8)
