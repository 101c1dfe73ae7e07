"""The connections that a process has open to a file, each closed only when no thread uses it."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager


class OpenConnections:
    """Connections of all threads; SQLite ends the process if one is closed while another thread is in a statement."""

    def __init__(self) -> None:
        self._open: list[tuple[int, sqlite3.Connection]] = []
        self._users: Counter[sqlite3.Connection] = Counter()
        self.lock = threading.RLock()
        """Held by whoever counts the users of a connection, or closes connections."""

    def add(self, connection: sqlite3.Connection) -> tuple[int, sqlite3.Connection]:
        """Add a connection; return it with the id of this process, the only one that may use it."""
        self._open.append((os.getpid(), connection))
        return self._open[-1]

    @contextmanager
    def counted(self, connection: sqlite3.Connection) -> Iterator[None]:
        """Count a user of a connection until the block ends."""
        with self.lock:
            self._users[connection] += 1
        try:
            yield
        finally:
            with self.lock:
                self._users[connection] -= 1

    def close_unused(self) -> bool:
        """Close the connections of this process that no thread uses; return whether all of them are closed."""
        with self.lock:
            for process, connection in list(self._open):
                if process == os.getpid() and not self._users[connection]:
                    connection.close()
                    self._open.remove((process, connection))
            return all(process != os.getpid() for process, _ in self._open)
