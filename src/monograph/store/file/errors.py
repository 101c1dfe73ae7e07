"""Errors of SQLite, of the system and of rows that cannot be decoded, translated into errors of Monograph."""

from __future__ import annotations

import errno
import os
import sqlite3
import struct
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from monograph.errors import (
    OF_A_MODEL,
    BusyFile,
    DamagedFile,
    FileError,
    InvalidDocument,
    InvalidFilter,
    MonographError,
    OutOfMemory,
    OutsideView,
    ReadOnlyFile,
    StorageFull,
)
from monograph.regex import regex

BUSY_SECONDS = 30.0
"""Seconds that a connection waits for a lock that another process holds."""

UNDECODABLE = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, struct.error, RecursionError)
"""Errors that Python raises when a stored value has the wrong type or cannot be decoded."""

_FULL_REASONS = {
    errno.ENOSPC: "its disk is full",
    errno.EDQUOT: "the quota of its user is used up",
    errno.EFBIG: "a limit on the size of files is reached (ulimit -f)",
}
_PROBE_BYTES = 1 << 20
"""Bytes of a test file. If a file of this size can be written next to the .mono file, the disk is not full."""

_CIPHER_NAMES = {
    "attempt to write a readonly database": "SQLITE_READONLY",
    "database disk image is malformed": "SQLITE_CORRUPT",
    "database is locked": "SQLITE_BUSY",
    "database or disk is full": "SQLITE_FULL",
    "disk I/O error": "SQLITE_IOERR",
}
_READ_FAILED = ("SQLITE_IOERR_READ", "SQLITE_IOERR_SHORT_READ", "SQLITE_IOERR_CORRUPTFS", "SQLITE_IOERR_DATA")
"""Names of SQLite's errors of failed reads. All other SQLITE_IOERR errors come from writes, file creation or locks."""
_TOO_DEEP_TEXTS = ("parser stack overflow", "Expression tree is too large", "too many SQL variables")
_DAMAGE_ERRORS = ("SQLITE_CONSTRAINT", "SQLITE_ERROR", "SQLITE_MISMATCH", "SQLITE_TOOBIG")
"""Prefixes of the names of errors that damage can cause, for example by a missing table or a sum that overflows."""
_INDEX_FAULT_TEXTS = (
    "invalid fts5 file format", "vtable constructor failed", "malformed inverted index", "no such fts5 table",
)  # fmt: skip
_NOT_UTF8 = regex(r"Could not decode to UTF-8 column '(?P<column>[^']*)'|user-defined function raised")
_NOT_JSON = "malformed JSON"
_JSON_COLUMNS = ("metadata", "sections", "merged", "properties")
"""Names of the columns that hold JSON, in every table."""


def sqlite_errors() -> tuple[type[Exception], ...]:
    """Return the base classes of the errors of ``sqlite3`` and, if SQLCipher is loaded, of SQLCipher."""
    module = sys.modules.get("sqlcipher3.dbapi2")
    return (sqlite3.Error,) if module is None else (sqlite3.Error, module.Error)


def sqlite_name(error: Exception) -> str:
    """Return SQLite's name of an error, such as ``SQLITE_FULL``; empty if the error has no name.

    SQLCipher reports errors of a backup or an export only as texts, so their names are looked up by the texts. For a
    failed write SQLCipher reports only SQLITE_IOERR; SQLite reports SQLITE_IOERR_WRITE.
    """
    name = getattr(error, "sqlite_errorname", "") or ""
    return _CIPHER_NAMES.get(str(error), name) if name in ("", "SQLITE_ERROR") else name


@contextmanager
def translate_errors(
    path: Path, connection: sqlite3.Connection | None = None, diagnose: Callable[[], str | None] = lambda: None
) -> Iterator[None]:
    """Translate errors that SQLite or the system raises in the ``with`` block into errors of Monograph.

    An error of Monograph names the file, the damaged row if there is one, and what to do next. ``connection`` is used
    to find the damaged row if a text cannot be decoded.

    ``diagnose`` is called for other errors that damaged rows can cause. It returns a description of the fault, or None
    if it finds no fault. After None, the error is raised unchanged: its cause is, for example, the code or a model.
    """
    try:
        with translate_system_errors(path):
            yield
    except MonographError:
        raise
    except sqlite_errors() as error:
        translated = _translate(path, error)
        if translated is None:
            fault = None if connection is None else row_fault(connection, error)
            if fault is None and sqlite_name(error).startswith(_DAMAGE_ERRORS):
                fault = diagnose()
            if fault is None:
                raise
            translated = damaged(path, fault)
        raise translated from error
    except UNDECODABLE as error:
        of_model = any(note.startswith(OF_A_MODEL) for note in getattr(error, "__notes__", ()))
        fault = None if of_model else diagnose()
        if fault is None:
            raise
        raise damaged(path, fault) from error


@contextmanager
def translate_system_errors(path: Path | str) -> Iterator[None]:
    """Translate errors of the system: raise StorageFull if the disk is full, OutOfMemory if memory is exhausted.

    Other errors are raised unchanged.
    """
    try:
        yield
    except OutOfMemory:
        raise
    except MemoryError as error:
        raise _out_of_memory(path) from error
    except OSError as error:
        if (translated := system_error(path, error)) is None:
            raise
        raise translated from error


def system_error(path: Path | str, error: OSError) -> MonographError | None:
    """Return StorageFull if an error says that the disk is full, OutOfMemory if memory is exhausted, else None."""
    if error.errno in _FULL_REASONS:
        full = path if error.filename is None else os.fsdecode(error.filename)
        return _storage_full(full, _FULL_REASONS[error.errno])
    return _out_of_memory(path) if error.errno == errno.ENOMEM else None


@contextmanager
def decoding(connection: sqlite3.Connection, row: str | Callable[[], str]) -> Iterator[None]:
    """Raise DamagedFile, which names the damaged row, if the ``with`` block cannot decode a value.

    ``row`` is the name of the row or rows, or a function that returns the name. The function is called only after a
    failure.
    """
    try:
        yield
    except (InvalidDocument, *UNDECODABLE) as error:
        name = row if isinstance(row, str) else row()
        raise damaged(path_of(connection), f"{name} cannot be read: {error or type(error).__name__}") from error
    except sqlite_errors() as error:
        fault = row_fault(connection, error)
        if fault is None:
            raise
        name = row if isinstance(row, str) else row()
        raise damaged(path_of(connection), f"{name} cannot be read: {fault}") from error


def damaged(path: Path | str, fault: str) -> DamagedFile:
    """Return the error for a damaged file. ``fault`` says which part of the file cannot be read."""
    return DamagedFile(f"{path} is damaged: {fault}", f"monograph check {path} --repair, or restore it from a copy")


def path_of(connection: sqlite3.Connection) -> str:
    """Return the path of the file that a connection has open."""
    return str(connection.execute("PRAGMA database_list").fetchone()[2])


def _translate(path: Path, error: Exception) -> MonographError | None:
    """Return Monograph's error for an error of SQLite, chosen by its name; None if the name does not suffice."""
    name, text = sqlite_name(error), str(error)
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return BusyFile(
            f"{path} is in use: another process locked it for {BUSY_SECONDS:g} seconds",
            "wait until that process is done, then try again",
        )
    if name == "SQLITE_IOERR_NOMEM":
        return _out_of_memory(path)
    if name == "SQLITE_FULL" or (name.startswith("SQLITE_IOERR") and name not in _READ_FAILED):
        default = "its disk or quota, or that of temporary files, is full" if name == "SQLITE_FULL" else None
        if (why := _why_full(path) or default) is not None:
            return _storage_full(path, why)
        if name != "SQLITE_IOERR":  # SQLCipher also reports failed reads under this name.
            return FileError(
                f"the system failed to write {path}: {text} ({name}); what was committed before is safe",
                "check the disk and its mount, then run the same command again",
            )
    if name.startswith("SQLITE_READONLY") or name == "SQLITE_CANTOPEN":
        return ReadOnlyFile(f"{path} cannot be written: {text}", "check the permissions of the file and its folder")
    if name == "SQLITE_AUTH":
        return OutsideView(f"rows outside of a view of {path} cannot be read", "open the file itself")
    if any(phrase in text for phrase in _TOO_DEEP_TEXTS):
        return InvalidFilter(f"the filter is nested too deeply for SQLite: {text}", "simplify the filter")
    if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_IOERR")) or text == "unsupported file format":
        return damaged(path, f"{text} ({name})")
    return None


def _storage_full(path: Path | str, why: str) -> StorageFull:
    return StorageFull(
        f"no room left for {path}: {why}; what was committed before is safe",
        "make room, then run the same command again",
    )


def _out_of_memory(path: Path | str) -> OutOfMemory:
    return OutOfMemory(
        f"not enough memory for this operation on {path}; what was committed before is safe",
        "close other programs, raise the limit on memory (ulimit -v), or request less at a time",
    )


def _why_full(path: Path) -> str | None:
    """Return why no more can be written to the folder of a file; None if a test file of 1 MiB can be written there."""
    if sys.platform != "win32":
        import resource

        limit, _ = resource.getrlimit(resource.RLIMIT_FSIZE)
        parts = [path.with_name(path.name + suffix) for suffix in ("", "-wal", "-shm", "-journal")]
        longest = max((part.stat().st_size for part in parts if part.exists()), default=0)
        if limit != resource.RLIM_INFINITY and longest + _PROBE_BYTES > limit:
            return _FULL_REASONS[errno.EFBIG]
    try:
        with tempfile.TemporaryFile(dir=path.parent, buffering=0) as probe:
            remaining = _PROBE_BYTES
            while remaining > 0:
                remaining -= probe.write(bytes(remaining))
            os.fsync(probe.fileno())
    except OSError as error:
        return _FULL_REASONS.get(error.errno or 0)
    return None


def is_index_fault(error: Exception) -> bool:
    """Return whether an error says that FTS5 cannot read its own tables."""
    return any(phrase in str(error) for phrase in _INDEX_FAULT_TEXTS)


def row_fault(connection: sqlite3.Connection, error: Exception) -> str | None:
    """Return a description of the damaged row that made SQLite fail; None if the error has another cause.

    A row is damaged if one of its texts is no UTF-8, or no JSON where JSON is expected. The first damaged row is
    described. For an error about UTF-8, the column that the error names is searched in all tables. If no table has
    this column, all text columns are searched; for an error about JSON, all columns that hold JSON.

    For an FTS5 error, the description names the inverted index. In a view, the description names no row: the row may
    be outside of the view.
    """
    text = str(error)
    if is_index_fault(error):
        return f"the inverted index: {text}"
    not_utf8 = _NOT_UTF8.search(text)
    if not_utf8 is None and _NOT_JSON not in text:
        return None
    if connection.execute("SELECT 1 FROM sqlite_temp_master WHERE name = 'view_state'").fetchone() is not None:
        return "one of its rows cannot be read"  # The row is not named: it may be outside of the view.
    column = None if not_utf8 is None else not_utf8["column"]
    text_columns = connection.execute(
        """SELECT t.name, c.name, CASE WHEN t.sql LIKE '%WITHOUT ROWID'
            THEN (SELECT name FROM pragma_table_info(t.name) WHERE pk = 1) ELSE 'rowid' END
        FROM sqlite_master AS t JOIN pragma_table_info(t.name) AS c
        WHERE t.type = 'table' AND t.sql NOT LIKE 'CREATE VIRTUAL%' AND t.name NOT GLOB 'words_*'
            AND t.name NOT GLOB 'trigrams_*' AND t.name NOT GLOB 'sqlite_*' AND c.type = 'TEXT' ORDER BY t.name"""
    ).fetchall()
    is_json, suspected_names = not_utf8 is None, _JSON_COLUMNS if not_utf8 is None else (column,)
    suspected = [entry for entry in text_columns if entry[1] in suspected_names]
    for table, name, row in suspected or text_columns:
        query = f"SELECT CAST({row} AS BLOB), CAST({name} AS BLOB) FROM {table} WHERE typeof({name}) = 'text'"  # noqa: S608
        for number, value in connection.execute(f"{query} AND NOT json_valid({name})" if is_json else query):
            if is_json or not is_utf8(value):
                kind = "JSON" if is_json else "UTF-8"
                return f"row {number.decode('utf-8', 'replace')} of {table}: its {name} is not {kind}"
    return None if column is None else f"a row whose {column} is not UTF-8"


def is_utf8(value: bytes | None) -> bool:
    """Return whether bytes are valid UTF-8; True for None."""
    try:
        return value is None or value.decode() is not None
    except UnicodeDecodeError:
        return False
