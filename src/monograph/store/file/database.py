"""One SQLite file: its connections, plain or encrypted, and its transactions."""

from __future__ import annotations

import os
import sqlite3
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, nullcontext, suppress
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
from monograph.spending import CallCounter
from monograph.store.file import checksums, encryption, replacing, schema
from monograph.store.file.encryption import RawKey
from monograph.store.file.errors import BUSY_SECONDS, is_utf8, sqlite_errors, translate_errors, translate_system_errors
from monograph.store.file.mapped import _mapped
from monograph.store.file.on_disk import check_header, check_length, require_monograph, state_of
from monograph.values import LedgerEntry

Identity: TypeAlias = tuple[int, int]
"""(device, inode) of a file; (0, 0) if there is no file."""

Connection: TypeAlias = sqlite3.Connection


@dataclass(frozen=True, slots=True, eq=False)
class Connector:
    """Factory of the connections of a database.

    ``connect``: function that returns a new connection. Its argument is True for a read-only connection.

    ``begin``: function that is called with the connection when a read transaction begins, or None. If ``begin`` changes
    temporary tables, these changes are committed at the end of the transaction.

    ``in_memory``: whether the connections lead to a copy of the file in memory. If so, the file on disk is not watched.
    """

    connect: Callable[[bool], Connection]
    begin: Callable[[Connection], None] | None = None
    in_memory: bool = False


_CHECKPOINT_TIMEOUT, _LONGEST_CHECKPOINT_TIMEOUT = 50, 3_200
"""Milliseconds that SQLite waits for other connections when it empties the write-ahead log. The first number is for the
first attempt. Each further attempt waits twice as long, up to the second number."""
_PAUSE = 0.005
_OPTIONS: dict[str, Any] = {"uri": True, "timeout": BUSY_SECONDS, "check_same_thread": False, "cached_statements": 256}
_MAPPED_BYTES = 2_147_418_112 if _mapped.IS_GUARDED or sys.platform == "win32" else 0
"""Maximum bytes of a file that SQLite maps into memory. 0 where truncation of a mapped file would end this process."""

_abandoned: list[object] = []
"""Connections inherited by a fork. They stay open: a child process must not close its parent's SQLite connections."""
# An open file must be read only by SQLite: any other read would drop SQLite's locks.
_open_counts: Counter[Identity] = Counter()
"""Number of times that this process has each file open."""
_salts: dict[Identity, bytes] = {}
"""Salts of the encrypted files that are open."""
_open_lock = threading.Lock()


def identity_of(path: Path) -> Identity:
    """Return (device, inode) of a file; (0, 0) if the system returns an error, such as for a missing file.

    The error is not raised here: the caller meets it when it reads the file.
    """
    try:
        state = path.stat()
    except OSError:
        return (0, 0)
    return (state.st_dev, state.st_ino)


class OpenedFile:
    """Open file that detects when another program deletes, replaces or truncates it.

    SQLite maps the file into memory. If another program truncates a mapped file, a read of the missing part would end
    the process with SIGBUS. On Linux, such a read returns zeros instead (see :mod:`monograph.store.file.mapped`), and
    :meth:`reading` then raises an error. Other systems have no such protection.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.identity = identity_of(path)
        self._watch = _mapped.Watch(os.fsencode(os.path.realpath(path)), *self.identity)

    def end(self) -> None:
        """Stop watching the file."""
        self._watch.end()

    def require_same(self) -> None:
        """Raise ReplacedFile if the path of the file is now missing or belongs to another file."""
        if (current := identity_of(self._path)) == self.identity:
            return
        event = "replaced by another file" if any(current) else "deleted or moved"
        raise ReplacedFile(
            f"{self._path} was {event} while it was open; nothing more is written to it",
            "close it and open it again; if it is missing, restore it from a copy",
        )

    def require_whole(self) -> None:
        """Raise an error if another program truncated the file, and a read met the missing part.

        Raises DamagedFile if the .mono file was truncated. Raises ReplacedFile if the index of its write-ahead log
        (-shm) was truncated.
        """
        if self._watch.file_is_cut:
            raise DamagedFile(
                f"another program truncated {self._path} while it was open",
                "close it, and restore it from a copy",
            )
        if self._watch.index_is_cut:
            raise ReplacedFile(
                f"another program truncated {self._path}-shm, the index of its log, while it was open",
                "close it everywhere in this process, and open it again: what was committed before is safe",
            )

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Check before and after the ``with`` block that the file was not truncated: see :meth:`require_whole`.

        An error of the check replaces any error of the ``with`` block except a MonographError.
        """
        self.require_whole()
        try:
            yield
        except MonographError:
            raise
        except Exception as error:
            try:
                self.require_whole()
            except MonographError as damage:
                raise damage from error
            raise
        self.require_whole()


class Database:
    """An open .mono file, for any number of threads and processes: many readers, one writer at a time.

    Each thread has a connection of its own, and a forked process gets new connections. A missing file is created
    completely under a temporary name in the same folder, and then linked into place, so that no incomplete file is ever
    visible.

    Parameters
    ----------
    create:
        Whether the file is created if it is missing.
    read_only:
        Whether writes are refused. True also if the file or its folder cannot be written.
    key:
        The key of the file, or the key that encrypts a new file. None if the file is not encrypted.
    connector:
        Factory of the connections. With None, each connection sees the whole file. Connections can also see only the
        documents of a view (:func:`monograph.store.file.view.limited`), or a copy of the file in memory
        (:func:`monograph.store.file.view.snapshot_in_memory`).

    Raises
    ------
    FileError
        The file cannot be opened: a subclass says why, such as NotAMonograph, WrongKey or DamagedFile. The file is
        unchanged.
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
        """Function that returns a description of a fault of the rows, or None. It is called for errors that damaged
        rows can cause."""
        self.noted = CallCounter()
        """Model calls for the file that are not yet in its ledger. Every write transaction stores them there."""
        self.clock: Callable[[], float] | None = None
        """Function that returns seconds since 1970; None if the file keeps no previous versions of documents."""
        new_key = None
        if state_of(path) is None:
            if not create or read_only:
                raise NotAMonograph(f"{path} does not exist", f"monograph sync {path} FOLDER")
            new_key = _create_file(path, key)
        self.read_only = read_only or not os.access(path, os.W_OK) or not os.access(path.parent, os.W_OK)
        self.is_closed = False
        """Whether the database was closed."""
        self._file: OpenedFile | None = None
        self._process = 0
        self._users: Counter[Connection] = Counter()
        """Number of uses in progress of each connection. Closing a connection during a use would crash the process."""
        self._begin_process()
        with _open_lock:
            # Reading a file that this process has open would drop SQLite's locks. Without a key no salt is needed.
            salt = _salts.get(identity_of(path)) if key is None or is_open(path) else encryption.salt_of(path)
        self.raw_key = raw_key = encryption.unlock(path, key, salt, new_key)
        self.connector = connector or Connector(lambda reads: open_connection(path, raw_key, read_only=reads))
        if self.connector.in_memory:
            return
        with _open_lock:
            try:
                self._register_file(salt)
            except BaseException:
                self.close()
                raise

    def _begin_process(self) -> None:
        """Reset connections and locks if this process uses the database for the first time, as after a fork."""
        if self._process == os.getpid():
            return
        if self._users:
            _abandoned.append(self._users)
        self._process, self._users = os.getpid(), Counter()
        self._local = threading.local()
        self._write_lock = threading.RLock()
        self._users_lock = threading.RLock()

    def _register_file(self, salt: bytes | None) -> None:
        """Register the file, with its salt if encrypted, as open in this process, and check its header."""
        file = self._file = OpenedFile(self.path)
        is_first = not _open_counts[file.identity]
        _open_counts[file.identity] += 1
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
            with self._users_lock:
                self._users[connection] = 0
        return connection

    @contextmanager
    def _using(self, connection: Connection) -> Iterator[None]:
        """Keep a connection open during the ``with`` block, and translate errors into errors of Monograph."""
        with self._users_lock:
            self._users[connection] += 1
        try:
            self.connection()  # Raises ClosedFile if it was closed meanwhile.
            guard = nullcontext() if self._file is None else self._file.reading()
            with translate_errors(self.path, connection, self._find_fault), guard:
                yield
        finally:
            with self._users_lock:
                self._users[connection] -= 1
            # The database was closed during the block: the last use closes the connection.
            if self.is_closed:
                self._close_unused()

    def _require_same_file(self) -> None:
        """Raise ReplacedFile or DamagedFile if another program has replaced, deleted or truncated the file."""
        if self._file is not None:
            self._file.require_same()
            self._file.require_whole()

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Begin a read transaction, which sees one state of the file and no later commits.

        Transactions may be nested.
        """
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
                # A commit would also write to virtual tables, which fails in a damaged file.
                connection.execute("ROLLBACK" if begin is None else "COMMIT")
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")

    @contextmanager
    def write(self, *, aside: bool = False) -> Iterator[Connection]:
        """Begin a write transaction: all of its changes are committed or, if an exception is raised, none.

        A nested transaction is a part of the outer transaction. A commit raises the generation of the file, a number
        that tells caches that their values are out of date.

        ``aside`` is for changes of memo rows and of rows that no search reads. With ``aside``, the generation stays the
        same, cached values stay valid, and BusyFile is raised at once if another thread or process is writing.

        Without ``aside``, the transaction waits for another thread without limit. For another process the transaction
        waits BUSY_SECONDS, then raises BusyFile.
        """
        if self.read_only:
            raise ReadOnlyFile(f"{self.path} is open for reading only", "check its permissions, or copy it")
        connection = self.connection()
        with self._using(connection), ExitStack() as stack:
            if not self._write_lock.acquire(blocking=not aside):
                raise BusyFile(f"another write to {self.path} is in progress", "try again")
            stack.callback(self._write_lock.release)
            if getattr(self._local, "writing", None) is connection:
                yield connection
                return
            self._require_same_file()
            with _restore_timeout(connection):
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
                # The ledger gets the pending model calls in the same commit.
                spent = self.noted.pending()
                if spent:
                    connection.executemany(
                        """INSERT INTO costs VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET
                        calls = calls + excluded.calls, tokens_in = tokens_in + excluded.tokens_in,
                        tokens_out = tokens_out + excluded.tokens_out""",
                        [(*astuple(key), *astuple(usage)) for key, usage in spent.items()],
                    )
                self._require_same_file()
                connection.execute("COMMIT")
                self.noted.drop(spent)
            finally:
                self._local.writing = None
                if connection.in_transaction:
                    connection.execute("ROLLBACK")

    def enter(self) -> None:
        """Store the pending model calls of ``noted`` in the ledger of the file, the table ``costs``.

        If the file cannot be written now, the next write transaction stores them.
        """
        if self.noted.spent and not self.read_only:
            with suppress(FileError):
                if not self.connection().in_transaction:
                    with self.write(aside=True):
                        pass

    def ledger(self) -> list[LedgerEntry]:
        """Return the ledger: numbers of model calls and tokens for the file, in order of day, model and purpose."""
        self.enter()
        with self.read() as connection:
            query = """SELECT CAST(day AS TEXT), CAST(model AS TEXT), CAST(purpose AS TEXT), CAST(calls AS INTEGER),
                CAST(tokens_in AS INTEGER), CAST(tokens_out AS INTEGER) FROM costs ORDER BY day, model, purpose"""
            return [LedgerEntry(*row) for row in connection.execute(query)]

    def _find_fault(self) -> str | None:
        """Return the fault that ``self.diagnose`` finds in the rows; None if no fault is found."""
        # An error of ``diagnose`` itself must not start another search.
        if self.diagnose is None or getattr(self._local, "diagnosing", False):
            return None
        self._local.diagnosing = True
        try:
            return self.diagnose()
        except MonographError as error:
            return error.message
        except sqlite_errors() as error:  # For example a missing table in a truncated file.
            return str(error)
        finally:
            self._local.diagnosing = False

    def rewrite(self) -> None:
        """Rewrite the file without its free space (VACUUM), and empty the write-ahead log.

        Afterwards no byte of a deleted row is left in the file. ``secure_delete`` clears the space of deleted rows. But
        when SQLite rebalances pages, copies of moved rows may stay behind, and only a rewrite drops these copies.
        Raises BusyFile if another connection is still reading an older state, because the log cannot be emptied then.
        """
        connection = self.connection()
        with self._using(connection), self._write_lock:
            self._require_same_file()
            # VACUUM copies the whole file, which may be larger than the memory, into a temporary file. Not if it is
            # encrypted: SQLCipher's temporary file has pages of another size, which would ruin the file.
            if self.raw_key is None:
                connection.execute("PRAGMA temp_store = FILE")
            connection.execute("VACUUM")
            connection.execute("PRAGMA temp_store = MEMORY")
            # SQLite does not wait for a checkpoint of another connection, so the attempt is repeated. While an attempt
            # waits for readers, nobody can write: so it is short at first, and longer each time, to outlast the slowest
            # reader.
            timeout = _CHECKPOINT_TIMEOUT
            with _restore_timeout(connection) as seconds:
                end = time.monotonic() + seconds
                while True:
                    connection.execute(f"PRAGMA busy_timeout = {timeout:d}")
                    busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
                    if not busy:
                        return
                    if time.monotonic() > end:
                        raise BusyFile(
                            f"another process still reads the log {self.path}-wal, which may contain removed text",
                            "close the other programs that use the file, then run the same command again",
                        )
                    timeout = min(2 * timeout, _LONGEST_CHECKPOINT_TIMEOUT)
                    time.sleep(_PAUSE)

    def close(self) -> None:
        """Close every connection of this process. Any later use raises ClosedFile. Closing twice is allowed.

        A connection that a thread is using is closed when that use ends.
        """
        self.is_closed = True
        self._begin_process()
        self._close_unused()

    def _close_unused(self) -> None:
        with self._users_lock:
            for connection in [candidate for candidate, users in self._users.items() if not users]:
                connection.close()
                del self._users[connection]
            if self._users or self._file is None:
                return
            self._file.end()
            _open_counts[self._file.identity] -= 1
            if not _open_counts[self._file.identity]:
                _salts.pop(self._file.identity, None)
            self._file = None


def is_open(path: Path) -> bool:
    """Return whether this process has a file open."""
    return _open_counts[identity_of(path)] > 0


def _create_file(path: Path, key: str | RawKey | None) -> RawKey | None:
    """Create an empty file under a temporary name, and link it into place. Return its raw key; None without a key."""
    raw = encryption.derive(key, os.urandom(16)) if isinstance(key, str) else key
    with translate_system_errors(path), replacing.temporary_name(path) as temporary:
        with translate_errors(path), closing(raw_connection(temporary, raw)) as connection:
            # The file is visible only once it is complete, so one fsync at the end is enough.
            connection.execute("PRAGMA synchronous = OFF")
            connection.execute(f"PRAGMA page_size = {schema.PAGE_SIZE:d}")
            connection.execute(f"PRAGMA application_id = {schema.APPLICATION_ID:d}")
            schema.create_tables(connection)
            connection.execute("PRAGMA journal_mode = WAL")
        with temporary.open("r+b") as file:
            os.fsync(file.fileno())
        replacing.link(temporary, path)  # If another process was faster, its file is kept.
    return raw


def open_connection(path: Path, key: RawKey | None, *, read_only: bool = False) -> Connection:
    """Open a connection for one thread. Raises WrongKey if the key does not open the file."""
    connection = raw_connection(uri_of(path, read_only=read_only), key, **_OPTIONS)
    if key is not None:
        encryption.require_opened(path, connection)
    return _set_up(connection)


def memory_connection(*, encrypted: bool, uri: str = "file::memory:") -> Connection:
    """Open a connection to a database in memory; nothing is written to disk.

    ``encrypted``: the connection goes through SQLCipher. All connections of this process to the same named URI share
    one database.
    """
    return _set_up((encryption.connect if encrypted else raw_connection)(uri, None, **_OPTIONS))


def raw_connection(database: str | Path, key: RawKey | None, **options: Any) -> Connection:
    """Open a connection without changing any setting of it. ``options`` are those of ``sqlite3.connect``."""
    if key is not None:
        return encryption.connect(database, key, **options)
    connection: Connection = sqlite3.connect(database, isolation_level=None, **options)
    return connection


def uri_of(path: Path, *, read_only: bool) -> str:
    """Return the URI by which SQLite opens a file."""
    mode = "ro" if read_only else "rw"
    # In WAL mode SQLite needs a -shm file. If it cannot be created, no process can be changing the file either.
    if read_only and not os.access(path.parent, os.W_OK) and not path.with_name(path.name + "-wal").exists():
        mode = "ro&immutable=1"
    return f"file:{quote(str(path.absolute()))}?mode={mode}"


def _set_up(connection: Connection) -> Connection:

    def casefold(text: bytes | None) -> str | None:
        return None if text is None else text.decode("utf-8", "replace").casefold()

    # SQLite's lower() knows only ASCII. The text is given as bytes: invalid UTF-8 must not end a search.
    connection.create_function("casefold", 1, casefold, deterministic=True)
    connection.create_function("is_utf8", 1, is_utf8, deterministic=True)
    checksums.register(connection)
    # Triggers in a file from elsewhere must not call the functions that are registered here.
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA secure_delete = ON")
    # Otherwise each savepoint that changes more than four pages opens a temporary file, 0.2 ms a document, which is not
    # encrypted even if the .mono file is.
    connection.execute("PRAGMA temp_store = MEMORY")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute(f"PRAGMA mmap_size = {_MAPPED_BYTES:d}")
    # Encrypted files are never mapped; a page that is not in the cache takes 30 µs to decrypt again.
    connection.execute(f"PRAGMA cache_size = {-32768 if encryption.is_encrypted(connection) else -8192:d}")
    return connection


@contextmanager
def _restore_timeout(connection: Connection) -> Iterator[float]:
    """Yield the lock timeout of a connection in seconds, and restore the timeout after the ``with`` block."""
    (milliseconds,) = connection.execute("PRAGMA busy_timeout").fetchone()
    try:
        yield milliseconds / 1_000
    finally:
        connection.execute(f"PRAGMA busy_timeout = {milliseconds:d}")
