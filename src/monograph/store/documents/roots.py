"""Rows of ``roots`` and ``failures``: the files and folders that are synced, and what failed in them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from monograph.errors import MonographError
from monograph.store.file import checksums
from monograph.store.file.database import Connection
from monograph.store.file.errors import decoding, path_of, sqlite_errors
from monograph.store.file.rows import text, whole
from monograph.values import Problem, Root

MOST_FAILURES = 100_000


@dataclass(frozen=True, slots=True)
class Failure:
    """A problem with a file on disk, which was found under a root.

    ``size`` in bytes and ``modified_ns`` (nanoseconds since 1970) are the file's when it was read; both are kept only
    if the problem has ``needs``, and are 0 otherwise.
    """

    file: str
    root: str
    problem: Problem
    size: int = 0
    modified_ns: int = 0


def every(connection: Connection) -> list[Root]:
    """Return all roots in order of name."""
    home = _home(connection)
    return [
        Root(name, os.path.normpath(os.path.join(home, place)), follow_links=bool(follow_links))  # noqa: PTH118
        for name, place, follow_links in connection.execute("SELECT name, place, follow_links FROM roots ORDER BY name")
    ]


def put(connection: Connection, root: Root, *, absolute: bool = False) -> None:
    """Store a root: a new one, or one with another place or other links.

    ``absolute`` always stores an absolute place: for a file of which copies are read in other folders.
    """
    place = root.place if absolute else stored_place(_home(connection), root.place)
    (row,) = connection.execute(
        """INSERT INTO roots (name, place, follow_links) VALUES (?, ?, ?)
        ON CONFLICT (name) DO UPDATE SET place = excluded.place, follow_links = excluded.follow_links RETURNING root""",
        (root.name, place, root.follow_links),
    ).fetchone()
    checksums.put(connection, f"roots/{row}", root.name, place, int(root.follow_links))


def remove(connection: Connection, name: str) -> None:
    """Delete a root whose files are gone already, and its failures."""
    connection.execute(
        "DELETE FROM checksums WHERE name IN (SELECT 'roots/' || root FROM roots WHERE name = ?)", (name,)
    )
    connection.execute("DELETE FROM roots WHERE name = ?", (name,))
    connection.execute("DELETE FROM failures WHERE root = ?", (name,))


def synced(connection: Connection) -> dict[str, float]:
    """Return when each root was last synced as a whole, in seconds since 1970, by name."""
    found = connection.execute("SELECT name, synced FROM roots WHERE synced > 0").fetchall()
    with decoding(connection, "the time of a row of roots"):
        return {name: float(second) for name, second in found}


def described(connection: Connection) -> dict[str, str]:
    """Return the key of the describer that last saw the pictures of a root, by the root's name."""
    return dict(connection.execute("SELECT name, described FROM roots WHERE described != ''").fetchall())


def save_synced(connection: Connection, names: Iterable[str], second: float, describer: str = "") -> None:
    """Note when roots were synced as a whole, and the key of the describer that saw their pictures, if one did."""
    connection.executemany(
        "UPDATE roots SET synced = ?2, described = COALESCE(NULLIF(?3, ''), described) WHERE name = ?1",
        [(name, second, describer) for name in names],
    )


def forget_describers(connection: Connection) -> None:
    """Note of every root that no describer has seen its pictures."""
    connection.execute("UPDATE roots SET described = ''")


def failures(connection: Connection) -> list[Failure]:
    """Return all failures in order of file. Raises DamagedFile if one cannot be read."""
    query = "SELECT file, root, uri, reason, mend, needs, size, modified_ns FROM failures ORDER BY 1, 2, 3, 4, 5"
    with decoding(connection, "a row of failures"):
        return [
            Failure(text(file), text(root), Problem(*map(text, problem)), whole(size), whole(modified_ns))
            for file, root, *problem, size, modified_ns in connection.execute(query)
        ]


def unread_files(connection: Connection) -> dict[str, tuple[int, int, str]]:
    """Return (bytes, time of change, module) by uri of the files that cannot be read without a module."""
    return {
        one.file: (one.size, one.modified_ns, one.problem.needs) for one in failures(connection) if one.problem.needs
    }


def save_failures(connection: Connection, kept: Iterable[Failure]) -> None:
    """Store these failures in place of all others, at most ``MOST_FAILURES``."""
    rows = sorted(
        (one.file, one.root, one.problem.uri, one.problem.reason, one.problem.mend, one.problem.needs)
        + ((one.size, one.modified_ns) if one.problem.needs else (0, 0))
        for one in kept
    )[:MOST_FAILURES]
    connection.execute("DELETE FROM failures")
    connection.executemany("INSERT OR REPLACE INTO failures VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)


def has_unreadable(connection: Connection) -> bool:
    """Return whether a failure, or a note of when a root was synced or described, cannot be read."""
    unreadable: tuple[type[Exception], ...] = (MonographError, *sqlite_errors())
    try:
        failures(connection), synced(connection), described(connection)
    except unreadable:
        return True
    return False


def drop_unreadable(connection: Connection) -> None:
    """Delete the failures and the notes of when roots were synced and described, if one of them cannot be read."""
    if has_unreadable(connection):
        connection.execute("DELETE FROM failures")
        connection.execute("UPDATE roots SET described = '', synced = 0")


def _home(connection: Connection) -> str:
    return str(Path(path_of(connection)).parent)


def owner_of(roots: Iterable[Root], path: str) -> Root | None:
    """Return the innermost root at or above a path; None if there is none."""
    above = (root for root in roots if root.holds(path))
    return max(above, key=lambda root: len(root.place), default=None)


def unused_name(place: str, taken: Iterable[str]) -> str:
    """Return a name for a root: that of its folder, with a number if the name is taken."""
    base = place.rstrip("/").rpartition("/")[2] or "root"
    name, number, others = base, 1, set(taken)
    while name in others:
        number += 1
        name = f"{base}-{number}"
    return name


def stored_place(home: str, place: str) -> str:
    """Return a place as it is stored: relative to the file's folder if it is below that, or below its parent.

    File and folder may then be moved together, to another machine too.
    """
    relative = os.path.relpath(place, home)
    # Files in / or /tmp belong together by chance.
    at_top = len(Path(home).parts) <= 2
    return place if relative.startswith("../../") or relative == "../.." or at_top else relative
