"""What rows were when they were written: checksums of all that a file cannot make again by itself.

CRC-32, as every Python has it: it finds each change of up to 32 bits in a row, at a gigabyte a second. A row that has
no checksum is not held against one.
"""

from __future__ import annotations

import hashlib
import sqlite3
import zlib
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TypeAlias

from monograph.values import content_hash

Value: TypeAlias = bytes | str | int | None
BLOCK_BITS = 24
"""A block of text is numbered by its document's row and, in so many bits, by its place there."""
MOST_DOCUMENTS = 1 << (63 - BLOCK_BITS)
"""Rows of documents are below: those of higher ones have no numbers left for blocks."""


def blocks_of(row: int) -> tuple[int, int]:
    """First and last number that a block of a document's text may have.

    Where no document can have the row, as a damaged file may say, they are such as no block has.
    """
    if not 0 <= row < MOST_DOCUMENTS:
        row = -1
    return row << BLOCK_BITS, (row + 1 << BLOCK_BITS) - 1


def checksum(*parts: Value) -> int:
    """The CRC-32 of some values, each with its length, so that values do not run together; text is its UTF-8."""
    found = 0
    for part in parts:
        if isinstance(part, bytes | str):
            data = part if isinstance(part, bytes) else part.encode("utf-8", "surrogatepass")
            found = zlib.crc32(data, zlib.crc32(b"1 %d:" % len(data), found))
        else:
            told = b"%d" % part if isinstance(part, int) else str(part).encode()
            found = zlib.crc32(b"0 %d:%b" % (len(told), told), found)
    return found


def register(connection: sqlite3.Connection) -> None:
    """Let SQL of a connection use :func:`checksum`."""
    connection.create_function("checksum", -1, checksum, deterministic=True)


def given_key(packed: bytes) -> bytes:
    """The memo key of a vector that came with its chunk."""
    return content_hash("given", hashlib.sha256(packed).hexdigest())


def of_contents(connection: sqlite3.Connection, row: int) -> int:
    """The checksum of a document without its source: its columns, its text, its chunks, and vectors that came with it.

    What is no UTF-8 any more is read as it is.
    """
    columns = connection.execute(
        """SELECT CAST(id AS BLOB), CAST(uri AS BLOB), CAST(title AS BLOB), CAST(metadata AS BLOB),
        CAST(sections AS BLOB), sha256, characters FROM documents WHERE document = ?""",
        (row,),
    ).fetchone()
    blocks = connection.execute(
        "SELECT block, CAST(text AS BLOB) FROM texts WHERE block BETWEEN ? AND ? ORDER BY block",
        blocks_of(row),
    )
    return of_rows(columns, blocks, _chunks(connection, row))


def of_rows(document: Iterable[Value], blocks: Iterable[Iterable[Value]], chunks: Iterable[Iterable[Value]]) -> int:
    """The same by what is stored.

    Parameters
    ----------
    document:
        Its id, uri, title, metadata, sections, sha256 and characters.
    blocks:
        (block, text), in order.
    chunks:
        (row, id, ordinal, start, end, metadata, merged, and the key of a vector that came with it, else None) in
        reading order.
    """
    found = checksum(*document)
    for row in chain(blocks, chunks):
        found = checksum(found, *row)
    return found


def _chunks(connection: sqlite3.Connection, document: int) -> Iterator[tuple[Value, ...]]:
    for *columns, key, value in connection.execute(
        """SELECT c.chunk, CAST(c.id AS BLOB), c.ordinal, c.start, c."end", CAST(c.metadata AS BLOB),
            CAST(c.merged AS BLOB), m.key, m.value
        FROM chunks AS c LEFT JOIN vectors AS v USING (chunk) LEFT JOIN memo AS m USING (memo)
        WHERE c.document = ? ORDER BY c.ordinal, c.chunk""",
        (document,),
    ):
        # A vector that was made of the text is held against that.
        given = isinstance(value, bytes) and given_key(value) == key
        yield (*columns, key if given else None)


def of_document(connection: sqlite3.Connection, row: int) -> int:
    """The checksum of a document as it is stored."""
    source, since = connection.execute("SELECT source, valid_from FROM documents WHERE document = ?", (row,)).fetchone()
    return whole(of_contents(connection, row), source, since)


def whole(contents: int, source: Value, since: Value) -> int:
    """The checksum of a document by that of its contents, its source and, where that is kept, since when it stands."""
    return checksum(contents, source) if since is None else checksum(contents, source, since)


def seal(connection: sqlite3.Connection, row: int) -> None:
    """Note what a document is now, all of it being stored."""
    connection.execute("UPDATE documents SET checksum = ? WHERE document = ?", (of_document(connection, row), row))


def is_sound(connection: sqlite3.Connection, row: int) -> bool:
    """Whether a document is as it was stored, as far as that is known."""
    (stored,) = connection.execute("SELECT checksum FROM documents WHERE document = ?", (row,)).fetchone()
    return stored is None or stored == of_document(connection, row)


def put(connection: sqlite3.Connection, name: str, *parts: Value) -> None:
    """Note what a row that is the only one of its kind is, under a name of its own."""
    connection.execute("INSERT OR REPLACE INTO checksums (name, checksum) VALUES (?, ?)", (name, checksum(*parts)))


def drop(connection: sqlite3.Connection, name: str) -> None:
    """Forget what a row was that is taken out."""
    connection.execute("DELETE FROM checksums WHERE name = ?", (name,))


def has(connection: sqlite3.Connection, name: str) -> bool:
    """Whether anything was noted under a name."""
    return connection.execute("SELECT 1 FROM checksums WHERE name = ?", (name,)).fetchone() is not None


def holds(connection: sqlite3.Connection, name: str, *parts: Value) -> bool:
    """Whether a row is what was noted under a name, as far as that is known."""
    row = connection.execute("SELECT checksum FROM checksums WHERE name = ?", (name,)).fetchone()
    return row is None or row[0] == checksum(*parts)
