"""SQLite's errors in our words."""

from __future__ import annotations

from pathlib import Path

from monograph.errors import BusyFile, InvalidFilter, MonographError, OutsideView, ReadOnlyFile
from monograph.store.file import encryption
from monograph.store.file.connections import BUSY_SECONDS
from monograph.store.file.refusals import cannot_write, full, out_of_memory, why_full
from monograph.store.file.unreadable import damaged

_UNREADABLE = ("SQLITE_IOERR_READ", "SQLITE_IOERR_SHORT_READ", "SQLITE_IOERR_CORRUPTFS", "SQLITE_IOERR_DATA")
"""All other errors of input and output are met while something is written, made or locked."""
_TOO_DEEP = ("parser stack overflow", "Expression tree is too large", "too many SQL variables")


def translated(path: Path, error: Exception) -> MonographError | None:
    """Our error for one of SQLite's, whichever library raised it; None for what tells of a fault in the code."""
    name, text = encryption.name_of(error), str(error)
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return BusyFile(
            f"{path} is in use: another process held it for {BUSY_SECONDS:g} seconds", "wait for it, then try again"
        )
    if name == "SQLITE_FULL":
        return full(path, why_full(path) or "its disk or quota, or that of temporary files, is full")
    if name == "SQLITE_IOERR_NOMEM":
        return out_of_memory(path)
    if name.startswith("SQLITE_IOERR_") and name not in _UNREADABLE:
        return cannot_write(path, f"{text} ({name})")
    if name == "SQLITE_IOERR" and (why := why_full(path)) is not None:  # SQLCipher does not tell what failed.
        return full(path, why)
    if name.startswith("SQLITE_READONLY") or name == "SQLITE_CANTOPEN":
        return ReadOnlyFile(f"{path} cannot be written: {text}", "check the permissions of the file and its folder")
    return _of_what_was_asked(path, name, text)


def _of_what_was_asked(path: Path, name: str, text: str) -> MonographError | None:
    """What SQLite does not do that was asked of it, and what it cannot read."""
    if name == "SQLITE_AUTH":
        return OutsideView(f"what stands outside of a view of {path} cannot be read", "open the file itself")
    if any(one in text for one in _TOO_DEEP):
        return InvalidFilter(f"the filter is nested too deeply for SQLite: {text}", "make it flatter")
    if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_IOERR")) or text == "unsupported file format":
        return damaged(path, f"{text} ({name})")
    return None
