"""What callers told, held against its checksums, against the texts that say it, and against itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from monograph.store.file.checksums import checksum
from monograph.store.file.database import Connection
from monograph.store.file.errors import UNDECODABLE
from monograph.store.file.rows import loaded_object
from monograph.store.graph.assertions import STORED, TABLES, Origin, imply_node
from monograph.values import Finding

MEND = "tell it again, or take it back"
_SAID = {"told_nodes": "nodes", "told_relations": "relations"}
_TEXTS = ("id", "label", "name", "key", "properties", "source", "target")
_STRAY = """t.document IS NOT NULL AND t.document NOT IN (SELECT document FROM documents) OR t.chunk IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM chunks AS c WHERE c.chunk = t.chunk AND c.document IS t.document)"""
_ENDLESS = """SELECT r.{end}, r.document, r.chunk FROM told_relations AS r WHERE NOT EXISTS (
    SELECT 1 FROM told_nodes AS n WHERE n.id = r.{end} AND n.document IS r.document AND n.chunk IS r.chunk)"""


class _Row(NamedTuple):
    """A row: what its checksum is of, texts as bytes, and the checksum."""

    parts: tuple[Any, ...]
    checksum: int


def findings(connection: Connection) -> Iterator[Finding]:
    """Every fault, one finding a kind."""
    for table, said in _SAID.items():
        wrong = sum(1 for _ in _wrong(connection, table))
        if wrong:
            yield Finding(table, f"{wrong} {said} are not what was told", False, MEND)
            continue  # What they refer to is no news.
        unreadable = sum(1 for _ in _unreadable(connection, table))
        if unreadable:
            yield Finding(table, f"{unreadable} {said} cannot be read", repairable=True)
        (strays,) = connection.execute(f"SELECT count(*) FROM {table} AS t WHERE {_STRAY}").fetchone()  # noqa: S608
        if strays:
            yield Finding(table, f"{strays} {said} that texts say which are not there", repairable=True)
    endless = len(_endless(connection)) if _are_sound(connection) else 0
    if endless:
        yield Finding("told_nodes", f"{endless} nodes that relations lead from or to are not there", repairable=True)


def mend(connection: Connection, key_of: Callable[[str], str]) -> None:
    """Drop rows that nobody can read, and sound ones that no text says.

    A node at the end of a relation that is not there is known by its id, and called so.
    """
    for table in _SAID:
        wrong = {one.parts[0] for one in _wrong(connection, table)}
        strays = {row for (row,) in connection.execute(f"SELECT t.told FROM {table} AS t WHERE {_STRAY}")}  # noqa: S608
        lost = [(row,) for row in {*_unreadable(connection, table), *(strays - wrong)}]
        connection.executemany(f"DELETE FROM {table} WHERE told = ?", lost)  # noqa: S608 - constants
    for end, *origin in _endless(connection) if _are_sound(connection) else ():
        imply_node(connection, end, key_of(end), Origin(*origin))


def _rows(connection: Connection, table: str) -> list[_Row]:
    read = ", ".join(f"CAST({one} AS BLOB)" if one in _TEXTS else one for one in _columns(table))
    rows = connection.execute(f"SELECT {read}, checksum FROM {table}").fetchall()  # noqa: S608 - constants
    return [_Row(tuple(parts), stored) for *parts, stored in rows]


def _wrong(connection: Connection, table: str) -> Iterator[_Row]:
    return (one for one in _rows(connection, table) if checksum(*one.parts) != one.checksum)


def _are_sound(connection: Connection) -> bool:
    """Return whether every row is what was told; what a damaged one refers to is no fault of its own."""
    return not any(True for table in _SAID for _ in _wrong(connection, table))


def _unreadable(connection: Connection, table: str) -> Iterator[int]:
    """Numbers of the rows that nobody can read."""
    texts = " AND ".join(f"typeof({one}) = 'text'" for one in _columns(table) if one in _TEXTS)
    mistyped = {row for (row,) in connection.execute(f"SELECT told FROM {table} WHERE NOT ({texts})")}  # noqa: S608
    for one in _rows(connection, table):
        if one.parts[0] in mistyped or not _is_readable(table, one.parts):
            yield one.parts[0]


def _is_readable(table: str, parts: tuple[Any, ...]) -> bool:
    held = dict(zip(_columns(table), parts, strict=True))
    try:
        texts = {name: bytes(value).decode() for name, value in held.items() if name in _TEXTS}
        loaded_object(texts["properties"])
    except UNDECODABLE:
        return False
    embedding = held.get("embedding")
    return embedding is None or (isinstance(embedding, bytes) and len(embedding) % STORED.itemsize == 0)


def _endless(connection: Connection) -> list[tuple[Any, ...]]:
    """(id, document, chunk) of every end of a relation that its origin does not tell of."""
    union = " UNION ".join(_ENDLESS.format(end=end) for end in ("source", "target"))
    return connection.execute(union).fetchall()


def _columns(table: str) -> list[str]:
    return TABLES[table].split(", ")
