"""Partition of vectors: k-means, the second cluster of a vector, and splitting a cluster."""

from __future__ import annotations

from collections.abc import Iterator
from math import isqrt
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from monograph.values import Float32

Int64: TypeAlias = npt.NDArray[np.int64]

SOAR_WEIGHT = 2.0
"""Lambda of SOAR, in the formula of :func:`assign`."""
_AT_ONCE = 1 << 24
"""Largest number of scores that are in memory at a time (64 MB)."""
_SAMPLE = 32
_ITERATIONS = 8
_NEAREST = 16
"""Number of nearest clusters among which the second cluster of a vector is chosen."""
_FEW = 256
"""With more centroids than this, only the nearest are scored to choose second clusters, because this is faster."""
ONE_THREAD = 1 << 18
"""Largest number of multiplications in a matrix product that OpenBLAS, as shipped with numpy, computes in one thread.

OpenBLAS uses several threads for a larger product. If other processes are busy, too, these threads wait for each other:
fifty times as long as a small product takes. Idle threads spin until the next product. An update of an index consists
of many small products."""
MANY = 1 << 30
"""Least number of multiplications for which :func:`products` uses several threads.

A smaller product is computed in blocks of about ``ONE_THREAD`` multiplications each, in one thread."""


def k_means(vectors: Float32, clusters: int, seed: int = 0) -> Float32:
    """Return the centroids that k-means finds for a set of vectors, scaled to unit length.

    ``vectors`` are float32 (n, dimension) with n > 0. The centroids are float32 (min(clusters, n), dimension). The
    method is mini-batch k-means with large batches: each round moves the centroids to the means of a new sample, which
    has 32 vectors for each cluster. The same seed and vectors give the same centroids.
    """
    random = np.random.default_rng(seed)
    n = len(vectors)
    clusters = min(clusters, n)
    centroids = _normalize(vectors[np.sort(random.choice(n, clusters, replace=False))].copy())
    batch = min(n, _SAMPLE * clusters)
    for _ in range(_ITERATIONS if clusters > 1 else 1):
        sample = vectors if batch == n else vectors[np.sort(random.choice(n, batch, replace=False))]
        nearest = assign(sample, centroids, double=False)[:, 0]
        counts = np.bincount(nearest, minlength=clusters)
        order = np.argsort(nearest, kind="stable")
        filled, empty = np.flatnonzero(counts), np.flatnonzero(counts == 0)
        starts = np.concatenate([[0], np.cumsum(counts[filled])[:-1]])
        centroids[filled] = np.add.reduceat(sample[order], starts, axis=0) / counts[filled, None]
        # A centroid without vectors moves to a random vector.
        centroids[empty] = sample[random.choice(batch, len(empty), replace=len(empty) > batch)]
        centroids = _normalize(centroids)
    return centroids


def _normalize(centroids: Float32) -> Float32:
    lengths = np.linalg.norm(centroids, axis=1, keepdims=True)
    centroids = np.divide(centroids, lengths, out=centroids.copy(), where=lengths > 0)
    return np.ascontiguousarray(centroids, dtype=np.float32)


def assign(vectors: Float32, centroids: Float32, *, double: bool) -> Int64:
    """Return the indexes of the first and the second cluster of every vector: int64 (n, 2).

    The first cluster has the nearest centroid, by inner product. The second cluster minimises

        |r'|² + lambda (r' · r / |r|)²

    where r and r' are the vector's residuals to the first and the second centroid. So if the first centroid is far from
    a query, the second is probably near (SOAR, Sun et al. 2023, Theorem 3.1). lambda is SOAR_WEIGHT. If ``double`` is
    False, or if there is only one centroid, the index of the second cluster is -1.
    """
    assigned = np.full((len(vectors), 2), -1, dtype=np.int64)
    for part, scores in _score_batches(vectors, centroids):
        if double and len(centroids) > 1:
            assigned[part] = _assign_two(vectors[part], scores, centroids)
        else:
            assigned[part, 0] = scores.argmax(axis=1)
    return assigned


def _assign_two(vectors: Float32, scores: Float32, centroids: Float32) -> Int64:
    count = min(_NEAREST, scores.shape[1])
    nearest = np.argpartition(scores, scores.shape[1] - count, axis=1)[:, -count:]
    near_scores = np.take_along_axis(scores, nearest, axis=1)
    best = near_scores.argmax(axis=1)[:, None]
    first = np.take_along_axis(nearest, best, axis=1)[:, 0]
    residuals = vectors - centroids[first]
    lengths = np.linalg.norm(residuals, axis=1, keepdims=True)
    directions = np.divide(residuals, lengths, out=np.zeros_like(residuals), where=lengths > 0)
    # Inner products of each direction with the centroids near its vector.
    if len(centroids) > _FEW:
        products_near = np.einsum("ncd,nd->nc", centroids[nearest], directions)
    else:
        products_near = np.take_along_axis(products(directions, centroids), nearest, axis=1)
    along = np.einsum("nd,nd->n", vectors, directions)[:, None] - products_near
    # |r'|² without |vector|², which is the same for all centroids.
    loss = -2 * near_scores + SOAR_WEIGHT * along**2
    np.put_along_axis(loss, best, np.inf, axis=1)
    second = np.take_along_axis(nearest, loss.argmin(axis=1)[:, None], axis=1)[:, 0]
    return np.stack([first, second], axis=1)


def closest(centroids: Float32, vector: Float32, count: int) -> Int64:
    """Return the indexes of the ``count`` centroids nearest to a vector, nearest first: int64.

    If fewer exist, return all.
    """
    _, scores = next(iter(_score_batches(vector[None], centroids)))
    return np.argsort(-scores[0], kind="stable")[:count]


def _score_batches(vectors: Float32, centroids: Float32) -> Iterator[tuple[slice, Float32]]:
    """Yield (slice of the vectors, scores of these vectors with all centroids), in batches."""
    step = max(1, min(_AT_ONCE // max(1, len(centroids)), 4096))
    for start in range(0, len(vectors), step):
        part = slice(start, start + step)
        yield part, products(vectors[part], centroids)


def split_in_two(vectors: Float32) -> npt.NDArray[np.bool_]:
    """Split 2 or more vectors into two groups, and return the mask of one group, bool (n,). No group is empty.

    The method is 2-means. It starts from the vectors above and those below the mean, along the direction of greatest
    variance. If one of the resulting groups has less than a quarter of the vectors, all vectors are split at the median
    along this direction instead. If all vectors are equal, they are split by their order.
    """
    spread = vectors - vectors.mean(axis=0)
    direction = spread[np.einsum("ij,ij->i", spread, spread).argmax()]
    for _ in range(8):
        direction = spread.T @ (spread @ direction)
        length = float(np.linalg.norm(direction))
        if length == 0:
            return np.arange(len(vectors)) < len(vectors) // 2
        direction = direction / length
    along = spread @ direction
    side = along > 0
    for _ in range(4):
        if not 0 < side.sum() < len(side):
            break
        ends = _normalize(np.stack([vectors[~side].mean(axis=0), vectors[side].mean(axis=0)]))
        side = assign(vectors, ends, double=False)[:, 0] == 1
    if min(side.sum(), len(side) - side.sum()) * 4 < len(side):
        side = np.zeros(len(vectors), dtype=bool)
        side[np.argsort(along, kind="stable")[len(vectors) // 2 :]] = True
    mask: npt.NDArray[np.bool_] = np.asarray(side, dtype=np.bool_)
    return mask


def mean(vectors: Float32) -> Float32:
    """Return the centroid of vectors, scaled to unit length: float32 (dimension,)."""
    centre: Float32 = _normalize(vectors.mean(axis=0, keepdims=True))[0]
    return centre


def products(vectors: Float32, others: Float32) -> Float32:
    """Return the inner products of all vectors, (n, dimension), with all others, (m, dimension): float32 (n, m)."""
    n, dimension = vectors.shape
    m = len(others)
    work = n * m * dimension
    if work <= ONE_THREAD or work >= MANY:
        product: Float32 = vectors @ others.T
        return product
    side = max(8, isqrt(ONE_THREAD // dimension) // 8 * 8)
    result = np.empty((n, m), dtype=np.float32)
    for left in range(0, m, side):
        columns = others[left : left + side].T
        for top in range(0, n, side):
            np.matmul(vectors[top : top + side], columns, out=result[top : top + side, left : left + side])
    return result
