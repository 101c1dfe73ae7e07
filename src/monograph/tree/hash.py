"""Hash codes of vectors by hyperplanes. A layer of the tree is ordered by them, so that similar nodes are neighbours.

A code has one bit for each hyperplane: the side of the plane on which the vector lies. EraRAG hashes with random
planes. Learned planes divide the vectors of a file in halves instead:

- The first planes form a binary tree. The root divides all vectors; each other plane divides one half of its parent.
  The direction of a plane joins the means of its two halves (balanced 2-means).
- Each remaining plane divides all vectors. The direction of the plane is a principal direction of the vectors.

The threshold of a plane is the median of the products of vector and direction, so that the halves are equal in size.

Vectors and planes are rounded to integers before they are multiplied, so the products are exact. A vector therefore has
the same code on every machine and in every batch.
"""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from monograph.tree.segment import BITS
from monograph.values import Float32

Int16: TypeAlias = npt.NDArray[np.int16]
Int64: TypeAlias = npt.NDArray[np.int64]
Float64: TypeAlias = npt.NDArray[np.float64]

PLANES = 20
"""Number of bits of a code, as in EraRAG: one for each hyperplane with which a vector is compared."""
LEARNED_AT = (64, 512, 4_096)
"""Numbers of chunks at which planes are learned and the tree is rebuilt.

Planes that were learned from 4,096 chunks or more stay the same. Rebuilds at these sizes cost little compared with the
later growth of the tree.
"""
_DEPTH = 8
_LEAST = 32
_SAMPLE = 16_384
_ROUNDS = 10
_SCALE = 32_767
_AT_ONCE = 4_096
_HEAD = Struct("<4sIIII")
_MAGIC = b"PLN1"


@dataclass(frozen=True, slots=True, eq=False)
class Planes:
    """The hyperplanes of a file's tree.

    A plane is a direction and a threshold, its cut. A vector is above the plane if the dot product of the vector and
    the direction is greater than the cut; otherwise the vector is below the plane.

    - ``tree``: directions of the planes that form a binary tree, int16 (2 ** depth - 1, dimension). Plane 0 divides all
      vectors. Plane 2 i + 1 divides the vectors below plane i, and plane 2 i + 2 the vectors above plane i.
    - ``tree_cuts``: cuts of these planes, int64 (2 ** depth - 1,).
    - ``flat``: directions of the other planes, int16 (PLANES - depth, dimension). Each divides all vectors.
    - ``flat_cuts``: cuts of the other planes, int64 (PLANES - depth,).
    - ``learned_from``: number of vectors from which the planes were learned; 0 for random planes.
    """

    tree: Int16
    tree_cuts: Int64
    flat: Int16
    flat_cuts: Int64
    learned_from: int

    @property
    def dimension(self) -> int:
        """The dimension of the vectors that the planes divide."""
        return int(self.flat.shape[1])

    def to_bytes(self) -> bytes:
        """Return the planes as bytes, in the stored format."""
        head = _HEAD.pack(_MAGIC, self.dimension, len(self.tree), len(self.flat), self.learned_from)
        parts = (self.tree.astype("<i2"), self.flat.astype("<i2"))
        cuts = (self.tree_cuts.astype("<i8"), self.flat_cuts.astype("<i8"))
        return head + b"".join(array.tobytes() for array in (*cuts, *parts))

    @classmethod
    def from_bytes(cls, body: bytes) -> Planes:
        """Return the planes that :meth:`to_bytes` stored. Raises ValueError if the bytes do not have this format."""
        if len(body) < _HEAD.size:
            raise ValueError("these bytes are not planes")
        magic, dimension, deep, wide, learned_from = _HEAD.unpack_from(body)
        size = _HEAD.size + (deep + wide) * (8 + 2 * dimension)
        if magic != _MAGIC or len(body) != size:
            raise ValueError("these bytes are not planes")
        cuts = np.frombuffer(body, "<i8", deep + wide, _HEAD.size).astype(np.int64)
        vectors = np.frombuffer(body, "<i2", (deep + wide) * dimension, _HEAD.size + 8 * (deep + wide))
        vectors = vectors.astype(np.int16).reshape(deep + wide, dimension)
        return cls(vectors[:deep], cuts[:deep], vectors[deep:], cuts[deep:], learned_from)


def random_planes(dimension: int) -> Planes:
    """Return EraRAG's planes: through the origin, with random directions.

    They are the same for every file whose vectors have this dimension.
    """
    flat = _round_directions(np.random.default_rng(0).standard_normal((PLANES, dimension)))
    nothing = np.empty((0, dimension), dtype=np.int16)
    return Planes(nothing, np.empty(0, dtype=np.int64), flat, np.zeros(PLANES, dtype=np.int64), 0)


def learn(vectors: Float32) -> Planes:
    """Return planes that divide vectors in halves.

    ``vectors`` is float32 (n, dimension); only the first 16,384 are used.
    """
    sample = vectors[:_SAMPLE].astype(np.float64)
    depth = min(_DEPTH, max(0, int(np.log2(max(1.0, len(sample) / _LEAST)))))
    tree, cuts = [], []
    groups = [np.arange(len(sample))]
    exact = _round_vectors(vectors[:_SAMPLE])
    for _ in range(depth):
        halves = []
        for group in groups:
            plane = _round_directions(_find_direction(sample[group])[None])[0]
            products = exact[group] @ plane.astype(np.float64)
            cut = int(np.median(products)) if len(products) else 0
            tree.append(plane)
            cuts.append(cut)
            above = products > cut
            halves += [group[~above], group[above]]
        groups = halves
    flat = _round_directions(_find_principal(sample, PLANES - depth))
    flat_cuts = np.median(exact @ flat.T.astype(np.float64), axis=0).astype(np.int64)
    stacked = np.stack(tree) if tree else np.empty((0, vectors.shape[1]), dtype=np.int16)
    return Planes(stacked, np.array(cuts, dtype=np.int64), flat, flat_cuts, len(vectors))


def _find_direction(vectors: Float64) -> Float64:
    """Return a direction that divides vectors into two similar groups of equal size (balanced 2-means)."""
    centred = vectors - vectors.mean(axis=0) if len(vectors) else vectors
    # Begin with an estimate of the first principal direction, by power iteration.
    direction: Float64 = np.ones(centred.shape[1])
    for _ in range(_ROUNDS):
        product = centred.T @ (centred @ direction)
        length = float(np.linalg.norm(product))
        if not length:
            break
        direction = product / length
    for _ in range(_ROUNDS):
        products = centred @ direction
        if not len(products):
            break
        above = products > np.median(products)
        if above.all() or not above.any():
            break
        direction = centred[above].mean(axis=0) - centred[~above].mean(axis=0)
    return direction


def _find_principal(vectors: Float64, count: int) -> Float64:
    """Return ``count`` principal directions of vectors, the direction with the largest variance first."""
    dimension = vectors.shape[1]
    centred = vectors - vectors.mean(axis=0) if len(vectors) else np.zeros((1, dimension))
    _, eigenvectors = np.linalg.eigh(centred.T @ centred)
    # With fewer than ``count`` dimensions, ``resize`` repeats the directions.
    directions: Float64 = np.resize(eigenvectors.T[::-1], (count, dimension))
    # The sign of an eigenvector is arbitrary: fix it, because libraries choose differently.
    largest = np.abs(directions).argmax(axis=1)
    return directions * np.where(directions[np.arange(count), largest] < 0, -1.0, 1.0)[:, None]


def _round_directions(directions: Float64) -> Int16:
    """Return directions as integers, each scaled so that its largest component is 32,767 or -32,767."""
    largest = np.abs(directions).max(axis=1, keepdims=True)
    return np.round(directions / np.where(largest > 0, largest, 1.0) * _SCALE).astype(np.int16)


def _round_vectors(vectors: Float32) -> Float64:
    """Return unit vectors rounded to integers, so that products with planes are exact in any order of summation."""
    return np.round(np.clip(vectors.astype(np.float64), -1.0, 1.0) * _SCALE)


def ranks(planes: Planes, vectors: Float32) -> Int64:
    """Return the rank of each vector, int64 (n,): the position of the vector's code in the Gray code.

    A rank has PLANES bits, and the codes at two successive positions differ in one bit only. ``vectors`` is float32 (n,
    dimension); each vector has unit length or is zero.
    """
    parts = [_rank_batch(planes, vectors[first : first + _AT_ONCE]) for first in range(0, len(vectors), _AT_ONCE)]
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)


def _rank_batch(planes: Planes, vectors: Float32) -> Int64:
    exact = _round_vectors(vectors)
    rank = np.zeros(len(vectors), dtype=np.int64)
    bit = np.zeros(len(vectors), dtype=bool)
    index = np.zeros(len(vectors), dtype=np.int64)
    depth = (len(planes.tree) + 1).bit_length() - 1
    for _ in range(depth):
        above = np.einsum("ij,ij->i", exact, planes.tree[index].astype(np.float64)) > planes.tree_cuts[index]
        index = 2 * index + 1 + above
        bit = bit ^ above
        rank = rank << 1 | bit
    for above in (exact @ planes.flat.T.astype(np.float64) > planes.flat_cuts).T[: PLANES - depth]:
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
