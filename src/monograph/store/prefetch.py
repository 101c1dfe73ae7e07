"""Reading ahead: what a search is about to want is announced to the system, which then reads it all at once.

Connections read through memory maps, which is fastest for what is in memory; for what is not, each page is a wait
of its own, in which the system reads thirty pages around it.
"""

from __future__ import annotations

import os
import struct
import threading
from collections.abc import Iterable

from monograph.store import codes, encryption
from monograph.store.database import Connection, path_of
from monograph.store.pages import Pages, descriptor_of, is_of

_TOGETHER = 8
"""Rows that are taken to lie together."""

_ENOUGH = 8
"""Announcements one after the other of what is in memory already, after which there are no more."""


class Prefetcher:
    """Announces rows of one file, each once. Safe for use by many threads.

    Nothing is announced of encrypted files, which are not mapped, and where the system does not tell which files it has
    open (that is, on Linux alone).
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pages: Pages | None = None
        self._file: os.stat_result | None = None
        self._roots: dict[str, int] = {}
        self._announced: set[tuple[str, int]] = set()
        self._in_memory = 0

    def centroids(self, connection: Connection, space: int) -> None:
        """Announce the centroids of an index."""
        self._announce(connection, "centroids", {space: (space,)})

    def clusters(self, connection: Connection, names: Iterable[int]) -> None:
        """Announce clusters that are about to be read."""
        self._announce(connection, "parts", {name: (2 * name, 2 * name + 1) for name in names})

    def codes(self, connection: Connection, space: int, memos: Iterable[int]) -> None:
        """Announce codes of memo rows that are about to be compared by value."""
        self._announce(connection, "codes", _together(codes.place(space, memo) for memo in memos))

    def memos(self, connection: Connection, rows: Iterable[int]) -> None:
        """Announce memo rows that are about to be read."""
        self._announce(connection, "memo", _together(rows))

    def _announce(self, connection: Connection, table: str, groups: dict[int, tuple[int, ...]]) -> None:
        if self._in_memory >= _ENOUGH:
            return
        fresh = {(table, group) for group in groups} - self._announced
        if not fresh or encryption.is_encrypted(connection):
            return
        with self._lock:
            self._announced |= fresh
            try:
                pages, root = self._of(connection), self._root(connection, table)
                if pages is not None and root:
                    rows = (row for _, group in fresh for row in groups[group])
                    self._in_memory = 0 if pages.announce(root, rows) else self._in_memory + 1
            except (OSError, IndexError, struct.error):
                return  # Changed meanwhile, or damaged: whoever reads it in earnest will say so.

    def _of(self, connection: Connection) -> Pages | None:
        """The file's pages, by a descriptor that is still the file's."""
        if self._pages is None or self._file is None or not is_of(self._pages.descriptor, self._file):
            path = path_of(connection)
            descriptor = descriptor_of(path)
            self._pages = None if descriptor is None else Pages.of(descriptor)
            self._file = None if descriptor is None else os.fstat(descriptor)
        return self._pages

    def _root(self, connection: Connection, table: str) -> int:
        if table not in self._roots:
            found = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", (table,)).fetchone()
            self._roots[table] = 0 if found is None else int(found[0])
        return self._roots[table]


def _together(rows: Iterable[int]) -> dict[int, tuple[int, ...]]:
    """Rows by the groups that are taken to lie together: one of each."""
    return {row // _TOGETHER: (row,) for row in rows}
