"""The names of many files in one: what each file has of them, and all of it together, in the tables of a file."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from monograph.store.file.checksums import checksum
from monograph.store.file.database import Connection
from monograph.store.file.keyed import select

Rows: TypeAlias = Sequence[tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class Share:
    """What one file has of the names of many, as rows.

    Parameters
    ----------
    names:
        (key, signature, code, uses, persons) of those in use, or that documents say stand for others.
    subjects:
        (key, document, by title, qualifier).
    aliases:
        (key, key of the full name, document).
    """

    names: Rows
    subjects: Rows
    aliases: Rows


_NAMED = "(SELECT name FROM names WHERE key = ?)"


def share(connection: Connection) -> Share:
    """What a file has of the names, in order of key."""
    return Share(
        connection.execute(
            """SELECT key, signature, code, uses, persons FROM names
            WHERE uses > 0 OR name IN (SELECT name FROM aliases UNION SELECT full FROM aliases) ORDER BY key"""
        ).fetchall(),
        connection.execute(
            "SELECT n.key, s.document, s.by_title, s.qualifier FROM subjects AS s JOIN names AS n USING (name)"
        ).fetchall(),
        connection.execute(
            """SELECT n.key, f.key, a.document FROM aliases AS a JOIN names AS n USING (name)
            JOIN names AS f ON f.name = a.full"""
        ).fetchall(),
    )


def put(connection: Connection, part: Share, number: int, count: int) -> None:
    """Add the names of a file to those of others; ``number`` of ``count`` says which file it is.

    Documents are numbered over all files: see :mod:`monograph.shelf.pools`.
    """
    connection.executemany(
        "INSERT OR IGNORE INTO names (key, signature, uses, persons) VALUES (?, ?, 0, 0)",
        ((key, signature) for key, signature, *_ in part.names),
    )
    connection.executemany(
        """UPDATE names SET uses = uses + ?, persons = persons + ?, code = COALESCE(code, ?),
            checksum = COALESCE(checksum, ?) WHERE key = ?""",
        (
            (uses, persons, code, None if code is None else checksum(key.encode(), code), key)
            for key, _, code, uses, persons in part.names
        ),
    )
    connection.executemany(
        f"INSERT OR IGNORE INTO subjects (name, by_title, qualifier, document) VALUES ({_NAMED}, ?, ?, ?)",  # noqa: S608
        ((key, by_title, qualifier, row * count + number) for key, row, by_title, qualifier in part.subjects),
    )
    connection.executemany(
        f"INSERT OR IGNORE INTO aliases (name, full, document) VALUES ({_NAMED}, {_NAMED}, ?)",  # noqa: S608 - a constant
        ((key, full, row * count + number) for key, full, row in part.aliases),
    )


def mark_all(connection: Connection) -> None:
    """Say that any head may be out of date."""
    connection.execute("INSERT OR IGNORE INTO unresolved SELECT name FROM names WHERE uses > 0")


def every_document(connection: Connection) -> Iterator[tuple[str, str, bytes]]:
    """Yield (id, uri, hash) of all documents."""
    yield from connection.execute("SELECT id, uri, sha256 FROM documents ORDER BY document")


def put_document_hashes(connection: Connection, listed: Iterable[tuple[str, str, bytes]]) -> None:
    """Store (id, uri, hash) of documents of another file, without their texts."""
    connection.executemany(
        """INSERT INTO documents (id, uri, title, metadata, sections, sha256, characters)
        VALUES (?, ?, '', '{}', '[]', ?, 0)""",
        listed,
    )


def document_hashes(connection: Connection, ids: Sequence[str]) -> dict[str, bytes]:
    """Return the hashes of those of some documents that are there, by id."""
    return dict(select(connection, "SELECT id, sha256 FROM documents WHERE id IN", ids))


def documents_digest(connection: Connection) -> bytes:
    """Return a digest of the ids and hashes of all documents."""
    digest = hashlib.sha256()
    for name, found in connection.execute("SELECT id, sha256 FROM documents ORDER BY id"):
        digest.update(hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest() + found)
    return digest.digest()


def all_document_hashes(connection: Connection) -> dict[str, bytes]:
    """Return the hashes of all documents, by id."""
    return dict(connection.execute("SELECT id, sha256 FROM documents"))
