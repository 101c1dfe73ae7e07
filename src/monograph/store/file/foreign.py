"""Rows of a SQLite file that another program wrote, read and never written."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

from monograph.errors import SourceDamaged, SourceMissing, UnknownFormat

MOST_BYTES = 256_000_000
"""Of one value."""


def count(path: Path, table: str, columns: Sequence[str]) -> int:
    """Count the rows of a table.

    Raises
    ------
    SourceError
        If there is no such file, or it has no table with these columns.
    """
    with closing(_connect(path)) as connection:
        try:
            _require(connection, path, table, columns)
            return int(connection.execute(f'SELECT count(*) FROM "{table}"').fetchone()[0])  # noqa: S608 - of ours
        except sqlite3.Error as error:
            raise _damaged(path, error) from error


def rows(path: Path, table: str, columns: Sequence[str], order: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of a table in order of a column; text is given as bytes. Raises as :func:`count`."""
    chosen = ", ".join(f'"{name}"' for name in columns)
    with closing(_connect(path)) as connection:
        try:
            _require(connection, path, table, [*columns, order])
            connection.text_factory = bytes
            for row in connection.execute(f'SELECT {chosen} FROM "{table}" ORDER BY "{order}"'):  # noqa: S608 - of ours
                yield dict(zip(columns, row, strict=True))
        except sqlite3.Error as error:
            raise _damaged(path, error) from error


def _connect(path: Path) -> sqlite3.Connection:
    if not path.is_file():
        raise SourceMissing(f"{path} is no file", "name the database")
    try:
        connection = sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True)
    except sqlite3.Error as error:
        raise _damaged(path, error) from error
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MOST_BYTES)
    try:
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA cell_size_check = ON")
    except sqlite3.Error as error:
        connection.close()
        raise _damaged(path, error) from error
    return connection


def _require(connection: sqlite3.Connection, path: Path, table: str, columns: Sequence[str]) -> None:
    """Raise UnknownFormat unless there is a table with columns: a view might compute for ever."""
    found = connection.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (table,)).fetchone()
    held = {str(row[1]) for row in connection.execute(f'PRAGMA table_info("{table}")')} if found else set()
    missing = next((name for name in columns if name not in held), None)
    if missing is not None:
        raise UnknownFormat(f"{path} has no table {table!r} with a column {missing!r}", "name the file of that store")


def _damaged(path: Path, error: sqlite3.Error) -> SourceDamaged:
    return SourceDamaged(f"{path} cannot be read: {error}", "restore it from a copy")
