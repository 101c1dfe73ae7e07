"""The vector index: which chunks' vectors lie nearest to a query's.

For now every vector is compared (an exact scan), from a copy in memory that is read again when the file changes.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from monograph.models import Float32
from monograph.store import filters, settings, vectors
from monograph.store.database import Connection
from monograph.vectors import kernel


@dataclass(frozen=True, slots=True)
class _Copy:
    """All vectors at one generation of the file: rows int64 (n,), ascending; values float32 (n, dimension)."""

    generation: int
    rows: npt.NDArray[np.int64]
    values: Float32


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Chunks near a query: row numbers, and cosines in [-1, 1], highest first, ties by row number."""

    rows: tuple[int, ...]
    cosines: tuple[float, ...]


class ExactIndex:
    """Compares a query with every vector of the file. Safe for use by many threads."""

    def __init__(self, dimension: int) -> None:
        self.dimension = dimension
        self._copy: _Copy | None = None
        self._lock = threading.Lock()

    def search(
        self, connection: Connection, query: Float32, k: int, allowed: filters.Allowed = filters.EVERYTHING
    ) -> Neighbours:
        """The k nearest chunks that are allowed; fewer only where there are fewer.

        Parameters
        ----------
        connection:
            A read transaction.
        query:
            float32 of shape (dimension,), unit length.
        k:
            Most chunks to return.
        allowed:
            Which chunks may be found.
        """
        copy = self._current(connection)
        rows, values = copy.rows, copy.values
        if allowed != filters.EVERYTHING:
            chosen = np.isin(rows, filters.rows(connection, allowed), assume_unique=True)
            rows, values = rows[chosen], values[chosen]
        places, cosines = kernel.top_k(values, query, k)
        return Neighbours(tuple(rows[places].tolist()), tuple(cosines.tolist()))

    def cosines(self, connection: Connection, query: Float32, rows: npt.NDArray[np.int64]) -> Float32:
        """Cosine of the query with chunks by row number: float32 of shape (n,), -1 where a chunk has no vector."""
        copy = self._current(connection)
        result = np.full(len(rows), -1.0, dtype=np.float32)
        if len(copy.rows) and len(rows):
            places = np.minimum(np.searchsorted(copy.rows, rows), len(copy.rows) - 1)
            there = copy.rows[places] == rows
            result[there] = copy.values[places[there]] @ query
        return result

    def _current(self, connection: Connection) -> _Copy:
        generation = settings.generation(connection)
        with self._lock:
            if self._copy is None or self._copy.generation != generation:
                self._copy = _Copy(generation, *vectors.load_all(connection, self.dimension))
            return self._copy
