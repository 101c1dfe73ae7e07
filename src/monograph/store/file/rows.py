"""Rows of any table: queries for many keys at once, numbers for new rows, and checks of stored values."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any, Literal

from monograph.store.file.errors import damaged, path_of
from monograph.store.file.schema import MOST_DOCUMENTS
from monograph.values.arguments import shown

_KEYS_PER_QUERY = 500
_COLUMNS = {"documents": "document", "chunks": "chunk", "names": "name", "memo": "memo"}
_HIGHEST_ROW = 1 << 62
_DOCUMENT_RESERVE = 1 << 32
"""Minimum number of unused row numbers below MOST_DOCUMENTS. If fewer are left, ``next_row`` raises DamagedFile."""

_BOUND_STEP, _BOUND_LIMIT = 64, 1024
"""Step and maximum of the number of parameters in a query of :func:`lookup`, one parameter for each text.

The parameters are padded with NULL to a multiple of 64. More than 1,024 texts, and all integers, are bound as one JSON
array instead. For 370 texts, a JSON array would take twice the time.
"""


def select(
    connection: sqlite3.Connection, query: str, keys: Sequence[bytes | str | int], *before: object
) -> list[tuple[Any, ...]]:
    """Return the rows of a query that ends with ``IN``; the keys are appended, 500 at a time.

    ``before`` are the parameters in front of the keys.
    """
    rows = []
    for first in range(0, len(keys), _KEYS_PER_QUERY):
        batch = keys[first : first + _KEYS_PER_QUERY]
        rows += connection.execute(f"{query} ({','.join('?' * len(batch))})", (*before, *batch)).fetchall()
    return rows


def lookup(
    connection: sqlite3.Connection, columns: str, tables: str, keys: Iterable[str | int], *parameters: object
) -> list[tuple[Any, ...]]:
    """Return the selected columns of all rows that match one of the keys, in the order of the keys.

    ``columns`` is SQL: the columns to select. ``tables`` is SQL, too: the tables, and a WHERE clause that compares a
    column with a key, ``w.value``. An ORDER BY in ``tables`` replaces the order of the keys.
    ``parameters`` are the parameters in ``tables``; the keys are bound separately.
    """
    listed = list(keys)
    bound: list[str | int | None]
    if listed and type(listed[0]) is str and len(listed) <= _BOUND_LIMIT:
        # Padding with NULL, which equals nothing, keeps the number of statements to prepare small.
        bound = [*listed, *[None] * (-len(listed) % _BOUND_STEP)]
        values = f"VALUES {','.join(['(?)'] * len(bound))}"
    else:
        # str() of a list of integers is JSON as well, and many times faster than json.dumps().
        packed = str(listed) if listed and type(listed[0]) is int else json.dumps(listed, ensure_ascii=False)
        values, bound = "SELECT value FROM json_each(?)", [packed]
    query = f"WITH w(value) AS ({values}) SELECT {columns} FROM w CROSS JOIN {tables}"  # noqa: S608 - constants
    return connection.execute(query, (*bound, *parameters)).fetchall()


def column(connection: sqlite3.Connection, query: str, *parameters: object) -> list[Any]:
    """Return the values of a query that has only one column."""
    return [value for (value,) in connection.execute(query, parameters).fetchall()]


def scalar(connection: sqlite3.Connection, query: str, *parameters: object) -> Any | None:
    """Return the value in the first row of a query that has only one column; None if there is no row."""
    row = connection.execute(query, parameters).fetchone()
    return None if row is None else row[0]


def integer(connection: sqlite3.Connection, query: str, *parameters: object) -> int:
    """Return the whole number that a query yields; 0 if it yields NULL or no row."""
    return int(scalar(connection, query, *parameters) or 0)


def group(pairs: Iterable[tuple[Any, Any]]) -> dict[Any, list[Any]]:
    """Group pairs by their first values: return {first value: its second values}, in the order of the pairs."""
    groups: dict[Any, list[Any]] = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    return groups


def next_row(connection: sqlite3.Connection, table: Literal["documents", "chunks", "names", "memo"]) -> int:
    """Return the number for a new row of a table: one above the highest number. Call it in a write transaction.

    Raises DamagedFile if the highest row number is so high that row numbers may run out. This happens only in damaged
    files.
    """
    highest = integer(connection, f"SELECT max({_COLUMNS[table]}) FROM {table}")  # noqa: S608 - constants
    if highest >= (MOST_DOCUMENTS - _DOCUMENT_RESERVE if table == "documents" else _HIGHEST_ROW):
        raise damaged(path_of(connection), f"the number of row {highest} of {table} is too high")
    return highest + 1


def is_marked(connection: sqlite3.Connection, table: Literal["dirty_leaves", "unresolved"]) -> bool:
    """Return whether any chunk (``dirty_leaves``) or name (``unresolved``) is marked for an update.

    The tree's node of a marked chunk may be out of date. A marked name may have an outdated head, the name that it was
    merged into.
    """
    return connection.execute(f"SELECT 1 FROM {table} LIMIT 1").fetchone() is not None  # noqa: S608 - constants


def text(value: Any) -> str:
    """Return the value if it is a text. Raises ValueError if it is not, or cannot be encoded as UTF-8."""
    if not isinstance(value, str):
        raise ValueError(f"{shown(value)} is not a text")
    value.encode()
    return value


def whole(value: Any) -> int:
    """Return the value if it is a whole number of 64 bits. Raises ValueError otherwise."""
    if type(value) is not int or not -(2**63) <= value < 2**63:
        raise ValueError(f"{shown(value)} is not a 64-bit integer")
    return value


def loaded_object(text: str) -> dict[str, Any]:
    """Return a JSON object as a dict. Raises ValueError if the text is not a JSON object."""
    if text == "{}":  # Most are empty, and parsing takes 2 µs.
        return {}
    loaded = json.loads(text)
    if not isinstance(loaded, dict):
        raise ValueError(f"{text[:40]!r} is not a JSON object")
    return loaded
