"""Rows of ``memo``: everything derived, once, under the hash of what it was derived from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from monograph.store.checksums import checksum
from monograph.store.database import Connection

VECTOR = "vector"
"""Kind of an embedding; its value is float32, little-endian."""

EXTRACTION = "extraction"
"""Kind of what an extractor found in a chunk: see :mod:`monograph.store.extractions`."""

CODE = "code"
"""Kind of the signs of a name's embedding by an embedder that the file is to have: then they go to the name's row."""

SUMMARY = "summary"
"""Kind of what a summarizer made of some texts: see :mod:`monograph.store.summary_texts`."""
ANSWER = "answer"
"""Kind of a model's answer: see :mod:`monograph.answer.cache`. No row uses it: it goes with what is unused."""

_ASKED_AT_ONCE = 500
_UNUSED = """memo NOT IN (SELECT memo FROM vectors) AND memo NOT IN (SELECT memo FROM extractions)
    AND NOT EXISTS (SELECT 1 FROM nodes WHERE gist = memo.memo)
    AND NOT EXISTS (SELECT 1 FROM nodes WHERE vector = memo.memo)"""


def rows(connection: Connection, kind: str, keys: Sequence[bytes]) -> dict[bytes, int]:
    """Which of the keys are remembered, and in which row.

    Returns
    -------
    Row number by key, for the keys that are there.
    """
    found: dict[bytes, int] = {}
    for first in range(0, len(keys), _ASKED_AT_ONCE):
        part = keys[first : first + _ASKED_AT_ONCE]
        marks = ",".join("?" * len(part))
        query = f"SELECT key, memo FROM memo WHERE kind = ? AND key IN ({marks})"  # noqa: S608 - only question marks
        found.update(connection.execute(query, (kind, *part)))
    return found


def put(connection: Connection, kind: str, values: Iterable[tuple[bytes, bytes, int]]) -> None:
    """Remember values; one that is there already stays as it is.

    Parameters
    ----------
    kind:
        What was derived.
    values:
        (key, value, tokens spent to make it).
    """
    connection.executemany(
        "INSERT INTO memo (kind, key, value, tokens, checksum) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
        ((kind, key, value, tokens, checksum(kind.encode(), key, value)) for key, value, tokens in values),
    )


def values(connection: Connection, rows: Iterable[int]) -> dict[int, bytes]:
    """Values by row, for the rows that are there."""
    asked = list(rows)
    found: dict[int, bytes] = {}
    for first in range(0, len(asked), _ASKED_AT_ONCE):
        part = asked[first : first + _ASKED_AT_ONCE]
        marks = ",".join("?" * len(part))
        found.update(connection.execute(f"SELECT memo, value FROM memo WHERE memo IN ({marks})", part))  # noqa: S608
    return found


def drop_failed(connection: Connection) -> int:
    """Forget the extractions that a model failed on, so that they are asked for again; returns how many."""
    failed = "kind = ? AND instr(value, CAST('\"failure\":' AS BLOB)) > 0"
    connection.execute(f"DELETE FROM extractions WHERE memo IN (SELECT memo FROM memo WHERE {failed})", (EXTRACTION,))  # noqa: S608
    return connection.execute(f"DELETE FROM memo WHERE {failed}", (EXTRACTION,)).rowcount  # noqa: S608


def drop(connection: Connection, kind: str) -> None:
    """Forget all values of a kind."""
    connection.execute("DELETE FROM memo WHERE kind = ?", (kind,))


def drop_unused(connection: Connection) -> int:
    """Forget the values that no row uses any more; returns how many."""
    return connection.execute(f"DELETE FROM memo WHERE {_UNUSED}").rowcount  # noqa: S608 - a constant


def count_unused(connection: Connection) -> int:
    """How many values no row uses: they make re-adding what was removed free."""
    (count,) = connection.execute(f"SELECT count(*) FROM memo WHERE {_UNUSED}").fetchone()  # noqa: S608
    return int(count)
