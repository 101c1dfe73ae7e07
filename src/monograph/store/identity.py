"""Which file a path leads to, and whether it is still the one that was opened."""

from __future__ import annotations

from pathlib import Path
from typing import TypeAlias

from monograph.errors import ReplacedFile

Identity: TypeAlias = tuple[int, int]
"""A file's device and inode; (0, 0) where there is none."""


def identity_of(path: Path) -> Identity:
    """Return the device and inode of a file, (0, 0) if it cannot be looked at: reading it says why."""
    try:
        state = path.stat()
    except OSError:
        return (0, 0)
    return (state.st_dev, state.st_ino)


def require_same(path: Path, opened: Identity | None) -> None:
    """Raise ReplacedFile unless a path leads to the file that was opened; None if it is not open yet."""
    if opened is None or (now := identity_of(path)) == opened:
        return
    what = "replaced by another file" if any(now) else "deleted or moved"
    raise ReplacedFile(
        f"{path} was {what} while it was open; nothing more is written to it",
        "close it and open it again; if it is missing, restore it from a copy",
    )
