"""One SQLite file: its connections, its transactions, and its errors in our words."""

from __future__ import annotations

import os
import sqlite3
import struct
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias
from urllib.parse import quote

from monograph.errors import (
    BusyFile,
    ClosedFile,
    DamagedFile,
    FileError,
    MonographError,
    NewerFormat,
    NotAMonograph,
    ReadOnlyFile,
    StorageFull,
)
from monograph.store import functions, schema, unreadable
from monograph.store.unreadable import UNDECODABLE, damaged, is_own

Connection: TypeAlias = sqlite3.Connection

BUSY_SECONDS = 30.0
MAGIC = b"SQLite format 3\x00"
_abandoned: list[Connection] = []
"""Connections that a fork copied: closing one would release its parent's locks, so they are kept and never used."""
_opened: Counter[tuple[int, int]] = Counter()
"""How often each file, by device and inode, is open here: to read its bytes beside SQLite would drop its locks."""
_opening = threading.Lock()


@dataclass(frozen=True, slots=True)
class Header:
    """What the first 100 bytes of a file say (https://www.sqlite.org/fileformat.html#the_database_header)."""

    application_id: int
    format: int
    page_size: int
    pages: int


def read_header(path: Path) -> Header:
    """Look at a file without opening it as a database, so that nothing of it is touched.

    Raises
    ------
    NotAMonograph
        If it is not an SQLite file, or one of another application.
    NewerFormat
        If a later version of Monograph wrote it.
    DamagedFile
        If it is shorter than its own header says.
    """
    try:
        with path.open("rb") as file:
            head = file.read(100)
        size = path.stat().st_size
    except OSError as error:
        raise NotAMonograph(f"{path} cannot be read: {error.strerror}", "check the path and its permissions") from error
    if not head.startswith(MAGIC[: len(head)]):
        raise NotAMonograph(f"{path} is not a Monograph file", "give another name, or a .mono file")
    if len(head) < 100:
        raise DamagedFile(f"{path} is cut off after {len(head)} bytes", "restore it from a copy, or sync a new file")
    (page_size,) = struct.unpack(">H", head[16:18])
    changes, pages = struct.unpack(">II", head[24:32])
    (format_number,) = struct.unpack(">I", head[60:64])
    (application_id,) = struct.unpack(">I", head[68:72])
    (valid_for,) = struct.unpack(">I", head[92:96])
    header = Header(application_id, format_number, 65_536 if page_size == 1 else page_size, pages)
    if application_id != schema.APPLICATION_ID:
        raise NotAMonograph(f"{path} is an SQLite file of another application", "give another name, or a .mono file")
    if format_number > schema.newest_format():
        raise NewerFormat(
            f"{path} has format {format_number}; this version of Monograph reads up to {schema.newest_format()}",
            "pip install --upgrade monograph",
        )
    # Pages that are still in the write-ahead log may be missing from the main file: that is no damage.
    try:
        pending = path.with_name(path.name + "-wal").stat().st_size > 0
    except OSError:
        pending = False
    if changes == valid_for and size < pages * header.page_size and not pending:
        raise DamagedFile(
            f"{path} is truncated: {size:,} of {pages * header.page_size:,} bytes are there",
            "restore it from a copy, or sync its folders into a new file",
        )
    return header


@contextmanager
def our_errors(
    path: Path, connection: Connection | None = None, diagnosis: Callable[[], str | None] = lambda: None
) -> Iterator[None]:
    """Turn SQLite's errors into ours, naming the file, the row where one cannot be read, and the mend.

    What Python raises in our own code over rows that contradict each other is the file's fault if ``diagnosis`` finds
    one, and else a fault of the code, which stays as it is.
    """
    try:
        yield
    except sqlite3.Error as error:
        translated = _translate(path, error)
        fault = None if translated is not None or connection is None else unreadable.fault_of(connection, error)
        if fault is not None:
            translated = damaged(path, fault)
        if translated is None:
            raise
        raise translated from error
    except UNDECODABLE as error:
        if not is_own(error) or (fault := diagnosis()) is None:
            raise
        raise damaged(path, fault) from error


@contextmanager
def decoding(connection: Connection, row: str) -> Iterator[None]:
    """Turn what is raised over a row that cannot be decoded into an error of ours that names it."""
    try:
        yield
    except UNDECODABLE as error:
        raise damaged(path_of(connection), f"{row} cannot be read: {error or type(error).__name__}") from error


def _translate(path: Path, error: sqlite3.Error) -> FileError | None:
    name = getattr(error, "sqlite_errorname", "") or ""
    text = str(error)
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return BusyFile(
            f"{path} is in use: another process held it for {BUSY_SECONDS:g} seconds", "wait for it, then try again"
        )
    if name == "SQLITE_FULL" or (name.startswith("SQLITE_IOERR") and _disk_is_full(path)):
        return StorageFull(
            f"no room left for {path}; what was committed before is safe", "make room, then run the same command again"
        )
    if name.startswith("SQLITE_READONLY") or name == "SQLITE_CANTOPEN":
        return ReadOnlyFile(f"{path} cannot be written: {text}", "check the permissions of the file and its folder")
    if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_IOERR")):
        return damaged(path, f"{text} ({name})")
    return None


def _disk_is_full(path: Path) -> bool:
    try:
        room = os.statvfs(path.parent)
    except (OSError, AttributeError):
        return False
    return room.f_bavail * room.f_frsize < 1 << 20


def path_of(connection: Connection) -> str:
    """The file that a connection is to."""
    return str(connection.execute("PRAGMA database_list").fetchone()[2])


@contextmanager
def savepoint(connection: Connection) -> Iterator[None]:
    """A part of a transaction that is undone alone when an exception leaves it."""
    connection.execute("SAVEPOINT part")
    try:
        yield
    except BaseException:
        connection.execute("ROLLBACK TO part")
        connection.execute("RELEASE part")
        raise
    connection.execute("RELEASE part")


class Database:
    """An open .mono file, for any number of threads and processes: many readers, one writer at a time.

    Each thread has a connection of its own; a fork gets new ones. A file that does not exist is made first
    in a temporary file beside it, complete, and then linked into place, so that no half-made file is ever seen.

    Parameters
    ----------
    path:
        The file.
    create:
        Make it if it is missing.
    read_only:
        Never write. A file or folder that cannot be written is opened so by itself.

    Raises
    ------
    FileError
        One of its kinds, as :func:`read_header` says; the file is left as it was.
    """

    def __init__(self, path: Path, *, create: bool = True, read_only: bool = False) -> None:
        self.path = path
        self.diagnose: Callable[[], str | None] | None = None
        """Says what is wrong with the rows, for an error that contradicting rows have led to."""
        if path.is_dir():
            raise NotAMonograph(f"{path} is a folder", f"name a file, such as {path / 'notes.mono'}")
        if not path.exists():
            if not create or read_only:
                raise NotAMonograph(f"{path} does not exist", f"monograph sync {path} FOLDER")
            _make(path)
        self.read_only = read_only or not os.access(path, os.W_OK) or not os.access(path.parent, os.W_OK)
        self._local = threading.local()
        self._write_lock = threading.RLock()
        self._open: list[tuple[int, Connection]] = []
        self._closed = False
        self._file: tuple[int, int] | None = None
        with _opening:
            try:
                self._enter()
            except BaseException:
                self.close()
                raise

    def _enter(self) -> None:
        """Look at the file, unless it is open here already, and bring it to the newest format."""
        header = None if _opened[_identity(self.path)] else read_header(self.path)
        if header is not None and header.format < schema.newest_format():
            if self.read_only:
                raise ReadOnlyFile(f"{self.path} has the older format {header.format} and cannot be written", "copy it")
            with our_errors(self.path):
                schema.migrate(self.connection())
        with our_errors(self.path, self.connection()):
            self.connection().execute("SELECT value FROM settings WHERE name = 'generation'").fetchone()
        self._file = _identity(self.path)
        _opened[self._file] += 1

    def connection(self) -> Connection:
        """The connection of this thread. For transactions use :meth:`read` and :meth:`write`."""
        if self._closed:
            raise ClosedFile(f"{self.path} was closed", "open it again with Monograph.open")
        held: tuple[int, Connection] | None = getattr(self._local, "held", None)
        if held is not None and held[0] == os.getpid():
            return held[1]
        if held is not None:
            _abandoned.append(held[1])
            self._write_lock = threading.RLock()
        connection = _connect(self.path, read_only=self.read_only)
        self._local.held = (os.getpid(), connection)
        self._open.append(self._local.held)
        return connection

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """One consistent view of the file: writes committed meanwhile are not seen. May be nested."""
        connection = self.connection()
        with our_errors(self.path, connection, self._diagnosis):
            if connection.in_transaction:
                yield connection
                return
            connection.execute("BEGIN")
            try:
                yield connection
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """One transaction: all of it is committed, or, on any exception, nothing. Not to be nested."""
        if self.read_only:
            raise ReadOnlyFile(f"{self.path} is open for reading only", "check its permissions, or copy it")
        connection = self.connection()
        with self._write_lock, our_errors(self.path, connection, self._diagnosis):
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("UPDATE settings SET value = value + 1 WHERE name = 'generation'")
                connection.execute("COMMIT")
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")

    def _diagnosis(self) -> str | None:
        """What is wrong with the rows; nothing where that is being found out already."""
        if self.diagnose is None or getattr(self._local, "diagnosing", False):
            return None
        self._local.diagnosing = True
        try:
            return self.diagnose()
        except MonographError as error:
            return error.message
        finally:
            self._local.diagnosing = False

    def rewrite(self) -> None:
        """Write the file anew without its free space, and empty the write-ahead log.

        After this no byte of a deleted row is left in the file: ``secure_delete`` clears what is freed, but pages
        that SQLite rebalances may keep copies of rows that moved on, which only a rewrite drops.

        Raises
        ------
        BusyFile
            If another connection is still reading an older state, so that the log cannot be emptied.
        """
        with self._write_lock, our_errors(self.path):
            connection = self.connection()
            # The whole file goes through a temporary one, which may be larger than the memory.
            connection.execute("PRAGMA temp_store = FILE")
            connection.execute("VACUUM")
            connection.execute("PRAGMA temp_store = MEMORY")
            busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        if busy:
            raise BusyFile(
                f"the write-ahead log of {self.path} is still read by another process, and holds old text",
                "close the other programs that use the file, then run the same command again",
            )

    def close(self) -> None:
        """Close every connection of this process. Afterwards any use raises ClosedFile; closing twice is allowed."""
        self._closed = True
        for process, connection in self._open:
            if process == os.getpid():
                connection.close()
        self._open.clear()
        if self._file is not None:
            _opened[self._file] -= 1
            self._file = None


def _identity(path: Path) -> tuple[int, int]:
    try:
        state = path.stat()
    except OSError:
        return (0, 0)  # Reading it says why.
    return (state.st_dev, state.st_ino)


def _connect(path: Path, *, read_only: bool) -> Connection:
    mode = "rw"
    if read_only:
        mode = "ro"
        log = path.with_name(path.name + "-wal")
        # A file in write-ahead mode needs its index file; where that cannot be made, the file cannot be changing
        # either.
        if not os.access(path.parent, os.W_OK) and not log.exists():
            mode = "ro&immutable=1"
    uri = f"file:{quote(str(path.absolute()))}?mode={mode}"
    with our_errors(path):
        connection = sqlite3.connect(
            uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False, cached_statements=256
        )
        functions.register(connection, path)
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA secure_delete = ON")
        # Else every savepoint that changes more than four pages opens a file of its own: 0.2 ms a document.
        connection.execute("PRAGMA temp_store = MEMORY")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA mmap_size = 2147418112")
        connection.execute("PRAGMA cache_size = -8192")
    return connection


def _make(path: Path) -> None:
    """Make an empty monograph in a temporary file, then link it into place."""
    if not path.parent.is_dir():
        raise NotAMonograph(f"the folder {path.parent} does not exist", f"mkdir -p {path.parent}")
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}.new")
    try:
        with our_errors(path):
            connection = sqlite3.connect(temporary, isolation_level=None)
            try:
                connection.execute(f"PRAGMA page_size = {schema.PAGE_SIZE:d}")
                connection.execute(f"PRAGMA application_id = {schema.APPLICATION_ID:d}")
                schema.migrate(connection)
                connection.execute("PRAGMA journal_mode = WAL")
            finally:
                connection.close()
        _link(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def _link(temporary: Path, path: Path) -> None:
    try:
        path.hardlink_to(temporary)
    except FileExistsError:
        pass  # Another process was faster: its file is as good as ours.
    except OSError:
        # A file system without hard links: the gap between the check and the rename is the best there is.
        if not path.exists():
            temporary.rename(path)
