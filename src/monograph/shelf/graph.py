"""The entity–chunk graph of a shelf, looked at, and written for the next version: ``shelf.graph``."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from monograph.library.graph_reading import GraphReading
from monograph.library.told import Telling
from monograph.shelf.opened import OpenShelf
from monograph.shelf.write import apart, telling
from monograph.shelf.write.working import Working
from monograph.store.told_changes import Ends
from monograph.values import Report, ToldNode, ToldRelation
from monograph.write import cannot_link


class ShelfGraph(Telling, GraphReading):
    """The named things of a shelf; made by :attr:`monograph.shelf.Shelf.graph`.

    What is read is that of the version that is searched. What is written is read when it is published: it raises
    ShelfConflict if another writer is at work.
    """

    _file: OpenShelf

    def __init__(self, file: OpenShelf, writer: Callable[[], Working]) -> None:
        super().__init__(file)
        self._writer = writer

    def set_apart(self, name: str, other: str) -> None:
        """Say that two names are not one entity, as :meth:`monograph.library.graph.EntityGraph.set_apart`.

        They are what they are called in the next version, as it is written by now.
        """
        writer = self._writer()
        with writer.names() as connection:
            pairs = cannot_link.pairs_of(connection, self._file.url, name, other)
        writer.begin()
        apart.put(writer.files, pairs)

    def unite(self, name: str, other: str) -> None:
        """Take back :meth:`set_apart`, as :meth:`monograph.library.graph.EntityGraph.unite`."""
        writer = self._writer()
        with writer.names() as connection:
            pairs = cannot_link.held_of(connection, self._file.url, name, other)
        writer.begin()
        apart.take_back(writer.files, pairs)

    def _tell(self, nodes: Sequence[ToldNode], relations: Sequence[ToldRelation], *, missing_ok: bool) -> None:
        writer = self._writer()
        said = telling.dealt(writer.files, nodes, relations, missing_ok=missing_ok)
        writer.begin()
        with writer.keeping():
            telling.tell(writer.files, said)

    def _untell(self, nodes: Sequence[str], relations: Sequence[Ends], forget: bool | None) -> Report:
        writer = self._writer()
        files = telling.saying(writer.files, nodes, relations)
        if files:
            writer.begin()
        with writer.keeping():
            return telling.untell(files, nodes, relations, forget)
