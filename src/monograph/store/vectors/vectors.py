"""Rows of ``vectors``: the memo row of the embedding of each chunk."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from monograph.store.documents.filters import EVERYTHING, CompiledFilter, disallowed_summaries
from monograph.store.file.database import Connection
from monograph.store.file.errors import damaged, path_of
from monograph.store.file.rows import column, group, integer, lookup, scalar
from monograph.values import Float32

STORED = np.dtype("<f4")
Int64: TypeAlias = npt.NDArray[np.int64]
MOST_ROWS = 1 << 30
"""Limit of the row numbers in ``memo``: all are smaller.

A bitmap of this many rows takes 128 MB. Their vectors would take a terabyte, at 256 values each.
"""
_ROWS_PER_QUERY = 500
# All vectors in one result row: the interpreter's lock is released and taken again for each fetched row, which takes
# longer than reading the row if other threads want the lock. CROSS JOIN keeps the order of the list; IN would sort it.
_VALUES_QUERY = """SELECT group_concat(memo.memo), CAST(group_concat(memo.value, '') AS BLOB)
    FROM json_each(?) AS j CROSS JOIN memo ON memo.memo = j.value WHERE length(memo.value) = ?"""


def pack(vector: Float32) -> bytes:
    """Return a vector of shape (dimension,) as the bytes that the memo stores: float32, little-endian."""
    return np.ascontiguousarray(vector, dtype=STORED).tobytes()


def load(connection: Connection, memos: Sequence[int], dimension: int) -> tuple[Int64, Float32]:
    """Return (memo rows, vectors) of the given memo rows: int64 (n,), ascending, and float32 (n, dimension).

    Missing rows are left out, and so are rows whose value does not have the size of a vector of ``dimension`` values.
    """
    size, memo_rows = dimension * STORED.itemsize, sorted(set(memos))
    parts = [
        json.dumps(memo_rows[first : first + _ROWS_PER_QUERY]) for first in range(0, len(memo_rows), _ROWS_PER_QUERY)
    ]
    results = [connection.execute(_VALUES_QUERY, (part, size)).fetchone() for part in parts]
    rows = np.array(
        [int(row) for row_list, _ in results if row_list is not None for row in row_list.split(",")], dtype=np.int64
    )
    values = np.frombuffer(b"".join([value for _, value in results if value is not None]), dtype=STORED)
    return rows, values.reshape(len(rows), dimension).astype(np.float32, copy=False)


def of_chunks(connection: Connection, chunks: Sequence[int], dimension: int) -> tuple[Int64, Float32]:
    """Return (chunk rows, vectors) of the given chunks, in the given order: int64 (n,) and float32 (n, dimension).

    Chunks that have no vector, or a vector of another dimension, are left out.
    """
    packed, blob = connection.execute(
        """SELECT json_group_array(v.chunk), CAST(COALESCE(group_concat(m.value, ''), '') AS BLOB)
        FROM json_each(?) AS c CROSS JOIN vectors AS v CROSS JOIN memo AS m
        WHERE v.chunk = c.value AND m.memo = v.memo AND length(m.value) = ?""",
        (json.dumps(list(chunks)), dimension * STORED.itemsize),
    ).fetchone()
    rows = np.array(json.loads(packed), dtype=np.int64)
    values = np.frombuffer(blob, dtype=STORED)
    return rows, values.reshape(len(rows), dimension).astype(np.float32, copy=False)


def with_keys(connection: Connection, document: int) -> dict[str, tuple[bytes, bytes]]:
    """Return {chunk id: (memo key, bytes of the vector)} for a document's chunks that have a vector."""
    query = "SELECT id, key, value FROM chunks JOIN vectors USING (chunk) JOIN memo USING (memo) WHERE document = ?"
    return {name: (key, value) for name, key, value in connection.execute(query, (document,))}


def load_any(connection: Connection, memos: Sequence[int]) -> tuple[Int64, Float32]:
    """Return (memo rows, vectors) as :func:`load` does. The dimension is that of the vector in the first given row.

    If the first row is missing, the vectors have shape (0, 0).
    """
    size = scalar(connection, "SELECT length(value) FROM memo WHERE memo = ?", memos[0]) if memos else None
    if size is None:
        return np.empty(0, dtype=np.int64), np.empty((0, 0), dtype=np.float32)
    return load(connection, memos, size // STORED.itemsize)


def chunks_of(
    connection: Connection, memos: Sequence[int], allowed: CompiledFilter = EVERYTHING
) -> dict[int, list[int]]:
    """Return the chunks that have each given vector: {memo row of the vector: chunk rows, ascending}.

    Chunks that the filter does not allow are left out. A memo row without chunks has an empty list.
    """
    unique_memos = dict.fromkeys(memos)
    tables = f"vectors AS v WHERE v.memo = w.value AND {allowed.on_each('v.chunk')} ORDER BY v.chunk"
    by_memo = group(lookup(connection, "v.memo, v.chunk", tables, unique_memos, *allowed.parameters))
    return {memo: by_memo.get(memo, []) for memo in unique_memos}


def allowed_bits(connection: Connection, allowed: CompiledFilter, space: int = 1) -> npt.NDArray[np.uint8]:
    """Return a bitmap of the allowed memo rows: bit i of byte j is set if row 8j + i is allowed.

    A vector of chunks (space 1) is allowed if one of its chunks is allowed. A vector of summaries (space 2) is allowed
    if one of its summaries has only allowed chunks below it. Raises DamagedFile if a row number is negative, or not
    below MOST_ROWS.
    """
    query = f"SELECT DISTINCT memo FROM vectors WHERE {allowed.on('chunk')}"  # noqa: S608
    if space != 1:
        query = f"SELECT DISTINCT vector FROM nodes WHERE layer > 0 AND node NOT IN ({disallowed_summaries(allowed)})"  # noqa: S608
    return bitmap(connection, np.array(column(connection, query, *allowed.parameters), dtype=np.int64))


def bitmap(connection: Connection, memos: Int64) -> npt.NDArray[np.uint8]:
    """Return memo rows as a bitmap, in the format of :func:`allowed_bits`.

    Raises DamagedFile if a memo row is negative, or not below MOST_ROWS.
    """
    if len(memos) and not 0 <= memos.min() <= memos.max() < MOST_ROWS:
        raise damaged(path_of(connection), f"a vector refers to row {memos.max()} of memo, which is out of range")
    flags = np.zeros(int(memos.max(initial=0)) + 1, dtype=np.bool_)
    flags[memos] = True
    return np.packbits(flags, bitorder="little")


def every(connection: Connection) -> tuple[Int64, Int64]:
    """Return (rows of all chunks with a vector, memo rows of their vectors): int64 (n,) each, in order of chunk row."""
    rows = connection.execute("SELECT chunk, memo FROM vectors ORDER BY chunk").fetchall()
    chunks, memos = np.array(rows, dtype=np.int64).reshape(-1, 2).T
    return chunks, memos


def count(connection: Connection) -> int:
    """Return the number of chunks that have a vector."""
    return integer(connection, "SELECT count(*) FROM vectors")


def rows_with_vector(connection: Connection, document: int) -> set[int]:
    """Return the rows of a document's chunks that have a vector."""
    return set(column(connection, "SELECT chunk FROM vectors JOIN chunks USING (chunk) WHERE document = ?", document))
