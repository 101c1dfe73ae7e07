"""How long a search must go on to find what it should: measured on the index's own vectors when it is built."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing
from itertools import islice

import numpy as np
import numpy.typing as npt

from monograph.store.file.database import Connection
from monograph.store.vectors import clusters as store
from monograph.store.vectors import vectors as stored_vectors
from monograph.values import Float32
from monograph.vectors import kernel
from monograph.vectors.centroids import Centroids
from monograph.vectors.cluster import pack, unpack_all
from monograph.vectors.curve import RESULTS, WIDE_WINDOWS, WINDOWS, Calibration, Int32, Int64, Recalls, Trace, curve
from monograph.vectors.design import MANY, Space
from monograph.vectors.graph_search import GraphSearch, probes
from monograph.vectors.memory import Memory
from monograph.vectors.search import Query, SearchEffort, prepare_many
from monograph.vectors.stop import Never
from monograph.vectors.traced import KEPT_BYTES, Followed

_QUERIES = 256
_MOST_LOADS = 192
_AT_ONCE = 1_024
_MOST_KEPT = 1_000


def measure(connection: Connection, space: Space, centroids: Centroids, count: int) -> Calibration:
    """Calibrate an index of so many vectors: search for some of them, each as if it were not there itself.

    The truth is what a comparison with all vectors finds, by the codes that are compared in the end.
    """
    if count < MANY:
        return Calibration(count)
    sampled = store.sample(connection, space.number, _QUERIES)
    memos, vectors = stored_vectors.load(connection, sampled, space.dimension)
    queries = prepare_many(vectors, space.dimension)
    bits = np.full(store.highest(connection, space.number) // 8 + 1, 255, dtype=np.uint8)
    truths = _truths(_all_codes(connection, space, centroids), memos.tolist(), queries, bits)
    kept = [(k, width) for k in RESULTS for width in space.design.widths if width * k < _MOST_KEPT]
    recalls = Recalls([(k, Query(k, rerank=False).room(width)) for k, width in kept], 8 * len(bits))
    followed = Followed(connection, centroids, recalls) if not space.design.has_graphs else None
    memory = Memory(space.number, KEPT_BYTES)
    traces: list[list[Trace]] = []
    for memo, asked, truth in zip(memos.tolist(), queries, truths, strict=True):
        _flip(bits, memo)
        if followed is not None:
            traces.append(followed.trace(asked, truth, bits))
        else:
            search = GraphSearch(Query(max(RESULTS), bits, rerank=False), SearchEffort(Never()), asked)
            clusters = (memory.cluster(connection, one, 0) for one in probes(centroids, asked))
            traces.append(_trace(search, clusters, truth, recalls))
        _flip(bits, memo)
    windows = WINDOWS if followed is None else WIDE_WINDOWS
    points = [
        point for place, one in enumerate(kept) for point in curve([trace[place] for trace in traces], *one, windows)
    ]
    return Calibration(count, tuple(points))


def _all_codes(connection: Connection, space: Space, centroids: Centroids) -> Iterator[list[bytes]]:
    """The codes of all vectors that are compared in the end, many at a time."""
    if space.design.has_graphs:
        yield from (store.bodies(connection, cluster) for cluster in centroids.names.tolist())
        return
    with closing(store.every_code(connection, space.number)) as every:
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
    search: GraphSearch, clusters: Iterable[kernel.Cluster | None], truth: Int64, recalls: Recalls
) -> list[Trace]:
    """One search, as it looks for each k: what stands among the best does not depend on what stands below."""
    useful: list[list[bool]] = [[] for _ in recalls.ks]
    stands: list[Int32] = []
    for cluster in islice(clusters, _MOST_LOADS):
        before = (search.pool.filled, search.pool.scores[-1:].tolist())
        search.probe(cluster, walks=True)
        ranks = search.loads[-1]
        changed = not stands or bool(ranks) or before != (search.pool.filled, search.pool.scores[-1:].tolist())
        stands.append(recalls.stands(search.pool.ids, truth) if changed else stands[-1])
        for flags, k in zip(useful, recalls.ks, strict=True):
            flags.append(bool(ranks) and ranks[0] < k)
    return [Trace(tuple(one), tuple(two)) for one, two in zip(useful, recalls.of(stands), strict=True)]


def _flip(bits: npt.NDArray[np.uint8], row: int) -> None:
    bits[row // 8] ^= 1 << (row % 8)
