"""Rows of ``roots``, ``sources`` and ``failures``: synced folders, files that were read, and problems with files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING

from monograph import values
from monograph.store.documents import documents
from monograph.store.documents.documents import DocumentRow
from monograph.store.file import checksums
from monograph.store.file.database import Connection
from monograph.store.file.errors import decoding, path_of
from monograph.store.file.rows import select, text, whole

if TYPE_CHECKING:
    from monograph.values import Problem, Root

_UNFINISHED, _FAULTY = -1, -2
"""Values of ``modified_ns`` for files that are not stored completely. _UNFINISHED: more of the file is still to be
stored. _FAULTY: a part of the file could not be stored."""


@dataclass(frozen=True, slots=True)
class SourceRow:
    """File on disk, in the state in which it was last read.

    ``size`` is in bytes, ``modified_ns`` in nanoseconds since 1970. ``root`` is the name of the root that the file is
    under.
    """

    uri: str
    root: str
    sha256: bytes
    size: int
    modified_ns: int


def states(connection: Connection, root: str) -> dict[str, tuple[int, int]]:
    """Return (size in bytes, modified_ns) of stored files, by uri.

    These are the files whose uri is ``root`` or begins with ``root/``.
    """
    folder = root.rstrip("/")
    query = "SELECT uri, size, modified_ns FROM sources WHERE uri = ? OR (uri >= ? AND uri < ?)"
    parameters = (root, folder + "/", folder + "0")  # "0" is the character after "/"
    return {uri: (size, modified_ns) for uri, size, modified_ns in connection.execute(query, parameters).fetchall()}


def by_root(connection: Connection) -> list[tuple[str, int, int, int]]:
    """Return (root, number of files, number of documents, bytes) of each root that has stored files.

    The roots are in order of name.
    """
    return connection.execute(
        """SELECT root, count(*), sum(documents), sum(size) FROM (
            SELECT root, size, (SELECT count(*) FROM documents d WHERE d.source = s.source) AS documents FROM sources s)
        GROUP BY root ORDER BY root"""
    ).fetchall()


_COLUMNS = "s.uri, s.root, s.sha256, s.size, s.modified_ns"


def every(connection: Connection) -> list[SourceRow]:
    """Return all stored files, in the order in which they were first stored."""
    query = f"SELECT {_COLUMNS} FROM sources AS s ORDER BY source"  # noqa: S608 - constants
    return [SourceRow(*row) for row in connection.execute(query)]


def find(connection: Connection, uri: str) -> SourceRow | None:
    """Return the stored file with a uri; None if there is none."""
    row = connection.execute(f"SELECT {_COLUMNS} FROM sources AS s WHERE uri = ?", (uri,)).fetchone()  # noqa: S608
    return None if row is None else SourceRow(*row)


def of_document(connection: Connection, document: int) -> tuple[SourceRow, int] | None:
    """Return (file, number of the file's documents) for the file that a document was read from.

    Returns None if the document was not read from a file.
    """
    row = connection.execute(
        f"""SELECT (SELECT count(*) FROM documents AS o WHERE o.source = s.source), {_COLUMNS}
        FROM documents AS d CROSS JOIN sources AS s ON s.source = d.source WHERE d.document = ?""",  # noqa: S608
        (document,),
    ).fetchone()
    return None if row is None else (SourceRow(*row[1:]), int(row[0]))


def put(connection: Connection, files: Sequence[SourceRow]) -> dict[str, int]:
    """Insert files, or update their states if they are stored already; return their row numbers by uri."""
    connection.executemany(
        """INSERT INTO sources (uri, root, sha256, size, modified_ns) VALUES (?1, ?2, ?3, ?4, ?5)
        ON CONFLICT (uri) DO UPDATE SET (root, sha256, size, modified_ns) = (?2, ?3, ?4, ?5)""",
        ((file.uri, file.root, file.sha256, file.size, file.modified_ns) for file in files),
    )
    return rows(connection, [file.uri for file in files])


def rows(connection: Connection, uris: Sequence[str]) -> dict[str, int]:
    """Return the row numbers of the stored files with the given uris, by uri; unknown uris are left out."""
    return dict(select(connection, "SELECT uri, source FROM sources WHERE uri IN", uris))


def touch(connection: Connection, states: Iterable[tuple[str, int, int]]) -> None:
    """Store new sizes and times of files with unchanged bytes, and update the document dates taken from these times.

    ``states`` are (uri, size, modified_ns).
    """
    listed = list(states)
    connection.executemany("UPDATE sources SET size = ?2, modified_ns = ?3 WHERE uri = ?1", listed)
    date_documents(connection, rows(connection, [uri for uri, _, _ in listed]).values())


def date_documents(connection: Connection, files: Iterable[int]) -> None:
    """Set the date of documents that have no date of their own to the modification time of their file.

    ``files`` are row numbers of files. The files and their documents must be stored already.
    """
    connection.executemany(
        """UPDATE documents SET dated = f.second, dated_until = f.second, dated_by = ?2,
            dates_checksum = checksum(valid_from, f.second, f.second, ?2)
        FROM (SELECT source, modified_ns / 1000000000 AS second FROM sources WHERE modified_ns >= 0) AS f
        WHERE documents.source = ?1 AND f.source = ?1 AND (dated IS NULL OR dated_by = ?2) AND dated IS NOT f.second""",
        [(row, documents.BY_FILE) for row in files],
    )


def mark_incomplete(connection: Connection, row: int, *, faulty: bool) -> None:
    """Mark a file as not stored completely, so that the next sync reads the file again.

    ``faulty``: a part of the file could not be stored. If False, the rest of the file is still to be stored.
    """
    connection.execute(
        "UPDATE sources SET sha256 = x'', modified_ns = ? WHERE source = ?", (_FAULTY if faulty else _UNFINISHED, row)
    )


def faulty(connection: Connection, uris: Sequence[str]) -> frozenset[str]:
    """Return which of the given uris belong to stored files with a part that could not be stored."""
    results = select(connection, "SELECT uri FROM sources WHERE modified_ns = ? AND uri IN", uris, _FAULTY)
    return frozenset(uri for (uri,) in results)


def uris(connection: Connection, rows: Iterable[int]) -> dict[int, str]:
    """Return the uris of the given files, by row number."""
    return dict(select(connection, "SELECT source, uri FROM sources WHERE source IN", list(rows)))


def remove(connection: Connection, rows: Iterable[int]) -> None:
    """Delete files by row number. Their documents must have been deleted before."""
    connection.executemany("DELETE FROM sources WHERE source = ?", ((row,) for row in rows))


def remove_empty(connection: Connection) -> None:
    """Delete the files that have no documents."""
    connection.execute(
        "DELETE FROM sources WHERE source NOT IN (SELECT source FROM documents WHERE source IS NOT NULL)"
    )


MOST_FAILURES = 100_000
_TEXTS = ("file", "root", "uri", "reason", "hint", "needs")
UNREADABLE_FAILURE = " OR ".join([
    *(f"typeof({column}) != 'text' OR NOT is_utf8(CAST({column} AS BLOB))" for column in _TEXTS),
    *(f"typeof({column}) != 'integer'" for column in ("size", "modified_ns")),
])  # fmt: skip
"""SQL condition: a row of ``failures`` cannot be read."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Problem with a file on disk that was found under a root.

    ``file`` is the uri of the file, ``root`` the name of the root. ``size`` (bytes) and ``modified_ns`` (nanoseconds
    since 1970) describe the file when it was read. Both are stored only if a Python module is missing, which
    ``problem.needs`` names. Otherwise 0 is stored for both.
    """

    file: str
    root: str
    problem: Problem
    size: int = 0
    modified_ns: int = 0


def roots(connection: Connection) -> list[Root]:
    """Return all roots in order of name."""
    home = str(Path(path_of(connection)).parent)
    return [
        values.Root(name, os.path.normpath(os.path.join(home, place)), follow_links=bool(follow_links))  # noqa: PTH118
        for name, place, follow_links in connection.execute("SELECT name, place, follow_links FROM roots ORDER BY name")
    ]


def put_root(connection: Connection, root: Root, *, absolute: bool = False) -> None:
    """Insert a root, or update the place (path) and ``follow_links`` of a stored root.

    With ``absolute``, the place is stored as an absolute path. Shards of a shelf need this, because they are copied to
    other folders and opened there. Without ``absolute``, :func:`stored_place` decides.
    """
    place = root.place if absolute else stored_place(str(Path(path_of(connection)).parent), root.place)
    (row,) = connection.execute(
        """INSERT INTO roots (name, place, follow_links) VALUES (?, ?, ?)
        ON CONFLICT (name) DO UPDATE SET place = excluded.place, follow_links = excluded.follow_links RETURNING root""",
        (root.name, place, root.follow_links),
    ).fetchone()
    checksums.put(connection, f"roots/{row}", root.name, place, int(root.follow_links))


def remove_root(connection: Connection, name: str) -> None:
    """Delete a root and its failures. The root's files must have been deleted before."""
    connection.execute(
        "DELETE FROM checksums WHERE name IN (SELECT 'roots/' || root FROM roots WHERE name = ?)", (name,)
    )
    connection.execute("DELETE FROM roots WHERE name = ?", (name,))
    connection.execute("DELETE FROM failures WHERE root = ?", (name,))


def synced(connection: Connection) -> dict[str, float]:
    """Return the time of the last complete sync of each root, in seconds since 1970, by name of the root.

    Roots without a complete sync are left out.
    """
    results = connection.execute("SELECT name, synced FROM roots WHERE synced > 0").fetchall()
    with decoding(connection, "the time of a row of roots"):
        return {name: float(second) for name, second in results}


def described(connection: Connection) -> dict[str, str]:
    """Return the key of the describer of each root, by name of the root.

    A describer is a model that describes pictures in words. The key is from the root's last complete sync that used a
    describer. Roots without such a sync are left out.
    """
    return dict(connection.execute("SELECT name, described FROM roots WHERE described != ''").fetchall())


def save_synced(connection: Connection, names: Iterable[str], second: float, describer: str = "") -> None:
    """Store the time of a complete sync, and the key of its describer, for each synced root.

    ``second`` is in seconds since 1970. If ``describer`` (see :func:`described`) is empty, the stored keys are kept.
    """
    connection.executemany(
        "UPDATE roots SET synced = ?2, described = COALESCE(NULLIF(?3, ''), described) WHERE name = ?1",
        [(name, second, describer) for name in names],
    )


def forget_describers(connection: Connection) -> None:
    """Delete the describer keys of all roots (see :func:`described`).

    The next sync with a describer then also reads unchanged files that may have pictures.
    """
    connection.execute("UPDATE roots SET described = ''")


def failures(connection: Connection) -> list[Failure]:
    """Return all failures in order of file. Raises DamagedFile if a row cannot be read."""
    query = "SELECT file, root, uri, reason, hint, needs, size, modified_ns FROM failures ORDER BY 1, 2, 3, 4, 5"
    with decoding(connection, "a row of failures"):
        return [
            Failure(text(file), text(root), values.Problem(*map(text, problem)), whole(size), whole(modified_ns))
            for file, root, *problem, size, modified_ns in connection.execute(query)
        ]


def save_failures(connection: Connection, failures: Iterable[Failure]) -> None:
    """Replace all stored failures by the given ones.

    At most ``MOST_FAILURES`` are stored: the first in order of file.
    """
    rows = []
    for failure in failures:
        problem = failure.problem
        state = (failure.size, failure.modified_ns) if problem.needs else (0, 0)
        rows.append((failure.file, failure.root, problem.uri, problem.reason, problem.hint, problem.needs, *state))
    connection.execute("DELETE FROM failures")
    connection.executemany(
        "INSERT OR REPLACE INTO failures VALUES (?, ?, ?, ?, ?, ?, ?, ?)", sorted(rows)[:MOST_FAILURES]
    )


def owner_of(roots: Iterable[Root], path: str) -> Root | None:
    """Return the innermost root that a path is at or below; None if there is none."""
    above = (root for root in roots if root.holds(path))
    return max(above, key=lambda root: len(root.place), default=None)


def unused_name(place: str, taken: Iterable[str]) -> str:
    """Return an unused name for a root at a place: the name of its folder, with a number if that name is taken."""
    base, taken_names = place.rstrip("/").rpartition("/")[2] or "root", set(taken)
    numbered = (f"{base}-{number}" for number in count(2))
    return next(name for name in chain([base], numbered) if name not in taken_names)


def stored_place(home: str, place: str) -> str:
    """Return the place of a root in the form in which it is stored: a relative or an absolute path.

    ``home`` is the folder of the .mono file. If the place is below ``home`` or below the parent of ``home``, the path
    is relative to ``home``. The file and the root's folder can then be moved together, also to another machine.
    Otherwise the path is absolute.
    """
    relative = os.path.relpath(place, home)
    # In / or /tmp, the file and the folder are together only by chance.
    at_top = len(Path(home).parts) <= 2
    return place if relative.startswith("../../") or relative == "../.." or at_top else relative


def resolve(connection: Connection, names: Sequence[str]) -> tuple[list[DocumentRow], list[str]]:
    """Return the documents that some names refer to, and the names that refer to no document.

    A name is the id or uri of a document, or the path of a synced file. The documents are in the order of the names;
    each is returned once.
    """
    found: dict[int, DocumentRow] = {}
    unknown = []
    for name in names:
        document = documents.find(connection, name)
        matches = documents.by_uri(connection, name) if document is None else [document]
        if not matches:
            path = os.path.abspath(name)  # noqa: PTH100 - resolve() would follow links
            root = owner_of(roots(connection), path)
            matches = [] if root is None else documents.by_uri(connection, root.uri(path))
        if not matches:
            unknown.append(name)
        found.update((row.row, row) for row in matches)
    return list(found.values()), unknown
