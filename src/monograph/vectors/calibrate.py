"""How long a search must go on to find what it should: measured on the index's own vectors when it is built."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass
from itertools import islice

import numpy as np
import numpy.typing as npt

from monograph.store import clusters as store
from monograph.store import codes
from monograph.store import vectors as stored_vectors
from monograph.store.database import Connection
from monograph.values import Float32
from monograph.vectors import kernel
from monograph.vectors.centroids import Centroids
from monograph.vectors.cluster import joined, pack, unpack
from monograph.vectors.design import MANY, Space
from monograph.vectors.search import Effort, Query, Search, prepare_many, probes
from monograph.vectors.stop import Exponential, Never, RankAware, StopCondition, Weight

WINDOWS = (*range(1, 17), 18, 20, 22, 24, 28, 32, 40, 48, 56, 64, 80, 96, 128)
RESULTS = (10, 100)
"""The k that are calibrated; a search for others goes by the next larger one."""
RANKED = Exponential()
"""The weight of ranked recall@k."""
_QUERIES = 256
_MOST_LOADS = 192
_AT_ONCE = 1_024
_MOST_KEPT = 1_000
_MOST_ROWS = 1 << 62
EQUAL = [1.0] * max(RESULTS)
RANKS = [RANKED(rank) for rank in range(max(RESULTS))]


@dataclass(frozen=True, slots=True)
class Point:
    """What a window gives: mean recall@k and ranked recall@k, and mean loads a query.

    ``width`` is how many times k more results are kept (:attr:`Design.widths`).
    """

    k: int
    window: int
    recall: float
    ranked_recall: float
    loads: float
    width: int = 0


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
        """The cheapest stop condition that reaches a recall; where none does that was measured, the one nearest to it.

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
        found = self.point(k, target, ranked=ranked)
        return Never() if found is None else RankAware(window=max(1, round(found.window * stretch)))

    def expected_loads(self, k: int, target: float) -> float | None:
        """Mean loads of a query that is stopped so; None where it is not stopped before the end."""
        found = self.point(k, target)
        return None if found is None else found.loads

    def point(self, k: int, target: float, *, ranked: bool = False) -> Point | None:
        """What that condition gives; None where every cluster is searched: nothing was measured, or all is wanted."""
        nearest = min(
            (one.k for one in self.points if one.k >= k), default=max((one.k for one in self.points), default=0)
        )
        enough = [
            one for one in self.points if one.k == nearest and (one.ranked_recall if ranked else one.recall) >= target
        ]
        if not enough and target < 1:
            # The widest there is: to search every cluster would take hundreds of times as long.
            return max((one for one in self.points if one.k == nearest), key=lambda one: one.recall, default=None)
        # A result that is kept is compared once more in the end, which takes about as long as a load.
        return min(enough, key=lambda one: one.loads + one.width * one.k, default=None)

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


def curve(traces: Sequence[Trace], k: int, width: int = 0) -> list[Point]:
    """What each window gives on some queries, narrowest first, up to the one with which nothing is missed."""
    points: list[Point] = []
    for window in WINDOWS if traces else ():
        ends = [_end(trace.useful, window) for trace in traces]
        reached = [trace.recalls[end - 1] for trace, end in zip(traces, ends, strict=True)]
        found, ranked = (sum(values) / len(traces) for values in zip(*reached, strict=True))
        points.append(Point(k, window, round(found, 4), round(ranked, 4), round(sum(ends) / len(traces), 2), width))
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

    The truth is what a comparison with all vectors finds, by the codes that are compared in the end.
    """
    if count < MANY:
        return Calibration(count)
    sampled = store.sample(connection, space.number, _QUERIES)
    memos, vectors = stored_vectors.load(connection, sampled, space.dimension)
    queries = prepare_many(vectors, space.dimension, space.design.metric)
    bits = np.full(store.highest(connection, space.number) // 8 + 1, 255, dtype=np.uint8)
    truths = _truths(_all_codes(connection, space, centroids), memos.tolist(), queries, bits)
    kept = [(k, width) for k in RESULTS for width in space.design.widths if width * k < _MOST_KEPT]
    traces: list[list[Trace]] = []
    for memo, asked, truth in zip(memos.tolist(), queries, truths, strict=True):
        _flip(bits, memo)
        widest = max(width for k, width in kept if k == max(RESULTS))
        search = Search(Query(max(RESULTS), bits, rerank=False), Effort(Never(), widest), asked, space)
        traces.append(_trace(connection, search, probes(centroids, asked), truth, kept))
        _flip(bits, memo)
    points = [point for place, one in enumerate(kept) for point in curve([trace[place] for trace in traces], *one)]
    return Calibration(count, tuple(points))


def _all_codes(connection: Connection, space: Space, centroids: Centroids) -> Iterator[list[bytes]]:
    """The codes of all vectors that are compared in the end, many at a time."""
    if not space.design.compact:
        yield from (store.bodies(connection, cluster) for cluster in centroids.names.tolist())
        return
    every = codes.every(connection, space.number)
    while some := [unpack(body) for _, body in islice(every, _AT_ONCE)]:
        yield [pack(joined(some))]


def _truths(
    coded: Iterable[list[bytes]], memos: list[int], queries: Float32, bits: npt.NDArray[np.uint8]
) -> list[list[int]]:
    pools = [kernel.Pool(max(RESULTS)) for _ in memos]
    for bodies in coded:
        for memo, asked, pool in zip(memos, queries, pools, strict=True):
            _flip(bits, memo)
            kernel.scan(bodies, asked, pool, 0, bits)
            _flip(bits, memo)
    return [pool.ids.tolist() for pool in pools]


def _trace(
    connection: Connection, search: Search, clusters: Iterable[int], truth: list[int], kept: Sequence[tuple[int, int]]
) -> list[Trace]:
    """One search, as it looks for each k and width: what stands among the best does not depend on what stands below."""
    useful: list[list[bool]] = [[] for _ in kept]
    recalls: list[list[tuple[float, float]]] = [[] for _ in kept]
    # Of what is compared in the end no result that is true is lost.
    rooms = [Query(k, rerank=False).room(width) for k, width in kept]
    for cluster in islice(clusters, _MOST_LOADS):
        before = (search.pool.filled, search.pool.scores[-1:].tolist())
        search.probe(connection, cluster, store.bodies(connection, cluster))
        ranks = search.loads[-1]
        changed = not recalls[0] or bool(ranks) or before != (search.pool.filled, search.pool.scores[-1:].tolist())
        stands = _stand(search.pool.ids, truth) if changed else []
        for place, (k, _) in enumerate(kept):
            useful[place].append(bool(ranks) and ranks[0] < k)
            if changed:
                found = [rank < rooms[place] for rank in stands[:k]]
                recalls[place].append((_share(found, EQUAL[:k]), _share(found, RANKS[:k])))
            else:
                recalls[place].append(recalls[place][-1])
    return [Trace(tuple(one), tuple(two)) for one, two in zip(useful, recalls, strict=True)]


def _stand(ids: npt.NDArray[np.int64], truth: list[int]) -> list[int]:
    """At which place each true result stands among those kept; behind all that may be kept where it is not."""
    places = {memo: place for place, memo in enumerate(ids.tolist())}
    return [places.get(memo, _MOST_ROWS) for memo in truth]


def _share(found: Sequence[bool], weights: Sequence[float]) -> float:
    """The share of what was found, by weight."""
    some = weights[: len(found)]
    return sum(weight for one, weight in zip(found, some, strict=True) if one) / (sum(some) or 1.0)


def _flip(bits: npt.NDArray[np.uint8], row: int) -> None:
    bits[row // 8] ^= 1 << (row % 8)
