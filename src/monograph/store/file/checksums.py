"""Checksums of rows as they were written, for everything that the file cannot derive again.

CRC-32, as every Python has it: it finds each change of up to 32 bits in a row, at a gigabyte a second. A document is
sealed once, when its content is stored: the checksum covers the content alone, so that it stays where the document
moves to another file or becomes a previous version.
"""

from __future__ import annotations

import hashlib
import sqlite3
import zlib
from collections.abc import Iterable
from typing import TypeAlias

from monograph.values import content_hash

Value: TypeAlias = bytes | str | int | None
BLOCK_BITS = 24
"""A block of text is numbered by its document's row and, in so many bits, by its place there."""
MOST_DOCUMENTS = 1 << (63 - BLOCK_BITS)
"""Rows of documents are below: those of higher ones have no numbers left for blocks."""


def blocks_of(row: int) -> tuple[int, int]:
    """Return the first and last number that a block of a document's text may have.

    Where no document can have the row, as a damaged file may say, they are such as no block has.
    """
    if not 0 <= row < MOST_DOCUMENTS:
        row = -1
    return row << BLOCK_BITS, (row + 1 << BLOCK_BITS) - 1


def checksum(*parts: Value) -> int:
    """Return the CRC-32 of values, each with its length, so that values do not run together; text counts as UTF-8."""
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
    """Let SQL of a connection use :func:`checksum` and :func:`given_key`."""
    connection.create_function("checksum", -1, checksum, deterministic=True)
    connection.create_function(
        "given_key", 1, lambda value: given_key(value) if isinstance(value, bytes) else None, deterministic=True
    )


def given_key(packed: bytes) -> bytes:
    """Return the memo key of a vector that came with its chunk."""
    return content_hash("given", hashlib.sha256(packed).hexdigest())


def of_content(own: Iterable[Value], text: str | bytes, chunks: Iterable[Iterable[Value]]) -> int:
    """Return the checksum of a document's content, the same wherever its rows are.

    Parameters
    ----------
    own:
        Its id, uri, title, metadata, sections, sha256 and characters.
    text:
        All of its text.
    chunks:
        (id, ordinal, start, end, metadata, and the key of a vector that came with it, else None) in reading order.
    """
    found = checksum(*own, text)
    for row in chunks:
        found = checksum(found, *row)
    return found


def of_document(connection: sqlite3.Connection, row: int) -> int:
    """Return the checksum of a document's content as it is stored; a text that is no UTF-8 is read as it is."""
    own = connection.execute(
        """SELECT CAST(id AS BLOB), CAST(uri AS BLOB), CAST(title AS BLOB), CAST(metadata AS BLOB),
        CAST(sections AS BLOB), sha256, characters FROM documents WHERE document = ?""",
        (row,),
    ).fetchone()
    blocks = connection.execute(
        "SELECT CAST(text AS BLOB) FROM texts WHERE block BETWEEN ? AND ? ORDER BY block", blocks_of(row)
    ).fetchall()
    text = b"".join([block for (block,) in blocks])
    # A vector that was made of the text can be made again: it is not content.
    chunks = connection.execute(
        f"""SELECT CAST(c.id AS BLOB), c.ordinal, c.start, c."end", CAST(c.metadata AS BLOB), {GIVEN}
        FROM chunks AS c LEFT JOIN vectors AS v USING (chunk) LEFT JOIN memo AS m USING (memo)
        WHERE c.document = ? ORDER BY c.ordinal, c.chunk""",  # noqa: S608 - a constant
        (row,),
    ).fetchall()
    return of_content(own, text, chunks)


GIVEN = "CASE WHEN m.key = given_key(m.value) THEN m.key END"
"""The key of the memo row ``m`` where it holds a vector that came with its chunk, else NULL."""


def seal(connection: sqlite3.Connection, row: int) -> None:
    """Note what the content of a document is, all of it being stored."""
    connection.execute("UPDATE documents SET checksum = ? WHERE document = ?", (of_document(connection, row), row))


def is_sound(connection: sqlite3.Connection, row: int) -> bool:
    """Return whether the content of a document is as it was stored."""
    (stored,) = connection.execute("SELECT checksum FROM documents WHERE document = ?", (row,)).fetchone()
    return bool(stored == of_document(connection, row))


def sound_with_given(connection: sqlite3.Connection) -> list[int]:
    """Return the rows of the documents that are as they were stored, and have vectors that came with their chunks."""
    found = connection.execute(
        """SELECT DISTINCT document FROM chunks JOIN vectors USING (chunk) JOIN memo USING (memo)
        WHERE key = given_key(value) ORDER BY document"""
    ).fetchall()
    return [row for (row,) in found if is_sound(connection, row)]


def put(connection: sqlite3.Connection, name: str, *parts: Value) -> None:
    """Note what a row that is the only one of its kind is, under a name of its own."""
    connection.execute("INSERT OR REPLACE INTO checksums (name, checksum) VALUES (?, ?)", (name, checksum(*parts)))


def drop(connection: sqlite3.Connection, name: str) -> None:
    """Forget what a row was that is taken out."""
    connection.execute("DELETE FROM checksums WHERE name = ?", (name,))


def has(connection: sqlite3.Connection, name: str) -> bool:
    """Return whether a checksum is stored under a name."""
    return connection.execute("SELECT 1 FROM checksums WHERE name = ?", (name,)).fetchone() is not None
