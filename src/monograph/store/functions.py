"""Functions in Python that the SQL of this package uses."""

from __future__ import annotations

import sqlite3
import warnings
from functools import partial
from pathlib import Path

from monograph.errors import DamageWarning
from monograph.store import checksums
from monograph.store.unreadable import damaged


def register(connection: sqlite3.Connection, path: Path) -> None:
    """Let a connection to a file use them."""
    connection.create_function("casefold", 1, _casefold, deterministic=True)
    checksums.register(connection)
    connection.create_function("unreadable_metadata", 1, partial(_without_metadata, path))


def _casefold(text: bytes | None) -> str | None:
    """SQLite's own lower() knows only ASCII. A text comes as bytes, lest one that is no UTF-8 end the search."""
    return None if text is None else text.decode("utf-8", "replace").casefold()


def _without_metadata(path: Path, chunk: int) -> str:
    """What stands for metadata that are no JSON."""
    error = damaged(path, f"the metadata of row {chunk} of chunks, or of its document, are no JSON")
    warnings.warn(f"no filter finds it: {error}", DamageWarning, stacklevel=1)
    return "{}"
