"""Calibration of an index: recall and cost of its stop conditions, measured with vectors of the index as queries.

A load is the reading of one cluster. The conditions are :class:`monograph.vectors.stop.RankAware` with a grid of
weights, thresholds and windows. One search for each query records the ranks of the new results of each load. So the
record shows where each condition would have stopped the search, and what the search had found by then.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import cache
from itertools import chain, islice
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from monograph.store.file.database import Connection
from monograph.store.vectors import clusters as store
from monograph.store.vectors import vectors as stored_vectors
from monograph.values import Float64
from monograph.vectors import kernel
from monograph.vectors.cluster import pack, unpack
from monograph.vectors.cluster_search import GraphSearch, probes
from monograph.vectors.design import MANY, Space
from monograph.vectors.memory import Centroids, Memory
from monograph.vectors.search import Int64, VectorQuery, prepare_many
from monograph.vectors.stop import (
    Calibration,
    Exponential,
    Never,
    Point,
    Ranks,
    SearchEffort,
    StopRule,
    cheapest_points,
)

WINDOWS = (*range(1, 17), 18, 20, 22, 24, 28, 32, 40, 48, 56, 64, 80, 96, 128)
WIDE_WINDOWS = (*WINDOWS, 160, 192, 256, 384, 512)
"""Windows that are measured in the codes design, where loading many clusters is cheap."""
CONDITIONS = (
    (Exponential(), 0.0),
    *((weight, epsilon) for weight in (Exponential(), Exponential(5.0, 1.0)) for epsilon in (0.02, 0.1, 0.35)),
)
"""(weight, epsilon) of the stop conditions that are measured with each window.

With the epsilon 0 every new result counts, whatever its weight: this is VBASE with E = k.
"""
RESULTS = (10, 100)
"""Values of k for which an index is calibrated.

A search for another k uses the measurements of the next larger of these values, or of the largest value.
"""
_QUERIES = 192
_MOST_LOADS = {"codes": 1_024, "graph": 192}
_AT_ONCE = 1_024
_MOST_KEPT = 1_000
_KEPT_BYTES = 64 << 20
"""Maximum number of bytes of clusters that are cached during a calibration."""
_FAR = np.iinfo(np.int32).max
# A load that is useful under any condition brings a new result among the largest k: no measured search ends later.
_OPEN = StopRule(np.ones(max(RESULTS), dtype=np.float64), 0.0, WIDE_WINDOWS[-1], _MOST_LOADS["codes"])
"""Stop rule of one search that is long enough to measure all conditions, windows and values of k."""


class Trace(NamedTuple):
    """Record of one search for ``max(RESULTS)`` results, with one value or row for each load.

    ``new``, float64 (loads, max(RESULTS)): 1 for the rank of each new result, else 0. ``filled``: number of results
    after the load. ``ids``: rows of all kept results after the load, best first, int64.
    """

    new: Float64
    filled: Sequence[int]
    ids: Sequence[Int64]


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
    # A true result counts as found if it is among the kept results, because the final ranking of these is exact.
    rooms = {
        k: {width: VectorQuery(k, rerank=False).room(width) for width in design.widths if width * k < _MOST_KEPT}
        for k in RESULTS
    }
    most = max(room for room_of_width in rooms.values() for room in room_of_width.values())
    memory, arena = Memory(space.number, _KEPT_BYTES), kernel.Arena(centroids.body)
    windows = WINDOWS if design.has_graphs else WIDE_WINDOWS
    totals = {k: np.zeros((len(rooms[k]), 3, len(CONDITIONS), len(windows))) for k in RESULTS}
    for memo, query, truth in zip(memos.tolist(), queries, truths, strict=True):
        flip(memo)
        if design.has_graphs:
            search = GraphSearch(VectorQuery(max(RESULTS), bits, rerank=False), SearchEffort(Never()), query)
            clusters = (memory.cluster(connection, cluster, 0) for cluster in probes(centroids, query))
            pool, loads = search.pool, _graph_loads(search, clusters)
        else:
            pool = kernel.Pool(most)
            loads = _code_loads(connection, arena, kernel.Course(arena, query, pool, max(RESULTS), *_OPEN, bits))
        trace = record(loads, pool)
        flip(memo)
        for k in RESULTS:
            totals[k] += outcomes(trace, truth.ids[:k], 8 * len(bits), k, list(rooms[k].values()), windows)
    points = [
        point
        for k in RESULTS
        for width, means in zip(rooms[k], totals[k] / len(memos), strict=True)
        for point in points_of(means, k, width, windows)
    ]
    return Calibration(count, cheapest_points(points))


def _read_all_codes(connection: Connection, space: Space, centroids: Centroids) -> Iterator[list[bytes]]:
    """Yield the 8-bit codes of all vectors in batches, each batch as a list of cluster bodies."""
    if space.design.has_graphs:
        yield from (store.bodies(connection, cluster) for cluster in centroids.names.tolist())
        return
    with closing(store.every_code(connection, space.number)) as rows:
        while bodies := [body for _, body in islice(rows, _AT_ONCE)]:
            yield [pack(unpack(*bodies))]


def _graph_loads(search: GraphSearch, clusters: Iterator[tuple[bytes, bytes] | None]) -> Iterator[Ranks]:
    """Search clusters that have graphs, nearest first; yield the ranks of the new results of each load."""
    for cluster in islice(clusters, _MOST_LOADS["graph"]):
        search.probe(cluster, walks=True)
        yield search.loads[-1]


def _code_loads(connection: Connection, arena: kernel.Arena, course: kernel.Course) -> Iterator[Ranks]:
    """Search clusters of 2-bit codes, nearest first; yield the ranks of the new results of each load."""
    outcome = kernel.PAUSED
    while outcome not in {kernel.ENOUGH, kernel.ALL}:
        outcome = course.run(1)
        if outcome < 0:
            yield course.ranks
            continue
        bodies = store.bodies(connection, outcome)
        if arena.size >= _KEPT_BYTES or not arena.keep(outcome, bodies, _KEPT_BYTES):
            course.bring({outcome: bodies})


def record(loads: Iterator[Ranks], pool: kernel.Pool) -> Trace:
    """Run a search, which yields the ranks of the new results of each load, and return its trace."""
    ranks, filled, ids = zip(*((ranks, pool.filled, pool.ids) for ranks in loads), strict=True)
    new = np.zeros((len(ranks), max(RESULTS)))
    new[np.repeat(np.arange(len(ranks)), list(map(len, ranks))), list(chain.from_iterable(ranks))] = 1
    return Trace(new, filled, ids)


def outcomes(trace: Trace, truth: Int64, rows: int, k: int, rooms: Sequence[int], windows: Sequence[int]) -> Float64:
    """Return where each condition ends a search for k results, and what the search has found by then.

    The result has the shape (rooms, 3, conditions, windows). The three values are the number of loads, the recall@k,
    and the ranked recall@k (Terminus, Eq. 4, with the weights of :class:`monograph.vectors.stop.Exponential` and ranks
    from 0). ``truth`` has the rows of the true results, best first; ``rows`` is a number above every row. A room is a
    number of results that the search keeps. ``windows`` are ascending.
    """
    utilities, complete = trace.new[:, :k] @ _condition_weights(k), np.array(trace.filled) >= k
    ends = np.stack(
        [
            ends_of(utility > epsilon, complete, windows)
            for utility, (_, epsilon) in zip(utilities.T, CONDITIONS, strict=True)
        ]
    )
    distinct, inverse = np.unique(ends, return_inverse=True)
    lookup = np.full(rows, _FAR, dtype=np.int32)
    positions = np.empty((len(distinct), len(truth)), dtype=np.int32)
    for index, end in enumerate(distinct.tolist()):
        ids = trace.ids[end - 1]
        lookup[ids] = np.arange(len(ids), dtype=np.int32)
        positions[index] = lookup[truth]
        lookup[ids] = _FAR
    weights = np.stack([np.ones(len(truth)), Exponential().of_ranks(len(truth))], axis=1)
    recalls = [((positions < room) @ (weights / weights.sum(axis=0)))[inverse.reshape(ends.shape)] for room in rooms]
    return np.stack([np.stack([ends, recall[..., 0], recall[..., 1]]) for recall in recalls])


@cache
def _condition_weights(k: int) -> Float64:
    """Return the weight of each rank under each condition, (k, conditions)."""
    return np.stack([weight.of_ranks(k) for weight, _ in CONDITIONS], axis=1)


def ends_of(useful: npt.NDArray[np.bool_], complete: npt.NDArray[np.bool_], windows: Sequence[int]) -> Int64:
    """Return, for each window, the number of loads after which a search with this window ends: int64 (windows,).

    The search ends after the first load at which the last ``window`` loads were not ``useful`` and k results were found
    (``complete``), or after the last load. ``useful`` and ``complete``, bool (loads,), have a value for each load.
    """
    loads = np.arange(1, len(useful) + 1)
    idle = loads - np.maximum.accumulate(np.where(useful, loads, 0))
    longest = np.maximum.accumulate(np.where(complete, idle, 0))
    return np.minimum(np.searchsorted(longest, windows) + 1, len(useful))


def points_of(means: Float64, k: int, width: int, windows: Sequence[int]) -> Iterator[Point]:
    """Yield a point for each condition and window. ``means`` are the mean outcomes, (3, conditions, windows)."""
    for (weight, epsilon), condition_means in zip(CONDITIONS, np.moveaxis(means, 1, 0), strict=True):
        for window, (loads, recall, ranked) in zip(windows, condition_means.T.tolist(), strict=True):
            yield Point(
                k, width, window, epsilon, weight.tau, weight.beta, round(loads, 2), round(recall, 4), round(ranked, 4)
            )
