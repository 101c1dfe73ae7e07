"""Checksums that show whether a stored row was damaged after it was written.

Checksums cover mainly content, which cannot be derived again: documents, previous versions and assertions. They are
CRC-32, as in Python's ``zlib``. CRC-32 detects every change within 32 consecutive bits. A gigabyte takes about a
second.
"""

from __future__ import annotations

import hashlib
import sqlite3
import zlib
from typing import TypeAlias

from monograph.values import content_hash

Value: TypeAlias = bytes | str | int | None


def checksum(*parts: Value) -> int:
    """Return the CRC-32 of some values; texts are encoded as UTF-8.

    The length of each value is included before it. So ``("ab", "c")`` and ``("a", "bc")`` have different checksums.
    """
    crc = 0
    for part in parts:
        if isinstance(part, bytes | str):
            data = part if isinstance(part, bytes) else part.encode("utf-8", "surrogatepass")
            crc = zlib.crc32(data, zlib.crc32(b"1 %d:" % len(data), crc))
        else:
            encoded = b"%d" % part if isinstance(part, int) else str(part).encode()
            crc = zlib.crc32(b"0 %d:%b" % (len(encoded), encoded), crc)
    return crc


def register(connection: sqlite3.Connection) -> None:
    """Register :func:`checksum` and :func:`given_vector_key` as SQL functions of a connection."""
    connection.create_function("checksum", -1, checksum, deterministic=True)
    connection.create_function(
        "given_vector_key",
        1,
        lambda value: given_vector_key(value) if isinstance(value, bytes) else None,
        deterministic=True,
    )


def given_vector_key(packed: bytes) -> bytes:
    """Return the memo key of a vector that the caller supplied with a chunk. ``packed`` are the bytes of the vector."""
    return content_hash("given", hashlib.sha256(packed).hexdigest())


def put(connection: sqlite3.Connection, name: str, *parts: Value) -> None:
    """Store the checksum of a single row, such as a setting or a root.

    ``parts`` are the row's values; ``name`` names the row.
    """
    connection.execute("INSERT OR REPLACE INTO checksums (name, checksum) VALUES (?, ?)", (name, checksum(*parts)))


def drop(connection: sqlite3.Connection, name: str) -> None:
    """Delete the checksum stored under a name."""
    connection.execute("DELETE FROM checksums WHERE name = ?", (name,))
