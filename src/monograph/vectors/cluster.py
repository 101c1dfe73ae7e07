"""A cluster as bytes: what one row of the file holds, and how vectors become codes.

Layout, little-endian: header of 32 bytes (magic ``MEC1``, kind of codes, n, dimension, checksum of the head, checksum
of the codes; 4 bytes each, then 8 of zero), the head (ids int64, scales float32, biases float32; n each), the codes
(n rows of the dimension). An id of -1 is a vector that was deleted. The score of a row is query · vector + bias: the
bias is 0, or for L2 minus half the squared length, so that higher is nearer in every metric.

Compact codes (:mod:`monograph.vectors.kernel.reference_codes`) are of the vectors' differences to a centre, the
cluster's own: in the place of the codes stand its scale (float32), 12 bytes of zero, its values (a byte each, brought
to a multiple of 16) and the codes in blocks of 32 vectors.
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
from monograph.vectors.kernel import reference, reference_codes

Int64: TypeAlias = npt.NDArray[np.int64]
Metric: TypeAlias = Literal["cosine", "inner_product", "l2"]
Precision: TypeAlias = Literal["int8", "float16", "float32", "bits1", "bits2"]

PRECISIONS: tuple[Precision, ...] = ("int8", "float16", "float32")
"""A code a value, in the order of their numbers in the header."""
COMPACT: tuple[Precision, ...] = ("bits1", "bits2")
"""One bit a value, and two: their numbers follow."""

DELETED = -1
HEADER = reference.BODY_HEADER
_FEW = 16
_START = 16
"""Bytes that say what a row holds: the same number of vectors, of one kind and dimension, begins alike."""
_ID = np.dtype("<i8")
_REAL = np.dtype("<f4")


@dataclass(frozen=True, slots=True, eq=False)
class Centre:
    """What compact codes lie about: uint8 (dimension,), which stand for (values - 128) * scale."""

    values: npt.NDArray[np.uint8]
    scale: float

    @classmethod
    def of(cls, centroid: Float32) -> Centre:
        """The centroid of a cluster, as near as bytes hold it."""
        return cls.many(centroid[None])[0]

    @classmethod
    def many(cls, centroids: Float32) -> list[Centre]:
        """The same, of several clusters: float32 (n, dimension)."""
        coded = encode(np.zeros(len(centroids), dtype=np.int64), centroids, "cosine", "int8")
        values = np.ascontiguousarray(coded.codes, dtype=np.uint8)
        return [cls(one, scale) for one, scale in zip(values, coded.scales.tolist(), strict=True)]

    def is_as(self, other: Centre | None) -> bool:
        """Whether codes about the one are codes about the other."""
        return other is not None and self.scale == other.scale and np.array_equal(self.values, other.values)


@dataclass(frozen=True, slots=True)
class Entries:
    """Coded vectors: ids int64 (n,), scales and biases float32 (n,), codes (n, dimension) of the precision's type.

    Compact codes are half bytes, one a byte, and lie about a ``centre``.
    """

    ids: Int64
    scales: Float32
    biases: Float32
    codes: npt.NDArray[np.generic]
    centre: Centre | None = None

    def __len__(self) -> int:
        return len(self.ids)

    def take(self, rows: npt.NDArray[np.generic] | slice) -> Entries:
        """Some of the rows: by number, by a mask, or from one to another."""
        return Entries(self.ids[rows], self.scales[rows], self.biases[rows], self.codes[rows], self.centre)

    def alive(self) -> Entries:
        """Those that were not deleted."""
        return self.take(self.ids != DELETED)

    def vectors(self) -> Float32:
        """The vectors, as near as the codes hold them: float32 (n, dimension)."""
        if self.centre is not None:
            return self._about(self.centre)
        if self.codes.dtype != np.uint8:
            return self.codes.astype(np.float32)
        return (self.codes.astype(np.float32) - np.float32(128)) * self.scales[:, None]

    def _about(self, centre: Centre) -> Float32:
        dimension = len(centre.values)
        planes = self.codes.shape[1] // reference_codes.groups_of(dimension)
        signs = reference_codes.decoded(self.codes.astype(np.uint8, copy=False), dimension, planes)
        off = reference_codes.turned_back(signs.astype(np.float32) * self.scales[:, None])
        return off + (centre.values.astype(np.float32) - np.float32(128)) * np.float32(centre.scale)


def joined(parts: Sequence[Entries]) -> Entries:
    """Entries of one cluster, one after another.

    Raises
    ------
    DamagedBytes
        If their codes lie about different centres.
    """
    centre = parts[0].centre
    if centre is not None and not all(centre.is_as(part.centre) for part in parts):
        raise kernel.DamagedBytes("parts of a cluster lie about different centres")
    return Entries(
        np.concatenate([part.ids for part in parts]),
        np.concatenate([part.scales for part in parts]),
        np.concatenate([part.biases for part in parts]),
        np.concatenate([part.codes for part in parts]),
        centre,
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
        One of :data:`PRECISIONS`. ``"int8"`` stores round(vector / scale) + 128 with scale = max |value| / 127 a
        vector; the others store the values.
    """
    biases = _biases(vectors, metric)
    scales = np.ones(len(ids), dtype=np.float32)
    if precision == "int8":
        most = np.abs(vectors).max(axis=1, initial=0)
        scales = (most / np.float32(127)).astype(np.float32)
        factor = np.divide(np.float32(127), most, out=np.zeros_like(most), where=most > 0)
        codes = (np.rint(vectors * factor[:, None]) + 128).astype(np.uint8)
        return Entries(ids, scales, biases, codes)
    kind = reference.CODE_TYPES[kind_of(precision)]
    return Entries(ids, scales, biases, vectors.astype(kind))


def encode_about(centre: Centre, ids: Int64, vectors: Float32, metric: Metric, precision: Precision) -> Entries:
    """As :func:`encode`, in one of the :data:`COMPACT` precisions, about the centre of the cluster they are for."""
    planes = COMPACT.index(precision) + 1
    codes, scales = kernel.encode(np.ascontiguousarray(vectors), centre.values, centre.scale, planes)
    return Entries(ids, scales, _biases(vectors, metric), codes, centre)


def _biases(vectors: Float32, metric: Metric) -> Float32:
    if metric != "l2":
        return np.zeros(len(vectors), dtype=np.float32)
    biases: Float32 = (-0.5 * np.einsum("ij,ij->i", vectors, vectors)).astype(np.float32)
    return biases


def kind_of(precision: Precision) -> int:
    """The number of a precision in the header."""
    return (PRECISIONS + COMPACT).index(precision)


def pack(entries: Entries) -> bytes:
    """Entries as the bytes of a row."""
    n, dimension = entries.codes.shape
    if entries.centre is None:
        codes = np.ascontiguousarray(entries.codes).tobytes()
        kind = reference.CODE_TYPES.index(entries.codes.dtype)
    else:
        dimension, width = len(entries.centre.values), dimension
        kind = reference.COMPACT + max(1, width // max(1, reference_codes.groups_of(dimension))) - 1
        centre = (entries.centre.scale, entries.centre.values)
        codes = reference.compact(entries.codes.astype(np.uint8, copy=False), centre)
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
    _verify([body])
    return _unpack(body)


def unpack_all(bodies: list[bytes]) -> Entries:
    """The entries of one or more rows, one after another: as :func:`joined` of each, and raises as :func:`unpack`."""
    _verify(bodies)
    start = bodies[0][:_START]
    kind, n, dimension = struct.unpack_from("<3I", start, 4)
    if kind >= reference.COMPACT or any(body[:_START] != start for body in bodies):
        return joined([_unpack(body) for body in bodies])
    codes = (reference.CODE_TYPES[kind], (n, dimension))
    parts = [("head", "V", HEADER), ("ids", _ID, n), ("scales", _REAL, n), ("biases", _REAL, n), ("codes", *codes)]
    held = np.frombuffer(b"".join(bodies), np.dtype(parts))
    return Entries(
        held["ids"].reshape(-1),
        held["scales"].reshape(-1),
        held["biases"].reshape(-1),
        held["codes"].reshape(-1, dimension),
    )


def _verify(bodies: list[bytes]) -> None:
    """Hold rows of one dimension against their checksums."""
    dimension = _dimension(bodies[0])
    if dimension > reference.MOST_DIMENSIONS:
        raise kernel.DamagedBytes(f"a cluster of {dimension} dimensions")
    kernel.scan(bodies, np.zeros(dimension, dtype=np.float32), kernel.Pool(0), 0)


def _dimension(body: bytes) -> int:
    return int(struct.unpack_from("<I", body, 12)[0]) if len(body) >= HEADER else 0


def _unpack(body: bytes) -> Entries:
    held = reference.parse(body, trusted=True)
    centre = None if held.centre is None else Centre(held.centre[1], held.centre[0])
    return Entries(held.ids, held.scales, held.biases, held.codes, centre)


def among(held: Int64, ids: Int64) -> npt.NDArray[np.bool_]:
    """Which of the ids of a cluster are among some, which are mostly few: ``numpy.isin`` takes longer to begin."""
    if len(ids) > _FEW:
        return np.isin(held, ids)
    found: npt.NDArray[np.bool_] = (held[:, None] == ids).any(axis=1)
    return found


def body_size(n: int, dimension: int, precision: Precision) -> int:
    """Bytes of a row with n entries."""
    return HEADER + 16 * n + reference.codes_size(kind_of(precision), n, dimension)


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
    held[among(held, ids)] = DELETED
    rest = held.tobytes() + head[HEADER + 8 * n :]
    return head[:16] + struct.pack("<I", kernel.checksum(rest)) + head[20:HEADER] + rest
