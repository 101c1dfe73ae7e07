"""The names of many files as a view over all of them has them."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from monograph.store import view
from monograph.store.database import Connection, Database
from monograph.store.filters import Allowed
from monograph.store.view import ViewDatabase


@dataclass(frozen=True, slots=True)
class Part:
    """What of one file is in a view: row numbers of documents, how many chunks, and (key, uses, persons) of names."""

    documents: tuple[int, ...]
    chunks: int
    names: Sequence[tuple[str, int, int]]


def part(connection: Connection) -> Part:
    """What a connection sees of its file, in a read transaction."""
    documents = connection.execute("SELECT document FROM documents ORDER BY document").fetchall()
    (chunks,) = connection.execute("SELECT count(*) FROM chunks").fetchone()
    names = connection.execute("SELECT key, uses, persons FROM names WHERE uses > 0 ORDER BY key").fetchall()
    return Part(tuple(row for (row,) in documents), chunks, names)


class CatalogueView(ViewDatabase):
    """The catalogue of many files, of which only what the parts of these say can be read.

    Parameters
    ----------
    whole:
        The catalogue.
    allowed:
        The view's filter.
    ask:
        Finds out what of each file is in the view, in the order of the files; it is asked once.
    """

    def __init__(self, whole: Database, allowed: Allowed, ask: Callable[[], Sequence[Part]]) -> None:
        self._ask = ask
        self._asking = threading.Lock()
        self._parts: Sequence[Part] = ()
        super().__init__(whole, allowed)

    def parts(self) -> Sequence[Part]:
        """What of each file is in the view: a catalogue's files do not change."""
        with self._asking:
            if not self._parts:
                self._parts = self._ask()
            return self._parts

    def _lay_down(self, connection: Connection, generation: int) -> None:
        parts = self.parts()
        rows = [row * len(parts) + number for number, one in enumerate(parts) for row in one.documents]
        view.begin(connection, generation, json.dumps(rows))
        used: dict[str, tuple[int, int]] = {}
        for key, uses, persons in (name for one in parts for name in one.names):
            before = used.get(key, (0, 0))
            used[key] = before[0] + uses, before[1] + persons
        view.put_names(connection, "key", ((key, *counts) for key, counts in used.items()))
        view.settle_heads(connection)
