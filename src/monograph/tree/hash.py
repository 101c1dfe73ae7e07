"""Hash codes of vectors by random hyperplanes (Zhang et al. 2025, EraRAG, Sec. III-B).

A layer of the tree is ordered by these codes, so that similar nodes are neighbours. A code has one bit for each
hyperplane: the side of the plane on which the vector lies. The planes go through the origin. They are the same in every
file whose vectors have the same dimension, so a tree does not depend on the order of writes. Two vectors with the angle
θ are on the same side of a plane with probability 1 - θ/π; Theorem 1 of the paper has another formula, which is wrong.

Vectors and planes are rounded to integers before they are multiplied, so the products are exact. A vector therefore has
the same code on every machine and in every batch.
"""

from __future__ import annotations

from functools import cache
from hashlib import shake_256
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from monograph.tree.segment import BITS
from monograph.values import Float32

Int64: TypeAlias = npt.NDArray[np.int64]
Float64: TypeAlias = npt.NDArray[np.float64]

PLANES = 20
"""Number of bits of a code, as in EraRAG: one for each hyperplane with which a vector is compared."""
_SCALE = 32_767
_AT_ONCE = 4_096


@cache
def directions(dimension: int) -> Float64:
    """Return the directions of the hyperplanes, whole numbers from -32,768 to 32,767: float64 (PLANES, dimension).

    They are the bytes of a hash, so that every version of NumPy gives the same planes.
    """
    body = shake_256(b"hyperplanes").digest(2 * PLANES * dimension)
    return np.frombuffer(body, "<i2").astype(np.float64).reshape(dimension, PLANES).T


def ranks(vectors: Float32) -> Int64:
    """Return the rank of each vector, int64 (n,): the position of the vector's code in the Gray code.

    A rank has PLANES bits, and the codes at two successive positions differ in one bit only. ``vectors`` is float32 (n,
    dimension); each vector has unit length or is zero.
    """
    parts = [_rank_batch(vectors[first : first + _AT_ONCE]) for first in range(0, len(vectors), _AT_ONCE)]
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)


def _rank_batch(vectors: Float32) -> Int64:
    exact = np.round(np.clip(vectors.astype(np.float64), -1.0, 1.0) * _SCALE)
    rank = np.zeros(len(vectors), dtype=np.int64)
    bit = np.zeros(len(vectors), dtype=bool)
    for above in (exact @ directions(vectors.shape[1]).T > 0).T:
        bit = bit ^ above
        rank = rank << 1 | bit
    return rank


def full_rank(rank: int, key: bytes) -> int:
    """Return the rank of a node in its layer, an integer of BITS bits.

    The first PLANES bits are ``rank``, the rank of the node's vector (:func:`ranks`). The other bits are the first bits
    of the node's key.
    """
    rest = BITS - PLANES
    return rank << rest | int.from_bytes(key[:8], "big") >> 64 - rest
