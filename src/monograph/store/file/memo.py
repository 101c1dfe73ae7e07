"""Rows of ``memo``: each derived value, stored once under the hash of its inputs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, TypeAlias

from monograph.store.file.checksums import checksum
from monograph.store.file.database import Connection
from monograph.store.file.rows import integer, lookup, next_row, select

Assigned: TypeAlias = Literal["vectors", "extractions"]
"""Tables that assign a memo row to each chunk. Both have the columns ``chunk`` and ``memo``."""

VECTOR = "vector"
"""Kind of an embedding; its value is float32, little-endian."""

EXTRACTION = "extraction"
"""Kind of an extraction, the entities and relations of a chunk: see :mod:`monograph.store.graph.extractions`."""

CODE = "code"
"""Kind of a name's code: one bit for each value of the name's embedding, 1 if the value is positive. A code is in the
memo only until it is moved to the name's row in ``names``."""

SUMMARY = "summary"
"""Kind of a summary of several texts: see :mod:`monograph.store.tree`."""
ANSWER = "answer"
"""Kind of a model's answer: see :mod:`monograph.answer.ask`. No row refers to an answer, so answers count as unused."""

SCORE = "score"
"""Kind of a reranker's score: see :mod:`monograph.search.one_file.scores`. No row refers to a score, so scores count as
unused."""

DESCRIPTION = "description"
"""Kind of a text about a picture, made by a describer, in UTF-8. No row refers to a description, so descriptions count
as unused."""

WRONG = "m.checksum IS NOT checksum(CAST(m.kind AS BLOB), m.key, m.value)"
"""SQL condition: the memo row ``m`` does not match its checksum."""
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
"""Statements that delete a memo row (the parameter of each), and the references from chunks and previous versions to
this row. The value is then derived again. References from the tree stay."""


def rows(connection: Connection, kind: str, keys: Sequence[bytes]) -> dict[bytes, int]:
    """Return the memo rows of the given keys, by key; keys that are not stored are left out."""
    return dict(select(connection, "SELECT key, memo FROM memo WHERE kind = ? AND key IN", keys, kind))


def put(connection: Connection, kind: str, values: Iterable[tuple[bytes, bytes, int]]) -> dict[bytes, int]:
    """Store values of one kind, such as VECTOR; return the memo row of every given key, by key.

    ``values`` are (key, value, number of tokens that models took to derive the value). A key that is stored
    already keeps its value.
    """
    values_by_key: dict[bytes, tuple[bytes, int]] = {}
    for key, value, tokens in values:
        values_by_key.setdefault(key, (value, tokens))
    stored = rows(connection, kind, list(values_by_key))
    new_keys = (key for key in values_by_key if key not in stored)
    fresh = {key: row for row, key in enumerate(new_keys, start=next_row(connection, "memo"))}
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
    return dict(select(connection, "SELECT memo, key FROM memo WHERE memo IN", list(rows)))


def drop_failed(connection: Connection) -> int:
    """Delete the extractions that patterns made in place of a model that failed; return their number.

    These extractions are then derived again.
    """
    query = "SELECT memo FROM memo WHERE kind = ? AND instr(value, CAST('\"failure\":' AS BLOB)) > 0"
    failed_rows = connection.execute(query, (EXTRACTION,)).fetchall()
    for statement in DISOWN:
        connection.executemany(statement, failed_rows)
    return len(failed_rows)


def drop(connection: Connection, kind: str) -> None:
    """Delete all values of a kind."""
    connection.execute("DELETE FROM memo WHERE kind = ?", (kind,))


def delete(connection: Connection, rows: Iterable[int]) -> None:
    """Delete values by row number."""
    connection.executemany("DELETE FROM memo WHERE memo = ?", ((row,) for row in rows))


def drop_unused(connection: Connection) -> int:
    """Delete the values that no row refers to; return the number of deleted values."""
    return connection.execute(f"DELETE FROM memo WHERE {_UNUSED}").rowcount  # noqa: S608 - a constant


def count_unused(connection: Connection) -> int:
    """Return the number of values that no row refers to. They are kept in case their documents are added again."""
    return integer(connection, f"SELECT count(*) FROM memo WHERE {_UNUSED}")  # noqa: S608 - a constant


def count_wrong(connection: Connection) -> dict[str, int]:
    """Return the number of values that do not match their checksum, by kind."""
    query = f"SELECT CAST(kind AS BLOB), count(*) FROM memo AS m WHERE {WRONG} GROUP BY 1"  # noqa: S608 - a constant
    return {bytes(kind).decode("utf-8", "replace"): int(count) for kind, count in connection.execute(query)}


def assigned(connection: Connection, table: Assigned, chunks: Iterable[int]) -> dict[int, int]:
    """Return the memo row of the vector or the extraction of each chunk, by chunk row.

    ``table`` says which of the two. Chunks that have none are left out.
    """
    return dict(lookup(connection, "a.chunk, a.memo", f"{table} AS a WHERE a.chunk = w.value", chunks))


def assign(connection: Connection, table: Assigned, pairs: Sequence[tuple[int, int]]) -> None:
    """Store the memo row of the vector or the extraction of each chunk; an earlier memo row is replaced.

    ``table`` says which of the two. ``pairs`` are (chunk row, memo row).
    """
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
