"""A cluster as bytes: what one row of the file holds, and how vectors become codes.

Layout, little-endian: header of 32 bytes (magic ``MEC1``, kind of codes, n, dimension, checksum of the head, checksum
of the codes; 4 bytes each, then 8 of zero), the head (ids int64, scales float32, biases float32; n each), the codes
(n rows of the dimension). An id of -1 is a vector that was deleted. The score of a row is query · vector + bias: the
bias is 0, or for L2 minus half the squared length, so that higher is nearer in every metric.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from monograph.values import Float32
from monograph.vectors import kernel
from monograph.vectors.kernel import reference

Int64: TypeAlias = npt.NDArray[np.int64]
Metric: TypeAlias = Literal["cosine", "inner_product", "l2"]
Precision: TypeAlias = Literal["int8", "float16", "float32"]

PRECISIONS: tuple[Precision, ...] = ("int8", "float16", "float32")
"""In the order of their numbers in the header."""

DELETED = -1
HEADER = reference.BODY_HEADER
_ID = np.dtype("<i8")
_REAL = np.dtype("<f4")


@dataclass(frozen=True, slots=True)
class Entries:
    """Coded vectors: ids int64 (n,), scales and biases float32 (n,), codes (n, dimension) of the precision's type."""

    ids: Int64
    scales: Float32
    biases: Float32
    codes: npt.NDArray[np.generic]

    def __len__(self) -> int:
        return len(self.ids)

    def take(self, rows: npt.NDArray[np.generic]) -> Entries:
        """Some of the rows: by number, or by a mask."""
        return Entries(self.ids[rows], self.scales[rows], self.biases[rows], self.codes[rows])

    def alive(self) -> Entries:
        """Those that were not deleted."""
        return self.take(self.ids != DELETED)

    def vectors(self) -> Float32:
        """The vectors, as near as the codes hold them: float32 (n, dimension)."""
        if self.codes.dtype != np.uint8:
            return self.codes.astype(np.float32)
        return (self.codes.astype(np.float32) - np.float32(128)) * self.scales[:, None]


def joined(parts: Sequence[Entries]) -> Entries:
    """Entries one after another."""
    return Entries(
        np.concatenate([part.ids for part in parts]),
        np.concatenate([part.scales for part in parts]),
        np.concatenate([part.biases for part in parts]),
        np.concatenate([part.codes for part in parts]),
    )


def encode(ids: Int64, vectors: Float32, metric: Metric, precision: Precision) -> Entries:
    """Bring vectors to codes.

    Parameters
    ----------
    ids:
        int64 (n,), 0 or more.
    vectors:
        float32 (n, dimension), finite; of unit length for cosine.
    metric:
        With ``"l2"`` the biases are minus half the squared lengths, else 0.
    precision:
        ``"int8"`` stores round(vector / scale) + 128 with scale = max |value| / 127 a vector; the others store
        the values.
    """
    biases = np.zeros(len(ids), dtype=np.float32)
    if metric == "l2":
        biases = -0.5 * np.einsum("ij,ij->i", vectors, vectors)
    scales = np.ones(len(ids), dtype=np.float32)
    if precision == "int8":
        most = np.abs(vectors).max(axis=1, initial=0)
        scales = (most / np.float32(127)).astype(np.float32)
        factor = np.divide(np.float32(127), most, out=np.zeros_like(most), where=most > 0)
        codes = (np.rint(vectors * factor[:, None]) + 128).astype(np.uint8)
        return Entries(ids, scales, biases.astype(np.float32), codes)
    kind = reference.CODE_TYPES[PRECISIONS.index(precision)]
    return Entries(ids, scales, biases.astype(np.float32), vectors.astype(kind))


def pack(entries: Entries) -> bytes:
    """Entries as the bytes of a row."""
    n, dimension = entries.codes.shape
    codes = np.ascontiguousarray(entries.codes).tobytes()
    kind = reference.CODE_TYPES.index(entries.codes.dtype)
    start = struct.pack("<4I", reference.BODY_MAGIC, kind, n, dimension)
    head = _head(entries)
    return start + struct.pack("<IIQ", kernel.checksum(head), kernel.checksum(codes), 0) + head + codes


def _head(entries: Entries) -> bytes:
    return (
        entries.ids.astype(_ID, copy=False).tobytes()
        + entries.scales.astype(_REAL, copy=False).tobytes()
        + entries.biases.astype(_REAL, copy=False).tobytes()
    )


def unpack(body: bytes) -> Entries:
    """The entries of a row, deleted ones with id -1.

    Raises
    ------
    DamagedBytes
        If the bytes are not what was written.
    """
    dimension = _dimension(body)
    if dimension > reference.MOST_DIMENSIONS:
        raise kernel.DamagedBytes(f"a cluster of {dimension} dimensions")
    kernel.scan([body], np.zeros(dimension, dtype=np.float32), kernel.Pool(0), 0)  # Holds its checksums.
    return _unpack(body)


def _dimension(body: bytes) -> int:
    return int(struct.unpack_from("<I", body, 12)[0]) if len(body) >= HEADER else 0


def _unpack(body: bytes) -> Entries:
    _, kind, n, dimension = struct.unpack_from("<4I", body)
    codes = np.frombuffer(body, reference.CODE_TYPES[kind], n * dimension, HEADER + 16 * n)
    return Entries(
        np.frombuffer(body, _ID, n, HEADER),
        np.frombuffer(body, _REAL, n, HEADER + 8 * n),
        np.frombuffer(body, _REAL, n, HEADER + 12 * n),
        codes.reshape(n, dimension),
    )


def body_size(n: int, dimension: int, precision: Precision) -> int:
    """Bytes of a row with n entries."""
    return HEADER + n * (16 + dimension * reference.CODE_TYPES[PRECISIONS.index(precision)].itemsize)


def head_size(start: bytes) -> int:
    """How many bytes of a row, from its beginning, hold all but the codes; ``start`` is its first 16 bytes or more."""
    (n,) = struct.unpack_from("<I", start, 8)
    return HEADER + 16 * int(n)


def strike(head: bytes, ids: Int64) -> bytes:
    """The head of a row with vectors marked as deleted.

    Parameters
    ----------
    head:
        The first :func:`head_size` bytes of the row.
    ids:
        int64, which to delete; those that are not there are passed over.
    """
    (n,) = struct.unpack_from("<I", head, 8)
    held = np.frombuffer(head, _ID, n, HEADER).copy()
    held[np.isin(held, ids)] = DELETED
    rest = held.tobytes() + head[HEADER + 8 * n :]
    return head[:16] + struct.pack("<I", kernel.checksum(rest)) + head[20:HEADER] + rest
