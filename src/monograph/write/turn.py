"""Who grows a file's tree has its turn, and others wait for it.

Writers that grew the same tree side by side would overtake each other, and pay for the same summaries. The turn is a
lock on an empty file beside the .mono file, which ends with its process, however that ends. It saves work and no more:
a tree is right whoever grows it, so that where a system has no such locks all take their turn at once.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from monograph.errors import BusyFile

try:
    import fcntl
except ImportError:  # pragma: no cover - not on Unix
    fcntl = None  # type: ignore[assignment]

PATIENCE = 30.0
"""Seconds after which who waits leaves the tree to who has the turn."""
_LONGEST_PAUSE = 0.02


@contextmanager
def turn(path: Path) -> Iterator[None]:
    """Have the turn at a file's tree.

    Raises
    ------
    BusyFile
        If another thread or process has it for longer than PATIENCE.
    """
    lock = Path(f"{os.path.realpath(path)}-tree")
    held = _taken(lock, path)
    try:
        yield
    finally:
        if held is not None:
            lock.unlink(missing_ok=True)  # While it is held: who waits for it sees that it is another by then.
            os.close(held)


def _taken(lock: Path, path: Path) -> int | None:
    """A descriptor of the lock's file, locked; None where there can be none."""
    end = time.monotonic() + PATIENCE
    while fcntl is not None:
        try:
            held = os.open(lock, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
        except OSError:
            break
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_at(held, lock):
                return held
        except BlockingIOError:
            if time.monotonic() > end:
                os.close(held)
                raise BusyFile(
                    f"another process is at work on the tree of {path}", "it follows with the next write"
                ) from None
        except OSError:  # A file system without locks.
            os.close(held)
            break
        os.close(held)
        time.sleep(random.uniform(0, _LONGEST_PAUSE))  # noqa: S311 - only so that two do not meet again
    return None


def _is_at(held: int, path: Path) -> bool:
    """Whether an open file is the one at a path: who held it before has taken it out."""
    try:
        return os.path.samestat(os.fstat(held), path.stat(follow_symlinks=False))
    except FileNotFoundError:
        return False
