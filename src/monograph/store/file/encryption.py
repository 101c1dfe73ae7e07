"""Files whose bytes are encrypted: the pages of SQLCipher 4, under a raw key that is derived once for an open file."""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, cast

from monograph.errors import BusyFile, DamagedFile, InputError, MissingExtra, NotAMonograph, WrongKey
from monograph.store.file.errors import sqlite_errors, sqlite_name, translate_errors
from monograph.store.file.schema import PAGE_SIZE

MAGIC = b"SQLite format 3\x00"
"""What a file begins with that is not encrypted; in the place of it an encrypted one has its salt."""
ROUNDS = 256_000
"""SQLCipher's own number: any SQLCipher 4 opens the file with the key, and pages of 16,384 bytes."""
WAITED_SECONDS = 3.0
"""How long other processes are waited for to close a file that gets another key."""


@dataclass(frozen=True, slots=True, repr=False)
class RawKey:
    """Raw key of an encrypted file: 32 bytes derived from the key, and the salt, the first 16 bytes of the file."""

    secret: bytes
    salt: bytes

    def spec(self) -> str:
        """Return the text that SQLCipher takes as a raw key: it then derives no key for each connection."""
        return f"x'{self.secret.hex()}{self.salt.hex()}'"


def require_text(key: object) -> None:
    """Raise InputError if a key is neither text nor a raw key. It is not shown."""
    if not isinstance(key, str | RawKey):
        raise InputError(f"the key is of type {type(key).__name__}", "give it as a text")


def derive(key: str, salt: bytes) -> RawKey:
    """Make a raw key (about 0.2 s): PBKDF2 of HMAC-SHA-512, as SQLCipher does.

    Raises
    ------
    InputError
        If the key is empty, or no text.
    """
    require_text(key)
    if not key:
        raise InputError("the key is empty", "give a key of several words")
    try:
        given = key.encode("utf-8", "surrogateescape")  # What an environment holds that is not UTF-8 is kept as it is.
    except UnicodeEncodeError as error:
        raise InputError("the key is not text", "give one that can be written as UTF-8") from error
    return RawKey(hashlib.pbkdf2_hmac("sha512", given, salt, ROUNDS, 32), salt)


def salt_of(path: Path) -> bytes | None:
    """Return the salt of an encrypted file that is not open in this process; None if it is not encrypted.

    Raises
    ------
    NotAMonograph
        If it cannot be read.
    DamagedFile
        If it is shorter than a salt.
    """
    if not path.is_file():
        raise NotAMonograph(f"{path} is no file" if path.exists() else f"{path} does not exist", "give another name")
    try:
        with path.open("rb") as file:
            head = file.read(len(MAGIC))
    except OSError as error:
        raise NotAMonograph(f"{path} cannot be read: {error.strerror}", "check the path and its permissions") from error
    if len(head) < len(MAGIC):
        raise DamagedFile(f"{path} is cut off after {len(head)} bytes", "restore it from a copy, or sync a new file")
    return None if head == MAGIC else head


def may_be_encrypted(path: Path) -> bool:
    """Return whether a file may be encrypted: it has whole pages, and does not begin as SQLite's files do."""
    looked_at = os.path.isfile(path) and os.access(path, os.R_OK)  # noqa: PTH113 - it never raises
    size = path.stat().st_size if looked_at else 0
    return size > 0 and size % PAGE_SIZE == 0 and salt_of(path) is not None


def unlock(path: Path, key: str | RawKey | None, salt: bytes | None, made: RawKey | None = None) -> RawKey | None:
    """Return the raw key of a file; None if it is not encrypted.

    Parameters
    ----------
    path:
        The file, for what is said.
    key:
        As it was given.
    salt:
        The file's; None where it is not encrypted, or its bytes were not read since no key was given.
    made:
        A raw key that was made of the key just now, for a new file.

    Raises
    ------
    WrongKey
        If a key was given for a file that is not encrypted, or none for one that is.
    """
    if salt is None:
        if key is not None:
            raise WrongKey(
                f"{path} is not encrypted, and a key was given",
                f"leave the key away (unset MONOGRAPH_KEY), or encrypt the file: monograph encrypt {path}",
            )
        return None
    if key is None:
        raise locked(path)
    for one in (key, made):
        if isinstance(one, RawKey) and one.salt == salt:
            return one
    if isinstance(key, RawKey):
        raise wrong(path)
    return derive(key, salt)


def locked(path: Path) -> NotAMonograph:
    """Return the error for bytes that are not SQLite's, if no key was given: encrypted bytes look like any others."""
    return NotAMonograph(
        f"{path} is not a Monograph file, or it is encrypted and no key was given",
        "give another name; or the key: MONOGRAPH_KEY; in Python: Monograph.open(path, key=...)",
    )


def wrong(path: Path) -> WrongKey:
    """Return the error for bytes that a key does not open."""
    return WrongKey(
        f"{path} does not open with this key: the key is another, or this is no encrypted Monograph file",
        "check the key (MONOGRAPH_KEY) and the name; if both are right, the file is damaged: restore it from a copy",
    )


def require_opened(path: Path, connection: sqlite3.Connection) -> None:
    """Raise WrongKey, and close a connection, if its key does not open the file."""
    try:
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite_errors() as error:
        connection.close()
        if sqlite_name(error) == "SQLITE_NOTADB":
            raise wrong(path) from error
        raise


def connect(database: str | Path, key: RawKey | None, **options: Any) -> sqlite3.Connection:
    """Connect through SQLCipher, which can attach encrypted and plain files; parameters as ``sqlite3.connect``.

    Raises
    ------
    MissingExtra
        If SQLCipher is not installed.
    """
    kind = _kind_of_connection()
    connection = kind(str(database), isolation_level=None, **options)
    try:
        connection.execute("PRAGMA cipher_log = off")  # Else it writes to standard error what becomes an error of ours.
        if key is not None:
            connection.execute(f'PRAGMA key = "{key.spec()}"')
            set_pages(connection, "main")
    except BaseException:
        connection.close()
        raise
    return cast(sqlite3.Connection, connection)


def set_pages(connection: Any, name: str) -> None:
    """Say how the pages of a database that has a key are made, whatever a later SQLCipher prefers."""
    connection.execute(f"PRAGMA {name}.cipher_compatibility = 4")
    connection.execute(f"PRAGMA {name}.cipher_page_size = {PAGE_SIZE:d}")


def export(connection: sqlite3.Connection, target: str, key: RawKey | None) -> None:
    """Copy what a connection through SQLCipher sees into an empty database, which stays attached as ``made``.

    Parameters
    ----------
    connection:
        It must be allowed to write.
    target:
        A path or URI.
    key:
        Encrypts the copy; None makes a plain one.
    """
    connection.execute("ATTACH ? AS made KEY ?", (target, "" if key is None else key.spec()))
    if key is None:
        connection.execute(f"PRAGMA made.page_size = {PAGE_SIZE:d}")
    else:
        set_pages(connection, "made")
    connection.execute("BEGIN")
    connection.execute("SELECT sqlcipher_export('made')")
    connection.execute("COMMIT")
    for name in ("application_id", "user_version"):
        (value,) = connection.execute(f"PRAGMA main.{name}").fetchone()
        connection.execute(f"PRAGMA made.{name} = {value:d}")


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
    with translate_errors(path), closing(connect(path, key, timeout=WAITED_SECONDS)) as connection:
        require_opened(path, connection)
        _hold(path, connection)
        export(connection, str(made), new_key)
        _compare(path, connection)
        connection.execute("PRAGMA made.journal_mode = WAL")
        connection.execute("DETACH made")
        yield lambda: connection.execute("PRAGMA main.journal_mode = DELETE").fetchone()


def _hold(path: Path, connection: sqlite3.Connection) -> None:
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


def _compare(path: Path, connection: sqlite3.Connection) -> None:
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


def is_encrypted(connection: sqlite3.Connection) -> bool:
    """Return whether a connection goes through SQLCipher."""
    return not isinstance(connection, sqlite3.Connection)


@cache
def _kind_of_connection() -> Any:
    try:
        from sqlcipher3 import dbapi2
    except ImportError as error:
        raise MissingExtra(
            "a key needs SQLCipher, which is not installed", 'pip install "monograph[encrypt]"'
        ) from error

    class EncryptedConnection(dbapi2.Connection):  # type: ignore[misc]
        def blobopen(self, table: str, column: str, row: int, /, *, readonly: bool = False, name: str = "main") -> Any:
            """Open a blob as ``sqlite3.Connection.blobopen`` does; SQLCipher's module has an older name for it."""
            return self.open_blob(table, column, row, readonly, name)

    return EncryptedConnection
