"""Replacement of files: a new file is written under a temporary name and renamed when it is complete."""

from __future__ import annotations

import os
import shutil
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from monograph.errors import BusyFile, NotAMonograph

_SUFFIXES = ("", "-wal", "-shm", "-journal")
"""Suffixes of a database file, its write-ahead log, the index of the log, and its rollback journal."""


@contextmanager
def temporary_name(path: Path) -> Iterator[Path]:
    """Yield a temporary name in the folder of a file, under which a new version of the file can be written.

    The name is unique to this process and thread. If a file still has this name at the end of the ``with`` block, the
    file is deleted. Raises NotAMonograph if the folder does not exist.
    """
    if not path.parent.is_dir():
        raise NotAMonograph(f"the folder {path.parent} does not exist", f"mkdir -p {path.parent}")
    temporary = path.with_name(f".{os.fsdecode(os.fsencode(path.name)[:36])}.{os.getpid()}.{threading.get_ident()}.new")
    try:
        yield temporary
    finally:
        drop(temporary)


def drop(path: Path) -> None:
    """Delete a database that no program has open, with the logs that a killed program left.

    Missing files are ignored.
    """
    for suffix in _SUFFIXES:
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def link(new_file: Path, path: Path) -> bool:
    """Give a complete file its final name, unless that name is taken. Return whether the file has the name now."""
    try:
        path.hardlink_to(new_file)
    except FileExistsError:
        return False
    except OSError:
        # The file system has no hard links. A file that appears between the check and the rename is overwritten.
        if path.exists():
            return False
        new_file.rename(path)
    return True


def put(new_file: Path, path: Path, *, overwrite: bool) -> bool:
    """Give a complete file its final name, and flush the file and its folder to disk.

    With ``overwrite``, a file that already has the name is replaced. Without ``overwrite``, the existing file is kept,
    and the new file does not get the name. Returns whether the new file has the name now.
    """
    sync_to_disk(new_file)
    if overwrite:
        new_file.replace(path)
    elif not link(new_file, path):
        return False
    sync_to_disk(path.parent)
    return True


def sync_to_disk(path: Path) -> None:
    """Flush a file to disk (fsync); for a folder, flush its directory entries."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def create_like(original: Path, new_file: Path) -> None:
    """Create an empty file with the permissions of another file."""
    new_file.touch()
    shutil.copymode(original, new_file)


def restrict(new_file: Path, original: Path) -> None:
    """Remove from a new file all permissions that the original file does not have."""
    new_file.chmod(stat.S_IMODE(new_file.stat().st_mode) & stat.S_IMODE(original.stat().st_mode))


def private(path: str, flags: int) -> int:
    """Open a file; if this creates the file, let only its owner read and write it.

    Use this function as the ``opener`` of ``open()``.
    """
    return os.open(path, flags, 0o600)


def refuse_log(path: Path) -> None:
    """Raise BusyFile if a write-ahead log or a rollback journal exists for a path.

    SQLite would apply such a log or journal to any new file that is put at the path.
    """
    for suffix in ("-wal", "-journal"):
        log = path.with_name(path.name + suffix)
        if log.exists():
            raise BusyFile(
                f"{log} exists: {path} is open, or a program that had it open crashed",
                f"close it; to merge the log into it: monograph stats {path}; or give another name",
            )
