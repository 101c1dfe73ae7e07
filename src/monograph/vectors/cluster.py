"""Clusters as bytes: the layout of a row in the file, and vectors as 2-bit codes.

Layout of n vectors, little-endian: a header of 32 bytes (magic ``MEC1``, kind of codes, n, dimension, checksum of the
head, checksum of the codes; 4 bytes each, then 8 zero bytes), the head (n ids, int64, then n scales, float32), and the
codes. The id of a deleted vector is -1. The score of a vector is its inner product with the query.

There are two kinds of codes:

- Kind 0: 8-bit codes, one byte for each value of a vector: uint8 (n, dimension).
- Kind 1: 2-bit codes of the difference between each vector and the centre of the cluster. The scale of the centre
  (float32) and 12 zero bytes come first. Then come the values of the centre (one byte each, padded to a multiple of
  16), and the codes in blocks of 32 vectors.

To encode a difference with 2 bits per value, one fixed rotation is applied first, so that no value matters more than
others. Then each value is rounded to -3, -1, 1 or 3. Each vector has a scale. The scale times the inner product of
query and code is an unbiased estimate of the inner product of query and difference. This is RaBitQ (Gao and Long 2024)
in its extension to more bits.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from monograph.values import Float32
from monograph.vectors import kernel

Int64: TypeAlias = npt.NDArray[np.int64]
Bytes: TypeAlias = npt.NDArray[np.uint8]

BYTES, TWO_BITS = 0, 1
"""The kinds of codes: 8 bits for each value of a vector (BYTES), or 2 bits (TWO_BITS)."""
DELETED = -1
MOST_DIMENSIONS = 65_536
"""Largest dimension of the vectors in clusters."""
HEADER = 32
_MAGIC = 0x3143454D
_HEAD = 12
"""Bytes that each entry takes in the head of a row: its id and its scale."""
_CENTRE = 16
"""Bytes in front of the values of a centre: its scale, then zero bytes."""
_BLOCK = 32
_FEW = 16
_START = 16
"""Number of bytes at the start of a row (magic, kind, n, dimension) that determine the offsets in it."""
_ID = np.dtype("<i8")
_REAL = np.dtype("<f4")


@dataclass(frozen=True, slots=True, eq=False)
class Centre:
    """The centre of a cluster of 2-bit codes: the vector (values - 128) * scale. ``values`` are uint8 (dimension,)."""

    values: Bytes
    scale: float

    @classmethod
    def many(cls, centroids: Float32) -> list[Centre]:
        """Return the centres of several clusters: their centroids, float32 (n, dimension), rounded."""
        coded = encode(np.zeros(len(centroids), dtype=np.int64), centroids)
        return [cls(values, scale) for values, scale in zip(coded.codes, coded.scales.tolist(), strict=True)]


@dataclass(frozen=True, slots=True)
class Entries:
    """Coded vectors: ids int64 (n,), scales float32 (n,), codes uint8 (n, dimension).

    Entries with 2-bit codes have a ``centre``, and their codes are uint8 (n, width), as
    :func:`monograph.vectors.kernel.encode` returns them. Only the low four bits of a byte are used. The bytes i and
    i + width / 2 have the codes of four values: each byte has one bit of each value.
    """

    ids: Int64
    scales: Float32
    codes: Bytes
    centre: Centre | None = None

    def __len__(self) -> int:
        return len(self.ids)

    def take(self, rows: npt.NDArray[np.generic] | slice) -> Entries:
        """Return the selected entries. ``rows`` is an array of indexes, a mask or a slice."""
        return Entries(self.ids[rows], self.scales[rows], self.codes[rows], self.centre)

    def alive(self) -> Entries:
        """Return the entries that are not deleted."""
        return self.take(self.ids != DELETED)

    def vectors(self) -> Float32:
        """Return the vectors, decoded from 8-bit codes: float32 (n, dimension)."""
        return (self.codes.astype(np.float32) - np.float32(128)) * self.scales[:, None]


def join_entries(parts: Sequence[Entries]) -> Entries:
    """Return the entries of several parts of one cluster, joined in order.

    Raises DamagedBytes if the parts have 2-bit codes with different centres.
    """
    if len(parts) == 1:
        return parts[0]
    centre = parts[0].centre
    if centre is not None:
        for other in (part.centre for part in parts):
            if other is None or other.scale != centre.scale or not np.array_equal(other.values, centre.values):
                raise kernel.DamagedBytes("parts of a cluster have different centres")
    return Entries(
        np.concatenate([part.ids for part in parts]),
        np.concatenate([part.scales for part in parts]),
        np.concatenate([part.codes for part in parts]),
        centre,
    )


def encode(ids: Int64, vectors: Float32) -> Entries:
    """Encode vectors as 8-bit codes.

    ``vectors`` are finite float32 (n, dimension), ``ids`` int64 (n,), not negative. The code of a vector is
    round(vector / scale) + 128, with scale = max |value| / 127.
    """
    largest = np.abs(vectors).max(axis=1, initial=0)
    scales = (largest / np.float32(127)).astype(np.float32)
    factor = np.divide(np.float32(127), largest, out=np.zeros_like(largest), where=largest > 0)
    codes = (np.rint(vectors * factor[:, None]) + 128).astype(np.uint8)
    return Entries(ids, scales, codes)


def encode_about(centre: Centre, ids: Int64, vectors: Float32) -> Entries:
    """Encode vectors as 2-bit codes of their differences to the centre.

    ``ids`` and ``vectors`` are as in :func:`encode`.
    """
    codes, scales = kernel.encode(np.ascontiguousarray(vectors), centre.values, centre.scale)
    return Entries(ids, scales, codes, centre)


def pack(entries: Entries) -> bytes:
    """Return entries as the bytes of a row, in the layout of the module's docstring."""
    n, dimension = entries.codes.shape
    kind, codes = BYTES, np.ascontiguousarray(entries.codes).tobytes()
    if entries.centre is not None:
        dimension = len(entries.centre.values)
        values = entries.centre.values.tobytes().ljust(_pad_dimension(dimension), b"\0")
        scale = struct.pack("<f", entries.centre.scale).ljust(_CENTRE, b"\0")
        count, width = -(-n // _BLOCK), entries.codes.shape[1]
        rows = np.zeros((count * _BLOCK, width), dtype=np.uint8)
        rows[:n] = entries.codes
        # Byte v of a column of a block has the half bytes of the vectors v (low half) and v + 16 (high half).
        low, high = np.split(rows.reshape(count, _BLOCK, width).transpose(0, 2, 1), 2, axis=2)
        kind, codes = TWO_BITS, scale + values + np.ascontiguousarray(low | high << 4).tobytes()
    start = struct.pack("<4I", _MAGIC, kind, n, dimension)
    head = entries.ids.astype(_ID, copy=False).tobytes() + entries.scales.astype(_REAL, copy=False).tobytes()
    return start + struct.pack("<IIQ", kernel.checksum(head), kernel.checksum(codes), 0) + head + codes


def unpack(*bodies: bytes) -> Entries:
    """Return the entries of one or more rows of the same cluster, joined in order. Deleted entries have id -1.

    Raises DamagedBytes if a checksum or the layout of a row is wrong, or if the rows have different dimensions or
    different centres.
    """
    (dimension,) = struct.unpack_from("<I", bodies[0], 12) if len(bodies[0]) >= HEADER else (0,)
    if dimension > MOST_DIMENSIONS:
        raise kernel.DamagedBytes(f"a cluster has vectors of {dimension} dimensions, which is above the limit")
    # A scan without room for results verifies lengths, dimensions and checksums.
    kernel.scan(list(bodies), np.zeros(dimension, dtype=np.float32), kernel.Pool(0), 0)
    start = bodies[0][:_START]
    kind, n, dimension = struct.unpack_from("<3I", start, 4)
    if len(bodies) == 1 or kind != BYTES or any(body[:_START] != start for body in bodies):
        return join_entries([_unpack(body) for body in bodies])
    parts = [("head", "V", HEADER), ("ids", _ID, n), ("scales", _REAL, n), ("codes", "u1", (n, dimension))]
    rows = np.frombuffer(b"".join(bodies), np.dtype(parts))
    return Entries(rows["ids"].reshape(-1), rows["scales"].reshape(-1), rows["codes"].reshape(-1, dimension))


def _unpack(body: bytes) -> Entries:
    """Return the entries of a row, whose length and checksums were verified before."""
    kind, n, dimension = struct.unpack_from("<3I", body, 4)
    ids, scales = np.frombuffer(body, _ID, n, HEADER), np.frombuffer(body, _REAL, n, HEADER + 8 * n)
    codes = body[HEADER + _HEAD * n :]
    if kind == BYTES:
        return Entries(ids, scales, np.frombuffer(codes, np.uint8, n * dimension).reshape(n, dimension))
    (scale,) = struct.unpack_from("<f", codes)
    centre = Centre(np.frombuffer(codes, np.uint8, dimension, _CENTRE), scale)
    width = _pad_dimension(dimension) // 2  # Two half bytes for each four values.
    blocks = np.frombuffer(codes[_CENTRE + 2 * width :], dtype=np.uint8).reshape(-(-n // _BLOCK), width, _BLOCK // 2)
    half_bytes = np.concatenate([blocks & 15, blocks >> 4], axis=2).transpose(0, 2, 1)
    return Entries(ids, scales, np.ascontiguousarray(half_bytes.reshape(len(blocks) * _BLOCK, width)[:n]), centre)


def _pad_dimension(dimension: int) -> int:
    return (dimension + 15) // 16 * 16


def among(stored: Int64, ids: Int64) -> npt.NDArray[np.bool_]:
    """Return a mask of ``stored``: which stored ids are among ``ids``.

    Faster than numpy.isin if ``ids`` are few.
    """
    if len(ids) > _FEW:
        return np.isin(stored, ids)
    mask: npt.NDArray[np.bool_] = (stored[:, None] == ids).any(axis=1)
    return mask


class RowStream(Protocol):
    """A stored row, read and changed in place: an incremental blob of SQLite, or a file."""

    def read(self, length: int, /) -> bytes:
        """Return the next bytes, at most ``length`` of them."""
        ...

    def write(self, data: bytes, /) -> object:
        """Write bytes at the current place."""
        ...

    def seek(self, offset: int, /) -> object:
        """Go to a place, in bytes from the beginning."""
        ...


def mark_deleted(body: RowStream, ids: Int64) -> None:
    """Mark entries of a row as deleted, in place. Only the head of the row is read and written, not the codes.

    ``ids`` has the ids of the entries to delete, int64 (m,). Ids that are not in the row are ignored.
    """
    header = body.read(HEADER)
    (n,) = struct.unpack_from("<I", header, 8)
    head = body.read(_HEAD * n)
    stored_ids = np.frombuffer(head, _ID, n).copy()
    stored_ids[among(stored_ids, ids)] = DELETED
    head = stored_ids.tobytes() + head[8 * n :]
    body.seek(0)
    body.write(header[:16] + struct.pack("<I", kernel.checksum(head)) + header[20:] + head)
