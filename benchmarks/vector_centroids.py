"""The graph of the centroids in the ``graph`` design, beside hnswlib and a comparison with all centroids."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from monograph.vectors import kernel, partition
from monograph.vectors.cluster import encode, pack
from monograph.vectors.design import DESIGNS
from monograph.vectors.memory import WALKED, Centroids
from vector_data import VectorSet

COUNTS = (500, 2_000, 8_000)
NEAREST = 32
Results = dict[str, Any]
Find = Callable[[Any], Any]


def indexes(centroids: Any) -> Iterator[tuple[str, Find, float, int]]:
    """Yield (name, search, build time in s, bytes) of each index. All graphs have the same M, ef and ef_construction."""
    import hnswlib

    design, ids = DESIGNS["graph"], np.arange(len(centroids))
    started = time.perf_counter()
    body = pack(encode(ids, centroids))
    scanned, packed = Centroids(body), time.perf_counter() - started
    yield "all codes", lambda query: scanned.nearest(query, NEAREST), packed, len(body)
    graph = kernel.graph_insert(body, None, design.links, design.ef_construction, design.alpha)
    walked, seconds = Centroids(body, graph), time.perf_counter() - started
    yield "Monograph", lambda query: walked.nearest(query, NEAREST), seconds, len(body) + len(graph)
    started = time.perf_counter()
    index = hnswlib.Index("ip", centroids.shape[1])
    index.init_index(len(centroids), M=design.links, ef_construction=design.ef_construction, random_seed=1)
    index.add_items(centroids, num_threads=1)
    seconds = time.perf_counter() - started
    index.set_ef(WALKED)
    index.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "index"
        index.save_index(str(path))
        size = path.stat().st_size
    yield "hnswlib", lambda query: index.knn_query(query, NEAREST)[0][0], seconds, size


def measured(made: VectorSet) -> Results:
    """Return recall of the nearest centroids, p50 in us, build time in s and bytes, by number of centroids and index."""
    results: Results = {}
    for count in COUNTS:
        centroids = partition.k_means(made.vectors, count)
        truth = np.argsort(-(made.queries @ centroids.T), axis=1)[:, :NEAREST]
        results[str(count)] = {}
        for name, find, seconds, size in indexes(centroids):
            for _ in range(3):
                times, hits = [], 0
                for query, best in zip(made.queries, truth, strict=True):
                    begun = time.perf_counter()
                    found = find(query)
                    times.append(time.perf_counter() - begun)
                    hits += len(set(found.tolist()) & set(best.tolist()))
            recall = hits / NEAREST / len(times)
            p50 = float(np.median(times)) * 1e6
            results[str(count)][name] = {"recall": recall, "p50": p50, "seconds": seconds, "bytes": size}
    return results
