"""The kernel in numpy: the oracle of the compiled one, and its stand-in.

Like the compiled functions these raise TypeError for an array of the wrong type, rank or layout, ValueError for wrong
values, and RuntimeError, beginning with "damaged: ", for stored bytes that are not what was written.
"""

from __future__ import annotations

import struct
from bisect import insort
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from monograph.values import Float32
from monograph.vectors.kernel import reference_codes

Int64 = npt.NDArray[np.int64]
Bits = npt.NDArray[np.uint8]

BODY_MAGIC = 0x3143454D
BODY_HEADER = 32
CODE_TYPES = (np.dtype("u1"), np.dtype("<f2"), np.dtype("<f4"))
"""Of the kinds of code that hold a value each; kinds 3 and 4 are compact codes of one and two planes."""
COMPACT = len(CODE_TYPES)
CENTRE = 16
"""Bytes before the codes of a compact cluster's centre: its scale, then zero."""
MOST_DIMENSIONS = 65_536

_LANES = 64
_PRIME = 0x9E3779B1
_FOLD = 0x85EBCA77
_WORD = 0xFFFFFFFF


def top_k(vectors: Float32, query: Float32, k: int) -> tuple[Int64, Float32]:
    """See :func:`monograph.vectors.kernel.top_k`."""
    _require(vectors, 2)
    _require(query, 1)
    _require_whole(k)
    if k < 0:
        raise ValueError(f"k is {k}: give 0 or more")
    if vectors.shape[1] != query.shape[0]:
        raise ValueError(f"vectors have dimension {vectors.shape[1]}, the query has {query.shape[0]}")
    require_finite(query)
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


def checksum(data: bytes) -> int:
    """See :func:`monograph.vectors.kernel.checksum`."""
    if not isinstance(data, bytes):
        raise TypeError("checksum needs bytes")
    padded = data + bytes(4 * _LANES - len(data) % (4 * _LANES))
    blocks = np.frombuffer(padded, dtype="<u4").reshape(-1, _LANES)
    powers = np.full(len(blocks), _PRIME, dtype=np.uint32)
    powers[-1] = 1
    powers = np.cumprod(powers[::-1], dtype=np.uint32)[::-1]
    total = len(data) & _WORD
    for lane in (blocks * powers[:, None]).sum(axis=0, dtype=np.uint32).tolist():
        total = (total * _FOLD + lane) & _WORD
    return total


@dataclass(frozen=True, slots=True)
class Body:
    """A stored cluster, taken apart: see :mod:`monograph.vectors.cluster` for the layout.

    Of a compact one ``codes`` are half bytes, one a byte, and ``centre`` is (scale, a byte a value).
    """

    kind: int
    dimension: int
    ids: Int64
    scales: Float32
    biases: Float32
    codes: npt.NDArray[np.generic]
    centre: tuple[float, Bits] | None = None

    @property
    def planes(self) -> int:
        """Bits a dimension of a compact code."""
        return self.kind - COMPACT + 1


def parse(data: bytes, *, trusted: bool = False) -> Body:
    """Take a cluster's bytes apart, and hold them against their checksums unless they are trusted."""
    if not isinstance(data, bytes):
        raise TypeError("a cluster is bytes")
    if len(data) < BODY_HEADER:
        raise RuntimeError("damaged: not a cluster")
    magic, kind, n, dimension, head_sum, code_sum = struct.unpack_from("<6I", data)
    if magic != BODY_MAGIC:
        raise RuntimeError("damaged: not a cluster")
    if kind > COMPACT + 1 or dimension > MOST_DIMENSIONS:
        raise RuntimeError("damaged: unknown codes")
    head = BODY_HEADER + 16 * n
    if len(data) != head + codes_size(kind, n, dimension):
        raise RuntimeError("damaged: wrong length")
    if not trusted and (checksum(data[BODY_HEADER:head]) != head_sum or checksum(data[head:]) != code_sum):
        raise RuntimeError("damaged: its checksum does not match")
    codes, centre = _codes(data[head:], kind, n, dimension)
    return Body(
        kind,
        dimension,
        np.frombuffer(data, "<i8", n, BODY_HEADER),
        np.frombuffer(data, "<f4", n, BODY_HEADER + 8 * n),
        np.frombuffer(data, "<f4", n, BODY_HEADER + 12 * n),
        codes,
        centre,
    )


def codes_size(kind: int, n: int, dimension: int) -> int:
    """Bytes of the codes of n vectors."""
    if kind < COMPACT:
        return n * dimension * CODE_TYPES[kind].itemsize
    blocks = -(-n // reference_codes.BLOCK)
    width = (kind - COMPACT + 1) * reference_codes.groups_of(dimension)
    return CENTRE + _padded(dimension) + blocks * width * reference_codes.BLOCK // 2


def _padded(dimension: int) -> int:
    return (dimension + 15) // 16 * 16


def _codes(data: bytes, kind: int, n: int, dimension: int) -> tuple[npt.NDArray[np.generic], tuple[float, Bits] | None]:
    if kind < COMPACT:
        return np.frombuffer(data, CODE_TYPES[kind], n * dimension).reshape(n, dimension), None
    (scale,) = struct.unpack_from("<f", data)
    centre = np.frombuffer(data, "u1", dimension, CENTRE)
    width = (kind - COMPACT + 1) * reference_codes.groups_of(dimension)
    return reference_codes.rows_of(data[CENTRE + _padded(dimension) :], n, width), (scale, centre)


def compact(codes: Bits, centre: tuple[float, Bits]) -> bytes:
    """The codes of a compact cluster as they are stored: its centre, then blocks."""
    scale, values = centre
    start = struct.pack("<f", scale).ljust(CENTRE, b"\0") + values.tobytes().ljust(_padded(len(values)), b"\0")
    return start + reference_codes.blocks(codes)


@dataclass(frozen=True)
class Query:
    """A query in the form in which codes are multiplied: floats, or whole numbers with a scale."""

    floats: Float32
    codes: npt.NDArray[np.int32]
    scale: np.float32

    @classmethod
    def of(cls, query: Float32) -> Query:
        """Bring a query to whole numbers from -127 to 127."""
        most = np.float32(np.abs(query).max(initial=0))
        inverse = np.float32(127) / most if most > 0 else np.float32(0)
        return cls(query, np.rint(query * inverse).astype(np.int32), most / np.float32(127))

    @cached_property
    def turned(self) -> reference_codes.Turned:
        """As compact codes are compared with it."""
        return reference_codes.Turned.of(self.floats)

    @classmethod
    def row(cls, body: Body, row: int) -> Query:
        """A row of a body as a query."""
        if body.kind == 0:
            return cls(np.empty(0, np.float32), body.codes[row].astype(np.int32) - 128, body.scales[row])
        return cls(body.codes[row].astype(np.float32), np.empty(0, np.int32), np.float32(0))


def scores_of(body: Body, query: Query, rows: npt.NDArray[np.int64] | slice = slice(None)) -> Float32:
    """Inner product plus the row's bias, of some rows: higher is nearer."""
    if body.centre is not None:
        return _estimated(body, query, rows)
    if body.kind == 0:
        products = (body.codes[rows].astype(np.int32) - 128) @ query.codes
        scored = products.astype(np.float32) * (query.scale * body.scales[rows])
    else:
        scored = body.codes[rows].astype(np.float32) @ query.floats
    return (scored + body.biases[rows]).astype(np.float32)


def _estimated(body: Body, query: Query, rows: npt.NDArray[np.int64] | slice) -> Float32:
    scale, centre = body.centre or (0.0, np.empty(0, np.uint8))
    product = np.float32((centre.astype(np.int32) - 128) @ query.codes)
    base = product * (query.scale * np.float32(scale))
    values = reference_codes.decoded(np.asarray(body.codes[rows], dtype=np.uint8), body.dimension, body.planes)
    found = reference_codes.estimates(values, body.scales[rows], query.turned)
    scored: Float32 = (found + base) + body.biases[rows]
    return scored


class Pool:
    """The best found so far, in the caller's arrays, and which of them are fresh."""

    def __init__(self, scores: Float32, ids: Int64, filled: int) -> None:
        if len(scores) != len(ids):
            raise ValueError("scores and ids of a pool must be of one length")
        if filled < 0 or filled > len(ids):
            raise ValueError("a pool cannot hold more than its length")
        self._scores, self._ids, self._filled = scores, ids, filled
        self._fresh: set[int] = set()

    def offer(self, scores: Float32, ids: Int64) -> None:
        """Merge results in; one that comes twice is kept once, by its higher score."""
        if self._filled == len(self._ids) > 0:
            wanted = ~(scores < self._scores[-1])
            scores, ids = scores[wanted], ids[wanted]
        # One that is pushed out and comes back by its higher score is fresh: that hangs on the order.
        merge = self._merge if self._best().keys().isdisjoint(ids.tolist()) else self._merge_in_order
        merge(scores.tolist(), ids.tolist())

    def _merge(self, scores: list[float], ids: list[int]) -> None:
        best = self._best()
        for row, score in zip(ids, scores, strict=True):
            best[row] = max(score, best.get(row, score))
        self._keep(sorted((-score, row) for row, score in best.items())[: len(self._ids)])

    def _merge_in_order(self, scores: list[float], ids: list[int]) -> None:
        held = {row: -score for row, score in self._best().items()}
        ranked = sorted((score, row) for row, score in held.items())
        for row, score in zip(ids, scores, strict=True):
            before = held.get(row)
            if before is not None and -score >= before:
                continue
            if before is not None:
                ranked.remove((before, row))
            elif len(ranked) == len(self._ids) and ranked[-1] < (-score, row):
                continue
            else:
                if len(ranked) == len(self._ids):
                    del held[ranked.pop()[1]]
                self._fresh.add(row)
            insort(ranked, (-score, row))
            held[row] = -score
        self._keep(ranked)

    def _best(self) -> dict[int, float]:
        return dict(zip(self._ids[: self._filled].tolist(), self._scores[: self._filled].tolist(), strict=True))

    def _keep(self, ranked: list[tuple[float, int]]) -> None:
        before, kept = self._best().keys(), {row for _, row in ranked}
        self._filled = len(ranked)
        self._ids[: self._filled] = [row for _, row in ranked]
        self._scores[: self._filled] = [-score for score, _ in ranked]
        self._fresh &= kept
        self._fresh |= kept - before

    def report(self, k: int, compared: int) -> tuple[int, tuple[int, ...], int]:
        """(how full, ranks below k at which something is new, vectors compared)."""
        seen = self._ids[: min(self._filled, max(k, 0))].tolist()
        return self._filled, tuple(rank for rank, row in enumerate(seen) if row in self._fresh), compared


def allowed_among(ids: Int64, allowed: Bits | None) -> npt.NDArray[np.bool_]:
    """Which ids are alive, and allowed by a bitmap (bit i of byte j for id 8j + i)."""
    alive = ids >= 0
    if allowed is None:
        return alive
    within = alive & (ids < 8 * len(allowed))
    place = np.where(within, ids, 0)
    if not len(allowed):
        return within
    chosen: npt.NDArray[np.bool_] = ((allowed[place // 8] >> (place % 8).astype(np.uint8)) & 1).astype(np.bool_)
    return within & chosen


def offer(pool: Pool, body: Body, asked: Query, allowed: Bits | None) -> None:
    """Compare a query with all of a body, and merge what may be found into a pool."""
    scored = scores_of(body, asked)
    chosen = allowed_among(body.ids, allowed)
    if body.centre is not None:
        chosen &= ~np.isnan(scored)  # No comparison with it is true.
    pool.offer(scored[chosen], body.ids[chosen])


def scan(  # noqa: PLR0913, PLR0917 - the compiled twin has them
    bodies: Sequence[bytes],
    query: Float32,
    scores: Float32,
    ids: Int64,
    filled: int,
    k: int,
    allowed: Bits | None,
    trusted: bool,
) -> tuple[int, tuple[int, ...], int]:
    """See :func:`monograph.vectors.kernel.scan`."""
    pool = require_search(query, scores, ids, filled, k, allowed)
    if not isinstance(bodies, list) or not all(isinstance(body, bytes) for body in bodies):
        raise TypeError("bodies must be a list of bytes")
    asked = Query.of(query)
    compared = 0
    for data in bodies:
        body = parse(data, trusted=trusted)
        require_dimension(body, query)
        offer(pool, body, asked, allowed)
        compared += len(body.ids)
    return pool.report(k, compared)


def require_search(query: Float32, scores: Float32, ids: Int64, filled: int, k: int, allowed: Bits | None) -> Pool:
    """What a search is given, checked; its pool."""
    _require(query, 1)
    _require(scores, 1)
    _require(ids, 1, np.int64)
    if allowed is not None:
        _require(allowed, 1, np.uint8)
    _require_whole(filled)
    _require_whole(k)
    require_finite(query)
    return Pool(scores, ids, filled)


def require_dimension(body: Body, query: Float32) -> None:
    """A query must be as long as the vectors."""
    if body.dimension != len(query):
        raise ValueError(f"vectors have dimension {body.dimension}, the query has {len(query)}")


def require_finite(query: Float32) -> None:
    """A query must be of numbers."""
    if not np.isfinite(query).all():
        raise ValueError("the query is not finite")


def _require_whole(number: object) -> None:
    if not isinstance(number, int | np.integer):
        raise TypeError("expected a whole number")


def _require(array: object, rank: int, kind: npt.DTypeLike = np.float32) -> None:
    if not isinstance(array, np.ndarray) or array.dtype != kind or array.ndim != rank or not array.flags.c_contiguous:
        raise TypeError(f"expected a C-contiguous {np.dtype(kind).name} array of rank {rank}")
