"""Which row it is that cannot be decoded: SQLite and Python say what is wrong with a value, and not where it lies."""

from __future__ import annotations

import sqlite3
import struct
import sys
import traceback
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from monograph.errors import DamagedFile
from monograph.regex import regex
from monograph.store.file import encryption

UNDECODABLE = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, struct.error, RecursionError)
"""What Python raises over values that are not what they should be."""

_NOT_UTF8 = regex(r"Could not decode to UTF-8 column '(?P<column>[^']*)'")
_OF_ROWS = ("malformed JSON", "user-defined function raised")
_OF_FTS = ("invalid fts5 file format", "vtable constructor failed", "malformed inverted index", "no such fts5 table")
_CONTRADICTED = ("SQLITE_CONSTRAINT", "SQLITE_ERROR", "SQLITE_MISMATCH", "SQLITE_TOOBIG")
_CALLED = {*sys.stdlib_module_names, "numpy"}
_SHADOWS = ("words_", "trigrams_", "sqlite_")
_JSON = (
    ("documents", "metadata"), ("documents", "sections"), ("chunks", "metadata"), ("chunks", "merged"),
    ("told_nodes", "properties"), ("told_relations", "properties"),
)  # fmt: skip
TEXTS = (
    ("documents", "document", "document = ?1", ("id", "uri", "title", "metadata", "sections")),
    ("chunks", "chunk", "document = ?1", ("id", "metadata", "merged")),
    ("texts", "block", "block >> 24 = ?1", ("text",)),
)
"""(table, what numbers its rows, which belong to a document, columns of text)."""


def damaged(path: Path | str, fault: str) -> DamagedFile:
    """The error of a file of which a part cannot be read."""
    return DamagedFile(f"{path} is damaged: {fault}", f"monograph check {path} --repair, or restore it from a copy")


def is_own(error: BaseException) -> bool:
    """Whether an error comes from this package, or from what it calls, and not from what is plugged in."""
    names = [
        str(frame.f_globals.get("__name__", "")).partition(".")[0]
        for frame, _ in traceback.walk_tb(error.__traceback__)
    ]
    return next((name for name in reversed(names) if name not in _CALLED), "") == "monograph"


def let_go(error: BaseException) -> None:
    """Clear the frames of this package that an error has left, and those of what led to it.

    Whoever keeps the error keeps their cursors, which go on reading: they hold the file as it was, so that it cannot be
    written anew.
    """
    for one in (error, error.__cause__, error.__context__):
        for frame, _ in traceback.walk_tb(None if one is None else one.__traceback__):
            if str(frame.f_globals.get("__name__", "")).partition(".")[0] == "monograph":
                with suppress(RuntimeError):  # It goes on.
                    frame.clear()


def is_contradicted(error: Exception) -> bool:
    """Whether SQLite was asked for what the file may not allow: a table that is not there, a sum that overflows."""
    return encryption.name_of(error).startswith(_CONTRADICTED)


def is_undecodable(error: Exception) -> bool:
    """Whether SQLite failed over a text that is no UTF-8."""
    return _NOT_UTF8.search(str(error)) is not None


def is_of_index(error: Exception) -> bool:
    """Whether it is FTS5 that cannot read its own."""
    return any(one in str(error) for one in _OF_FTS)


def is_of_view(connection: sqlite3.Connection) -> bool:
    """Whether a connection sees a part of the file: see :mod:`monograph.store.file.view`."""
    return connection.execute("SELECT 1 FROM sqlite_temp_master WHERE name = 'view_state'").fetchone() is not None


def in_document(connection: sqlite3.Connection, document: int) -> Iterator[tuple[str, str, int, bytes]]:
    """(table, column, row, value) of every text of a document that is no UTF-8."""
    for table, row, condition, columns in TEXTS:
        for column in columns:
            query = f"SELECT {row}, CAST({column} AS BLOB) FROM {table} WHERE {condition}"  # noqa: S608 - constants
            for number, value in connection.execute(query, (document,)):
                if not decodes(value):
                    yield table, column, number, value


def decodes(value: bytes | None) -> bool:
    """Whether the bytes of a text are UTF-8."""
    try:
        return value is None or value.decode() is not None
    except UnicodeDecodeError:
        return False


def fault_of(connection: sqlite3.Connection, error: Exception) -> str | None:
    """What is damaged, and in which row, where that is why SQLite failed; None where it failed for another reason."""
    said = str(error)
    if is_of_index(error):
        return f"the inverted index: {said}"
    found = _NOT_UTF8.search(said)
    if is_of_view(connection):  # Which row it is may be nobody's business.
        return "a row of it cannot be read" if found or any(one in said for one in _OF_ROWS) else None
    if found is not None:
        return next(_not_utf8(connection, found["column"]), f"a row whose {found['column']} is no UTF-8")
    if _OF_ROWS[0] in said:
        return next(_not_json(connection), None)
    if _OF_ROWS[1] in said:
        return next(_not_utf8(connection, ""), None)
    return None


def _not_utf8(connection: sqlite3.Connection, column: str) -> Iterator[str]:
    """Rows with a text that is no UTF-8: those where a column of that name is, else any."""
    held = list(_texts(connection))
    for table, row, name in [one for one in held if one[2] == column] or held:
        query = f"SELECT {row}, CAST({name} AS BLOB) FROM {table} WHERE typeof({name}) = 'text'"  # noqa: S608 - names
        for number, value in connection.execute(query):
            if not decodes(value):
                shown = repr(number.decode("utf-8", "replace")) if isinstance(number, bytes) else str(number)
                yield f"row {shown} of {table}: its {name} is no UTF-8"


def _texts(connection: sqlite3.Connection) -> Iterator[tuple[str, str, str]]:
    """(table, what names its rows, column) of every column of text."""
    tables = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table' ORDER BY name").fetchall()
    for table, made_by in tables:
        if table.startswith(_SHADOWS) or str(made_by).startswith("CREATE VIRTUAL"):
            continue
        columns = connection.execute("SELECT name, type, pk FROM pragma_table_info(?)", (table,)).fetchall()
        row = "rowid"
        if "WITHOUT ROWID" in str(made_by):
            row = f"CAST({next(name for name, _, place in columns if place == 1)} AS BLOB)"
        yield from ((table, row, name) for name, kind, _ in columns if kind == "TEXT")


def _not_json(connection: sqlite3.Connection) -> Iterator[str]:
    for table, column in _JSON:
        for (row,) in connection.execute(
            f"SELECT rowid FROM {table} WHERE {column} IS NOT NULL AND NOT json_valid({column})"  # noqa: S608 - names
        ):
            yield f"row {row} of {table}: its {column} is no JSON"
