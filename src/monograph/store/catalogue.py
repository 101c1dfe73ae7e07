"""The names of many files in one: what each file has of them, and all of it together, in the tables of a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from monograph.store.checksums import checksum
from monograph.store.database import Connection

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
    apart:
        (key, other key).
    nodes, relations:
        (id, label, name, key, implied) and (source, label, target) of what callers told.
    """

    names: Rows
    subjects: Rows
    aliases: Rows
    apart: Rows
    nodes: Rows
    relations: Rows


def share(connection: Connection) -> Share:
    """What a file has of the names, in order of key."""

    def read(query: str) -> Rows:
        return connection.execute(query).fetchall()

    return Share(
        read(
            """SELECT key, signature, code, uses, persons FROM names
            WHERE uses > 0 OR name IN (SELECT name FROM aliases UNION SELECT full FROM aliases) ORDER BY key"""
        ),
        read("SELECT n.key, s.document, s.by_title, s.qualifier FROM subjects AS s JOIN names AS n USING (name)"),
        read(
            """SELECT n.key, f.key, a.document FROM aliases AS a JOIN names AS n USING (name)
            JOIN names AS f ON f.name = a.full"""
        ),
        read("SELECT key, full FROM apart"),
        read("SELECT DISTINCT id, label, name, key, implied FROM told_nodes"),
        read("SELECT DISTINCT source, label, target FROM told_relations"),
    )


def put(connection: Connection, part: Share, number: int, count: int) -> None:
    """Lay what a file has over what others have; ``number`` of ``count`` says which of them it is.

    Documents are numbered over all files: see :mod:`monograph.shelf.rows`.
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
    named = "(SELECT name FROM names WHERE key = ?)"
    connection.executemany(
        f"INSERT INTO subjects (name, by_title, qualifier, document) VALUES ({named}, ?, ?, ?)",  # noqa: S608 - a constant
        ((key, by_title, qualifier, row * count + number) for key, row, by_title, qualifier in part.subjects),
    )
    connection.executemany(
        f"INSERT INTO aliases (name, full, document) VALUES ({named}, {named}, ?)",  # noqa: S608 - a constant
        ((key, full, row * count + number) for key, full, row in part.aliases),
    )
    connection.executemany("INSERT OR IGNORE INTO apart VALUES (?, ?)", part.apart)
    put_told(connection, part.nodes, part.relations)


def put_told(connection: Connection, nodes: Rows, relations: Rows) -> None:
    """Lay what callers told in a file over what they told in others: see :class:`Share`."""
    connection.executemany(
        """INSERT INTO told_nodes (id, label, name, key, implied, properties, checksum)
        VALUES (?, ?, ?, ?, ?, '{}', 0)""",
        nodes,
    )
    connection.executemany(
        "INSERT INTO told_relations (source, label, target, properties, checksum) VALUES (?, ?, ?, '{}', 0)",
        relations,
    )


def mark_all(connection: Connection) -> None:
    """Say that any head may be out of date."""
    connection.execute("INSERT OR IGNORE INTO unresolved SELECT name FROM names WHERE uses > 0")
