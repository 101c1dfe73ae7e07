"""Searches that compare every vector: of a small index, and of the few vectors that a filter allows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from monograph.store.file.database import Connection
from monograph.store.vectors import vectors as stored_vectors
from monograph.values import Float32
from monograph.vectors import kernel
from monograph.vectors.search import Bits, Int64, Neighbours, Query, compare_all, cosines, count_results

FILTERS = 8
"""Filters whose vectors are kept."""
SPARE = 6
"""Vectors that are ranked exactly beyond the k that are asked for; four times as many where those do not suffice."""
ROUNDING = np.float32(1e-5)
"""The kernel's products differ from exact scores by less than this."""


@dataclass(frozen=True, slots=True, eq=False)
class Vectors:
    """Vectors in memory, by ascending memo row.

    Parameters
    ----------
    version:
        Of the index that they are of.
    rows:
        int64 (n,): memo rows.
    values:
        float32 (n, dimension), as stored.
    units:
        The same of unit length.
    """

    version: int
    rows: Int64
    values: Float32
    units: Float32

    @classmethod
    def load(cls, connection: Connection, version: int, memos: list[int], dimension: int) -> Vectors:
        """Read the vectors of some memo rows; those that are zero are left out."""
        rows, values = stored_vectors.load(connection, memos, dimension)
        lengths = np.sqrt(np.vecdot(values, values))
        if not lengths.all():
            some = lengths > 0
            rows, values, lengths = rows[some], values[some], lengths[some]
        is_unit = bool((np.abs(lengths - 1) < ROUNDING / 4).all())
        units = values if is_unit else np.ascontiguousarray(values / lengths[:, None])
        return cls(version, rows, np.ascontiguousarray(values), np.ascontiguousarray(units))

    @property
    def memory(self) -> int:
        """Bytes held."""
        return self.values.nbytes + (0 if self.units is self.values else self.units.nbytes)

    def allowed(self, bits: Bits | None) -> Bits | None:
        """A mask, uint8 (n,), of the vectors whose memo rows a bitmap allows; None if all are."""
        if bits is None:
            return None
        inside = self.rows >> 3 < len(bits)
        mask = np.zeros(len(self.rows), dtype=np.uint8)
        rows = self.rows[inside]
        mask[inside] = bits[rows >> 3] >> (rows & 7).astype(np.uint8) & 1
        return mask


def search(held: Vectors, asked: Float32, query: Query) -> Neighbours:
    """Return the k nearest vectors of a small index, or more with the query's ``ties``.

    Parameters
    ----------
    asked:
        float32 (dimension,), of unit length.
    """
    mask = held.allowed(query.allowed)
    count = len(held.rows) if mask is None else int(mask.sum())
    kept = query.k + SPARE
    while True:
        places, near = kernel.top_k(held.units, asked, kept, mask)
        scores = cosines(held.values[places], asked)
        order = np.lexsort((held.rows[places], -scores))
        places, scores = places[order], scores[order]
        if len(places) < kept or not query.k or near[-1] < scores[query.k - 1] - ROUNDING:
            break
        kept *= 4
    wanted = count_results(query, scores)
    read = np.sort(places)
    return Neighbours(
        tuple(held.rows[places[:wanted]].tolist()),
        tuple(scores[:wanted].tolist()),
        0,
        count,
        "exact",
        (held.rows[read], held.values[read]),
    )


class AllowedVectors:
    """Vectors of the last filters that allow few. Safe for use by many threads.

    A filter's bitmap is the same one as long as the file has not changed.
    """

    def __init__(self) -> None:
        self._held: tuple[tuple[Bits, Vectors], ...] = ()

    def of(
        self, connection: Connection, allowed: Bits, version: int, dimension: int, memos: Callable[[], list[int]]
    ) -> Vectors:
        """Return the vectors that a filter allows; ``memos`` gives their rows where they are not known."""
        for bits, one in self._held:
            if bits is allowed and one.version == version and one.values.shape[1] == dimension:
                return one
        found = Vectors.load(connection, version, memos(), dimension)
        left = (pair for pair in self._held if pair[1].version == version)
        self._held = ((allowed, found), *left)[:FILTERS]
        return found


def search_members(connection: Connection, memos: list[int], asked: Float32, query: Query) -> Neighbours:
    """Return the k nearest of some memo rows, read for this search alone."""
    rows = np.array(memos, dtype=np.int64)
    if query.allowed is not None:
        bits = np.unpackbits(query.allowed, bitorder="little")
        rows = rows[rows < len(bits)]
        rows = rows[bits[rows] == 1]
    return compare_all(connection, rows.tolist(), asked, query)
