"""One SQLite file: its connections, plain or encrypted, and its transactions."""

from __future__ import annotations

import os
import sqlite3
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, nullcontext, suppress
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import quote

from monograph.errors import (
    BusyFile,
    ClosedFile,
    DamagedFile,
    FileError,
    MonographError,
    NotAMonograph,
    ReadOnlyFile,
    ReplacedFile,
)
from monograph.spending import Noted
from monograph.store.file import checksums, encryption, replacing, schema
from monograph.store.file.encryption import RawKey
from monograph.store.file.errors import BUSY_SECONDS, is_utf8, sqlite_errors, translate_errors, translate_system_errors
from monograph.store.file.mapped import _mapped
from monograph.store.file.on_disk import check_header, check_length, require_monograph, state_of
from monograph.values import LedgerEntry

Identity: TypeAlias = tuple[int, int]
"""A file's device and inode; (0, 0) if there is none."""

Connection: TypeAlias = sqlite3.Connection


@dataclass(frozen=True, slots=True, eq=False)
class Connector:
    """Maker of the connections of a database.

    Parameters
    ----------
    connect:
        Makes one more connection; for reading only if the argument is True.
    begin:
        Called with the connection when a transaction that reads begins. What it writes into temporary tables is kept.
    in_memory:
        The connections are to a copy of the file in memory, so that the file is not watched for changes on disk.
    """

    connect: Callable[[bool], Connection]
    begin: Callable[[Connection], None] | None = None
    in_memory: bool = False


_PATIENCE, _LONGEST_PATIENCE = 50, 3_200
"""Milliseconds for which SQLite waits for a moment to empty the write-ahead log before it is asked again: ever more."""
_PAUSE = 0.005
_MAPPED = 2_147_418_112 if _mapped.IS_GUARDED or sys.platform == "win32" else 0
"""Bytes of a file that are mapped into memory: none where another program can cut it off, and that ends the process."""

_abandoned: list[object] = []
"""Connections that a fork copied: closing one would release its parent's locks, so they are kept and never used."""
_opened: Counter[Identity] = Counter()
"""How often each file, by device and inode, is open here: to read its bytes beside SQLite would drop its locks."""
_salts: dict[Identity, bytes] = {}
"""The salts of those that are encrypted."""
_opening = threading.Lock()


def identity_of(path: Path) -> Identity:
    """Return the device and inode of a file, (0, 0) if it cannot be looked at: reading it says why."""
    try:
        state = path.stat()
    except OSError:
        return (0, 0)
    return (state.st_dev, state.st_ino)


class OpenedFile:
    """A file that is open: raises once another program has deleted, replaced or cut it off.

    Where a mapped file is cut off, SQLite reads zeros instead of the end of the process: whoever reads asks here
    afterwards. Other systems than Linux have no such guard (see :mod:`monograph.store.file.mapped`).

    Parameters
    ----------
    path:
        The file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.identity = identity_of(path)
        self._watch = _mapped.Watch(os.fsencode(os.path.realpath(path)), *self.identity)

    def end(self) -> None:
        """Watch it no longer."""
        self._watch.end()

    def require_same(self) -> None:
        """Raise ReplacedFile unless the path still leads to the file."""
        if (now := identity_of(self._path)) == self.identity:
            return
        what = "replaced by another file" if any(now) else "deleted or moved"
        raise ReplacedFile(
            f"{self._path} was {what} while it was open; nothing more is written to it",
            "close it and open it again; if it is missing, restore it from a copy",
        )

    def require_whole(self) -> None:
        """Raise DamagedFile or ReplacedFile if a read came upon an end that was not there before."""
        if self._watch.file_is_cut:
            raise DamagedFile(
                f"{self._path} was cut off while it was open: another program made it shorter",
                "close it, and restore it from a copy",
            )
        if self._watch.index_is_cut:
            raise ReplacedFile(
                f"another program cut off {self._path}-shm, the index of its log, while it was open",
                "close it everywhere in this process, and open it again: what was committed before is safe",
            )

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Read from it: what was read counts only if the file was whole to the end."""
        self.require_whole()
        try:
            yield
        except MonographError:
            raise
        except Exception as error:
            try:
                self.require_whole()
            except MonographError as ours:
                raise ours from error
            raise
        self.require_whole()


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
    key:
        What the file is encrypted with, or is to be, where it is made here.
    connector:
        Makes the connections; by default to all of the file. :func:`monograph.store.file.view.limited` connects to the
        documents that meet a filter, :func:`monograph.store.file.view.snapshot_in_memory` to a copy of the file.

    Raises
    ------
    FileError
        One of its kinds, as :func:`require_monograph` says; the file is left as it was.
    """

    def __init__(
        self,
        path: Path,
        *,
        create: bool = True,
        read_only: bool = False,
        key: str | RawKey | None = None,
        connector: Connector | None = None,
    ) -> None:
        if key is not None:
            encryption.require_text(key)
        self.path = path
        self.diagnose: Callable[[], str | None] | None = None
        """Says what is wrong with the rows, for an error that contradicting rows have led to."""
        self.noted = Noted()
        """What models were asked for the file; every transaction enters it in the ledger."""
        self.clock: Callable[[], float] | None = None
        """Tells the seconds since 1970, where the file keeps former versions of documents."""
        made = None
        if state_of(path) is None:
            if not create or read_only:
                raise NotAMonograph(f"{path} does not exist", f"monograph sync {path} FOLDER")
            made = _make(path, key)
        self.read_only = read_only or not os.access(path, os.W_OK) or not os.access(path.parent, os.W_OK)
        self.is_closed = False
        """Whether it was closed."""
        self._file: OpenedFile | None = None
        self._process = 0
        self._users: Counter[Connection] = Counter()
        """Threads that are using each connection: SQLite ends the process if it is closed meanwhile."""
        self._begin_process()
        with _opening:
            # The bytes of a file that is open here are not read, nor without a key.
            salt = _salts.get(identity_of(path)) if key is None or is_open(path) else encryption.salt_of(path)
        self.raw_key = raw_key = encryption.unlock(path, key, salt, made)
        self.connector = connector or Connector(lambda reads: open_connection(path, raw_key, read_only=reads))
        if self.connector.in_memory:
            return
        with _opening:
            try:
                self._enter(salt)
            except BaseException:
                self.close()
                raise

    def _begin_process(self) -> None:
        """Begin without connections in the process that makes them, and again in a fork of it."""
        if self._process == os.getpid():
            return
        if self._users:
            _abandoned.append(self._users)
        self._process, self._users = os.getpid(), Counter()
        self._local = threading.local()
        self._write_lock = threading.RLock()
        self._counting = threading.RLock()

    def _enter(self, salt: bytes | None) -> None:
        """Check the header of the file, unless it is open here already."""
        file = self._file = OpenedFile(self.path)
        is_first = not _opened[file.identity]
        _opened[file.identity] += 1
        if salt is not None:
            _salts[file.identity] = salt
        if is_first and self.raw_key is None:
            require_monograph(self.path)
        connection = self.connection()
        with translate_errors(self.path, connection), file.reading():
            if self.raw_key is not None:
                names = ("application_id", "user_version", "page_count", "page_size")
                values = [int(connection.execute(f"PRAGMA {name}").fetchone()[0]) for name in names]
                check_header(self.path, *values[:2])
                check_length(self.path, *values[2:])
            connection.execute("SELECT value FROM settings WHERE name = 'generation'").fetchone()
        file.require_same()

    def connection(self) -> Connection:
        """Return the connection of this thread. For transactions use :meth:`read` and :meth:`write`."""
        if self.is_closed:
            raise ClosedFile(f"{self.path} was closed", "in Python: open it again with Monograph.open")
        self._begin_process()
        connection: Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            with translate_errors(self.path):
                self._require_same_file()
                connection = self.connector.connect(self.read_only)
            self._local.connection = connection
            with self._counting:
                self._users[connection] = 0
        return connection

    @contextmanager
    def _using(self, connection: Connection) -> Iterator[None]:
        """Translate errors, and let nobody close a connection before the block ends, which then closes it."""
        with self._counting:
            self._users[connection] += 1
        try:
            self.connection()  # Raises ClosedFile if it was closed meanwhile.
            whole = nullcontext() if self._file is None else self._file.reading()
            with translate_errors(self.path, connection, self._diagnosis), whole:
                yield
        finally:
            with self._counting:
                self._users[connection] -= 1
            if self.is_closed:
                self._close_unused()

    def _require_same_file(self) -> None:
        """Raise ReplacedFile or DamagedFile if another program has replaced the file, or cut it off."""
        if self._file is not None:
            self._file.require_same()
            self._file.require_whole()

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Begin a transaction that reads one state of the file: later commits are not seen. May be nested."""
        connection = self.connection()
        with self._using(connection):
            if connection.in_transaction:
                yield connection
                return
            begin = self.connector.begin
            connection.execute("BEGIN")
            try:
                if begin is not None:
                    begin(connection)
                yield connection
                # A commit also writes to virtual tables, which in a damaged file fails.
                connection.execute("ROLLBACK" if begin is None else "COMMIT")
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")

    @contextmanager
    def write(self, *, aside: bool = False) -> Iterator[Connection]:
        """Begin a transaction that is committed as a whole or, on an exception, not at all. A nested one is part of it.

        ``aside`` is for what no search reads, but in the memo: what was cached stays true. Where anybody else writes it
        does not wait, but raises BusyFile.
        """
        if self.read_only:
            raise ReadOnlyFile(f"{self.path} is open for reading only", "check its permissions, or copy it")
        connection = self.connection()
        with self._using(connection), self._locked(wait=not aside):
            if getattr(self._local, "writing", None) is connection:
                yield connection
                return
            self._require_same_file()
            with _timeout_restored(connection):
                if aside:
                    connection.execute("PRAGMA busy_timeout = 0")
                connection.execute("BEGIN IMMEDIATE")
            self._local.writing = connection
            try:
                if self._file is not None:
                    (pages,) = connection.execute("PRAGMA page_count").fetchone()
                    check_length(self.path, pages, schema.PAGE_SIZE)
                yield connection
                if not aside:
                    connection.execute("UPDATE settings SET value = value + 1 WHERE name = 'generation'")
                # Commit, and enter in the ledger what models were asked until now.
                spent = self.noted.pending()
                if spent:
                    connection.executemany(
                        """INSERT INTO costs VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET
                        calls = calls + excluded.calls, tokens_in = tokens_in + excluded.tokens_in,
                        tokens_out = tokens_out + excluded.tokens_out""",
                        [(*astuple(asked), *astuple(one)) for asked, one in spent.items()],
                    )
                self._require_same_file()
                connection.execute("COMMIT")
                self.noted.drop(spent)
            finally:
                self._local.writing = None
                if connection.in_transaction:
                    connection.execute("ROLLBACK")

    def enter(self) -> None:
        """Enter in the ledger what models were asked; where that cannot be done just now, the next write does it."""
        if self.read_only or not self.noted.spent:
            return
        with suppress(FileError):
            if not self.connection().in_transaction:
                with self.write(aside=True):
                    pass

    def ledger(self) -> list[LedgerEntry]:
        """Return what models were asked for the file, by day, model and purpose."""
        self.enter()
        with self.read() as connection:
            found = connection.execute(
                """SELECT CAST(day AS TEXT), CAST(model AS TEXT), CAST(purpose AS TEXT), CAST(calls AS INTEGER),
                CAST(tokens_in AS INTEGER), CAST(tokens_out AS INTEGER) FROM costs ORDER BY day, model, purpose"""
            ).fetchall()
        return [LedgerEntry(*row) for row in found]

    @contextmanager
    def _locked(self, *, wait: bool) -> Iterator[None]:
        """Keep the other threads of this process from writing."""
        if not self._write_lock.acquire(blocking=wait):
            raise BusyFile(f"{self.path} is being written", "try again")
        try:
            yield
        finally:
            self._write_lock.release()

    def _diagnosis(self) -> str | None:
        """Return a fault of the rows; None if there is none, or if this is called by the check itself."""
        if self.diagnose is None or getattr(self._local, "diagnosing", False):
            return None
        self._local.diagnosing = True
        try:
            return self.diagnose()
        except MonographError as error:
            return error.message
        except sqlite_errors() as error:  # A table that is not there, in a file that another program has cut off.
            return str(error)
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
        connection = self.connection()
        with self._using(connection), self._write_lock:
            self._require_same_file()
            # The whole file goes through a temporary one, which may be larger than the memory; not so where it is
            # encrypted, since SQLCipher gives the temporary one pages of another size, and so ruins the file.
            if self.raw_key is None:
                connection.execute("PRAGMA temp_store = FILE")
            connection.execute("VACUUM")
            connection.execute("PRAGMA temp_store = MEMORY")
            if not _empty_log(connection):
                raise BusyFile(
                    f"the write-ahead log of {self.path} is still read by another process, and holds old text",
                    "close the other programs that use the file, then run the same command again",
                )

    def close(self) -> None:
        """Close every connection of this process. Afterwards any use raises ClosedFile; closing twice is allowed.

        A connection that a thread is using is closed at the end of that use.
        """
        self.is_closed = True
        self._begin_process()
        self._close_unused()

    def _close_unused(self) -> None:
        with self._counting:
            for connection in [one for one, users in self._users.items() if not users]:
                connection.close()
                del self._users[connection]
            if self._users or self._file is None:
                return
            self._file.end()
            _opened[self._file.identity] -= 1
            if not _opened[self._file.identity]:
                _salts.pop(self._file.identity, None)
            self._file = None


def is_open(path: Path) -> bool:
    """Return whether this process has a file open."""
    return _opened[identity_of(path)] > 0


def _make(path: Path, key: str | RawKey | None) -> RawKey | None:
    """Make an empty monograph beside its place, then put it there; returns what it is encrypted with."""
    raw = encryption.derive(key, os.urandom(16)) if isinstance(key, str) else key
    with translate_system_errors(path), replacing.temporary_name(path) as made:
        with translate_errors(path), closing(raw_connection(made, raw)) as connection:
            # Nobody sees the file before it is whole: the disk is waited for once, and not at every step.
            connection.execute("PRAGMA synchronous = OFF")
            connection.execute(f"PRAGMA page_size = {schema.PAGE_SIZE:d}")
            connection.execute(f"PRAGMA application_id = {schema.APPLICATION_ID:d}")
            schema.create_tables(connection)
            connection.execute("PRAGMA journal_mode = WAL")
        with made.open("r+b") as whole:
            os.fsync(whole.fileno())
        replacing.link(made, path)  # Where another process was faster, its file is as good as ours.
    return raw


def open_connection(path: Path, key: RawKey | None, *, read_only: bool = False) -> Connection:
    """Open a connection for one thread. Raises WrongKey if the key does not open the file."""
    connection = raw_connection(uri_of(path, read_only=read_only), key, **_options())
    if key is not None:
        encryption.require_opened(path, connection)
    return _set_up(connection)


def memory_connection(*, encrypted: bool, uri: str = "file::memory:") -> Connection:
    """Open a connection to a database in memory, through SQLCipher or not; nothing of it is written to disk.

    All of this process share the database of a URI that has a name.
    """
    return _set_up((encryption.connect if encrypted else raw_connection)(uri, None, **_options()))


def raw_connection(database: str | Path, key: RawKey | None, **options: Any) -> Connection:
    """Open a connection without any settings; options as for ``sqlite3.connect``."""
    if key is not None:
        return encryption.connect(database, key, **options)
    connection: Connection = sqlite3.connect(database, isolation_level=None, **options)
    return connection


def uri_of(path: Path, *, read_only: bool) -> str:
    """Return the URI that SQLite opens a file by."""
    mode = "ro" if read_only else "rw"
    # A file in write-ahead mode needs its index file; where that cannot be made, the file cannot be changing either.
    if read_only and not os.access(path.parent, os.W_OK) and not path.with_name(path.name + "-wal").exists():
        mode = "ro&immutable=1"
    return f"file:{quote(str(path.absolute()))}?mode={mode}"


def _options() -> dict[str, Any]:
    return {"uri": True, "timeout": BUSY_SECONDS, "check_same_thread": False, "cached_statements": 256}


def _set_up(connection: Connection) -> Connection:
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
    connection.execute(f"PRAGMA cache_size = {-32768 if encryption.is_encrypted(connection) else -8192:d}")
    return connection


def _casefold(text: bytes | None) -> str | None:
    """Fold case: SQLite's lower() knows only ASCII. Text comes as bytes: invalid UTF-8 must not end a search."""
    return None if text is None else text.decode("utf-8", "replace").casefold()


@contextmanager
def _timeout_restored(connection: Connection) -> Iterator[float]:
    """Yield the seconds for which a connection waits for locks; what changes them lasts until the block ends."""
    (milliseconds,) = connection.execute("PRAGMA busy_timeout").fetchone()
    try:
        yield milliseconds / 1_000
    finally:
        connection.execute(f"PRAGMA busy_timeout = {milliseconds:d}")


def _empty_log(connection: Connection) -> bool:
    """Empty the write-ahead log; False where others read what is in it for longer than a lock is waited for."""
    # SQLite does not wait for another checkpoint, as any larger commit may begin one. While it waits for who reads,
    # nobody writes: so not for long at first, but in the end until the slowest of a crowd is done.
    patience = _PATIENCE
    with _timeout_restored(connection) as seconds:
        end = time.monotonic() + seconds
        while True:
            connection.execute(f"PRAGMA busy_timeout = {patience:d}")
            busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            if not busy or time.monotonic() > end:
                return not busy
            patience = min(2 * patience, _LONGEST_PATIENCE)
            time.sleep(_PAUSE)
