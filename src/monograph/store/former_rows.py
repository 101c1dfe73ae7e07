"""Former states of documents go from one file to another, row by row as they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from monograph.store import checksums, memo, versions
from monograph.store.database import Connection, path_of
from monograph.store.unreadable import damaged

_Remembered: TypeAlias = tuple[bytes, bytes, int]
"""(key, value, tokens) of the memo."""

_STATE = "id, valid_from, valid_until, uri, title, metadata, sections, sha256, characters, dated, dated_until, dated_by"


@dataclass(frozen=True, slots=True)
class FormerRow:
    """A former state as it is stored.

    Parameters
    ----------
    id, uri:
        Of its document.
    columns:
        Of ``versions``, but for its number and checksum.
    chunks:
        Columns of ``version_chunks`` up to the metadata, each with what is remembered of the vector and of the
        extraction.
    """

    id: str
    uri: str
    columns: tuple[Any, ...]
    chunks: Sequence[tuple[tuple[Any, ...], _Remembered | None, _Remembered | None]]


def every(connection: Connection) -> Iterator[FormerRow]:
    """All former states, in the order in which they ended. Raises DamagedFile if one is not what was stored."""
    unsound = set(versions.wrong(connection))
    for (number,) in connection.execute("SELECT version FROM versions ORDER BY valid_until, version").fetchall():
        if number in unsound:
            raise damaged(path_of(connection), f"row {number} of versions is not what was stored")
        columns = connection.execute(f"SELECT {_STATE}, text FROM versions WHERE version = ?", (number,)).fetchone()  # noqa: S608
        rows = connection.execute(
            """SELECT c.ordinal, c.id, c.start, c."end", c.metadata, v.key, v.value, v.tokens, e.key, e.value, e.tokens
            FROM version_chunks AS c LEFT JOIN memo AS v ON v.memo = c.vector
            LEFT JOIN memo AS e ON e.memo = c.extraction
            WHERE c.version = ? ORDER BY c.ordinal""",
            (number,),
        ).fetchall()
        chunks = [
            (row[:5], None if row[5] is None else row[5:8], None if row[8] is None else row[8:11]) for row in rows
        ]
        yield FormerRow(columns[0], columns[3], columns, chunks)


def put(connection: Connection, some: Sequence[FormerRow]) -> None:
    """Store former states, with what is remembered of them."""
    (last,) = connection.execute("SELECT coalesce(max(version), 0) FROM versions").fetchone()
    chunks = [one for former in some for one in former.chunks]
    vectors = memo.put(connection, memo.VECTOR, (vector for _, vector, _ in chunks if vector is not None))
    found = memo.put(connection, memo.EXTRACTION, (one for _, _, one in chunks if one is not None))
    for number, former in enumerate(some, last + 1):
        connection.execute(
            f"INSERT INTO versions (version, {_STATE}, text) VALUES ({','.join('?' * (len(former.columns) + 1))})",  # noqa: S608
            (number, *former.columns),
        )
        connection.executemany(
            """INSERT INTO version_chunks (version, ordinal, id, start, "end", metadata, vector, extraction)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?)""",
            (
                (number, *row, vector and vectors[vector[0]], one and found[one[0]])
                for row, vector, one in former.chunks
            ),
        )
        versions.seal(connection, number)


def began(connection: Connection, since: Mapping[str, int]) -> None:
    """Say from which second on documents stand, by id."""
    for name, second in since.items():
        (row,) = connection.execute(
            "UPDATE documents SET valid_from = ? WHERE id = ? RETURNING document", (second, name)
        ).fetchone()
        checksums.seal(connection, row)
