"""Rows of ``codes``: by what the vectors of an index are compared once compact codes have said which may be near."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from monograph.store.file.database import Connection
from monograph.store.file.keyed import select

_SPACE = 1 << 32


def place(space: int, memo: int) -> int:
    """The row of a memo row's codes."""
    return space * _SPACE + memo


def put(connection: Connection, space: int, coded: Iterable[tuple[int, bytes]]) -> None:
    """Remember the codes of memo rows."""
    rows = ((place(space, memo), body) for memo, body in coded)
    connection.executemany("INSERT OR REPLACE INTO codes VALUES (?, ?)", rows)


def drop(connection: Connection, space: int, memos: Iterable[int]) -> None:
    """Forget the codes of memo rows."""
    connection.executemany("DELETE FROM codes WHERE place = ?", ((place(space, memo),) for memo in memos))


def load(connection: Connection, space: int, memos: Sequence[int]) -> list[bytes]:
    """The codes of memo rows, in any order; those that are not there are left out."""
    places = [place(space, memo) for memo in memos]
    return [body for (body,) in select(connection, "SELECT body FROM codes WHERE place IN", places)]


def every(connection: Connection, space: int) -> Iterator[tuple[int, bytes]]:
    """(memo row, code) of all that an index holds, by memo row."""
    query = "SELECT place, body FROM codes WHERE place BETWEEN ? AND ? ORDER BY place"
    found = connection.execute(query, _places(space))
    return ((row % _SPACE, body) for row, body in found)


def clear(connection: Connection, space: int) -> None:
    """Forget all codes of an index."""
    connection.execute("DELETE FROM codes WHERE place BETWEEN ? AND ?", _places(space))


def has_any(connection: Connection, space: int) -> bool:
    """Whether there are codes of an index."""
    query = "SELECT 1 FROM codes WHERE place BETWEEN ? AND ? LIMIT 1"
    return connection.execute(query, _places(space)).fetchone() is not None


def _places(space: int) -> tuple[int, int]:
    """The first and the last place of an index."""
    return space * _SPACE, (space + 1) * _SPACE - 1
