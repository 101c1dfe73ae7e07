"""Which remembered value is which chunk's: the tables ``vectors`` and ``extractions``, alike in their columns."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Literal, TypeAlias

from monograph.store.file.database import Connection

Table: TypeAlias = Literal["vectors", "extractions"]


def rows(connection: Connection, table: Table, chunks: Iterable[int]) -> dict[int, int]:
    """Memo rows by chunk row, for the chunks that have one."""
    return dict(
        connection.execute(
            f"SELECT a.chunk, a.memo FROM json_each(?) AS c CROSS JOIN {table} AS a WHERE a.chunk = c.value",  # noqa: S608
            (json.dumps(list(chunks)),),
        )
    )


def assign(connection: Connection, table: Table, pairs: Sequence[tuple[int, int]]) -> None:
    """Give chunks their values: (chunk row, memo row)."""
    # Not an upsert: where rows are watched by constraints, SQLite opens a statement journal for one, which takes fifty
    # times as long as the insert.
    held = rows(connection, table, [chunk for chunk, _ in pairs])
    connection.executemany(
        f"UPDATE {table} SET memo = ?2 WHERE chunk = ?1",  # noqa: S608 - a constant
        (pair for pair in pairs if held.get(pair[0], pair[1]) != pair[1]),
    )
    add(connection, table, (pair for pair in pairs if pair[0] not in held))


def add(connection: Connection, table: Table, pairs: Iterable[tuple[int, int]]) -> None:
    """The same for chunks that have none."""
    connection.executemany(f"INSERT INTO {table} (chunk, memo) VALUES (?, ?)", pairs)  # noqa: S608 - a constant
