"""Rows of ``settings`` about forgetting: what is owed of it, and how often it was done."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from monograph.store.file.database import Connection
from monograph.values import Finding

_OWED, _DONE = "forgetting/", "forgotten"


def owe(connection: Connection, token: str) -> None:
    """Note that text may be left in the bytes; the token says of whose."""
    connection.execute("INSERT OR REPLACE INTO settings VALUES (?, '')", (_OWED + token,))


def owed(connection: Connection) -> list[str]:
    """The tokens of what is still to be forgotten, in order."""
    found = connection.execute(
        "SELECT substr(name, ?) FROM settings WHERE name > ? AND name < ? ORDER BY name",
        (len(_OWED) + 1, _OWED, _OWED[:-1] + chr(ord(_OWED[-1]) + 1)),
    ).fetchall()
    return [str(token) for (token,) in found]


def is_owed(connection: Connection) -> bool:
    """Whether anything is still to be forgotten."""
    return bool(owed(connection))


def findings(connection: Connection) -> Iterator[Finding]:
    """What is said where something is."""
    if is_owed(connection):
        yield Finding("settings", "text that was to be forgotten is still in the bytes of the file", repairable=True)


def settle(connection: Connection, tokens: Iterable[str]) -> None:
    """Take notes back: of what is forgotten, or was never taken out."""
    connection.executemany("DELETE FROM settings WHERE name = ?", ((_OWED + token,) for token in tokens))


def times(connection: Connection) -> int:
    """How often the file has dropped what nothing uses."""
    row = connection.execute("SELECT value FROM settings WHERE name = ?", (_DONE,)).fetchone()
    return int(row[0]) if row is not None and str(row[0]).isdecimal() else 0


def count(connection: Connection) -> None:
    """Note that the file drops what nothing uses once more."""
    connection.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", (_DONE, str(times(connection) + 1)))
