"""Rows of ``lengths``: how many words each chunk has, as the inverted index counts them, many chunks a row.

FTS5 keeps the same in a row a chunk, and to look one up takes longer than all else that BM25 does with it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, zip_longest

import numpy as np

from monograph.store.documents.cells import varints
from monograph.store.file.keyed import select

ROWS = 2_000
"""Chunks of a row, by their row numbers: it fits a page."""
NOT_TOLD = 0xFFFF
"""So many words, or more."""
_TYPE = np.dtype("<u2")


def learn(connection: sqlite3.Connection, chunks: Iterable[int]) -> None:
    """Keep the lengths of chunks as the inverted index has them now; of one that it has not, none."""
    for block, some in groupby(sorted(set(chunks)), key=lambda chunk: chunk // ROWS):
        rows = list(some)
        held = dict(select(connection, "SELECT id, sz FROM words_docsize WHERE id IN", rows))
        before = dict(of_blocks(connection, [block])).get(block)
        counts = np.zeros(ROWS, _TYPE) if before is None else np.frombuffer(before, _TYPE).copy()
        counts[np.array(rows) - block * ROWS] = [min(_words(held.get(row, b"")), NOT_TOLD) for row in rows]
        if counts.any():
            connection.execute("INSERT OR REPLACE INTO lengths VALUES (?, ?)", (block, counts.tobytes()))
        else:
            connection.execute("DELETE FROM lengths WHERE block = ?", (block,))


def of_blocks(connection: sqlite3.Connection, blocks: Sequence[int]) -> list[tuple[int, bytes]]:
    """(block, uint16 of each of its chunks) of those of some blocks that have any; one that is damaged has none."""
    found = select(connection, "SELECT block, counts FROM lengths WHERE block IN", blocks)
    whole = ROWS * _TYPE.itemsize
    return [(block, counts) for block, counts in found if isinstance(counts, bytes) and len(counts) == whole]


def are_right(connection: sqlite3.Connection) -> bool:
    """Whether they are those of the inverted index."""
    held = connection.execute("SELECT block, counts FROM lengths ORDER BY block")
    return all(one == other for one, other in zip_longest(held, _wanted(connection)))


def _wanted(connection: sqlite3.Connection) -> Iterator[tuple[int, bytes]]:
    every = connection.execute("SELECT id, sz FROM words_docsize ORDER BY id")
    for block, some in groupby(every, key=lambda row: row[0] // ROWS):
        counts = np.zeros(ROWS, _TYPE)
        for row, sizes in some:
            counts[row - block * ROWS] = min(_words(sizes), NOT_TOLD)
        if counts.any():
            yield block, counts.tobytes()


def _words(sizes: bytes) -> int:
    """Words of title and text together."""
    return sum(varints(sizes))
