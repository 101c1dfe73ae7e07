"""Rows of ``memo``: everything derived, once, under the hash of what it was derived from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from monograph.store.database import Connection

VECTOR = "vector"
"""Kind of an embedding; its value is float32, little-endian."""

_ASKED_AT_ONCE = 500


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
        "INSERT INTO memo (kind, key, value, tokens) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
        ((kind, key, value, tokens) for key, value, tokens in values),
    )


def drop_unused(connection: Connection) -> int:
    """Forget the values that no row uses any more; returns how many."""
    return connection.execute("DELETE FROM memo WHERE memo NOT IN (SELECT memo FROM vectors)").rowcount


def count_unused(connection: Connection) -> int:
    """How many values no row uses: they make re-adding what was removed free."""
    (count,) = connection.execute("SELECT count(*) FROM memo WHERE memo NOT IN (SELECT memo FROM vectors)").fetchone()
    return int(count)
