"""Rows of ``roots``: synced files and folders, each with a name that stays and a place that may change."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from monograph.store.file import checksums, settings
from monograph.store.file.database import Connection, path_of
from monograph.values import Root


def every(connection: Connection) -> list[Root]:
    """Return all roots, in order of name."""
    home = _home(connection)
    found = connection.execute("SELECT name, place FROM roots ORDER BY name")
    out = settings.load_following_links(connection)
    return [
        Root(name, os.path.normpath(os.path.join(home, place)), follow_links=name in out)  # noqa: PTH118
        for name, place in found
    ]


def put(connection: Connection, root: Root, *, absolute: bool = False) -> None:
    """Store a root: a new one, or one with another place or other links.

    ``absolute`` stores the place as an absolute path: for a file whose copies are read in other folders.
    """
    place = root.place if absolute else stored_place(_home(connection), root.place)
    known = next((one for one in every(connection) if one.name == root.name), None)
    if absolute or known is None or known.place != root.place:
        (row,) = connection.execute(
            """INSERT INTO roots (name, place) VALUES (?, ?)
            ON CONFLICT (name) DO UPDATE SET place = excluded.place RETURNING root""",
            (root.name, place),
        ).fetchone()
        checksums.put(connection, f"roots/{row}", root.name, place)
    if root.follow_links != (known is not None and known.follow_links):
        _follow_links(connection, root.name, follow=root.follow_links)


def remove(connection: Connection, name: str) -> None:
    """Delete a root whose files are deleted already."""
    connection.execute(
        "DELETE FROM checksums WHERE name IN (SELECT 'roots/' || root FROM roots WHERE name = ?)", (name,)
    )
    connection.execute("DELETE FROM roots WHERE name = ?", (name,))
    _follow_links(connection, name, follow=False)


def _follow_links(connection: Connection, name: str, *, follow: bool) -> None:
    before = settings.load_following_links(connection)
    after = before | {name} if follow else before - {name}
    if after != before:
        settings.save_following_links(connection, after)


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
