"""A file is written beside its place until it is whole."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

_SUFFIX = ".shelf-part"
"""Of nobody else's files: what bears it and is not locked may be removed."""


@dataclass(frozen=True, slots=True)
class Part:
    """A file on its way: where it lies until it is whole, and open for writing. It is locked by this process alone."""

    path: Path
    file: BinaryIO

    def sync(self) -> None:
        """Have its bytes on the disk."""
        self.file.flush()
        os.fsync(self.file.fileno())


@contextmanager
def part_of(target: Path) -> Iterator[Part]:
    """An empty file beside a place, for one process at a time: a second one waits.

    The lock is the system's, and ends with the process that holds it, so that what a killed one left is overwritten by
    the next, or cleared away. Left, the part is gone, unless it was given its name.
    """
    path = target.with_name(f".{target.name}{_SUFFIX}")
    file = _locked(path)
    try:
        os.ftruncate(file.fileno(), 0)
        yield Part(path, file)
    finally:
        if _is(path, file):
            path.unlink(missing_ok=True)
        file.close()


def _locked(path: Path) -> BinaryIO:
    import fcntl  # Windows has none, and whoever only imports this needs none.

    while True:
        file = path.open("ab")
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            if _is(path, file):
                return file
        except BaseException:
            file.close()
            raise
        file.close()  # Whoever held it gave it its name, or cleared it away: what is there now is another file.


def _is(path: Path, file: BinaryIO) -> bool:
    with suppress(FileNotFoundError):
        return os.path.samestat(path.stat(), os.fstat(file.fileno()))
    return False


def clear(folder: Path) -> None:
    """Remove the parts that processes left in a folder when they were killed; those being written stay."""
    import fcntl

    for path in folder.glob(f".*{_SUFFIX}"):
        with suppress(FileNotFoundError), path.open("r+b") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            if _is(path, file):
                path.unlink()


def sync_folder(folder: Path) -> None:
    """Have the names in a folder on the disk."""
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
