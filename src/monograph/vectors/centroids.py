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


@dataclass(frozen=True, slots=True)
class Centroids:
    """The clusters of an index.

    Parameters
    ----------
    names:
        int64 (n,), ascending.
    vectors:
        float32 (n, dimension).
    compared:
        What a query is multiplied with: the vectors, but for cosine with one more value, minus half the squared length.
    cluster:
        The centroids as a cluster with a graph (ids are places in ``names``), where there are many.
    """

    names: Int64
    vectors: Float32
    compared: Float32
    cluster: kernel.Cluster | None

    @property
    def memory(self) -> int:
        """Bytes held."""
        held = self.names.nbytes + self.vectors.nbytes
        held += 0 if self.compared is self.vectors else self.compared.nbytes
        return held + (0 if self.cluster is None else len(self.cluster.body) + len(self.cluster.graph))

    def nearest(self, query: Float32, count: int) -> Int64:
        """Names of the clusters whose centroids lie nearest to a query, nearest first: at most ``count``."""
        if self.cluster is not None and count <= len(self.names) // 8:
            pool = kernel.Pool(count)
            kernel.walk(self.cluster, query, pool, 0, max(count, 64))
            return self.names[pool.ids]
        asked = query if self.compared is self.vectors else np.append(query, np.float32(1))
        return self.names[kernel.top_k(self.compared, asked, count)[0]]


def make(names: Int64, vectors: Float32, metric: Metric, graph: bytes | None) -> Centroids:
    """Centroids as they are searched; ``graph`` as :func:`grow` made it."""
    compared = vectors
    if metric != "cosine":
        biases = -0.5 * np.einsum("ij,ij->i", vectors, vectors)
        compared = np.ascontiguousarray(np.column_stack([vectors, biases]), dtype=np.float32)
    cluster = None if graph is None else kernel.Cluster(_body(vectors, metric), graph)
    return Centroids(names, vectors, compared, cluster)


def _body(vectors: Float32, metric: Metric) -> bytes:
    places = np.arange(len(vectors), dtype=np.int64)
    return pack(encode(places, vectors, "cosine" if metric == "cosine" else "l2", "float32"))


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
    if before is not None and before.cluster is not None:
        # New clusters have higher names than all before: those that stay keep their order in front.
        left = np.flatnonzero(~np.isin(before.names, names))
        graph = kernel.graph_remove(
            before.cluster.body, before.cluster.graph, left.tolist(), ef=how.ef, alpha=how.alpha
        )
    return kernel.graph_insert(_body(vectors, metric), graph, m=how.links, ef=how.ef, alpha=how.alpha)
