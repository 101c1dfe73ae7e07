"""Encryption of whole files by SQLCipher 4: keys, salts, connections, and copies under another key.

The raw key is derived from the key once for each open file, because this takes about 0.2 s.
"""

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
"""The first 16 bytes of a file that is not encrypted. An encrypted file begins with its salt instead."""
ROUNDS = 256_000
"""Rounds of PBKDF2. As this is SQLCipher's default, any SQLCipher 4 opens the file with the key and a page size of
16,384 bytes."""
WAITED_SECONDS = 3.0
"""Seconds to wait until other processes close a file whose key is to be changed."""


@dataclass(frozen=True, slots=True, repr=False)
class RawKey:
    """Raw key of an encrypted file: 32 bytes that are derived from the key, and the salt.

    The salt is the first 16 bytes of the file.
    """

    secret: bytes
    salt: bytes

    def spec(self) -> str:
        """Return the raw key in the form that ``PRAGMA key`` of SQLCipher takes.

        SQLCipher then derives no key for a connection.
        """
        return f"x'{self.secret.hex()}{self.salt.hex()}'"


def require_text(key: object) -> None:
    """Raise InputError if a key is neither a text nor a RawKey. The message does not show the key."""
    if not isinstance(key, str | RawKey):
        raise InputError(f"the key is of type {type(key).__name__}", "give it as a text")


def derive(key: str, salt: bytes) -> RawKey:
    """Derive the raw key of a file from a key and a salt: PBKDF2 with HMAC-SHA-512, as SQLCipher does (about 0.2 s).

    Raises InputError if the key is empty, is no text, or cannot be encoded as UTF-8.
    """
    require_text(key)
    if not key:
        raise InputError("the key is empty", "give a key of several words")
    try:
        encoded = key.encode("utf-8", "surrogateescape")  # Environment variables may hold bytes that are not UTF-8.
    except UnicodeEncodeError as error:
        raise InputError("the key is not text that can be encoded as UTF-8", "give another key") from error
    return RawKey(hashlib.pbkdf2_hmac("sha512", encoded, salt, ROUNDS, 32), salt)


def salt_of(path: Path) -> bytes | None:
    """Return the salt of an encrypted file, which is its first 16 bytes; None if the file is not encrypted.

    The file must not be open in this process, because reading it here would drop SQLite's locks. Raises NotAMonograph
    if the file does not exist, is no regular file, or cannot be read; DamagedFile if it is shorter than a salt.
    """
    if not path.is_file():
        raise NotAMonograph(f"{path} is not a file" if path.exists() else f"{path} does not exist", "give another name")
    head = read_head(path, len(MAGIC))
    if len(head) < len(MAGIC):
        raise truncated(path, len(head))
    return None if head == MAGIC else head


def read_head(path: Path, size: int) -> bytes:
    """Return the first ``size`` bytes of a file, or all bytes of a shorter file.

    Raises NotAMonograph if they cannot be read.
    """
    try:
        with path.open("rb") as file:
            return file.read(size)
    except OSError as error:
        raise NotAMonograph(f"{path} cannot be read: {error.strerror}", "check the path and its permissions") from error


def truncated(path: Path, size: int) -> DamagedFile:
    """Return the error for a file that ends within its header, after ``size`` bytes."""
    return DamagedFile(f"{path} is truncated after {size} bytes", "restore it from a copy, or sync a new file")


def may_be_encrypted(path: Path) -> bool:
    """Return whether a file may be encrypted: its size is a multiple of PAGE_SIZE, and it does not begin with MAGIC."""
    is_readable = os.path.isfile(path) and os.access(path, os.R_OK)  # noqa: PTH113 - it never raises
    size = path.stat().st_size if is_readable else 0
    return size > 0 and size % PAGE_SIZE == 0 and salt_of(path) is not None


def unlock(path: Path, key: str | RawKey | None, salt: bytes | None, made: RawKey | None = None) -> RawKey | None:
    """Return the raw key of a file; None if the file is not encrypted.

    ``key`` is the key that the caller gave. ``salt`` is the salt of the file; None if the file is not encrypted. If
    both are None, the result is None even for an encrypted file.

    ``made`` is the raw key of a file that was created just now. If it has the salt of the file, ``made`` is returned,
    and no key is derived.

    Raises WrongKey if a key was given for a file that is not encrypted, or if a given raw key has another salt than the
    file. Raises NotAMonograph if a salt but no key was given.
    """
    if salt is None:
        if key is not None:
            raise WrongKey(
                f"{path} is not encrypted, and a key was given",
                f"leave out the key (unset MONOGRAPH_KEY), or encrypt the file: monograph encrypt {path}",
            )
        return None
    if key is None:
        raise locked(path)
    for candidate in (key, made):
        if isinstance(candidate, RawKey) and candidate.salt == salt:
            return candidate
    if isinstance(key, RawKey):
        raise wrong(path)
    return derive(key, salt)


def locked(path: Path) -> NotAMonograph:
    """Return the error for a file that has no SQLite header and for which no key was given.

    The file may be encrypted, or no .mono file at all.
    """
    return NotAMonograph(
        f"{path} is not a Monograph file, or it is encrypted and no key was given",
        "give another name; or the key: MONOGRAPH_KEY; in Python: Monograph.open(path, key=...)",
    )


def wrong(path: Path) -> WrongKey:
    """Return the error for a file that the given key does not open."""
    return WrongKey(
        f"{path} does not open with this key: the key is wrong, or this is not an encrypted Monograph file",
        "check the key (MONOGRAPH_KEY) and the name; if both are right, the file is damaged: restore it from a copy",
    )


def require_opened(path: Path, connection: sqlite3.Connection) -> None:
    """Check that the key of a connection opens the file; if it does not, close the connection and raise WrongKey."""
    try:
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite_errors() as error:
        connection.close()
        if sqlite_name(error) == "SQLITE_NOTADB":
            raise wrong(path) from error
        raise


def connect(database: str | Path, key: RawKey | None, **options: Any) -> sqlite3.Connection:
    """Return a connection through SQLCipher, which can attach encrypted files and plain (not encrypted) files.

    ``options`` are those of ``sqlite3.connect``. Raises MissingExtra if SQLCipher is not installed.
    """
    connection_class = _load_connection_class()
    connection = connection_class(str(database), isolation_level=None, **options)
    try:
        connection.execute("PRAGMA cipher_log = off")  # It would write errors to standard error that are raised anyway.
        if key is not None:
            connection.execute(f'PRAGMA key = "{key.spec()}"')
            set_pages(connection, "main")
    except BaseException:
        connection.close()
        raise
    return cast(sqlite3.Connection, connection)


def set_pages(connection: Any, name: str) -> None:
    """Set the page format of an encrypted database explicitly, because the defaults of a later SQLCipher may differ.

    ``name`` is the name under which the connection has attached the database.
    """
    connection.execute(f"PRAGMA {name}.cipher_compatibility = 4")
    connection.execute(f"PRAGMA {name}.cipher_page_size = {PAGE_SIZE:d}")


def export(connection: sqlite3.Connection, target: str, key: RawKey | None) -> None:
    """Copy the main database of a connection into an empty database. The copy stays attached under the name ``made``.

    The connection must go through SQLCipher and be open for writing. ``target`` is the path or URI of the empty
    database. ``key`` is the key of the copy; None makes a copy that is not encrypted.
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
def convert_key(path: Path, key: RawKey | None, made: Path, new_key: RawKey | None) -> Iterator[Callable[[], object]]:
    """Copy a file into another file under a new key, and keep the original locked until the ``with`` block ends.

    The lock prevents commits to the original that the copy would not have. This process must not have the original
    open.

    ``path`` is the original, and ``key`` is its key; None if the original is not encrypted. ``made`` is an empty file,
    which becomes the copy. ``new_key`` is the key of the copy; None makes a copy that is not encrypted.

    Yields a function that deletes the original's write-ahead log and the log's index. Call it before the copy replaces
    the original: SQLite does not delete them when it closes a file that another file has replaced.

    Raises BusyFile if another process has the original open. Raises WrongKey if ``key`` does not open the
    original. Raises DamagedFile if not all rows of a table were copied.
    """
    with translate_errors(path), closing(connect(path, key, timeout=WAITED_SECONDS)) as connection:
        require_opened(path, connection)
        # The lock is held until the connection is closed. The checkpoint merges the write-ahead log into the file.
        connection.execute("PRAGMA main.locking_mode = EXCLUSIVE")
        try:
            connection.execute("BEGIN EXCLUSIVE")
            connection.execute("COMMIT")
        except sqlite_errors() as error:
            if sqlite_name(error).startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
                raise BusyFile(f"{path} is open in another program", "close it there, then try again") from error
            raise
        connection.execute("PRAGMA main.wal_checkpoint(TRUNCATE)").fetchone()
        export(connection, str(made), new_key)
        tables = "SELECT name FROM main.sqlite_master WHERE type = 'table' AND rootpage > 0"
        for (name,) in connection.execute(tables).fetchall():
            queries = (f'SELECT count(*) FROM {database}."{name}"' for database in ("main", "made"))  # noqa: S608
            stored, copied = (connection.execute(query).fetchone()[0] for query in queries)
            if stored != copied:
                raise DamagedFile(
                    f"{copied} of {stored} rows of {name} in {path} were copied",
                    f"monograph check {path} --repair, then try again",
                )
        connection.execute("PRAGMA made.journal_mode = WAL")
        connection.execute("DETACH made")
        yield lambda: connection.execute("PRAGMA main.journal_mode = DELETE").fetchone()


def is_encrypted(connection: sqlite3.Connection) -> bool:
    """Return whether a connection goes through SQLCipher."""
    return not isinstance(connection, sqlite3.Connection)


@cache
def _load_connection_class() -> Any:
    try:
        from sqlcipher3 import dbapi2
    except ImportError as error:
        raise MissingExtra(
            "a key needs SQLCipher, which is not installed", 'pip install "monograph[encrypt]"'
        ) from error

    class EncryptedConnection(dbapi2.Connection):  # type: ignore[misc]
        def blobopen(self, table: str, column: str, row: int, /, *, readonly: bool = False, name: str = "main") -> Any:
            """Open a blob as ``sqlite3.Connection.blobopen`` does. SQLCipher's module names it ``open_blob``."""
            return self.open_blob(table, column, row, readonly, name)

    return EncryptedConnection
