"""The names of many files in one: what each file has of them, and all of it together, in the tables of a file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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


NAMED = "(SELECT name FROM names WHERE key = ?)"


def share(connection: Connection) -> Share:
    """What a file has of the names, in order of key."""
    nodes, relations = told(connection)
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
        connection.execute("SELECT key, full FROM apart").fetchall(),
        nodes,
        relations,
    )


def told(connection: Connection) -> tuple[Rows, Rows]:
    """(nodes, relations) of what callers told, as in :class:`Share`."""
    return (
        connection.execute("SELECT DISTINCT id, label, name, key, implied FROM told_nodes").fetchall(),
        connection.execute("SELECT DISTINCT source, label, target FROM told_relations").fetchall(),
    )


def put(connection: Connection, part: Share, number: int, count: int) -> None:
    """Lay what a file has over what others have; ``number`` of ``count`` says which of them it is.

    Documents are numbered over all files: see :mod:`monograph.shelf.chunk_facts`.
    """
    put_names(connection, ((key, signature) for key, signature, *_ in part.names))
    connection.executemany(
        """UPDATE names SET uses = uses + ?, persons = persons + ?, code = COALESCE(code, ?),
            checksum = COALESCE(checksum, ?) WHERE key = ?""",
        (
            (uses, persons, code, None if code is None else checksum(key.encode(), code), key)
            for key, _, code, uses, persons in part.names
        ),
    )
    put_stated(connection, part.subjects, part.aliases, number, count)
    connection.executemany("INSERT OR IGNORE INTO apart VALUES (?, ?)", part.apart)
    put_told(connection, part.nodes, part.relations)


def put_names(connection: Connection, new: Iterable[tuple[str, int]]) -> None:
    """Have names there: (key, signature). Nothing uses those that were not."""
    connection.executemany("INSERT OR IGNORE INTO names (key, signature, uses, persons) VALUES (?, ?, 0, 0)", new)


def put_stated(connection: Connection, subjects: Rows, aliases: Rows, number: int, count: int) -> bool:
    """Store what documents of a file are about, and the aliases that they state; whether none was there before."""
    new = connection.executemany(
        f"INSERT OR IGNORE INTO subjects (name, by_title, qualifier, document) VALUES ({NAMED}, ?, ?, ?)",  # noqa: S608
        ((key, by_title, qualifier, row * count + number) for key, row, by_title, qualifier in subjects),
    ).rowcount
    other = connection.executemany(
        f"INSERT OR IGNORE INTO aliases (name, full, document) VALUES ({NAMED}, {NAMED}, ?)",  # noqa: S608 - a constant
        ((key, full, row * count + number) for key, full, row in aliases),
    ).rowcount
    # Of no rows at all Python tells -1.
    return (max(new, 0), max(other, 0)) == (len(subjects), len(aliases))


def put_told(connection: Connection, nodes: Rows, relations: Rows) -> None:
    """Store what callers told, as :func:`told` gives it."""
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
