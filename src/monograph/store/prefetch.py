"""Reading ahead: what a search is about to want is brought into the system's cache in large pieces.

Connections read through memory maps, which is fastest for what is cached; for what is not, each page of 4 KB is then a
wait of its own. So whatever this process has not read before is read once without a map, the result thrown away.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterable, Sequence
from urllib.parse import quote

from monograph.store import encryption
from monograph.store.database import Connection, path_of

_ROWS = 8
"""Memo rows that are taken to lie together."""


class Prefetcher:
    """Reads ahead from one file; each thing once. Safe for use by many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._connection: Connection | None = None
        self._process = 0
        self._spaces: set[int] = set()
        self._clusters: set[int] = set()
        self._memos: set[int] = set()

    def centroids(self, connection: Connection, space: int) -> None:
        """Announce the centroids of an index."""
        with self._lock:
            if space not in self._spaces:
                self._spaces.add(space)
                self._read(connection, "SELECT body, graph FROM centroids WHERE space = ?", ((space,),))

    def clusters(self, connection: Connection, names: Sequence[int]) -> None:
        """Announce clusters that are about to be read."""
        if self._clusters.issuperset(names):
            return
        with self._lock:
            fresh = sorted(set(names) - self._clusters)
            self._clusters.update(fresh)
            query = "SELECT body FROM parts WHERE part BETWEEN ? AND ?"
            self._read(connection, query, ((2 * name, 2 * name + 1) for name in fresh))

    def memos(self, connection: Connection, rows: Sequence[int]) -> None:
        """Announce memo rows that are about to be read."""
        groups = {row // _ROWS: row for row in rows}
        if self._memos.issuperset(groups):
            return
        with self._lock:
            fresh = sorted(groups[group] for group in groups.keys() - self._memos)
            self._memos.update(groups)
            self._read(connection, "SELECT value FROM memo WHERE memo = ?", ((row,) for row in fresh))

    def _read(self, connection: Connection, query: str, parameters: Iterable[tuple[int, ...]]) -> None:
        if encryption.is_encrypted(connection):
            return  # It is never mapped: what is wanted is read in whole pages as it is.
        if self._connection is None or self._process != os.getpid():
            # After a fork the parent's connection is left alone: to close it would release the parent's locks.
            uri = f"file:{quote(path_of(connection))}?mode=ro"
            try:
                self._connection = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)
            except sqlite3.Error:
                return  # A file that cannot be opened so is read without this.
            self._process = os.getpid()
        try:
            for one in parameters:
                self._connection.execute(query, one).fetchall()
        except sqlite3.Error:
            return  # Busy, or damaged: whoever reads it in earnest will say so.

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            if self._connection is not None and self._process == os.getpid():
                self._connection.close()
            self._connection = None
