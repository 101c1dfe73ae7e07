"""The centroids of an index, as searches compare them."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from monograph.values import Float32
from monograph.vectors import kernel
from monograph.vectors.cluster import encode, pack, unpack
from monograph.vectors.design import Design

Int64: TypeAlias = npt.NDArray[np.int64]

WALKED = 64
"""Centroids kept in view on a walk, at least."""


@dataclass(frozen=True, slots=True)
class Centroids:
    """The clusters of an index.

    Parameters
    ----------
    body:
        The centroids in codes of a byte, as a cluster whose ids are the clusters' numbers, ascending: which are near
        matters, not how near.
    graph:
        A graph of them, in the graph design.
    """

    body: bytes
    graph: bytes | None

    def __len__(self) -> int:
        return struct.unpack_from("<I", self.body, 8)[0] if self.body else 0

    @property
    def names(self) -> Int64:
        """Numbers of the clusters: int64 (n,), ascending."""
        return unpack(self.body).ids if self.body else np.empty(0, dtype=np.int64)

    @property
    def memory(self) -> int:
        """Bytes held."""
        return len(self.body) + len(self.graph or b"")

    def nearest(self, query: Float32, count: int) -> Int64:
        """Numbers of the clusters whose centroids lie nearest to a query, nearest first: at most ``count``."""
        pool = kernel.Pool(min(count, len(self)))
        if self.graph is not None and count < len(self):
            kernel.walk(kernel.Cluster(self.body, self.graph), query, pool, 0, max(count, WALKED), trusted=True)
        elif self.body:
            kernel.scan([self.body], query, pool, 0, trusted=True)
        return pool.ids


NONE = Centroids(b"", None)


def load(body: bytes, graph: bytes | None) -> Centroids:
    """Centroids as the file holds them, held against their checksums once; searches trust them from then on.

    Raises
    ------
    DamagedBytes
        If they are not what was written.
    """
    if graph is not None:
        kernel.graph_check(body, graph)
    else:
        unpack(body)
    return Centroids(body, graph)


def code(names: Int64, vectors: Float32) -> bytes:
    """Centroids as a search compares them."""
    return pack(encode(names, vectors))


def grow(before: Centroids, body: bytes, design: Design) -> bytes | None:
    """The graph of some centroids: what was there before is kept, what left is taken out, what came is inserted.

    Returns
    -------
    The graph as it is stored; None for a design without graphs.
    """
    if not design.has_graphs:
        return None
    ef, alpha = design.ef_construction, design.alpha
    graph = None
    if before.graph is not None:
        # New clusters have higher numbers than all before: those that stay keep their order in front.
        left = np.flatnonzero(~np.isin(before.names, Centroids(body, None).names)).tolist()
        graph = kernel.graph_remove(before.body, before.graph, left, ef=ef, alpha=alpha)
    return kernel.graph_insert(body, graph, m=design.links, ef=ef, alpha=alpha)
