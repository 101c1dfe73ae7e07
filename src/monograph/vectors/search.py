"""Options and results of a search by vector, and the exact search, which compares the query with every vector."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from monograph.errors import InputError
from monograph.store.vectors import vectors as stored_vectors
from monograph.values import Float32, arguments
from monograph.vectors import kernel

if TYPE_CHECKING:
    from monograph.store.file.database import Connection
    from monograph.vectors.stop import RankedRecall, StopCondition

Int64: TypeAlias = npt.NDArray[np.int64]
Bits: TypeAlias = npt.NDArray[np.uint8]
Read: TypeAlias = tuple[Int64, Float32]

COMPARED_AT_ONCE = 8_192
"""Number of vectors that an exact comparison loads in one batch."""
MORE = 8
"""Fixed part of the number of additional results that a search of 2-bit codes keeps: see :meth:`VectorQuery.room`."""
SPARE = 6
"""An exact search ranks k + SPARE candidates by their cosines.

While the best k are not certain, the number of candidates is multiplied by 4."""
ROUNDING = np.float32(1e-5)
"""Upper bound of the difference between an inner product that the compiled kernel computes and the exact cosine."""


@dataclass(frozen=True, slots=True)
class VectorQuery:
    """Options of a search for the ``k`` nearest vectors. Raises InputError if k is negative."""

    k: int
    allowed: Bits | None = None
    """Bitmap of the memo rows that may be found (bit i of byte j stands for row 8j + i); None allows all rows."""
    stop: StopCondition | RankedRecall | None = None
    """The stop condition, or the ranked recall that a calibrated condition must reach.

    None uses a calibrated condition that reaches the index's target recall: see
    :meth:`monograph.vectors.stop.Calibration.point`.
    """
    window_factor: float = 1.0
    """Factor by which the window of the calibrated stop condition is multiplied. It is above 1 for queries that are
    unlike the vectors in the index."""
    rerank: bool = True
    """Whether the best results are ranked by their stored vectors. If not, they are ranked by their codes."""
    ties: bool = False
    """Whether all results that tie with the k-th are returned, so that the caller can choose among them.

    If every cluster is searched, the result then depends only on the vectors, not on row numbers.
    """

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", arguments.whole_number(self.k, "k", 0))

    def room(self, width: int) -> int:
        """Return the number of results that a search keeps until it ends.

        With a ``width`` of 0, this is :attr:`pool`. For 2-bit codes, ``width`` is above 0, and the number is
        :attr:`pool` + ``width`` * k + MORE. More results are kept because 2-bit codes rank inexactly.
        """
        return self.pool + width * self.k + MORE if width else self.pool

    @property
    def pool(self) -> int:
        """Number of results that take part in the final ranking.

        This is k. With ``rerank``, it is k plus a quarter of k, and at least k + 3. With ``ties``, it is one more.
        """
        size = self.k + max(3, self.k // 4) if self.rerank else self.k
        return size + 1 if self.ties else size  # One more shows whether the last result ties with dropped ones.

    def best(self, rows: Int64, scores: Float32) -> tuple[tuple[int, ...], tuple[float, ...]]:
        """Return (memo rows, scores) of the k best results.

        ``rows`` and ``scores`` describe all results, highest score first. With ``ties``, further results that have the
        same score as the k-th result are returned, too.
        """
        count = self.k
        if self.ties and 0 < count < len(scores):
            count = int((scores >= scores[count - 1]).sum())
        return tuple(rows[:count].tolist()), tuple(scores[:count].tolist())

    def count_allowed(self) -> int | None:
        """Return the number of memo rows that may be found; None if all may be found."""
        return None if self.allowed is None else int(np.bitwise_count(self.allowed).sum())


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The vectors nearest to a query: their memo rows (``items``) and their cosines (``scores``), nearest first.

    Vectors with equal cosines are in order of row. The score of a vector is bit-identical in every search for the same
    query.
    """

    items: tuple[int, ...] = ()
    scores: tuple[float, ...] = ()
    loads: int = 0
    """Number of clusters that were searched."""
    compared: int = 0
    """Number of comparisons of the query with a code or a vector."""
    stopped: str = "all"
    """Why the search ended.

    ``"enough"``: the stop condition ended it. ``"short"``: the stop condition ended it, but no measured condition
    reaches the target recall. ``"all"``: every cluster was searched. ``"exact"``: every allowed vector was compared.
    """
    read: Read | None = field(default=None, compare=False, repr=False)
    """Vectors that were loaded for the exact comparison: (memo rows (n,), vectors as stored (n, dimension)).

    The vectors of all ``items`` are among these vectors. None if the vectors were loaded in several batches, or if no
    vectors were loaded.
    """


def prepare(vector: Float32, dimension: int) -> Float32:
    """Return a vector scaled to unit length: float32 (dimension,).

    Raises InputError if the vector has another dimension, is zero or is not finite.
    """
    values = np.ascontiguousarray(vector, dtype=np.float32)
    square = float(values @ values) if values.shape == (dimension,) else math.nan
    if not square or not math.isfinite(square):
        prepared: Float32 = prepare_many(values[None], dimension)[0]  # Raises the error that names the reason.
        return prepared
    unit: Float32 = values / np.float32(math.sqrt(square))
    return unit


def prepare_many(vectors: npt.ArrayLike, dimension: int) -> Float32:
    """Return vectors scaled to unit length: float32 (n, dimension), C-contiguous.

    Raises InputError if the vectors have another dimension, or if one of them is zero or not finite.
    """
    values = np.ascontiguousarray(vectors, dtype=np.float32)
    if values.ndim != 2 or values.shape[1] != dimension:
        raise InputError(
            f"vectors of shape {values.shape} for an index of dimension {dimension}", "embed with the same model"
        )
    # A cheap first test without another array: if a value is not finite, neither is the sum.
    if not np.isfinite(values.sum()) and not np.isfinite(values).all():
        row = int(np.flatnonzero(~np.isfinite(values).all(axis=1))[0])
        raise InputError(f"vector {row} contains a value that is not finite", "check the embedder that made it")
    lengths: Float32 = np.sqrt(np.vecdot(values, values))
    if not lengths.all():
        raise InputError(f"vector {int(np.flatnonzero(lengths == 0)[0])} is zero, so it has no cosine", "leave it out")
    unit: Float32 = values / lengths[:, None]
    return unit


def cosines(vectors: Float32, prepared: Float32) -> Float32:
    """Return the cosines of stored vectors (n, dimension) to a prepared vector of unit length: float32 (n,).

    The cosine of a vector is bit-identical wherever the vector is in the array. A matrix product does not guarantee
    this: the order of equal vectors would then depend on their rows.
    """
    result: Float32 = np.divide(np.vecdot(vectors, prepared), np.sqrt(np.vecdot(vectors, vectors)))
    return result


def is_allowed(bits: Bits, rows: Int64) -> Bits:
    """Return for each memo row whether a bitmap allows it: a mask, uint8 (n,)."""
    inside = rows >> 3 < len(bits)
    mask = np.zeros(len(rows), dtype=np.uint8)
    covered_rows = rows[inside]
    mask[inside] = bits[covered_rows >> 3] >> (covered_rows & 7).astype(np.uint8) & 1
    return mask


def compare(connection: Connection, memos: Sequence[int], prepared: Float32) -> tuple[Int64, Float32, Read | None]:
    """Load vectors by memo row, and compare them exactly with a prepared vector: return (memo rows, cosines, read).

    The highest cosine comes first; equal cosines are in order of row. ``read`` is (memo rows, vectors) as loaded; None
    if they were loaded in several batches.
    """
    batches, read = [], None
    for first in range(0, max(1, len(memos)), COMPARED_AT_ONCE):
        read = stored_vectors.load(connection, memos[first : first + COMPARED_AT_ONCE], len(prepared))
        batches.append((read[0], cosines(read[1], prepared)))
    rows, scores = batches[0] if len(batches) == 1 else (np.concatenate(parts) for parts in zip(*batches, strict=True))
    order = np.lexsort((rows, -scores))
    return rows[order], scores[order], read if len(batches) == 1 else None


def compare_all(
    connection: Connection, memos: Sequence[int], prepared: Float32, query: VectorQuery, loads: int = 0
) -> Neighbours:
    """Compare the vectors of all given memo rows exactly with a prepared vector, and return the k nearest.

    ``loads`` is the number of clusters that the caller searched before this comparison. The result includes it.
    """
    rows, scores, read = compare(connection, memos, prepared)
    return Neighbours(*query.best(rows, scores), loads, len(memos), "exact", read)


@dataclass(frozen=True, slots=True, eq=False)
class MemoVectors:
    """Vectors in memory, in ascending order of memo row.

    ``values`` are the vectors as stored, ``units`` the vectors scaled to unit length; both are (n, dimension).
    ``version`` is the version of the index from which they were loaded.
    """

    version: int
    rows: Int64
    values: Float32
    units: Float32

    @classmethod
    def load(cls, connection: Connection, version: int, memos: Sequence[int], dimension: int) -> MemoVectors:
        """Load the vectors of the given memo rows. Zero vectors are left out."""
        rows, values = stored_vectors.load(connection, memos, dimension)
        lengths = np.sqrt(np.vecdot(values, values))
        if not lengths.all():
            nonzero = lengths > 0
            rows, values, lengths = rows[nonzero], values[nonzero], lengths[nonzero]
        is_unit = bool((np.abs(lengths - 1) < ROUNDING / 4).all())
        units = values if is_unit else np.ascontiguousarray(values / lengths[:, None])
        return cls(version, rows, np.ascontiguousarray(values), np.ascontiguousarray(units))

    @property
    def memory(self) -> int:
        """Bytes of the vectors in memory."""
        return self.values.nbytes + (0 if self.units is self.values else self.units.nbytes)

    def search(self, prepared: Float32, query: VectorQuery) -> Neighbours:
        """Return the k allowed vectors that are nearest to a prepared vector, which :func:`prepare` returns."""
        mask = None if query.allowed is None else is_allowed(query.allowed, self.rows)
        count = len(self.rows) if mask is None else int(mask.sum())
        candidate_count = query.k + SPARE
        while True:
            indexes, products = kernel.top_k(self.units, prepared, candidate_count, mask)
            scores = cosines(self.values[indexes], prepared)
            order = np.lexsort((self.rows[indexes], -scores))
            indexes, scores = indexes[order], scores[order]
            if len(indexes) < candidate_count or not query.k or products[-1] < scores[query.k - 1] - ROUNDING:
                break
            candidate_count *= 4
        ordered = np.sort(indexes)
        read = self.rows[ordered], self.values[ordered]
        return Neighbours(*query.best(self.rows[indexes], scores), 0, count, "exact", read)
