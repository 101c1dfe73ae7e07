"""Changes of single bytes in stored values, as by a failing disk: no trigger runs."""

from __future__ import annotations

import random
import shutil
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from monograph.store.file.errors import sqlite_errors
from support.raw_sql import connected


@dataclass(frozen=True)
class Cell:
    """Value in a row; ``key`` has the columns and values that identify the row."""

    table: str
    column: str
    key: tuple[tuple[str, object], ...]
    value: bytes | str | int

    def __str__(self) -> str:
        where = ", ".join(f"{column}={value!r}" for column, value in self.key)
        return f"{self.table}.{self.column} where {where}"


def _tables(connection: sqlite3.Connection) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yield (table, key columns, all columns) of every table that is not virtual, also in the inverted index."""
    tables = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table' ORDER BY name").fetchall()
    for name, sql in tables:
        if sql.startswith("CREATE VIRTUAL"):
            continue
        columns = connection.execute("SELECT name, pk FROM pragma_table_info(?)", (name,)).fetchall()
        key = ["rowid"] if "WITHOUT ROWID" not in sql else [column for column, place in columns if place]
        yield name, key, [column for column, _ in columns]


def sampled(path: Path, seed: int, secret: str | None = None) -> Iterator[Cell]:
    """Yield cells endlessly: a random table, row and column. NULL, empty and float values are skipped."""
    chance = random.Random(seed)
    connection = connected(path, secret)
    tables = list(_tables(connection))
    connection.text_factory = bytes
    rows = []
    for table, key, columns in tables:
        selected = ", ".join([*key, *(f'"{column}"' for column in columns)])
        stored = connection.execute(f"SELECT {selected} FROM {table}").fetchall()
        if stored:
            rows.append((table, key, columns, stored))
    connection.close()
    while True:
        table, key, columns, stored = chance.choice(rows)
        row = chance.choice(stored)
        column, value = chance.choice(list(zip(columns, row[len(key) :], strict=True)))
        if isinstance(value, bytes | int) and value != b"":
            yield Cell(table, column, tuple(zip(key, row, strict=False)), value)


def flip(path: Path, copy: Path, cell: Cell, seed: int, secret: str | None = None) -> bool:
    """Copy a file and change one byte of a cell; return False if the table rejects the new value."""
    chance = random.Random(seed)
    shutil.copy(path, copy)
    connection = connected(copy, secret)
    connection.text_factory = bytes
    triggers = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
    connection.execute("BEGIN")
    for name, _ in triggers:
        connection.execute(f"DROP TRIGGER {name.decode()}")
    where = " AND ".join(f"CAST({column} AS BLOB) = CAST(? AS BLOB)" for column, _ in cell.key)
    bound = [value for _, value in cell.key]
    refused: tuple[type[Exception], ...] = (*sqlite_errors(), OverflowError)
    try:
        (kind,) = connection.execute(
            f'SELECT typeof("{cell.column}") FROM {cell.table} WHERE {where}', bound
        ).fetchone()
        new, cast = _changed(cell.value, chance), "CAST(? AS TEXT)" if kind == b"text" else "?"
        changed = connection.execute(f'UPDATE {cell.table} SET "{cell.column}" = {cast} WHERE {where}', [new, *bound])
        assert changed.rowcount == 1
    except refused as error:
        if not isinstance(error, OverflowError) and "constraint" not in str(error):
            raise
        return False
    finally:
        for _, sql in triggers:
            connection.execute(sql.decode())
        connection.execute("COMMIT")
        connection.close()
    return True


def _changed(value: bytes | str | int, chance: random.Random) -> bytes | int:
    if isinstance(value, int):
        size = max(1, (value.bit_length() + 8) // 8)
        data = bytearray(value.to_bytes(size, "little", signed=True))
    else:
        data = bytearray(value if isinstance(value, bytes) else value.encode())
    data[chance.randrange(len(data))] ^= chance.randrange(1, 256)
    return int.from_bytes(data, "little", signed=True) if isinstance(value, int) else bytes(data)
