"""The entity–chunk graph of a shelf, looked at, and written for the next version: ``shelf.graph``."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from monograph.library.graph_reading import GraphReading
from monograph.library.told import Telling
from monograph.shelf.opened import OpenShelf
from monograph.shelf.write.working import Working
from monograph.store.told_changes import Ends
from monograph.values import Report, ToldNode, ToldRelation


class ShelfGraph(Telling, GraphReading):
    """The named things of a shelf; made by :attr:`monograph.shelf.Shelf.graph`.

    What is read is that of the version that is searched. What is written is read when it is published: it raises
    ShelfConflict if another writer is at work.
    """

    def __init__(self, file: OpenShelf, writer: Callable[[], Working]) -> None:
        super().__init__(file)
        self._writer = writer

    def set_apart(self, name: str, other: str) -> None:
        """Say that two names are not one entity, as :meth:`monograph.library.graph.EntityGraph.set_apart`.

        They are what they are called in the next version, as it is written by now.
        """
        self._writer().set_apart(name, other)

    def unite(self, name: str, other: str) -> None:
        """Take back :meth:`set_apart`, as :meth:`monograph.library.graph.EntityGraph.unite`."""
        self._writer().unite(name, other)

    def _tell(self, nodes: Sequence[ToldNode], relations: Sequence[ToldRelation], *, missing_ok: bool) -> None:
        self._writer().tell(nodes, relations, missing_ok=missing_ok)

    def _untell(self, nodes: Sequence[str], relations: Sequence[Ends], forget: bool | None) -> Report:
        return self._writer().untell(nodes, relations, forget)
