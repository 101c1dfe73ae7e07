"""The entity–chunk graph of a shelf, to be read: ``shelf.graph``."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from monograph.errors import NotOnShelf
from monograph.library.graph import EntityGraph
from monograph.library.graph_reading import GraphReading
from monograph.shelf.opened import OpenShelf


class ShelfGraph(GraphReading):
    """The named things of a shelf; made by :attr:`monograph.shelf.Shelf.graph`."""

    _file: OpenShelf

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            """Raise NotOnShelf for a method of a file's graph that a shelf's does not have."""
            if not name.startswith("_") and hasattr(EntityGraph, name):
                raise NotOnShelf(
                    f"the graph of {self._file.url}, a shelf, has no {name}",
                    f"open a .mono file: Monograph.open(path).graph.{name}",
                )
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
