"""Names found by what they mean: a vector held against the signs of every name's embedding.

A sign keeps one bit of each value. The cosine of a vector to the signs, times sqrt(pi / 2), estimates its cosine to the
embedding itself, as though the embedding's values were normally distributed: of 256 values, within about 0.05.
"""

from __future__ import annotations

from math import pi, sqrt

import numpy as np
import numpy.typing as npt

from monograph.search.reader import NearName
from monograph.store.file.database import Connection
from monograph.store.graph import names
from monograph.store.vectors.vectors import Int64
from monograph.values import Float32
from monograph.vectors.kernel import nearest_signs

_BYTES = np.arange(256, dtype=np.uint8)[:, None]
_SIGNS_OF_BYTE = np.unpackbits(_BYTES, axis=1).astype(np.float32) * 2 - 1


class NameCodes:
    """The signs of all names in one state of a file, 32 bytes each with 256 dimensions; read when first wanted."""

    def __init__(self) -> None:
        self._held: dict[int, tuple[Int64, npt.NDArray[np.uint8]]] = {}

    def nearest(self, connection: Connection, vectors: Float32, k: int) -> list[list[NearName]]:
        """Return the names nearest to each vector: see :meth:`monograph.search.reader.Reader.names_like`."""
        lengths = np.linalg.norm(vectors, axis=1)
        asked = np.flatnonzero(lengths > 0)
        best: list[list[NearName]] = [[] for _ in vectors]
        if k <= 0 or not len(asked):
            return best
        table = _table(vectors[asked] / lengths[asked, None])
        every, signs = self._of(connection, table.shape[1])
        found, scores = nearest_signs(table, signs, k)
        cosines = np.clip(scores * sqrt(pi / 2), -1.0, 1.0)
        for place, rows, values in zip(asked.tolist(), every[found].tolist(), cosines.tolist(), strict=True):
            best[place] = [NearName(row, cosine) for row, cosine in zip(rows, values, strict=True)]
        return best

    def _of(self, connection: Connection, size: int) -> tuple[Int64, npt.NDArray[np.uint8]]:
        """(rows (n,), signs (n, size) as bits) of the names that have any bit set, in order of key."""
        held = self._held.get(size)
        if held is None:
            fitting = [pair for pair in names.codes(connection) if len(pair[1]) == size]
            rows = np.array([row for row, _ in fitting], dtype=np.int64)
            signs = np.frombuffer(b"".join([code for _, code in fitting]), dtype=np.uint8).reshape(len(rows), size)
            alive = signs.any(axis=1)
            self._held[size] = held = rows[alive], signs[alive]
        return held


def _table(units: Float32) -> Float32:
    """Return what each value of each byte of a code adds to the cosine, float32 (n, bytes, 256)."""
    dimension = units.shape[1]
    size = -(-dimension // 8)
    padded = np.zeros((len(units), size * 8), dtype=np.float32)
    padded[:, :dimension] = units / sqrt(dimension)
    table: Float32 = padded.reshape(len(units), size, 8) @ _SIGNS_OF_BYTE.T
    return table
