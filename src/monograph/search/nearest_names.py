"""Names found by what they mean: a vector held against the signs of every name's embedding.

A sign keeps one bit of each value. The cosine of a vector to the signs, times sqrt(pi / 2), estimates its cosine to the
embedding itself, as though the embedding's values were normally distributed: of 256 values, within about 0.05.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import pi, sqrt

import numpy as np
import numpy.typing as npt

from monograph.models import Embedder
from monograph.search.known_names import NamesOfFile
from monograph.store import names, settings
from monograph.store.database import Connection
from monograph.store.vectors import Int64
from monograph.values import Float32
from monograph.vectors.kernel import nearest_signs

_BYTES = np.arange(256, dtype=np.uint8)[:, None]
_SIGNS_OF_BYTE = np.unpackbits(_BYTES, axis=1).astype(np.float32) * 2 - 1


@dataclass(frozen=True, slots=True)
class Near:
    """A name by its row, and the estimated cosine of its embedding, in [-1, 1]."""

    name: int
    cosine: float


@dataclass(frozen=True, slots=True, eq=False)
class _Codes:
    """The names of one state of a file in order of key: rows (n,), signs (n, bytes) as bits."""

    generation: int
    rows: Int64
    signs: npt.NDArray[np.uint8]


class NearestNames:
    """Finds names near to texts. Safe for use by many threads.

    The codes of all names, 32 bytes each with 256 dimensions, stay in memory from search to search, until the file
    changes.

    Parameters
    ----------
    embedder:
        The file's.
    """

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder
        self.names = NamesOfFile()
        self._held = _Codes(-1, np.empty(0, dtype=np.int64), np.empty((0, -(-embedder.dimension // 8)), dtype=np.uint8))

    def to(self, connection: Connection, texts: Sequence[str], k: int) -> list[list[Near]]:
        """The living names nearest to each of some texts, as :meth:`to_vectors` says."""
        return self.to_vectors(connection, self.embedder.embed(texts, "document"), k)

    def to_vectors(self, connection: Connection, vectors: Float32, k: int) -> list[list[Near]]:
        """The living names nearest to each of some vectors.

        Parameters
        ----------
        connection:
            A read transaction.
        vectors:
            float32 (n, dimension), of the file's embedder. One without a direction is near nothing.
        k:
            Most names for each vector.

        Returns
        -------
        One list a vector, nearest first, ties by key. Names that are not embedded, or whose every word the embedder
        does not know, are near nothing.
        """
        lengths = np.linalg.norm(vectors, axis=1)
        asked = np.flatnonzero(lengths > 0)
        best: list[list[Near]] = [[] for _ in vectors]
        if k <= 0 or not len(asked):
            return best
        table = _table(vectors[asked] / lengths[asked, None])
        codes = self._codes(connection)
        found, scores = nearest_signs(table, codes.signs, k)
        cosines = np.clip(scores * sqrt(pi / 2), -1.0, 1.0)
        for place, rows, values in zip(asked.tolist(), codes.rows[found].tolist(), cosines.tolist(), strict=True):
            best[place] = [Near(row, cosine) for row, cosine in zip(rows, values, strict=True)]
        return best

    def _codes(self, connection: Connection) -> _Codes:
        """The codes of the names of this state of the file that have any bit set."""
        generation = settings.generation(connection)
        held = self._held
        if held.generation != generation:
            size = held.signs.shape[1]
            fitting = [pair for pair in names.codes(connection) if len(pair[1]) == size]
            rows = np.array([row for row, _ in fitting], dtype=np.int64)
            signs = np.frombuffer(b"".join([code for _, code in fitting]), dtype=np.uint8).reshape(len(rows), size)
            alive = signs.any(axis=1)
            self._held = held = _Codes(generation, rows[alive], signs[alive])
        return held


def _table(units: Float32) -> Float32:
    """What every byte of a code adds to the cosine, float32 (n, bytes, 256)."""
    dimension = units.shape[1]
    size = -(-dimension // 8)
    padded = np.zeros((len(units), size * 8), dtype=np.float32)
    padded[:, :dimension] = units / sqrt(dimension)
    table: Float32 = padded.reshape(len(units), size, 8) @ _SIGNS_OF_BYTE.T
    return table
