"""The views of one of many files: those that were asked last stay open."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import cast

from monograph.library.opened import OpenFile
from monograph.library.view import ViewFile
from monograph.search.one_file.snapshot import FileSnapshot
from monograph.store.filters import Allowed
from monograph.store.view import OneReader, ViewDatabase
from monograph.where import Condition

MOST = 32
"""Views of a file that stay open. One that is asked for again after that is made anew."""


class _View(ViewFile):
    """One that a thread reads at a time."""

    def __init__(self, whole: OpenFile, condition: Condition) -> None:
        super().__init__(whole, condition)
        self.lock = threading.RLock()

    def over(self, whole: OpenFile, condition: Condition, allowed: Allowed) -> ViewDatabase:
        """Laid down once: whatever thread a shard is asked by, the next may be another."""
        return OneReader(whole.database, allowed)


class Views:
    """The views of an open file. Safe for use by many threads."""

    def __init__(self, whole: OpenFile) -> None:
        self._whole = whole
        self._lock = threading.Lock()
        self._open: OrderedDict[str, _View] = OrderedDict()

    @contextmanager
    def reading(self, condition: Condition) -> Iterator[tuple[ViewFile, FileSnapshot]]:
        """Begin to read what of the file meets a condition, until the context ends."""
        view = self._view(condition)
        with view.lock, view.reading() as snapshot:
            yield view, cast(FileSnapshot, snapshot)

    def _view(self, condition: Condition) -> _View:
        name = repr(condition)
        with self._lock:
            held = self._open.get(name)
            if held is None:
                self._whole.database.connection()  # A closed file says so.
                held = self._open[name] = _View(self._whole, condition)
            self._open.move_to_end(name)
            # Whoever is reading one that goes keeps it until that is done.
            while len(self._open) > MOST:
                self._open.popitem(last=False)
            return held

    def close(self) -> None:
        """Close all of them."""
        with self._lock:
            for one in self._open.values():
                one.database.close()
            self._open.clear()
