"""What the system refuses is told as an error of a shelf."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from monograph.errors import ShelfUnreachable
from monograph.store.refusals import refusal_of


@contextmanager
def told(path: Path) -> Iterator[None]:
    """Turn errors of the system into ours.

    Raises
    ------
    StorageFull
        If there is no room.
    OutOfMemory
        If there is no memory.
    ShelfUnreachable
        If anything else was refused.
    """
    try:
        yield
    except OSError as error:
        ours = refusal_of(path, error)
        if ours is None:
            ours = ShelfUnreachable(
                f"{path} cannot be read or written: {error.strerror or error}",
                "look whether its folder is there, and whether you may read and write it",
            )
        raise ours from error
