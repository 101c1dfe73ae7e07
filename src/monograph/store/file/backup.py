"""A copy of an open file, taken by SQLite page by page while others read and write."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TypeAlias

from monograph.store.file.database import Database, our_errors

OnPages: TypeAlias = Callable[[int, int], None]

PAGES_AT_ONCE = 256


def copy(database: Database, target: Path, on_pages: OnPages) -> None:
    """Copy one state of a file into an empty one.

    The pages are read in one transaction: what others commit meanwhile is not seen, and does not begin the copy anew.

    Parameters
    ----------
    database:
        The file; it may be open for reading only.
    target:
        An empty file.
    on_pages:
        Told how many pages of how many are copied, and at the beginning that none is.

    Raises
    ------
    StorageFull
        If there is no room for it.
    """
    with database.read() as source:
        (pages,) = source.execute("PRAGMA page_count").fetchone()
        on_pages(0, pages)
        with our_errors(target), closing(database.connect(target)) as made:
            made.execute("PRAGMA journal_mode = OFF")  # A half copy is thrown away.
            source.backup(made, pages=PAGES_AT_ONCE, progress=lambda _, left, total: on_pages(total - left, total))
