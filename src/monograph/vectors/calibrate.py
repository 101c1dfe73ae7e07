"""Calibration of an index: recall and cost of its stop conditions, measured with vectors of the index as queries.

A load is the reading of one cluster. A load is useful if it brings a new result among the best k. A search ends after a
number of successive useless loads: its window (:class:`monograph.vectors.stop.RankAware`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import islice, pairwise
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from monograph.store.file.database import Connection
from monograph.store.vectors import clusters as store
from monograph.store.vectors import vectors as stored_vectors
from monograph.values import Float32
from monograph.vectors import kernel
from monograph.vectors.cluster import pack, unpack
from monograph.vectors.cluster_search import GraphSearch, probes
from monograph.vectors.design import MANY, Space
from monograph.vectors.memory import Centroids, Memory
from monograph.vectors.search import Bits, Int64, VectorQuery, prepare_many
from monograph.vectors.stop import NEVER, Calibration, Never, Point, SearchEffort, StopRule

Int32: TypeAlias = npt.NDArray[np.int32]

WINDOWS = (*range(1, 17), 18, 20, 22, 24, 28, 32, 40, 48, 56, 64, 80, 96, 128)
WIDE_WINDOWS = (*WINDOWS, 160, 192, 256, 384, 512)
"""Windows that are measured in the codes design, where loading many clusters is cheap."""
RESULTS = (10, 100)
"""Values of k for which an index is calibrated.

A search for another k uses the measurements of the next larger of these values, or of the largest value.
"""
_QUERIES = 256
_MOST_LOADS = {"codes": 1_024, "graph": 192}
_AT_ONCE = 1_024
_MOST_KEPT = 1_000
_KEPT_BYTES = 64 << 20
"""Maximum number of bytes of clusters that are cached during a calibration."""
_FAR = np.iinfo(np.int32).max
# A load that is useful for a smaller k is also useful for the largest k: no search for a smaller k ends later.
_OPEN = StopRule(np.ones(max(RESULTS), dtype=np.float64), 0.0, WIDE_WINDOWS[-1], _MOST_LOADS["codes"])
"""Stop rule of one search that is long enough to measure all windows and all values of k."""


class Trace(NamedTuple):
    """Record of the search for one query and one k. Both sequences have one value for each load.

    ``useful``: whether the load brought a new result among the best k. ``recalls``: recall@k after the load.
    """

    useful: Sequence[bool]
    recalls: Sequence[float]


def measure(connection: Connection, space: Space, centroids: Centroids, count: int) -> Calibration:
    """Measure the recall of each stop condition, and how many clusters it reads, on an index of ``count`` vectors.

    The queries are a sample of the index's vectors. Each query is excluded from its results. The true results come
    from a comparison with all 8-bit codes. For fewer than ``MANY`` vectors, return a calibration without points.
    """
    if count < MANY:
        return Calibration(count)
    design = space.design
    placed = store.searchable_memos(connection, space.number)
    sampled = placed[:: max(1, len(placed) // _QUERIES)]
    memos, vectors = stored_vectors.load(connection, sampled, space.dimension)
    queries = prepare_many(vectors, space.dimension)
    bits = np.full(placed[-1] // 8 + 1, 255, dtype=np.uint8)

    def flip(memo: int) -> None:
        bits[memo // 8] ^= 1 << (memo % 8)

    truths = [kernel.Pool(max(RESULTS)) for _ in memos]
    for bodies in _read_all_codes(connection, space, centroids):
        for memo, query, truth in zip(memos.tolist(), queries, truths, strict=True):
            flip(memo)
            kernel.scan(bodies, query, truth, 0, bits)
            flip(memo)
    pairs = [(k, width) for k in RESULTS for width in design.widths if width * k < _MOST_KEPT]
    recalls = Recalls([(k, VectorQuery(k, rerank=False).room(width)) for k, width in pairs], 8 * len(bits))
    memory, arena = Memory(space.number, _KEPT_BYTES), kernel.Arena(centroids.body)
    traces: list[list[Trace]] = []
    for memo, query, truth in zip(memos.tolist(), queries, truths, strict=True):
        flip(memo)
        if design.has_graphs:
            search = GraphSearch(VectorQuery(max(RESULTS), bits, rerank=False), SearchEffort(Never()), query)
            clusters = (memory.cluster(connection, cluster, 0) for cluster in probes(centroids, query))
            traces.append(_trace_graphs(search, clusters, truth.ids, recalls))
        else:
            traces.append(_trace_codes(connection, arena, query, truth.ids, bits, recalls))
        flip(memo)
    windows = WINDOWS if design.has_graphs else WIDE_WINDOWS
    points = [
        point for index, pair in enumerate(pairs) for point in curve([trace[index] for trace in traces], *pair, windows)
    ]
    return Calibration(count, tuple(points))


def _read_all_codes(connection: Connection, space: Space, centroids: Centroids) -> Iterator[list[bytes]]:
    """Yield the 8-bit codes of all vectors in batches, each batch as a list of cluster bodies."""
    if space.design.has_graphs:
        yield from (store.bodies(connection, cluster) for cluster in centroids.names.tolist())
        return
    with closing(store.every_code(connection, space.number)) as rows:
        while bodies := [body for _, body in islice(rows, _AT_ONCE)]:
            yield [pack(unpack(*bodies))]


def _trace_graphs(
    search: GraphSearch, clusters: Iterator[tuple[bytes, bytes] | None], truth: Int64, recalls: Recalls
) -> list[Trace]:
    """Search clusters that have graphs, nearest first; return one trace for each k of ``recalls``."""
    useful: list[list[bool]] = [[] for _ in recalls.ks]
    truth_ranks: list[Int32] = []
    for cluster in islice(clusters, _MOST_LOADS["graph"]):
        before = (search.pool.filled, search.pool.scores[-1:].tolist())
        search.probe(cluster, walks=True)
        ranks = search.loads[-1]
        changed = not truth_ranks or bool(ranks) or before != (search.pool.filled, search.pool.scores[-1:].tolist())
        truth_ranks.append(recalls.positions_of(search.pool.ids, truth) if changed else truth_ranks[-1])
        for flags, k in zip(useful, recalls.ks, strict=True):
            # ``search`` is for the largest k. A load is useful for k if it brought one of the best k results.
            flags.append(bool(ranks) and ranks[0] < k)
    return list(map(Trace, useful, recalls.of(truth_ranks)))


def _trace_codes(
    connection: Connection, arena: kernel.Arena, query: Float32, truth: Int64, bits: Bits, recalls: Recalls
) -> list[Trace]:
    """Search clusters of 2-bit codes for a query; return one trace for each (k, width) of ``recalls``."""

    def run_until(course: kernel.Course, end: int) -> None:
        while (cluster := course.run(end - course.loads)) >= 0:
            bodies = store.bodies(connection, cluster)
            if arena.size >= _KEPT_BYTES or not arena.keep(cluster, bodies, _KEPT_BYTES):
                course.bring({cluster: bodies})

    # First search: find out after which loads a search with any of the measured windows would end.
    course = kernel.Course(arena, query, kernel.Pool(max(RESULTS)), max(RESULTS), *_OPEN, bits)
    run_until(course, _MOST_LOADS["codes"])
    useful = {k: [first < k for first in course.firsts] for k in RESULTS}
    ends = sorted({end for flags in useful.values() for end in ends_of(flags, WIDE_WINDOWS)})
    # Second search: measure the recall after each of these loads.
    pool = kernel.Pool(recalls.most)
    course = kernel.Course(arena, query, pool, 0, *NEVER, bits)
    truth_ranks = []
    for end in ends:
        run_until(course, end)
        truth_ranks.append(recalls.positions_of(pool.ids, truth))
    # Loads between two measured ones repeat the recall of the earlier one.
    indexes = np.maximum(np.searchsorted(ends, np.arange(1, ends[-1] + 1), side="right") - 1, 0).tolist()
    return [
        Trace(useful[k][: ends[-1]], [values[index] for index in indexes])
        for k, values in zip(recalls.ks, recalls.of(truth_ranks), strict=True)
    ]


def curve(traces: Sequence[Trace], k: int, width: int = 0, windows: Sequence[int] = WINDOWS) -> list[Point]:
    """Return a point (mean recall, mean number of loads) for each window, narrowest first.

    Windows that are wider than the first window with recall 1 are left out. ``traces`` has a trace of each query, for
    this k and this width.
    """
    points: list[Point] = []
    all_ends = [ends_of(trace.useful, windows) for trace in traces]
    for index, window in enumerate(windows if traces else ()):
        ends = [trace_ends[index] for trace_ends in all_ends]
        recall = sum(trace.recalls[end - 1] for trace, end in zip(traces, ends, strict=True)) / len(traces)
        points.append(Point(k, window, round(recall, 4), round(sum(ends) / len(traces), 2), width))
        if recall >= 1:
            break
    return points


def ends_of(useful: Sequence[bool], windows: Sequence[int]) -> list[int]:
    """Return, for each window, the number of loads after which a search with this window ends.

    The search ends after the first ``window`` successive loads that were not useful, or after the last load. ``useful``
    says for each load whether it was useful. ``windows`` are ascending.
    """
    ends: list[int] = []
    useful_loads = [0, *(load for load, is_useful in enumerate(useful, start=1) if is_useful)]
    for last, following in pairwise([*useful_loads, len(useful) + 1]):
        while len(ends) < len(windows) and windows[len(ends)] < following - last:
            ends.append(last + windows[len(ends)])
    return ends + [len(useful)] * (len(windows) - len(ends))


class Recalls:
    """Computation of the recalls of searches, for several k at once.

    ``kept`` has (k, number of results that the search keeps) for each k. A true result counts as found if it is among
    the kept results, because the final ranking of these is exact. ``rows`` is a number above every id.
    """

    def __init__(self, kept: Sequence[tuple[int, int]], rows: int) -> None:
        self._kept = kept
        self.ks = [k for k, _ in kept]
        self.most = max(room for _, room in kept)
        """The largest number of kept results of any k."""
        self._ranks = np.full(rows, _FAR, dtype=np.int32)

    def positions_of(self, ids: Int64, truth: Int64) -> Int32:
        """Return the position of each true result among the results of a search.

        ``truth`` has the ids of the true results, int64 (m,). ``ids`` has the ids of the search's results, int64 (n,).
        The positions are int32 (m,). The position of an id that is not in ``ids`` is _FAR.
        """
        self._ranks[ids] = np.arange(len(ids), dtype=np.int32)
        ranks = self._ranks[truth]
        self._ranks[ids] = _FAR
        return ranks

    def of(self, positions: Sequence[Int32]) -> list[list[float]]:
        """Return, for each k, the recalls@k: one for each array of positions that :meth:`positions_of` returned."""
        ranks = np.stack(positions)
        return [((ranks[:, :k] < room).sum(axis=1) / ranks[:, :k].shape[1]).tolist() for k, room in self._kept]
