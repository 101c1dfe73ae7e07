"""A new file is made beside its place, under another name, and takes the place when it is whole."""

from __future__ import annotations

import os
import shutil
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from monograph.errors import BusyFile, NotAMonograph

_BESIDE = ("", "-wal", "-shm", "-journal")
"""What SQLite calls the files of a database: itself, its write-ahead log and that one's index, its rollback journal."""


@contextmanager
def temporary_name(path: Path) -> Iterator[Path]:
    """Yield a name beside a file for its replacement; whatever lies under that name in the end is removed.

    Raises
    ------
    NotAMonograph
        If there is no such folder.
    """
    if not path.parent.is_dir():
        raise NotAMonograph(f"the folder {path.parent} does not exist", f"mkdir -p {path.parent}")
    made = path.with_name(f".{os.fsdecode(os.fsencode(path.name)[:36])}.{os.getpid()}.{threading.get_ident()}.new")
    try:
        yield made
    finally:
        drop(made)


def drop(path: Path) -> None:
    """Remove a file that nobody has open, if it is there, with what a program that was killed left beside it."""
    for suffix in _BESIDE:
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def link(made: Path, path: Path) -> bool:
    """Put a whole file into its place, unless another is there; whether it was."""
    try:
        path.hardlink_to(made)
    except FileExistsError:
        return False
    except OSError:
        # A file system without hard links: the gap between the check and the rename is the best there is.
        if path.exists():
            return False
        made.rename(path)
    return True


def put(made: Path, path: Path, *, overwrite: bool) -> bool:
    """Put a whole file into its place for good, so that a power cut leaves all of it; False if another is there."""
    sync_to_disk(made)
    if overwrite:
        made.replace(path)
    elif not link(made, path):
        return False
    sync_to_disk(path.parent)
    return True


def sync_to_disk(path: Path) -> None:
    """Flush a file, or the names in a folder, to disk (fsync)."""
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def create_like(original: Path, made: Path) -> None:
    """Make an empty file that the same people may read and write as another."""
    made.touch()
    shutil.copymode(original, made)


def restrict(made: Path, original: Path) -> None:
    """Take from a file the permissions that the file which it was made from does not have."""
    made.chmod(stat.S_IMODE(made.stat().st_mode) & stat.S_IMODE(original.stat().st_mode))


def private(path: str, flags: int) -> int:
    """Open a file, as an ``opener``, which only its user may read and write if it is made now."""
    return os.open(path, flags, 0o600)


def refuse_log(path: Path) -> None:
    """Raise BusyFile if a log lies beside a place: SQLite would replay it into whatever is put there."""
    for suffix in ("-wal", "-journal"):
        log = path.with_name(path.name + suffix)
        if log.exists():
            raise BusyFile(
                f"{log} lies there: {path} is open, or a program that had it open broke off",
                f"close it; to bring the log into it: monograph stats {path}; or give another name",
            )
