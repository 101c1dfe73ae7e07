"""Rows of ``settings`` about forgetting: what is owed of it, how often it was done, whether it always is to be."""

from __future__ import annotations

from collections.abc import Iterable

from monograph.store.database import Connection

_OWED, _DONE, _ALWAYS = "forgetting/", "forgotten", "always_forget"


def owe(connection: Connection, token: str) -> None:
    """Note that text may be left in the bytes; the token says of whose."""
    connection.execute("INSERT OR REPLACE INTO settings VALUES (?, '')", (_OWED + token,))


def owed(connection: Connection) -> list[str]:
    """The tokens of what is still to be forgotten, in order."""
    found = connection.execute(
        "SELECT substr(name, ?) FROM settings WHERE name > ? AND name < ? ORDER BY name",
        (len(_OWED) + 1, _OWED, _OWED[:-1] + chr(ord(_OWED[-1]) + 1)),
    )
    return [str(token) for (token,) in found]


def settle(connection: Connection, tokens: Iterable[str]) -> None:
    """Take notes back: of what is forgotten, or was never taken out."""
    connection.executemany("DELETE FROM settings WHERE name = ?", ((_OWED + token,) for token in tokens))


def times(connection: Connection) -> int:
    """How often the file has dropped what nothing uses."""
    row = connection.execute("SELECT value FROM settings WHERE name = ?", (_DONE,)).fetchone()
    return 0 if row is None else int(row[0])


def count(connection: Connection) -> None:
    """Note that the file drops what nothing uses once more."""
    connection.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", (_DONE, str(times(connection) + 1)))


def always(connection: Connection) -> bool:
    """Whether whatever is taken out is to be forgotten, asked or not."""
    return connection.execute("SELECT 1 FROM settings WHERE name = ?", (_ALWAYS,)).fetchone() is not None


def set_always(connection: Connection, on: bool) -> None:
    """Say whether whatever is taken out is to be forgotten."""
    if on:
        connection.execute("INSERT OR REPLACE INTO settings VALUES (?, '')", (_ALWAYS,))
    else:
        connection.execute("DELETE FROM settings WHERE name = ?", (_ALWAYS,))
