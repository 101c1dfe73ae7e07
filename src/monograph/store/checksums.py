"""What rows were when they were written: checksums of all that a file cannot make again by itself.

CRC-32, as every Python has it: it finds each change of up to 32 bits in a row, at a gigabyte a second. A row that has
no checksum is not held against one.
"""

from __future__ import annotations

import hashlib
import sqlite3
import zlib
from collections.abc import Iterator, Sequence

from monograph.values import content_hash

BLOCK_BITS = 24
"""A block of text is numbered by its document's row and, in so many bits, by its place there."""


def checksum(*parts: bytes | str | int | None) -> int:
    """The CRC-32 of some values, each with its length, so that values do not run together; text is its UTF-8."""
    found = 0
    for part in parts:
        text = isinstance(part, bytes | str)
        data = part if isinstance(part, bytes) else str(part).encode("utf-8", "surrogatepass")
        found = zlib.crc32(data, zlib.crc32(b"%d %d:" % (text, len(data)), found))
    return found


def differ_by_a_byte(stored: int, found: int) -> bool:
    """Whether it is a stored checksum that was changed, and not its row: a byte of a row changes more of it."""
    changed = (stored ^ found).to_bytes(9, "little", signed=True)
    return sum(byte != 0 for byte in changed) == 1


def register(connection: sqlite3.Connection) -> None:
    """Let SQL of a connection use :func:`checksum`."""
    connection.create_function("checksum", -1, checksum, deterministic=True)


def given_key(packed: bytes) -> bytes:
    """The memo key of a vector that came with its chunk."""
    return content_hash("given", hashlib.sha256(packed).hexdigest())


def of_contents(connection: sqlite3.Connection, row: int, also: Sequence[int] = ()) -> int:
    """The checksum of a document without its source: its columns, its text, its chunks, and vectors that came with it.

    What is no UTF-8 any more is read as it is.

    Parameters
    ----------
    row:
        Of the document.
    also:
        Rows of documents that are not there, whose chunks are counted as its own.
    """
    found = checksum(
        *connection.execute(
            """SELECT CAST(id AS BLOB), CAST(uri AS BLOB), CAST(title AS BLOB), CAST(metadata AS BLOB),
            CAST(sections AS BLOB), sha256, characters FROM documents WHERE document = ?""",
            (row,),
        ).fetchone()
    )
    blocks = connection.execute(
        "SELECT block, CAST(text AS BLOB) FROM texts WHERE block >= ? AND block < ? ORDER BY block",
        (row << BLOCK_BITS, (row + 1) << BLOCK_BITS),
    )
    for block in blocks:
        found = checksum(found, *block)
    for chunk in _chunks(connection, [row, *also]):
        found = checksum(found, *chunk)
    return found


def _chunks(connection: sqlite3.Connection, documents: Sequence[int]) -> Iterator[tuple[bytes | int | None, ...]]:
    marks = ",".join("?" * len(documents))
    for *columns, key, value in connection.execute(
        f"""SELECT c.chunk, CAST(c.id AS BLOB), c.ordinal, c.start, c."end", CAST(c.metadata AS BLOB),
            CAST(c.merged AS BLOB), m.key, m.value
        FROM chunks AS c LEFT JOIN vectors AS v USING (chunk) LEFT JOIN memo AS m USING (memo)
        WHERE c.document IN ({marks}) ORDER BY c.ordinal, c.chunk""",  # noqa: S608 - only question marks
        documents,
    ):
        # A vector that was made of the text is held against that.
        given = isinstance(value, bytes) and given_key(value) == key
        yield (*columns, key if given else None)


def of_document(connection: sqlite3.Connection, row: int) -> int:
    """The checksum of a document as it is stored."""
    (source,) = connection.execute("SELECT source FROM documents WHERE document = ?", (row,)).fetchone()
    return checksum(of_contents(connection, row), source)


def seal(connection: sqlite3.Connection, row: int) -> None:
    """Note what a document is now, all of it being stored."""
    connection.execute("UPDATE documents SET checksum = ? WHERE document = ?", (of_document(connection, row), row))


def is_sound(connection: sqlite3.Connection, row: int) -> bool:
    """Whether a document is as it was stored, as far as that is known."""
    (stored,) = connection.execute("SELECT checksum FROM documents WHERE document = ?", (row,)).fetchone()
    return stored is None or stored == of_document(connection, row)


def put(connection: sqlite3.Connection, name: str, *parts: bytes | str | int | None) -> None:
    """Note what a row that is the only one of its kind is, under a name of its own."""
    connection.execute("INSERT OR REPLACE INTO checksums (name, checksum) VALUES (?, ?)", (name, checksum(*parts)))


def drop(connection: sqlite3.Connection, name: str) -> None:
    """Forget what a row was that is taken out."""
    connection.execute("DELETE FROM checksums WHERE name = ?", (name,))


def has(connection: sqlite3.Connection, name: str) -> bool:
    """Whether anything was noted under a name."""
    return connection.execute("SELECT 1 FROM checksums WHERE name = ?", (name,)).fetchone() is not None


def holds(connection: sqlite3.Connection, name: str, *parts: bytes | str | int | None) -> bool:
    """Whether a row is what was noted under a name, as far as that is known."""
    row = connection.execute("SELECT checksum FROM checksums WHERE name = ?", (name,)).fetchone()
    return row is None or row[0] == checksum(*parts)
