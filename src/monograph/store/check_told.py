"""What callers told, held against its checksums, against the texts that say it, and against itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from monograph.store.checksums import checksum, differ_by_a_byte
from monograph.store.database import Connection
from monograph.store.told_changes import TABLES, Origin
from monograph.values import Finding

_SAID = {"told_nodes": "nodes", "told_relations": "relations"}
_STRAY = """t.document IS NOT NULL AND t.document NOT IN (SELECT document FROM documents) OR t.chunk IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM chunks AS c WHERE c.chunk = t.chunk AND c.document IS t.document)"""
_ENDLESS = """NOT EXISTS (SELECT 1 FROM told_nodes AS n
        WHERE n.id = r.{end} AND n.document IS r.document AND n.chunk IS r.chunk)"""


def findings(connection: Connection) -> Iterator[Finding]:
    """Every fault, one finding a kind."""
    for table, said in _SAID.items():
        wrong = sum(1 for _ in _wrong(connection, table))
        if wrong:
            yield Finding(table, f"{wrong} {said} are not what was told", repairable=True)
        (strays,) = connection.execute(f"SELECT count(*) FROM {table} AS t WHERE {_STRAY}").fetchone()  # noqa: S608
        if strays:
            yield Finding(table, f"{strays} {said} that texts say which are not there", repairable=True)
    (endless,) = connection.execute(
        f"""SELECT count(*) FROM told_relations AS r
        WHERE {_ENDLESS.format(end="source")} OR {_ENDLESS.format(end="target")}"""  # noqa: S608
    ).fetchone()
    if endless:
        yield Finding("told_relations", f"{endless} relations from or to nodes that are not there", repairable=True)


def mend(connection: Connection) -> None:
    """Give rows back the reference or the checksum that they have lost, and drop what nobody can read any more.

    Nothing in the file says what was told: a row of which a byte became another is dropped, to be told again, and so is
    a relation of which an end is lost.
    """
    for table in _SAID:
        for row, origin, parts, stored in list(_wrong(connection, table)):
            right = origin if differ_by_a_byte(stored, checksum(*parts)) else _right(connection, table, parts, stored)
            if right is None:
                connection.execute(f"DELETE FROM {table} WHERE told = ?", (row,))  # noqa: S608 - constants
                continue
            connection.execute(
                f"UPDATE {table} SET document = ?, chunk = ?, checksum = ? WHERE told = ?",  # noqa: S608
                (*right, checksum(*_with_origin(table, parts, right)), row),
            )
        connection.execute(
            f"DELETE FROM {table} WHERE told IN (SELECT t.told FROM {table} AS t WHERE {_STRAY})"  # noqa: S608
        )
    connection.execute(
        f"""DELETE FROM told_relations WHERE told IN (SELECT r.told FROM told_relations AS r
        WHERE {_ENDLESS.format(end="source")} OR {_ENDLESS.format(end="target")})"""  # noqa: S608
    )


_Wrong = tuple[int, Origin, tuple[Any, ...], int]


def _wrong(connection: Connection, table: str) -> Iterator[_Wrong]:
    """(row, origin, what the checksum is of, checksum) of the rows that are not what was told."""
    columns = TABLES[table].split(", ")
    read = ", ".join(f"CAST({one} AS BLOB)" if one in _TEXTS else one for one in columns)
    for *parts, stored in connection.execute(f"SELECT {read}, checksum FROM {table}").fetchall():  # noqa: S608
        if checksum(*parts) != stored:
            held = dict(zip(columns, parts, strict=True))
            yield parts[0], Origin(held["document"], held["chunk"]), tuple(parts), stored


_TEXTS = ("id", "label", "name", "key", "properties", "source", "target")


def _with_origin(table: str, parts: tuple[Any, ...], origin: Origin) -> tuple[Any, ...]:
    at = TABLES[table].split(", ").index("document")
    return (*parts[:at], *origin, *parts[at + 2 :])


def _right(connection: Connection, table: str, parts: tuple[Any, ...], stored: int) -> Origin | None:
    """The origin with which a row is what was told; None if there is none such."""
    candidates = connection.execute(
        "SELECT NULL, NULL UNION ALL SELECT document, NULL FROM documents UNION ALL SELECT document, chunk FROM chunks"
    )
    for candidate in candidates:
        origin = Origin(*candidate)
        if checksum(*_with_origin(table, parts, origin)) == stored:
            return origin
    return None
