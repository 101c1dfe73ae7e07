"""Which file a path leads to, and whether it is still the one that was opened, as long as it was."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

from monograph.errors import DamagedFile, MonographError, ReplacedFile
from monograph.store.file.mapped import _mapped

Identity: TypeAlias = tuple[int, int]
"""A file's device and inode; (0, 0) where there is none."""


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
