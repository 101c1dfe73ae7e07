"""Copies of a whole file: of its pages while others use it, in memory, or under another key while it is closed."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TypeAlias

from monograph.errors import BusyFile, ClosedFile, DamagedFile, StorageFull
from monograph.store.file import connections, encryption, settings
from monograph.store.file.database import Connection, Database
from monograph.store.file.encryption import RawKey
from monograph.store.file.errors import sqlite_errors, sqlite_name, translate_errors

OnPages: TypeAlias = Callable[[int, int], None]

PAGES_AT_ONCE = 256
WAITED_SECONDS = 3.0
"""How long other processes are waited for to close a file that gets another key."""


def copy(database: Database, target: Path, on_pages: OnPages) -> None:
    """Copy one state of a file into an empty one.

    The pages are read in one transaction: what others commit meanwhile is not seen, and does not begin the copy anew.

    Parameters
    ----------
    database:
        The file; it may be open for reading only.
    target:
        An empty file.
    on_pages:
        Told how many pages of how many are copied, and at the beginning that none is.

    Raises
    ------
    StorageFull
        If there is no room for it.
    """
    with database.read() as source:
        (pages,) = source.execute("PRAGMA page_count").fetchone()
        on_pages(0, pages)
        with translate_errors(target), closing(database.connect(target)) as made:
            made.execute("PRAGMA journal_mode = OFF")  # A half copy is thrown away.
            source.backup(made, pages=PAGES_AT_ONCE, progress=lambda _, left, total: on_pages(total - left, total))


@contextmanager
def converted(path: Path, key: RawKey | None, made: Path, new_key: RawKey | None) -> Iterator[Callable[[], object]]:
    """Write a file into another, and hold the file until what is done with the other is done: no commit is lost.

    Yields a function that removes the file's log and its index, to be called before the other takes the place: SQLite
    does not remove them when the file that it closes has lost its name.

    Parameters
    ----------
    path, key:
        The file, and what it is encrypted with.
    made, new_key:
        An empty file, and what that is to be encrypted with.

    Raises
    ------
    BusyFile
        If another process has the file open; this one must not.
    WrongKey
        If the key does not open it.
    DamagedFile
        If something of it is not in the other.
    """
    with translate_errors(path), closing(encryption.connect(path, key, timeout=WAITED_SECONDS)) as connection:
        encryption.require_opened(path, connection)
        _hold(path, connection)
        encryption.export(connection, str(made), new_key)
        _compare(path, connection)
        connection.execute("PRAGMA made.journal_mode = WAL")
        connection.execute("DETACH made")
        yield lambda: connection.execute("PRAGMA main.journal_mode = DELETE").fetchone()


def _hold(path: Path, connection: Connection) -> None:
    """Keep everyone else out until the connection is closed, and bring the log into the file."""
    connection.execute("PRAGMA main.locking_mode = EXCLUSIVE")
    try:
        connection.execute("BEGIN EXCLUSIVE")
        connection.execute("COMMIT")
    except sqlite_errors() as error:
        if sqlite_name(error).startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
            raise BusyFile(f"{path} is open in another program", "close it there, then try again") from error
        raise
    connection.execute("PRAGMA main.wal_checkpoint(TRUNCATE)").fetchone()


def _compare(path: Path, connection: Connection) -> None:
    """Raise DamagedFile if a table has other rows, by their number."""
    tables = connection.execute("SELECT name FROM main.sqlite_master WHERE type = 'table' AND rootpage > 0").fetchall()
    for (name,) in tables:
        counts = [
            connection.execute(f'SELECT count(*) FROM {place}."{name}"').fetchone()[0]  # noqa: S608 - our own tables
            for place in ("main", "made")
        ]
        if counts[0] != counts[1]:
            raise DamagedFile(
                f"of {counts[0]} rows of {name} in {path}, {counts[1]} could be copied",
                f"monograph check {path} --repair, then try again",
            )


def snapshot_in_memory(whole: Database) -> Database:
    """Copy one state of an open file, plain also where that is encrypted. The copy ends with its last connection.

    Once the file forgets something the copy can be read no more: it may hold what was forgotten.

    Raises
    ------
    StorageFull
        If there is not so much memory: SQLite holds at most 1 GiB there.
    """
    path, name, encrypted = whole.path, f"monograph-{secrets.token_hex(16)}", whole.raw_key is not None

    def connect(_: bool) -> Connection:
        return connections.connect_memory(name, path, encrypted=encrypted)

    def begin(_: Connection) -> None:
        with whole.read() as connection:
            if settings.count_of_erasures(connection) == times:
                return
        made.close()
        raise ClosedFile(
            f"{path} has forgotten something since it was asked what it was",
            "ask again; in Python: archive.as_of(...)",
        )

    made = Database(path, create=False, key=whole.raw_key, connect=connect, begin=begin, in_memory=True)
    made.read_only = False  # Whatever may be done to the file.
    try:
        with translate_errors(path), connections.copied_to_memory(path, whole.raw_key, name):
            times = settings.count_of_erasures(made.connection())
    except StorageFull as error:
        raise StorageFull(
            f"{path} as it was does not fit into memory, where SQLite holds at most 1 GiB",
            "ask a single document: monograph show FILE ID --as-of TIME; in Python: archive.document(id, as_of=...)",
        ) from error
    return made
