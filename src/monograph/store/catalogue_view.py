"""What lies over many files, their names and the tree of summaries, as a view over all of them has it."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from monograph.store import catalogue, filters, tree, view
from monograph.store.catalogue import Rows
from monograph.store.database import Connection, Database
from monograph.store.filters import EVERYTHING, Allowed
from monograph.store.view import ViewDatabase


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """What of one file is in a view.

    Parameters
    ----------
    documents:
        Their row numbers.
    chunks:
        Theirs: int64 (n,), ascending.
    names:
        (key, uses, persons).
    nodes, relations:
        What callers told, as :class:`monograph.store.catalogue.Share` has it.
    """

    documents: tuple[int, ...]
    chunks: npt.NDArray[np.int64]
    names: Sequence[tuple[str, int, int]]
    nodes: Rows
    relations: Rows


def part(connection: Connection) -> Part:
    """What a connection sees of its file, in a read transaction."""
    documents = connection.execute("SELECT document FROM documents ORDER BY document").fetchall()
    chunks = filters.rows(connection, EVERYTHING)
    names = connection.execute("SELECT key, uses, persons FROM names WHERE uses > 0 ORDER BY key").fetchall()
    nodes = connection.execute("SELECT DISTINCT id, label, name, key, implied FROM told_nodes").fetchall()
    relations = connection.execute("SELECT DISTINCT source, label, target FROM told_relations").fetchall()
    return Part(tuple(row for (row,) in documents), chunks, names, nodes, relations)


_TOLD = (
    # Of whom a node or a relation is the catalogue does not tell: so those of the view are laid down.
    "DROP VIEW temp.told_nodes",
    "DROP VIEW temp.told_relations",
    """CREATE TEMP TABLE told_nodes (
        told INTEGER PRIMARY KEY, id TEXT NOT NULL, document INTEGER, chunk INTEGER, label TEXT NOT NULL,
        name TEXT NOT NULL, key TEXT NOT NULL, properties TEXT NOT NULL, embedding BLOB, implied INTEGER NOT NULL,
        checksum INTEGER NOT NULL)""",
    "CREATE INDEX temp.view_told_nodes_by_id ON told_nodes(id)",
    "CREATE INDEX temp.view_told_nodes_by_key ON told_nodes(key)",
    """CREATE TEMP TABLE told_relations (
        told INTEGER PRIMARY KEY, source TEXT NOT NULL, label TEXT NOT NULL, target TEXT NOT NULL, document INTEGER,
        chunk INTEGER, properties TEXT NOT NULL, checksum INTEGER NOT NULL)""",
    "CREATE INDEX temp.view_told_relations_by_source ON told_relations(source)",
    "CREATE INDEX temp.view_told_relations_by_target ON told_relations(target)",
)


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

    def _connect(self) -> Connection:
        connection = super()._connect()
        for statement in _TOLD:
            connection.execute(statement)
        return connection

    def _lay_down(self, connection: Connection, generation: int) -> None:
        parts = self.parts()
        rows = [row * len(parts) + number for number, one in enumerate(parts) for row in one.documents]
        view.begin(connection, generation, json.dumps(rows))
        if tree.exists(connection):
            for number, one in enumerate(parts):
                view.put_chunks(connection, (one.chunks * len(parts) + number).tolist())
            view.fill_nodes(connection)
        used: dict[str, tuple[int, int]] = {}
        for key, uses, persons in (name for one in parts for name in one.names):
            before = used.get(key, (0, 0))
            used[key] = before[0] + uses, before[1] + persons
        view.put_names(connection, "key", ((key, *counts) for key, counts in used.items()))
        view.settle_heads(connection)
        for one in parts:
            catalogue.put_told(connection, one.nodes, one.relations)
