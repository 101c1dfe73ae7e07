"""One SQLite file: its connections and transactions."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext, suppress
from dataclasses import astuple
from pathlib import Path
from typing import TypeAlias

from monograph.errors import BusyFile, ClosedFile, FileError, MonographError, NotAMonograph, ReadOnlyFile
from monograph.spending import Noted
from monograph.store.file import connections, encryption, replacing, schema
from monograph.store.file.connections import OpenConnections
from monograph.store.file.encryption import RawKey
from monograph.store.file.errors import translate_errors, translate_system_errors
from monograph.store.file.on_disk import (
    FileHeader,
    Identity,
    OpenedFile,
    check_header,
    check_length,
    identity_of,
    read_header,
    state_of,
)
from monograph.values import LedgerEntry

Connection: TypeAlias = sqlite3.Connection

Connect: TypeAlias = Callable[[bool], Connection]
"""Makes one more connection; for reading only if the argument is True."""

_abandoned: list[Connection | OpenConnections] = []
"""Connections that a fork copied: closing one would release its parent's locks, so they are kept and never used."""
_opened: Counter[Identity] = Counter()
"""How often each file, by device and inode, is open here: to read its bytes beside SQLite would drop its locks."""
_salts: dict[Identity, bytes] = {}
"""The salts of those that are encrypted."""
_opening = threading.Lock()


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
    connect:
        Makes the connections; by default to all of the file. :func:`monograph.store.file.view.limited` connects to the
        documents that meet a filter, :func:`monograph.store.file.copies.snapshot_in_memory` to a copy of the file.
    begin:
        Called with the connection when a transaction that reads begins. What it writes into temporary tables is kept.
    in_memory:
        The connections are to a copy of the file in memory, so that the file is not watched for changes on disk.

    Raises
    ------
    FileError
        One of its kinds, as :func:`read_header` says; the file is left as it was.
    """

    def __init__(  # noqa: PLR0913 - the last three belong together
        self,
        path: Path,
        *,
        create: bool = True,
        read_only: bool = False,
        key: str | RawKey | None = None,
        connect: Connect | None = None,
        begin: Callable[[Connection], None] | None = None,
        in_memory: bool = False,
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
        self._local = threading.local()
        self._write_lock = threading.RLock()
        self._open = OpenConnections()
        self._closed = False
        self._file: OpenedFile | None = None
        with _opening:
            salt = self._salt(key)
        self.raw_key = None if key is None and salt is None else encryption.unlock(path, key, salt, made)
        raw_key = self.raw_key
        self.connect_again = connect or (lambda reads: connections.connect(path, raw_key, read_only=reads))
        self.begin = begin
        self.in_memory = in_memory
        if in_memory:
            return
        with _opening:
            try:
                self._enter(salt)
            except BaseException:
                self.close()
                raise

    def _salt(self, key: str | RawKey | None) -> bytes | None:
        """Return the salt of an encrypted file; its bytes are read only with a key, and if it is not open here."""
        identity = identity_of(self.path)
        if _opened[identity] or key is None:
            return _salts.get(identity)
        return encryption.salt_of(self.path)

    def _enter(self, salt: bytes | None) -> None:
        """Check the header of the file, unless it is open here already."""
        file = self._file = OpenedFile(self.path)
        is_first = not _opened[file.identity]
        _opened[file.identity] += 1
        if salt is not None:
            _salts[file.identity] = salt
        if self.raw_key is not None:
            self._check_header()
        elif is_first:
            read_header(self.path)
        with translate_errors(self.path, self.connection()), file.reading():
            self.connection().execute("SELECT value FROM settings WHERE name = 'generation'").fetchone()
        file.require_same()

    def _check_header(self) -> None:
        """Check the header of an encrypted file. Raises WrongKey if its key is another."""

        def value(name: str) -> int:
            return int(connection.execute(f"PRAGMA {name}").fetchone()[0])

        with translate_errors(self.path):
            connection = self.connection()
            header = FileHeader(value("application_id"), value("user_version"), value("page_size"), value("page_count"))
        check_header(self.path, header)
        check_length(self.path, header.pages, header.page_size)

    def connection(self) -> Connection:
        """Return the connection of this thread. For transactions use :meth:`read` and :meth:`write`."""
        if self._closed:
            raise ClosedFile(f"{self.path} was closed", "in Python: open it again with Monograph.open")
        held: tuple[int, Connection] | None = getattr(self._local, "held", None)
        if held is not None and held[0] == os.getpid():
            return held[1]
        if held is not None:
            _abandoned.append(held[1])
            _abandoned.append(self._open)
            self._write_lock, self._open = threading.RLock(), OpenConnections()
        with translate_errors(self.path):
            self._require_same_file()
            connection = self.connect_again(self.read_only)
        self._local.held = self._open.add(connection)
        return connection

    @contextmanager
    def _using(self, connection: Connection) -> Iterator[None]:
        """Let nobody close a connection while its thread uses it: the end of its use then closes it."""
        try:
            with self._open.counted(connection):
                self.connection()  # Raises ClosedFile if it was closed meanwhile.
                yield
        finally:
            if self._closed:
                self._close_unused()

    def _require_same_file(self) -> None:
        """Raise ReplacedFile or DamagedFile if another program has replaced the file, or cut it off."""
        if self._file is not None:
            self._file.require_same()
            self._file.require_whole()

    def connect(self, path: Path) -> Connection:
        """Connect to another file with the same key, such as a copy of this one."""
        with translate_errors(path):
            return connections.connect(path, self.raw_key)

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Begin a transaction that reads one state of the file: later commits are not seen. May be nested."""
        connection = self.connection()
        with self._using(connection), translate_errors(self.path, connection, self._diagnosis), self._reading():
            if connection.in_transaction:
                yield connection
                return
            connection.execute("BEGIN")
            try:
                if self.begin is not None:
                    self.begin(connection)
                yield connection
                # A commit also writes to virtual tables, which in a damaged file fails.
                connection.execute("ROLLBACK" if self.begin is None else "COMMIT")
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
        with (
            self._using(connection),
            self._locked(wait=not aside),
            translate_errors(self.path, connection, self._diagnosis),
            self._reading(),
        ):
            if getattr(self._local, "writing", None) is connection:
                yield connection
                return
            self._require_same_file()
            connections.begin_writing(connection, wait=not aside)
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

    def _reading(self) -> AbstractContextManager[None]:
        return nullcontext() if self._file is None else self._file.reading()

    def enter(self) -> None:
        """Enter in the ledger what models were asked; where that cannot be done just now, the next write does it."""
        if self.read_only or not self.noted.pending():
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
        finally:
            self._local.diagnosing = False

    @property
    def is_closed(self) -> bool:
        """Whether it was closed."""
        return self._closed

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
        with self._using(connection), self._write_lock, translate_errors(self.path):
            self._require_same_file()
            # The whole file goes through a temporary one, which may be larger than the memory; not so where it is
            # encrypted, since SQLCipher gives the temporary one pages of another size, and so ruins the file.
            if self.raw_key is None:
                connection.execute("PRAGMA temp_store = FILE")
            connection.execute("VACUUM")
            connection.execute("PRAGMA temp_store = MEMORY")
            emptied = connections.empty_log(connection)
        if not emptied:
            raise BusyFile(
                f"the write-ahead log of {self.path} is still read by another process, and holds old text",
                "close the other programs that use the file, then run the same command again",
            )

    def close(self) -> None:
        """Close every connection of this process. Afterwards any use raises ClosedFile; closing twice is allowed.

        A connection that a thread is using is closed at the end of that use.
        """
        self._closed = True
        self._close_unused()

    def _close_unused(self) -> None:
        with self._open.lock:
            if not self._open.close_unused() or self._file is None:
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
        with translate_errors(path), closing(connections.raw(made, raw)) as connection:
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
