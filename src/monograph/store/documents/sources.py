"""Rows of ``sources``: files on disk, in the state in which they were last read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from monograph.store.documents import dates
from monograph.store.file.database import Connection
from monograph.store.file.rows import select

_UNFINISHED, _FAULTY = -1, -2
"""Stored as ``modified_ns`` of files that are not completely stored."""


@dataclass(frozen=True, slots=True)
class Source:
    """A file in the state in which it was last read; ``size`` in bytes, ``modified_ns`` in nanoseconds since 1970."""

    uri: str
    root: str
    sha256: bytes
    size: int
    modified_ns: int


def states(connection: Connection, root: str) -> dict[str, tuple[int, int]]:
    """Return (size, modified_ns) of the known files at or below a path, by uri."""
    below = root.rstrip("/") + "/"
    found = connection.execute(
        "SELECT uri, size, modified_ns FROM sources WHERE uri = ? OR (uri >= ? AND uri < ?)",
        (root, below, below[:-1] + "0"),  # "0" is the character after "/"
    ).fetchall()
    return {uri: (size, modified_ns) for uri, size, modified_ns in found}


def by_root(connection: Connection) -> list[tuple[str, int, int, int]]:
    """Return (root, files, documents, bytes) of every root with known files, in order of root."""
    found = connection.execute(
        """SELECT root, count(*), sum(held), sum(size) FROM (
            SELECT root, size, (SELECT count(*) FROM documents d WHERE d.source = s.source) AS held FROM sources s)
        GROUP BY root ORDER BY root"""
    ).fetchall()
    return [(root, int(files), int(held), int(size)) for root, files, held, size in found]


def every(connection: Connection) -> Iterator[Source]:
    """Yield all known files, in the order in which they became known."""
    found = connection.execute("SELECT uri, root, sha256, size, modified_ns FROM sources ORDER BY source").fetchall()
    yield from (Source(*row) for row in found)


def find(connection: Connection, uri: str) -> Source | None:
    """Return a known file; None if it is not known."""
    row = connection.execute(
        "SELECT uri, root, sha256, size, modified_ns FROM sources WHERE uri = ?", (uri,)
    ).fetchone()
    return None if row is None else Source(*row)


def of_document(connection: Connection, document: int) -> tuple[Source, int] | None:
    """Return the file that a document was read from, and the number of its documents; None if there is none."""
    row = connection.execute(
        """SELECT s.uri, s.root, s.sha256, s.size, s.modified_ns,
            (SELECT count(*) FROM documents o WHERE o.source = s.source)
        FROM documents d CROSS JOIN sources s ON s.source = d.source WHERE d.document = ?""",
        (document,),
    ).fetchone()
    return None if row is None else (Source(*row[:5]), int(row[5]))


def put(connection: Connection, files: Sequence[Source]) -> dict[str, int]:
    """Store the states of files, new or known; returns their row numbers by uri."""
    known = rows(connection, [one.uri for one in files])
    states = [(one.uri, one.root, one.sha256, one.size, one.modified_ns) for one in files]
    connection.executemany(
        "UPDATE sources SET root = ?2, sha256 = ?3, size = ?4, modified_ns = ?5 WHERE uri = ?1",
        (one for one in states if one[0] in known),
    )
    connection.executemany(
        "INSERT INTO sources (uri, root, sha256, size, modified_ns) VALUES (?, ?, ?, ?, ?)",
        (one for one in states if one[0] not in known),
    )
    return rows(connection, [one.uri for one in files])


def rows(connection: Connection, uris: Sequence[str]) -> dict[str, int]:
    """Return the rows of known files, by uri."""
    return dict(select(connection, "SELECT uri, source FROM sources WHERE uri IN", uris))


def touch(connection: Connection, states: Iterable[tuple[str, int, int]]) -> None:
    """Store (uri, size, modified_ns) of files whose bytes are the same."""
    listed = list(states)
    connection.executemany("UPDATE sources SET size = ?2, modified_ns = ?3 WHERE uri = ?1", listed)
    for row in rows(connection, [uri for uri, _, _ in listed]).values():
        dates.follow_file(connection, row)


def doubt(connection: Connection, row: int, *, faulty: bool) -> None:
    """Note that a file is not stored as it should be, so that no file on disk is as its row says.

    ``faulty`` where a part of it could not be stored; else there is only more of it to come.
    """
    connection.execute(
        "UPDATE sources SET sha256 = x'', modified_ns = ? WHERE source = ?", (_FAULTY if faulty else _UNFINISHED, row)
    )


def faulty(connection: Connection, uris: Sequence[str]) -> frozenset[str]:
    """Return the uris of those files of which a part could not be stored."""
    found = select(connection, "SELECT uri FROM sources WHERE modified_ns = ? AND uri IN", uris, _FAULTY)
    return frozenset(uri for (uri,) in found)


def uris(connection: Connection, rows: Iterable[int]) -> dict[int, str]:
    """Return the uris of files by row number."""
    return dict(select(connection, "SELECT source, uri FROM sources WHERE source IN", list(rows)))


def row_of(connection: Connection, uri: str) -> int | None:
    """Return the row of a known file; None if it is not known."""
    row = connection.execute("SELECT source FROM sources WHERE uri = ?", (uri,)).fetchone()
    return None if row is None else int(row[0])


def remove(connection: Connection, rows: Iterable[int]) -> None:
    """Delete files whose documents are deleted already."""
    connection.executemany("DELETE FROM sources WHERE source = ?", ((row,) for row in rows))


def remove_empty(connection: Connection) -> None:
    """Delete the files that have no documents."""
    connection.execute(
        "DELETE FROM sources WHERE source NOT IN (SELECT source FROM documents WHERE source IS NOT NULL)"
    )
