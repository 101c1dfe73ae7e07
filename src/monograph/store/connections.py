"""Connections to a .mono file, encrypted or not, all set up alike."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import Any
from urllib.parse import quote

from monograph.store import encryption, functions
from monograph.store.encryption import RawKey

BUSY_SECONDS = 30.0


def connect(path: Path, key: RawKey | None, *, read_only: bool = False) -> sqlite3.Connection:
    """A connection as every thread has one. Raises WrongKey if the key does not open the file."""
    mode = "rw"
    if read_only:
        mode = "ro"
        log = path.with_name(path.name + "-wal")
        # A file in write-ahead mode needs its index file; where that cannot be made, the file cannot be changing
        # either.
        if not os.access(path.parent, os.W_OK) and not log.exists():
            mode = "ro&immutable=1"
    uri = f"file:{quote(str(path.absolute()))}?mode={mode}"
    connection = raw(uri, key, uri=True, timeout=BUSY_SECONDS, check_same_thread=False, cached_statements=256)
    if key is not None:
        encryption.require_opened(path, connection)
    functions.register(connection, path)
    # A file from elsewhere may have triggers of its own: they get at no function that is registered here.
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA secure_delete = ON")
    # Else every savepoint that changes more than four pages opens a file of its own: 0.2 ms a document. And what goes
    # there is not encrypted, even if the file is.
    connection.execute("PRAGMA temp_store = MEMORY")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA mmap_size = 2147418112")
    # What is encrypted is never mapped; a page of it that is not kept costs 30 µs to decrypt again.
    connection.execute(f"PRAGMA cache_size = {-8192 if key is None else -32768:d}")
    return connection


def raw(database: str | Path, key: RawKey | None, **options: Any) -> sqlite3.Connection:
    """A connection that nothing is set in; options as for ``sqlite3.connect``."""
    if key is None:
        connection: sqlite3.Connection = sqlite3.connect(database, isolation_level=None, **options)
        return connection
    return encryption.connect(database, key, **options)


def in_memory(like: sqlite3.Connection) -> sqlite3.Connection:
    """An empty database in memory, by the same SQLite as another connection has; nothing of it is written anywhere."""
    made = encryption.connect if encryption.is_encrypted(like) else raw
    connection = made(":memory:", None)
    connection.execute("PRAGMA temp_store = MEMORY")
    return connection


def begin_writing(connection: sqlite3.Connection, *, wait: bool) -> None:
    """Begin a transaction that writes, for which another process is waited for, or not."""
    if wait:
        connection.execute("BEGIN IMMEDIATE")
        return
    (milliseconds,) = connection.execute("PRAGMA busy_timeout").fetchone()
    connection.execute("PRAGMA busy_timeout = 0")
    try:
        connection.execute("BEGIN IMMEDIATE")
    finally:
        connection.execute(f"PRAGMA busy_timeout = {milliseconds:d}")
