"""Which clusters to probe: the centroids nearest to a query, held in memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from monograph.models import Float32
from monograph.vectors import kernel
from monograph.vectors.cluster import Metric, encode, pack

Int64: TypeAlias = npt.NDArray[np.int64]

GRAPH_FROM = 2_000
"""Centroids from which on a graph of them is walked: below, comparing all takes no longer and misses none."""
WALKED = 64
"""Centroids kept in view on a walk, at least."""


@dataclass(frozen=True, slots=True)
class Centroids:
    """The clusters of an index.

    Parameters
    ----------
    names:
        int64 (n,), ascending.
    vectors:
        float32 (n, dimension).
    body:
        The centroids as a cluster whose ids are places in ``names``: what a query is compared with.
    graph:
        A graph of them, where there are many.
    """

    names: Int64
    vectors: Float32
    body: bytes
    graph: bytes | None

    @property
    def memory(self) -> int:
        """Bytes held."""
        return self.names.nbytes + self.vectors.nbytes + len(self.body) + len(self.graph or b"")

    def nearest(self, query: Float32, count: int) -> Int64:
        """Names of the clusters whose centroids lie nearest to a query, nearest first: at most ``count``."""
        pool = kernel.Pool(min(count, len(self.names)))
        if self.graph is not None and count <= len(self.names) // 8:
            kernel.walk(kernel.Cluster(self.body, self.graph), query, pool, 0, max(count, WALKED), trusted=True)
        else:
            kernel.scan([self.body], query, pool, 0, trusted=True)
        return self.names[pool.ids]


def make(names: Int64, vectors: Float32, metric: Metric, graph: bytes | None) -> Centroids:
    """Centroids as they are searched; ``graph`` as :func:`grow` made it."""
    return Centroids(names, vectors, _body(vectors, metric), graph)


def _body(vectors: Float32, metric: Metric) -> bytes:
    """Codes of a byte: which clusters are near matters, not how near."""
    places = np.arange(len(vectors), dtype=np.int64)
    return pack(encode(places, vectors, "cosine" if metric == "cosine" else "l2", "int8"))


@dataclass(frozen=True, slots=True)
class GraphSettings:
    """M, ef and alpha of a graph that is built."""

    links: int
    ef: int
    alpha: float


def grow(before: Centroids | None, names: Int64, vectors: Float32, metric: Metric, how: GraphSettings) -> bytes | None:
    """The graph of some centroids: what was there before is kept, what left is taken out, what came is inserted.

    Returns
    -------
    The graph as it is stored; None where there are too few to need one.
    """
    if len(names) < GRAPH_FROM:
        return None
    graph = None
    if before is not None and before.graph is not None:
        # New clusters have higher names than all before: those that stay keep their order in front.
        left = np.flatnonzero(~np.isin(before.names, names)).tolist()
        graph = kernel.graph_remove(before.body, before.graph, left, ef=how.ef, alpha=how.alpha)
    return kernel.graph_insert(_body(vectors, metric), graph, m=how.links, ef=how.ef, alpha=how.alpha)
