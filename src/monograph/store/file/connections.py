"""Connections to a .mono file, encrypted or not, all set up alike; each is closed only when no thread uses it."""

from __future__ import annotations

import os
import sqlite3
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import quote

from monograph.store.file import checksums, encryption
from monograph.store.file.encryption import RawKey
from monograph.store.file.errors import BUSY_SECONDS, is_utf8
from monograph.store.file.mapped import _mapped

_PATIENCE, _LONGEST_PATIENCE = 50, 3_200
"""Milliseconds for which SQLite waits for a moment to empty the write-ahead log before it is asked again: ever more."""
_PAUSE = 0.005
_MAPPED = 2_147_418_112 if _mapped.IS_GUARDED or sys.platform == "win32" else 0
"""Bytes of a file that are mapped into memory: none where another program can cut it off, and that ends the process."""


def connect(path: Path, key: RawKey | None, *, read_only: bool = False) -> sqlite3.Connection:
    """Open a connection for one thread. Raises WrongKey if the key does not open the file."""
    return _set_up(_uri(path, _reading(path) if read_only else "rw"), path, key, raw)


def _reading(path: Path) -> str:
    """Return the URI mode that opens a file for reading only."""
    log = path.with_name(path.name + "-wal")
    # A file in write-ahead mode needs its index file; where that cannot be made, the file cannot be changing either.
    return "ro&immutable=1" if not os.access(path.parent, os.W_OK) and not log.exists() else "ro"


def _uri(path: Path, mode: str) -> str:
    return f"file:{quote(str(path.absolute()))}?mode={mode}"


def connect_memory(name: str, path: Path, *, encrypted: bool) -> sqlite3.Connection:
    """Connect to a database in memory that is a copy of a file; errors name the file.

    All of this process share it that are by the same SQLite, which is another where the file is encrypted.
    """
    return _set_up(_memory(name), path, None, encryption.connect if encrypted else raw)


def _memory(name: str) -> str:
    return f"file:/{name}?vfs=memdb"


@contextmanager
def copied_to_memory(path: Path, key: RawKey | None, name: str) -> Iterator[None]:
    """Copy one state of a file into a new database in memory, which is there while this or other connections are."""
    if key is None:
        with closing(raw(_memory(name), None, uri=True)), closing(connect(path, None, read_only=True)) as source:
            source.execute("VACUUM INTO ?", (_memory(name),))
            yield
        return
    # By VACUUM SQLCipher makes pages of another size than it says; and what is attached to what is open for reading
    # alone cannot be written either. So it asks to write: where it may not, SQLite opens the file for reading.
    source = encryption.connect(_uri(path, _reading(path).replace("ro", "rw", 1)), key, uri=True, timeout=BUSY_SECONDS)
    with closing(source):
        encryption.export(source, _memory(name), None)
        yield


_Connect: TypeAlias = Callable[..., sqlite3.Connection]


def _set_up(uri: str, path: Path, key: RawKey | None, by: _Connect) -> sqlite3.Connection:
    connection = by(uri, key, uri=True, timeout=BUSY_SECONDS, check_same_thread=False, cached_statements=256)
    if key is not None:
        encryption.require_opened(path, connection)
    connection.create_function("casefold", 1, _casefold, deterministic=True)
    connection.create_function("is_utf8", 1, is_utf8, deterministic=True)
    checksums.register(connection)
    # A file from elsewhere may have triggers of its own: they get at no function that is registered here.
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA secure_delete = ON")
    # Else every savepoint that changes more than four pages opens a file of its own: 0.2 ms a document. And what goes
    # there is not encrypted, even if the file is.
    connection.execute("PRAGMA temp_store = MEMORY")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute(f"PRAGMA mmap_size = {_MAPPED:d}")
    # What is encrypted is never mapped; a page of it that is not kept costs 30 µs to decrypt again.
    connection.execute(f"PRAGMA cache_size = {-8192 if key is None else -32768:d}")
    return connection


def _casefold(text: bytes | None) -> str | None:
    """Fold case: SQLite's lower() knows only ASCII. Text comes as bytes: invalid UTF-8 must not end a search."""
    return None if text is None else text.decode("utf-8", "replace").casefold()


def raw(database: str | Path, key: RawKey | None, **options: Any) -> sqlite3.Connection:
    """Open a connection without any settings; options as for ``sqlite3.connect``."""
    if key is None:
        connection: sqlite3.Connection = sqlite3.connect(database, isolation_level=None, **options)
        return connection
    return encryption.connect(database, key, **options)


def in_memory(like: sqlite3.Connection) -> sqlite3.Connection:
    """Make an empty database in memory with the same SQLite as another connection; nothing of it is written to disk."""
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


def empty_log(connection: sqlite3.Connection) -> bool:
    """Empty the write-ahead log; False where others read what is in it for longer than a lock is waited for."""
    (milliseconds,) = connection.execute("PRAGMA busy_timeout").fetchone()
    end = time.monotonic() + milliseconds / 1_000
    # SQLite does not wait for another checkpoint, as any larger commit may begin one. While it waits for who reads,
    # nobody writes: so not for long at first, but in the end until the slowest of a crowd is done.
    patience = _PATIENCE
    try:
        while True:
            connection.execute(f"PRAGMA busy_timeout = {patience:d}")
            busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            if not busy or time.monotonic() > end:
                return not busy
            patience = min(2 * patience, _LONGEST_PATIENCE)
            time.sleep(_PAUSE)
    finally:
        connection.execute(f"PRAGMA busy_timeout = {milliseconds:d}")


class OpenConnections:
    """The connections of all threads to a file, each closed only when no thread uses it.

    SQLite ends the process if a connection is closed while another thread is in a statement.
    """

    def __init__(self) -> None:
        self._open: list[tuple[int, sqlite3.Connection]] = []
        self._users: Counter[sqlite3.Connection] = Counter()
        self.lock = threading.RLock()
        """Held by whoever counts the users of a connection, or closes connections."""

    def add(self, connection: sqlite3.Connection) -> tuple[int, sqlite3.Connection]:
        """Add a connection; return it with the id of this process, the only one that may use it."""
        self._open.append((os.getpid(), connection))
        return self._open[-1]

    @contextmanager
    def counted(self, connection: sqlite3.Connection) -> Iterator[None]:
        """Count a user of a connection until the block ends."""
        with self.lock:
            self._users[connection] += 1
        try:
            yield
        finally:
            with self.lock:
                self._users[connection] -= 1

    def close_unused(self) -> bool:
        """Close the connections of this process that no thread uses; return whether all of them are closed."""
        with self.lock:
            for process, connection in list(self._open):
                if process == os.getpid() and not self._users[connection]:
                    connection.close()
                    self._open.remove((process, connection))
            return all(process != os.getpid() for process, _ in self._open)
