"""Format 5: what older files have by absolute paths, by roots and the paths below them."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from pathlib import Path

from monograph.store.places import stored_place, unused_name


def name_roots(connection: sqlite3.Connection) -> None:
    """Fill ``roots``, and name by them what is stored by its absolute path.

    Ids stay what they are: a root's seed is what the ids of its documents are made from, here its absolute path then.
    """
    home = str(Path(connection.execute("PRAGMA database_list").fetchone()[2]).parent)
    found = sorted(root for (root,) in connection.execute("SELECT DISTINCT root FROM sources"))
    names: dict[str, str] = {}
    for root in found:
        names[root] = unused_name(root, names.values())
        connection.execute(
            "INSERT INTO roots (name, place, seed) VALUES (?, ?, ?)", (names[root], stored_place(home, root), root)
        )
    for source, uri, root in connection.execute("SELECT source, uri, root FROM sources").fetchall():
        fresh = names[root] + uri[len(root.rstrip("/")) :]
        connection.execute("UPDATE sources SET uri = ?, root = ? WHERE source = ?", (fresh, names[root], source))
        connection.execute(
            "UPDATE documents SET uri = ? || substr(uri, ?) WHERE source = ? AND substr(uri, 1, ?) = ?",
            (fresh, len(uri) + 1, source, len(uri), uri),
        )
    settings = dict(connection.execute("SELECT name, value FROM settings WHERE name IN ('failures', 'synced')"))
    bases = {root.rstrip("/"): name for root, name in names.items()}
    failed = [
        [_renamed(file, bases), _renamed(root, bases), _renamed(uri, bases), *told]
        for file, root, uri, *told in json.loads(settings.get("failures", "[]"))
    ]
    times = {_renamed(root, bases): time for root, time in json.loads(settings.get("synced", "{}")).items()}
    for name, value in (("failures", failed), ("synced", times)):
        if name in settings:
            connection.execute(
                "UPDATE settings SET value = ? WHERE name = ?", (json.dumps(value, ensure_ascii=False), name)
            )


def _renamed(path: str, bases: Mapping[str, str]) -> str:
    above = [base for base in bases if path == base or path.startswith(base + "/")]
    base = max(above, key=len, default=None)
    return path if base is None else bases[base] + path[len(base) :]
