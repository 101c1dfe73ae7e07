"""Rows of a SQLite file that another program wrote, read and never written."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from monograph.errors import SourceDamaged, SourceMissing, UnknownFormat

MOST_BYTES = 256_000_000
"""Most bytes of one value. A longer value raises an error."""


def count(path: Path, table: str, columns: Sequence[str]) -> int:
    """Return the number of rows of a table.

    Raises SourceError if the file does not exist or cannot be read, or has no table with these columns.
    """
    with _open_table(path, table, columns) as connection:
        return int(connection.execute(f'SELECT count(*) FROM "{table}"').fetchone()[0])  # noqa: S608 - of ours


def rows(path: Path, table: str, columns: Sequence[str], order: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of a table as dicts, in order of the column ``order``.

    Texts are returned as bytes. Raises SourceError if the file does not exist or cannot be read, or has no table with
    these columns.
    """
    chosen = ", ".join(f'"{name}"' for name in columns)
    with _open_table(path, table, [*columns, order]) as connection:
        connection.text_factory = bytes
        for row in connection.execute(f'SELECT {chosen} FROM "{table}" ORDER BY "{order}"'):  # noqa: S608 - of ours
            yield dict(zip(columns, row, strict=True))


@contextmanager
def _open_table(path: Path, table: str, columns: Sequence[str]) -> Iterator[sqlite3.Connection]:
    """Open a file for reading, check that it has a table with the given columns, and translate SQLite's errors."""
    if not path.is_file():
        raise SourceMissing(f"{path} is not a file", "give the path of the database file")
    try:
        with closing(sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True)) as connection:
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MOST_BYTES)
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.execute("PRAGMA cell_size_check = ON")
            # Views are refused: a view might run forever.
            existing = connection.execute(
                "SELECT c.name FROM sqlite_master AS t, pragma_table_info(t.name) AS c "
                "WHERE t.type = 'table' AND t.name = ?",
                (table,),
            ).fetchall()
            missing = next((name for name in columns if (name,) not in existing), None)
            if missing is not None:
                raise UnknownFormat(
                    f"{path} has no table {table!r} with a column {missing!r}", "give the database file of that store"
                )
            yield connection
    except sqlite3.Error as error:
        raise SourceDamaged(f"{path} cannot be read: {error}", "restore it from a copy") from error
