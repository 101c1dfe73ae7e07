"""Rows of ``memo``: each derived value, stored once under the hash of its inputs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import count
from typing import Any, Literal, TypeAlias

from monograph.store.file.checksums import checksum
from monograph.store.file.database import Connection
from monograph.store.file.rows import next_row, select

Assigned: TypeAlias = Literal["vectors", "extractions"]
"""Tables that assign memo rows to chunks; both have the columns ``chunk`` and ``memo``."""

VECTOR = "vector"
"""Kind of an embedding; its value is float32, little-endian."""

EXTRACTION = "extraction"
"""Kind of an extraction, the entities and relations of a chunk: see :mod:`monograph.store.graph.extractions`."""

CODE = "code"
"""Kind of a name's code, the signs of its embedding, until it is moved to the row of the name."""

SUMMARY = "summary"
"""Kind of a summary of several texts: see :mod:`monograph.store.tree`."""
ANSWER = "answer"
"""Kind of a model's answer: see :mod:`monograph.answer.ask`. No row refers to it, so it counts as unused."""

SCORE = "score"
"""Kind of a reranker's score: see :mod:`monograph.search.one_file.scores`. No row refers to it either."""

DESCRIPTION = "description"
"""Kind of a describer's text about a picture, in UTF-8. No row refers to it either."""

WRONG = "m.checksum IS NOT checksum(CAST(m.kind AS BLOB), m.key, m.value)"
"""SQL condition that the memo row ``m`` differs from the one that was stored."""
_UNUSED = """memo NOT IN (SELECT memo FROM vectors) AND memo NOT IN (SELECT memo FROM extractions)
    AND NOT EXISTS (SELECT 1 FROM nodes WHERE gist = memo.memo)
    AND NOT EXISTS (SELECT 1 FROM nodes WHERE vector = memo.memo)
    AND NOT EXISTS (SELECT 1 FROM version_chunks WHERE vector = memo.memo)
    AND NOT EXISTS (SELECT 1 FROM version_chunks WHERE extraction = memo.memo)"""


DISOWN = (
    "DELETE FROM vectors WHERE memo = ?",
    "DELETE FROM extractions WHERE memo = ?",
    "UPDATE version_chunks SET vector = NULL WHERE vector = ?",
    "UPDATE version_chunks SET extraction = NULL WHERE extraction = ?",
    "DELETE FROM memo WHERE memo = ?",
)
"""Statements that delete a memo row and all references to it, so that its value is derived again."""


def rows(connection: Connection, kind: str, keys: Sequence[bytes]) -> dict[bytes, int]:
    """Return the memo rows of some keys.

    Returns
    -------
    Row number by key; keys that are not stored are left out.
    """
    return dict(select(connection, "SELECT key, memo FROM memo WHERE kind = ? AND key IN", keys, kind))


def put(connection: Connection, kind: str, values: Iterable[tuple[bytes, bytes, int]]) -> dict[bytes, int]:
    """Store values under their keys; a key that is stored already keeps its value.

    Parameters
    ----------
    kind:
        The kind of all values, such as VECTOR.
    values:
        (key, value, tokens that models took to derive it).

    Returns
    -------
    Row number of every key, new or known.
    """
    values_by_key: dict[bytes, tuple[bytes, int]] = {}
    for key, value, tokens in values:
        values_by_key.setdefault(key, (value, tokens))
    stored = rows(connection, kind, list(values_by_key))
    fresh = dict(
        zip((key for key in values_by_key if key not in stored), count(next_row(connection, "memo")), strict=False)
    )
    connection.executemany(
        "INSERT INTO memo (memo, kind, key, value, tokens, checksum) VALUES (?, ?, ?, ?, ?, ?)",
        (
            (row, kind, key, *values_by_key[key], checksum(kind.encode(), key, values_by_key[key][0]))
            for key, row in fresh.items()
        ),
    )
    return stored | fresh


def values(connection: Connection, rows: Iterable[int]) -> dict[int, bytes]:
    """Return the values of memo rows by row number; missing rows are left out."""
    return dict(select(connection, "SELECT memo, value FROM memo WHERE memo IN", list(rows)))


def keys(connection: Connection, rows: Iterable[int]) -> dict[int, bytes]:
    """Return the keys of memo rows by row number; missing rows are left out."""
    pairs = connection.execute(
        "SELECT memo, key FROM memo WHERE memo IN (SELECT value FROM json_each(?))", (json.dumps(list(rows)),)
    ).fetchall()
    return {int(row): bytes(key) for row, key in pairs}


def drop_failed(connection: Connection) -> int:
    """Delete the extractions at which a model failed, so that they are derived again; return their number."""
    condition = "kind = ? AND instr(value, CAST('\"failure\":' AS BLOB)) > 0"
    failed_rows = f"(SELECT memo FROM memo WHERE {condition})"  # noqa: S608
    connection.execute(f"DELETE FROM extractions WHERE memo IN {failed_rows}", (EXTRACTION,))  # noqa: S608
    connection.execute(f"UPDATE version_chunks SET extraction = NULL WHERE extraction IN {failed_rows}", (EXTRACTION,))  # noqa: S608
    return connection.execute(f"DELETE FROM memo WHERE {condition}", (EXTRACTION,)).rowcount  # noqa: S608


def drop(connection: Connection, kind: str) -> None:
    """Delete all values of a kind."""
    connection.execute("DELETE FROM memo WHERE kind = ?", (kind,))


def delete(connection: Connection, rows: Iterable[int]) -> None:
    """Delete values by row number."""
    connection.executemany("DELETE FROM memo WHERE memo = ?", ((row,) for row in rows))


def drop_unused(connection: Connection) -> int:
    """Delete the values that no row refers to, and return their number."""
    return connection.execute(f"DELETE FROM memo WHERE {_UNUSED}").rowcount  # noqa: S608 - a constant


def count_unused(connection: Connection) -> int:
    """Return the number of values that no row refers to. They are kept for documents that are added again."""
    (count,) = connection.execute(f"SELECT count(*) FROM memo WHERE {_UNUSED}").fetchone()  # noqa: S608
    return int(count)


def count_wrong(connection: Connection) -> dict[str, int]:
    """Return the number of values that fail their checksum, by kind."""
    query = f"SELECT CAST(kind AS BLOB), count(*) FROM memo AS m WHERE {WRONG} GROUP BY 1"  # noqa: S608 - a constant
    return {bytes(kind).decode("utf-8", "replace"): int(count) for kind, count in connection.execute(query)}


def wrong(connection: Connection) -> list[tuple[int, Any, Any]]:
    """Return (row, key, value) of the rows that fail their checksum; key and value may be of any type."""
    return connection.execute(f"SELECT memo, key, value FROM memo AS m WHERE {WRONG}").fetchall()  # noqa: S608


def accept(connection: Connection, row: int, key: bytes) -> None:
    """Keep the value of a row that failed its checksum as a vector, under a new key and checksum."""
    (value,) = connection.execute("SELECT value FROM memo WHERE memo = ?", (row,)).fetchone()
    connection.execute(
        "UPDATE memo SET kind = ?, key = ?, checksum = ? WHERE memo = ?",
        (VECTOR, key, checksum(VECTOR, key, value), row),
    )


def disown(connection: Connection, rows: Iterable[int]) -> None:
    """Delete values and all references to them, so that they are derived again."""
    listed = [(row,) for row in rows]
    for statement in DISOWN:
        connection.executemany(statement, listed)


def assigned(connection: Connection, table: Assigned, chunks: Iterable[int]) -> dict[int, int]:
    """Return the memo row of the vector or extraction of each chunk that has one, by chunk row."""
    return dict(
        connection.execute(
            f"SELECT a.chunk, a.memo FROM json_each(?) AS c CROSS JOIN {table} AS a WHERE a.chunk = c.value",  # noqa: S608
            (json.dumps(list(chunks)),),
        )
    )


def assign(connection: Connection, table: Assigned, pairs: Sequence[tuple[int, int]]) -> None:
    """Store which vectors or extractions chunks have: (chunk row, memo row)."""
    # Not an upsert: in a table with constraints SQLite opens a statement journal for each, which takes fifty times as
    # long as the insert.
    current = assigned(connection, table, [chunk for chunk, _ in pairs])
    connection.executemany(
        f"UPDATE {table} SET memo = ?2 WHERE chunk = ?1",  # noqa: S608 - a constant
        (pair for pair in pairs if current.get(pair[0], pair[1]) != pair[1]),
    )
    connection.executemany(
        f"INSERT INTO {table} (chunk, memo) VALUES (?, ?)",  # noqa: S608 - a constant
        (pair for pair in pairs if pair[0] not in current),
    )
