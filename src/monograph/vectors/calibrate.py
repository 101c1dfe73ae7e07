"""Calibration of the stop conditions on the index's own vectors, when it is built."""

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
from monograph.vectors.cluster import pack, unpack_all
from monograph.vectors.cluster_search import GraphSearch, probes
from monograph.vectors.design import MANY, Space
from monograph.vectors.memory import Centroids, Memory
from monograph.vectors.search import Bits, Int64, VectorQuery, prepare_many
from monograph.vectors.stop import NEVER, Calibration, Never, Point, SearchEffort, StopRule

Int32: TypeAlias = npt.NDArray[np.int32]

WINDOWS = (*range(1, 17), 18, 20, 22, 24, 28, 32, 40, 48, 56, 64, 80, 96, 128)
WIDE_WINDOWS = (*WINDOWS, 160, 192, 256, 384, 512)
"""Of searches that are cheap to follow for long."""
RESULTS = (10, 100)
"""The k that are calibrated; a search for others goes by the next larger one."""
_QUERIES = 256
_MOST_LOADS = {"codes": 1_024, "graph": 192}
_AT_ONCE = 1_024
_MOST_KEPT = 1_000
_KEPT_BYTES = 64 << 20
"""Clusters that are kept in memory meanwhile."""
_FAR = np.iinfo(np.int32).max
_OPEN = StopRule(np.ones(max(RESULTS), dtype=np.float64), 0.0, WIDE_WINDOWS[-1], _MOST_LOADS["codes"])
"""Goes on while a window of any k is open: what comes to the best of the smallest k comes to those of the largest."""


class Trace(NamedTuple):
    """One query searched to the end: whether each load brought something, and the recall after it."""

    useful: Sequence[bool]
    recalls: Sequence[float]


def measure(connection: Connection, space: Space, centroids: Centroids, count: int) -> Calibration:
    """Calibrate an index of so many vectors: search for some of them, each as if it were not there itself.

    The truth is what a comparison with all vectors finds, by the codes that are compared in the end.
    """
    if count < MANY:
        return Calibration(count)
    design = space.design
    sampled = store.sample(connection, space.number, _QUERIES)
    memos, vectors = stored_vectors.load(connection, sampled, space.dimension)
    queries = prepare_many(vectors, space.dimension)
    bits = np.full(store.highest(connection, space.number) // 8 + 1, 255, dtype=np.uint8)

    def flip(memo: int) -> None:
        bits[memo // 8] ^= 1 << (memo % 8)

    truths = [kernel.Pool(max(RESULTS)) for _ in memos]
    for bodies in _all_codes(connection, space, centroids):
        for memo, asked, truth in zip(memos.tolist(), queries, truths, strict=True):
            flip(memo)
            kernel.scan(bodies, asked, truth, 0, bits)
            flip(memo)
    kept = [(k, width) for k in RESULTS for width in design.widths if width * k < _MOST_KEPT]
    recalls = Recalls([(k, VectorQuery(k, rerank=False).room(width)) for k, width in kept], 8 * len(bits))
    memory, arena = Memory(space.number, _KEPT_BYTES), kernel.Arena(centroids.body)
    traces: list[list[Trace]] = []
    for memo, asked, truth in zip(memos.tolist(), queries, truths, strict=True):
        flip(memo)
        if design.has_graphs:
            search = GraphSearch(VectorQuery(max(RESULTS), bits, rerank=False), SearchEffort(Never()), asked)
            clusters = (memory.cluster(connection, one, 0) for one in probes(centroids, asked))
            traces.append(_trace_graphs(search, clusters, truth.ids, recalls))
        else:
            traces.append(_trace_codes(connection, arena, asked, truth.ids, bits, recalls))
        flip(memo)
    windows = WINDOWS if design.has_graphs else WIDE_WINDOWS
    points = [
        point for place, one in enumerate(kept) for point in curve([trace[place] for trace in traces], *one, windows)
    ]
    return Calibration(count, tuple(points))


def _all_codes(connection: Connection, space: Space, centroids: Centroids) -> Iterator[list[bytes]]:
    """Yield the codes of all vectors that are compared in the end, many at a time."""
    if space.design.has_graphs:
        yield from (store.bodies(connection, cluster) for cluster in centroids.names.tolist())
        return
    with closing(store.every_code(connection, space.number)) as every:
        while some := [body for _, body in islice(every, _AT_ONCE)]:
            yield [pack(unpack_all(some))]


def _trace_graphs(
    search: GraphSearch, clusters: Iterator[tuple[bytes, bytes] | None], truth: Int64, recalls: Recalls
) -> list[Trace]:
    """Follow one search for each k at once: what stands among the best does not depend on what stands below."""
    useful: list[list[bool]] = [[] for _ in recalls.ks]
    stands: list[Int32] = []
    for cluster in islice(clusters, _MOST_LOADS["graph"]):
        before = (search.pool.filled, search.pool.scores[-1:].tolist())
        search.probe(cluster, walks=True)
        ranks = search.loads[-1]
        changed = not stands or bool(ranks) or before != (search.pool.filled, search.pool.scores[-1:].tolist())
        stands.append(recalls.stands(search.pool.ids, truth) if changed else stands[-1])
        for flags, k in zip(useful, recalls.ks, strict=True):
            flags.append(bool(ranks) and ranks[0] < k)
    return list(map(Trace, useful, recalls.of(stands)))


def _trace_codes(
    connection: Connection, arena: kernel.Arena, asked: Float32, truth: Int64, bits: Bits, recalls: Recalls
) -> list[Trace]:
    """Follow one search for each k twice: to see where each window would end, and to look there.

    Recalls are right where a window ends, and between as they were at the last such place.
    """

    def go(course: kernel.Course, end: int) -> None:
        while (came := course.run(end - course.loads)) >= 0:
            bodies = store.bodies(connection, came)
            if arena.size >= _KEPT_BYTES or not arena.keep(came, bodies, _KEPT_BYTES):
                course.bring({came: bodies})

    course = kernel.Course(arena, asked, kernel.Pool(max(RESULTS)), max(RESULTS), *_OPEN, bits)
    go(course, _MOST_LOADS["codes"])
    useful = {k: [first < k for first in course.firsts] for k in RESULTS}
    ends = sorted({end for flags in useful.values() for end in ends_of(flags, WIDE_WINDOWS)})
    pool = kernel.Pool(recalls.most)
    course = kernel.Course(arena, asked, pool, 0, *NEVER, bits)
    stands = []
    for end in ends:
        go(course, end)
        stands.append(recalls.stands(pool.ids, truth))
    places = np.maximum(np.searchsorted(ends, np.arange(1, ends[-1] + 1), side="right") - 1, 0).tolist()
    return [
        Trace(useful[k][: ends[-1]], [found[place] for place in places])
        for k, found in zip(recalls.ks, recalls.of(stands), strict=True)
    ]


def curve(traces: Sequence[Trace], k: int, width: int = 0, windows: Sequence[int] = WINDOWS) -> list[Point]:
    """Return what each window gives on some queries, narrowest first, up to the one with which nothing is missed."""
    points: list[Point] = []
    every = [ends_of(trace.useful, windows) for trace in traces]
    for place, window in enumerate(windows if traces else ()):
        ends = [one[place] for one in every]
        found = sum(trace.recalls[end - 1] for trace, end in zip(traces, ends, strict=True)) / len(traces)
        points.append(Point(k, window, round(found, 4), round(sum(ends) / len(traces), 2), width))
        if found >= 1:
            break
    return points


def ends_of(useful: Sequence[bool], windows: Sequence[int]) -> list[int]:
    """Return after how many loads a search ends when the last so many brought nothing, for ascending windows."""
    ends: list[int] = []
    brought = [0, *(place for place, one in enumerate(useful, start=1) if one)]
    for last, following in pairwise([*brought, len(useful) + 1]):
        while len(ends) < len(windows) and windows[len(ends)] < following - last:
            ends.append(last + windows[len(ends)])
    return ends + [len(useful)] * (len(windows) - len(ends))


class Recalls:
    """Recalls of one search after another, as each looks for several k at once.

    Parameters
    ----------
    kept:
        Each k, at least 1, with how many results are kept for it: of those no true one is lost in the end.
    rows:
        Above every id.
    """

    def __init__(self, kept: Sequence[tuple[int, int]], rows: int) -> None:
        self._kept = kept
        self.ks = [k for k, _ in kept]
        self.most = max(room for _, room in kept)
        """Results that are kept for the k that wants the most."""
        self._stands = np.full(rows, _FAR, dtype=np.int32)

    def stands(self, ids: Int64, truth: Int64) -> Int32:
        """Return at which rank each true one, int64 (m,), is among ids, int64 (n,); very far where it is not."""
        self._stands[ids] = np.arange(len(ids), dtype=np.int32)
        stands = self._stands[truth]
        self._stands[ids] = _FAR
        return stands

    def of(self, stands: Sequence[Int32]) -> list[list[float]]:
        """Return recall@k of the results that are kept, from such ranks: for each k, of all."""
        ranks = np.stack(stands)
        return [((ranks[:, :k] < room).sum(axis=1) / ranks[:, :k].shape[1]).tolist() for k, room in self._kept]
