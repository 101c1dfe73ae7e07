"""How long a search must go on to find what it should: measured on the index's own vectors when it is built."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
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
from monograph.vectors.cluster import pack, unpack_all
from monograph.vectors.curve import RESULTS, WIDE_WINDOWS, WINDOWS, Int32, Int64, Point, Recalls, Trace, curve
from monograph.vectors.design import MANY, Space
from monograph.vectors.search import Effort, Query, Search, prepare_many, probes
from monograph.vectors.stop import Never, RankAware, StopCondition
from monograph.vectors.traced import Followed

_QUERIES = 256
_MOST_LOADS = 192
_AT_ONCE = 1_024
_MOST_KEPT = 1_000


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
        return stretched(self.point(k, target, ranked=ranked), stretch)

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


def stretched(point: Point | None, stretch: float) -> StopCondition:
    """The stop condition of a point, with its window so many times as wide; none where nothing was measured."""
    return Never() if point is None else RankAware(window=max(1, round(point.window * stretch)))


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
    widest = max(width for k, width in kept if k == max(RESULTS))
    recalls = Recalls([(k, Query(k, rerank=False).room(width)) for k, width in kept], 8 * len(bits))
    followed = Followed(connection, centroids, recalls) if space.design.compact else None
    traces: list[list[Trace]] = []
    for memo, asked, truth in zip(memos.tolist(), queries, truths, strict=True):
        _flip(bits, memo)
        if followed is not None:
            traces.append(followed.trace(asked, truth, bits))
        else:
            search = Search(Query(max(RESULTS), bits, rerank=False), Effort(Never(), widest), asked, space)
            traces.append(_trace(connection, search, probes(centroids, asked), truth, recalls))
        _flip(bits, memo)
    windows = WINDOWS if followed is None else WIDE_WINDOWS
    points = [
        point for place, one in enumerate(kept) for point in curve([trace[place] for trace in traces], *one, windows)
    ]
    return Calibration(count, tuple(points))


def _all_codes(connection: Connection, space: Space, centroids: Centroids) -> Iterator[list[bytes]]:
    """The codes of all vectors that are compared in the end, many at a time."""
    if not space.design.compact:
        yield from (store.bodies(connection, cluster) for cluster in centroids.names.tolist())
        return
    every = codes.every(connection, space.number)
    while some := [body for _, body in islice(every, _AT_ONCE)]:
        yield [pack(unpack_all(some))]


def _truths(
    coded: Iterable[list[bytes]], memos: list[int], queries: Float32, bits: npt.NDArray[np.uint8]
) -> list[Int64]:
    pools = [kernel.Pool(max(RESULTS)) for _ in memos]
    for bodies in coded:
        for memo, asked, pool in zip(memos, queries, pools, strict=True):
            _flip(bits, memo)
            kernel.scan(bodies, asked, pool, 0, bits)
            _flip(bits, memo)
    return [pool.ids for pool in pools]


def _trace(
    connection: Connection, search: Search, clusters: Iterable[int], truth: Int64, recalls: Recalls
) -> list[Trace]:
    """One search, as it looks for each k: what stands among the best does not depend on what stands below."""
    useful: list[list[bool]] = [[] for _ in recalls.ks]
    stands: list[Int32] = []
    for cluster in islice(clusters, _MOST_LOADS):
        before = (search.pool.filled, search.pool.scores[-1:].tolist())
        search.probe(connection, cluster, store.bodies(connection, cluster))
        ranks = search.loads[-1]
        changed = not stands or bool(ranks) or before != (search.pool.filled, search.pool.scores[-1:].tolist())
        stands.append(recalls.stands(search.pool.ids, truth) if changed else stands[-1])
        for flags, k in zip(useful, recalls.ks, strict=True):
            flags.append(bool(ranks) and ranks[0] < k)
    return [Trace(tuple(one), tuple(two)) for one, two in zip(useful, recalls.of(stands), strict=True)]


def _flip(bits: npt.NDArray[np.uint8], row: int) -> None:
    bits[row // 8] ^= 1 << (row % 8)
