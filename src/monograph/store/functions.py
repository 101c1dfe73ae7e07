"""Functions in Python that the SQL of this package uses."""

from __future__ import annotations

import sqlite3

from monograph.store import checksums


def register(connection: sqlite3.Connection) -> None:
    """Let a connection to a file use them."""
    connection.create_function("casefold", 1, _casefold, deterministic=True)
    checksums.register(connection)


def _casefold(text: bytes | None) -> str | None:
    """SQLite's own lower() knows only ASCII. A text comes as bytes, lest one that is no UTF-8 end the search."""
    return None if text is None else text.decode("utf-8", "replace").casefold()
