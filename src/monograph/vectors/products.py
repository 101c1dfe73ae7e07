"""Inner products of vectors with centroids, on one thread where there are few."""

from __future__ import annotations

from math import isqrt

import numpy as np

from monograph.values import Float32

ONE_THREAD = 1 << 18
"""Multiplications up to which OpenBLAS, which numpy brings, uses one thread.

Where other processes are at work too, its threads wait for each other fifty times as long as a small product takes, and
those that have nothing to do wait busily for the next one: an update of an index consists of small ones.
"""
MANY = 1 << 30
"""Multiplications from which on threads are worth that."""


def products(vectors: Float32, others: Float32) -> Float32:
    """Inner products of all pairs: float32 (n, m), for (n, dimension) and (m, dimension)."""
    n, dimension = vectors.shape
    m = len(others)
    work = n * m * dimension
    if work <= ONE_THREAD or work >= MANY:
        made: Float32 = vectors @ others.T
        return made
    side = max(8, isqrt(ONE_THREAD // dimension) // 8 * 8)
    found = np.empty((n, m), dtype=np.float32)
    for left in range(0, m, side):
        some = others[left : left + side].T
        for top in range(0, n, side):
            np.matmul(vectors[top : top + side], some, out=found[top : top + side, left : left + side])
    return found
