"""Names found by what they mean: a vector held against the signs of every name's embedding.

A sign keeps one bit of each value. The cosine of a vector to the signs, times sqrt(pi / 2), estimates its cosine to the
embedding itself, as though the embedding's values were normally distributed: of 256 values, within about 0.05.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from math import pi, sqrt

import numpy as np
import numpy.typing as npt

from monograph.models import Float32
from monograph.store import names
from monograph.store.database import Connection
from monograph.store.vectors import Int64

NAMES_AT_ONCE = 16_384
"""Names whose codes are in memory together."""

_BYTES = np.arange(256, dtype=np.uint8)[:, None]
_SIGNS_OF_BYTE = np.unpackbits(_BYTES, axis=1).astype(np.float32) * 2 - 1


@dataclass(frozen=True, slots=True)
class Near:
    """A name by its row, and the estimated cosine of its embedding, in [-1, 1]."""

    name: int
    cosine: float


def nearest_names(connection: Connection, vectors: Float32, k: int) -> list[list[Near]]:
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
    One list a vector, nearest first, ties by row. Names that are not embedded, or whose every word the embedder does
    not know, are near nothing.
    """
    lengths = np.linalg.norm(vectors, axis=1)
    asked = np.flatnonzero(lengths > 0)
    best: list[list[Near]] = [[] for _ in vectors]
    if k <= 0 or not len(asked):
        return best
    table = _table(vectors[asked] / lengths[asked, None])
    held = [(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32)) for _ in asked]
    for rows, codes in _blocks(connection, table.shape[1]):
        for place, scores in enumerate(_scores(table, codes)):
            held[place] = _best(np.append(held[place][0], rows), np.append(held[place][1], scores), k)
    for place, (rows, scores) in zip(asked.tolist(), held, strict=True):
        cosines = np.clip(scores * sqrt(pi / 2), -1.0, 1.0)
        best[place] = [Near(row, cosine) for row, cosine in zip(rows.tolist(), cosines.tolist(), strict=True)]
    return best


def _table(units: Float32) -> Float32:
    """What every byte of a code adds to the cosine, float32 (n, bytes, 256)."""
    dimension = units.shape[1]
    size = -(-dimension // 8)
    padded = np.zeros((len(units), size * 8), dtype=np.float32)
    padded[:, :dimension] = units / sqrt(dimension)
    table: Float32 = padded.reshape(len(units), size, 8) @ _SIGNS_OF_BYTE.T
    return table


def _blocks(connection: Connection, size: int) -> Iterator[tuple[Int64, npt.NDArray[np.uint8]]]:
    """(rows, codes of shape (n, size)) of the names that have a code of that size with any bit set."""
    pairs = names.codes(connection)
    while block := list(islice(pairs, NAMES_AT_ONCE)):
        fitting = [pair for pair in block if len(pair[1]) == size]
        rows = np.array([row for row, _ in fitting], dtype=np.int64)
        held = np.frombuffer(b"".join([code for _, code in fitting]), dtype=np.uint8).reshape(len(rows), size)
        alive = held.any(axis=1)
        yield rows[alive], held[alive]


def _scores(table: Float32, codes: npt.NDArray[np.uint8]) -> Float32:
    """Cosines of vectors and signs, float32 (vectors, names)."""
    scores = np.zeros((len(table), len(codes)), dtype=np.float32)
    for place in range(table.shape[1]):
        scores += table[:, place].take(codes[:, place], axis=1)
    return scores


def _best(rows: Int64, scores: Float32, k: int) -> tuple[Int64, Float32]:
    """The k highest scores with their rows, highest first; ties by row."""
    if len(scores) > k:
        least = np.partition(scores, -k)[-k]
        rows, scores = rows[scores >= least], scores[scores >= least]
    order = np.lexsort((rows, -scores))[:k]
    return rows[order], scores[order]
