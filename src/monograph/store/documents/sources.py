"""Rows of ``sources``: files on disk, in the state in which they were last read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from monograph.store.documents import dates
from monograph.store.file.database import Connection
from monograph.store.file.keyed import select

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
    )
    return {uri: (size, modified_ns) for uri, size, modified_ns in found}


def by_root(connection: Connection) -> list[tuple[str, int, int, int]]:
    """Return (root, files, documents, bytes) of every root with known files, in order of root."""
    found = connection.execute(
        """SELECT root, count(*), sum(held), sum(size) FROM (
            SELECT root, size, (SELECT count(*) FROM documents d WHERE d.source = s.source) AS held FROM sources s)
        GROUP BY root ORDER BY root"""
    )
    return [(root, int(files), int(held), int(size)) for root, files, held, size in found]


def every(connection: Connection) -> Iterator[Source]:
    """Yield all known files, in the order in which they became known."""
    found = connection.execute("SELECT uri, root, sha256, size, modified_ns FROM sources ORDER BY source")
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


def put(connection: Connection, source: Source) -> int:
    """Store the state of a file, new or known; returns its row number."""
    (row,) = connection.execute(
        """INSERT INTO sources (uri, root, sha256, size, modified_ns) VALUES (?, ?, ?, ?, ?)
        ON CONFLICT (uri) DO UPDATE SET root = excluded.root, sha256 = excluded.sha256,
            size = excluded.size, modified_ns = excluded.modified_ns
        RETURNING source""",
        (source.uri, source.root, source.sha256, source.size, source.modified_ns),
    ).fetchone()
    return int(row)


def add(connection: Connection, new: Sequence[Source]) -> set[str]:
    """Store files that are not known yet, and leave those that are; return the uris of the new ones."""
    by_uri = {one.uri: one for one in reversed(new)}
    coming = by_uri.keys() - rows(connection, list(by_uri)).keys()
    connection.executemany(
        "INSERT INTO sources (uri, root, sha256, size, modified_ns) VALUES (?, ?, ?, ?, ?)",
        (
            (one.uri, one.root, one.sha256, one.size, one.modified_ns)
            for uri, one in reversed(by_uri.items())
            if uri in coming
        ),
    )
    return coming


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


def is_faulty(connection: Connection, uri: str) -> bool:
    """Whether a part of a file could not be stored."""
    known = find(connection, uri)
    return known is not None and known.modified_ns == _FAULTY


def row_of(connection: Connection, uri: str) -> int | None:
    """Return the row of a known file; None if it is not known."""
    row = connection.execute("SELECT source FROM sources WHERE uri = ?", (uri,)).fetchone()
    return None if row is None else int(row[0])


def remove(connection: Connection, row: int) -> None:
    """Delete a file whose documents are deleted already."""
    connection.execute("DELETE FROM sources WHERE source = ?", (row,))


def remove_empty(connection: Connection) -> None:
    """Delete the files that have no documents."""
    connection.execute(
        "DELETE FROM sources WHERE source NOT IN (SELECT source FROM documents WHERE source IS NOT NULL)"
    )
