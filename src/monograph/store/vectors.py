"""Rows of ``vectors``: which remembered embedding belongs to which chunk."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from monograph.models import Float32
from monograph.store.database import Connection

STORED = np.dtype("<f4")


def pack(vector: Float32) -> bytes:
    """A vector of shape (dimension,) as the bytes that are stored."""
    return np.ascontiguousarray(vector, dtype=STORED).tobytes()


def assign(connection: Connection, pairs: Iterable[tuple[int, int]]) -> None:
    """Give chunks their vectors: (chunk row, memo row)."""
    connection.executemany(
        """INSERT INTO vectors (chunk, memo) VALUES (?, ?)
        ON CONFLICT (chunk) DO UPDATE SET memo = excluded.memo WHERE memo IS NOT excluded.memo""",
        pairs,
    )


def load_all(connection: Connection, dimension: int) -> tuple[np.ndarray[tuple[int], np.dtype[np.int64]], Float32]:
    """Every chunk's vector.

    Returns
    -------
    (rows, vectors): int64 of shape (n,), ascending, and float32 of shape (n, dimension), C-contiguous.
    """
    found = connection.execute(
        "SELECT chunk, value FROM vectors JOIN memo USING (memo) WHERE length(value) = ? ORDER BY chunk",
        (dimension * STORED.itemsize,),
    ).fetchall()
    rows = np.fromiter((row for row, _ in found), dtype=np.int64, count=len(found))
    values = np.frombuffer(b"".join(value for _, value in found), dtype=STORED)
    return rows, values.reshape(len(found), dimension).astype(np.float32, copy=False)


def count(connection: Connection) -> int:
    """Number of chunks that have a vector."""
    (number,) = connection.execute("SELECT count(*) FROM vectors").fetchone()
    return int(number)


def rows_with_vector(connection: Connection, document: int) -> set[int]:
    """Row numbers of a document's chunks that have a vector."""
    found = connection.execute("SELECT chunk FROM vectors JOIN chunks USING (chunk) WHERE document = ?", (document,))
    return {int(row) for (row,) in found}
