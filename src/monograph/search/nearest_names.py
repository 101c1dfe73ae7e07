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
from monograph.store import names, settings
from monograph.store.database import Connection
from monograph.store.vectors import Int64
from monograph.values import Float32

NAMES_AT_ONCE = 16_384
"""Names that are scored together."""

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
        held = [(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32)) for _ in asked]
        for first in range(0, len(codes.rows), NAMES_AT_ONCE):
            places = np.arange(first, min(first + NAMES_AT_ONCE, len(codes.rows)))
            for place, scores in enumerate(_scores(table, codes.signs[first : first + NAMES_AT_ONCE])):
                held[place] = _best(np.append(held[place][0], places), np.append(held[place][1], scores), k)
        for place, (found, scores) in zip(asked.tolist(), held, strict=True):
            rows, cosines = codes.rows[found], np.clip(scores * sqrt(pi / 2), -1.0, 1.0)
            best[place] = [Near(row, cosine) for row, cosine in zip(rows.tolist(), cosines.tolist(), strict=True)]
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


def _scores(table: Float32, codes: npt.NDArray[np.uint8]) -> Float32:
    """Cosines of vectors and signs, float32 (vectors, names)."""
    scores = np.zeros((len(table), len(codes)), dtype=np.float32)
    for place in range(table.shape[1]):
        scores += table[:, place].take(codes[:, place], axis=1)
    return scores


def _best(places: Int64, scores: Float32, k: int) -> tuple[Int64, Float32]:
    """The k highest scores with their places, highest first; ties by place."""
    if len(scores) > k:
        least = np.partition(scores, -k)[-k]
        places, scores = places[scores >= least], scores[scores >= least]
    order = np.lexsort((places, -scores))[:k]
    return places[order], scores[order]
