"""Rows of ``roots``: the files and folders that are synced, each by a name that stays and a place that may change."""

from __future__ import annotations

import os
from pathlib import Path

from monograph.errors import BusyFile
from monograph.store import checksums
from monograph.store.database import Connection, path_of
from monograph.store.places import stored_place
from monograph.values import Root


def every(connection: Connection) -> list[Root]:
    """All roots, in order of name."""
    home = _home(connection)
    found = connection.execute("SELECT name, place, seed FROM roots ORDER BY name")
    return [Root(name, os.path.normpath(os.path.join(home, place)), seed) for name, place, seed in found]  # noqa: PTH118


def put(connection: Connection, root: Root) -> None:
    """Store a root, new or in another place.

    Raises
    ------
    BusyFile
        If another process has given its name to another root meanwhile.
    """
    place = stored_place(_home(connection), root.place)
    known = next((one for one in every(connection) if one.name == root.name), None)
    if known is not None and known.seed != root.seed:
        raise BusyFile(f"another process has begun to sync another {root.name!r}", "try again")
    if known is None or known.place != root.place:
        (row,) = connection.execute(
            """INSERT INTO roots (name, place, seed) VALUES (?, ?, ?)
            ON CONFLICT (name) DO UPDATE SET place = excluded.place RETURNING root""",
            (root.name, place, root.seed),
        ).fetchone()
        checksums.put(connection, f"roots/{row}", root.name, place, root.seed)


def remove(connection: Connection, name: str) -> None:
    """Forget a root whose files are gone already."""
    connection.execute(
        "DELETE FROM checksums WHERE name IN (SELECT 'roots/' || root FROM roots WHERE name = ?)", (name,)
    )
    connection.execute("DELETE FROM roots WHERE name = ?", (name,))


def _home(connection: Connection) -> str:
    return str(Path(path_of(connection)).parent)
