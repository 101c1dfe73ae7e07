"""Codes of one or two bits a dimension, in numpy: the oracle of the compiled ones, and their stand-in.

A vector's difference to its cluster's centre is turned by a rotation that is the same for all, so that no dimension
weighs more than another, and each dimension becomes a sign (one plane of bits), or one of -3, -1, 1, 3 (two: the sign
counts twice, the second once). A scale a vector makes the product with its code an estimate that errs to no side
(RaBitQ, Gao and Long 2024, and its extension to more bits). A query becomes whole numbers, and the sums over four
dimensions at a time a table of 16 bytes. All sums are of whole numbers: every implementation gives the same bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from monograph.values import Float32

Bytes = npt.NDArray[np.uint8]

BLOCK = 32
"""Vectors whose codes lie together."""
FOUR = 4
"""Dimensions of a half byte: a group, for which a table has an entry for each of 16 combinations of signs."""
MOST_OF_QUERY = 31
"""A query's values lie between this and minus this: four of them, made positive, are at most a byte."""
OFFSET = FOUR * MOST_OF_QUERY
MOST_OF_VECTOR = 32_767
ROUNDS = 4
SMALLEST = np.float32(1e-30)
"""A vector whose values are all smaller is coded as 0; so is one with a value that a turn takes beyond floats."""
CUTS = range(7, 13)
"""Eighths of the mean size of a value from which on it may be coded as 3: the best for the vector is taken."""
_MIX = (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)


def groups_of(dimension: int) -> int:
    """Half bytes of a plane: a quarter of the dimensions, in fours."""
    return (dimension + 15) // 16 * 4


@lru_cache(maxsize=8)
def signs(dimension: int) -> Float32:
    """The signs of the rotation, the same for the same dimension: float32 (rounds, dimension) of 1 and -1."""
    places = (np.arange(ROUNDS, dtype=np.uint64)[:, None] << np.uint64(32)) + np.arange(dimension, dtype=np.uint64)
    with np.errstate(over="ignore"):
        state = np.multiply(places + np.uint64(1), np.uint64(_MIX[0]), dtype=np.uint64)
        state = np.multiply(state ^ (state >> np.uint64(30)), np.uint64(_MIX[1]), dtype=np.uint64)
        state = np.multiply(state ^ (state >> np.uint64(27)), np.uint64(_MIX[2]), dtype=np.uint64)
    return np.where((state ^ (state >> np.uint64(31))) & np.uint64(1), np.float32(1), np.float32(-1))


def rotated(vectors: Float32) -> Float32:
    """Vectors turned: signs change, then a power of two of the dimensions, first or last, goes through Hadamard's."""
    turned = vectors.copy()
    with np.errstate(over="ignore", invalid="ignore"):
        for turn, sign in enumerate(signs(vectors.shape[1])):
            turned *= sign
            _hadamard(turned, turn)
    return turned


def turned_back(vectors: Float32) -> Float32:
    """What :func:`rotated` turned, but for rounding."""
    turned = vectors.copy()
    for turn, sign in reversed(list(enumerate(signs(vectors.shape[1])))):
        _hadamard(turned, turn)
        turned *= sign
    return turned


def _hadamard(turned: Float32, turn: int) -> None:
    n, dimension = turned.shape
    width = 1 << max(0, dimension.bit_length() - 1)
    some = slice(0, width) if turn % 2 == 0 else slice(max(0, dimension - width), dimension)
    part = np.ascontiguousarray(turned[:, some])
    half = 1
    while half < width:
        pairs = part.reshape(n, width // (2 * half), 2, half)
        part = np.concatenate([pairs[:, :, :1] + pairs[:, :, 1:], pairs[:, :, :1] - pairs[:, :, 1:]], axis=2)
        half *= 2
    turned[:, some] = part.reshape(turned[:, some].shape) * (np.float32(1) / np.sqrt(np.float32(width)))


def encode(vectors: Float32, centre: Bytes, scale: float, planes: int) -> tuple[Bytes, Float32]:
    """See :func:`monograph.vectors.kernel.encode`."""
    require_encoded(vectors, centre, planes)
    n, dimension = vectors.shape
    about = (centre.astype(np.float32) - np.float32(128)) * np.float32(scale)
    whole, step = _whole(rotated(vectors - about), MOST_OF_VECTOR)
    size, positive = np.abs(whole), whole >= 0
    total = dots = size.sum(axis=1)
    big = np.zeros(whole.shape, dtype=np.bool_)
    if planes > 1:
        best = np.full(n, -1.0)
        for cut in CUTS:
            chosen = size > (cut * total // max(1, 8 * dimension))[:, None]
            dot = total + 2 * np.where(chosen, size, 0).sum(axis=1)
            square = dimension + 8 * chosen.sum(axis=1)
            likeness = dot.astype(np.float64) * dot.astype(np.float64) / np.maximum(1, square).astype(np.float64)
            better = likeness > best
            best = np.where(better, likeness, best)
            dots = np.where(better, dot, dots)
            big = np.where(better[:, None], chosen, big)
    lengths = (whole * whole).sum(axis=1).astype(np.float64)
    ratio = np.divide(lengths, dots.astype(np.float64), out=np.zeros(n), where=dots > 0)
    scales = np.asarray(ratio * step.astype(np.float64), dtype=np.float32)
    bits = [positive] if planes == 1 else [positive, big == positive]
    return np.concatenate([_halves(plane) for plane in bits], axis=1), scales


def _whole(turned: Float32, most: int) -> tuple[npt.NDArray[np.int64], Float32]:
    """Rows as whole numbers from -most to most, and what one of them stands for."""
    largest: Float32 = np.abs(turned).max(axis=1, initial=0)
    coded = np.isfinite(turned).all(axis=1) & (largest > SMALLEST)
    inverse = np.divide(np.float32(most), largest, out=np.zeros_like(largest), where=coded)
    scaled = np.multiply(turned, inverse[:, None], out=np.zeros_like(turned), where=coded[:, None])
    return np.rint(scaled).astype(np.int64), np.divide(
        largest, np.float32(most), out=np.zeros_like(largest), where=coded
    )


def _halves(plane: npt.NDArray[np.bool_]) -> Bytes:
    """Four bits a half byte, each in a byte of its own: uint8 (n, groups)."""
    n, dimension = plane.shape
    padded = np.zeros((n, FOUR * groups_of(dimension)), dtype=np.uint8)
    padded[:, :dimension] = plane
    four = padded.reshape(n, groups_of(dimension), FOUR)
    halves: Bytes = (four << np.arange(FOUR, dtype=np.uint8)).sum(axis=2, dtype=np.uint8)
    return halves


def decoded(rows: Bytes, dimension: int, planes: int) -> npt.NDArray[np.int64]:
    """The values that codes stand for: int64 (n, dimension) of -1 and 1, or of -3, -1, 1 and 3."""
    values = np.zeros((len(rows), dimension), dtype=np.int64)
    for plane in range(planes):
        halves = rows[:, plane * groups_of(dimension) : (plane + 1) * groups_of(dimension)]
        bits = (halves[:, :, None] >> np.arange(FOUR, dtype=np.uint8)) & 1
        signs_of = 2 * bits.reshape(len(rows), FOUR * groups_of(dimension))[:, :dimension].astype(np.int64) - 1
        values += signs_of << (planes - 1 - plane)
    return values


def blocks(rows: Bytes) -> bytes:
    """Codes in blocks: for each group 16 bytes, of which the v-th holds those of vectors v (low) and v + 16 (high)."""
    n, width = rows.shape
    count = -(-n // BLOCK)
    padded = np.zeros((count * BLOCK, width), dtype=np.uint8)
    padded[:n] = rows
    by_group = padded.reshape(count, BLOCK, width).transpose(0, 2, 1)
    return np.ascontiguousarray(by_group[:, :, : BLOCK // 2] | by_group[:, :, BLOCK // 2 :] << 4).tobytes()


def rows_of(stored: bytes, n: int, width: int) -> Bytes:
    """What :func:`blocks` made of n rows of so many half bytes."""
    held = np.frombuffer(stored, dtype=np.uint8).reshape(-(-n // BLOCK), width, BLOCK // 2)
    both = np.concatenate([held & 15, held >> 4], axis=2)
    return np.ascontiguousarray(both.transpose(0, 2, 1).reshape(len(held) * BLOCK, width)[:n])


@dataclass(frozen=True, slots=True)
class Turned:
    """A query as codes are compared with it: whole numbers (dimension,), and what they are to be multiplied with."""

    values: npt.NDArray[np.int64]
    scale: np.float32

    @classmethod
    def of(cls, query: Float32) -> Turned:
        """Turn a query, and bring it to whole numbers."""
        values, step = _whole(rotated(query[None]), MOST_OF_QUERY)
        return cls(values[0], step[0])


def estimates(codes: npt.NDArray[np.int64], scales: Float32, asked: Turned) -> Float32:
    """Products of a query with what codes stand for (:func:`decoded`), without their centre's."""
    found: Float32 = (codes @ asked.values).astype(np.float32) * (asked.scale * scales)
    return found


def require_encoded(vectors: Float32, centre: Bytes, planes: int) -> None:
    """What :func:`encode` is given, checked."""
    for array, rank, kind in ((vectors, 2, np.float32), (centre, 1, np.uint8)):
        if (
            not isinstance(array, np.ndarray)
            or array.dtype != kind
            or array.ndim != rank
            or not array.flags.c_contiguous
        ):
            raise TypeError(f"expected a C-contiguous {np.dtype(kind).name} array of rank {rank}")
    if vectors.shape[1] != len(centre):
        raise ValueError(f"vectors have dimension {vectors.shape[1]}, the centre has {len(centre)}")
    if planes not in {1, 2}:
        raise ValueError(f"planes is {planes}: give 1 or 2")
    if not np.isfinite(vectors).all():
        raise ValueError("a vector is not finite")
