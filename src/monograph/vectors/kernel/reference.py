"""The kernel in numpy: the oracle of the compiled one, and its stand-in.

Like the compiled functions these raise TypeError for an array of the wrong type, rank or layout, and ValueError for
wrong values.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from monograph.models import Float32


def top_k(vectors: Float32, query: Float32, k: int) -> tuple[npt.NDArray[np.int64], Float32]:
    """See :func:`monograph.vectors.kernel.top_k`."""
    _require(vectors, 2)
    _require(query, 1)
    if not isinstance(k, int | np.integer):
        raise TypeError("k must be a whole number")
    if k < 0:
        raise ValueError(f"k is {k}: give 0 or more")
    if vectors.shape[1] != query.shape[0]:
        raise ValueError(f"vectors have dimension {vectors.shape[1]}, the query has {query.shape[0]}")
    if not np.isfinite(query).all():
        raise ValueError("the query is not finite")
    with np.errstate(all="ignore"):
        scores = vectors @ query
    wrong = np.flatnonzero(np.isnan(scores))
    if len(wrong):
        raise ValueError(f"the score of row {wrong[0]} is not a number")
    if k < len(scores):
        # Every row that ties with the k-th stays in, so that ties are settled by row and not by chance.
        least = np.partition(scores, len(scores) - k)[len(scores) - k] if k else np.inf
        rows = np.flatnonzero(scores >= least)
    else:
        rows = np.arange(len(scores))
    order = np.lexsort((rows, -scores[rows]))[:k]
    return rows[order].astype(np.int64), scores[rows[order]].astype(np.float32)


def _require(array: object, rank: int) -> None:
    if (
        not isinstance(array, np.ndarray)
        or array.dtype != np.float32
        or array.ndim != rank
        or not array.flags.c_contiguous
    ):
        raise TypeError(f"expected a C-contiguous float32 array of rank {rank}")
