"""The entity–chunk graph looked at, corrected and made anew: ``archive.graph``."""

from __future__ import annotations

import os
import time
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from monograph.explore import neighbourhood
from monograph.graph import export
from monograph.library.graph_reading import EXPORTED, GraphReading
from monograph.library.ledger import spends
from monograph.library.told import ToldGraph
from monograph.models import Extractor
from monograph.store import settings
from monograph.store.database import Connection
from monograph.values import Cost, Neighbourhood, OnProgress, Report, arguments
from monograph.write import cannot_link, configuration, on_demand, rebuild_graph

if TYPE_CHECKING:
    import networkx


class EntityGraph(ToldGraph, GraphReading):
    """The named things of a file and how they hang together; made by :attr:`monograph.Monograph.graph`.

    Where the graph is made on demand, what reads it makes it first; opened for reading only, that raises ReadOnlyFile.
    """

    @property
    def extractor(self) -> Extractor:
        """What finds the names in chunks. Raises as ``Monograph.embedder``."""
        return self._file.extractor

    @spends
    def set_apart(self, name: str, other: str) -> None:
        """Say that two names are not one entity. This is kept, and they never become one again.

        Raises
        ------
        InputError
            If they are one but for case, accents, signs or an article.
        NotFound
            If nothing in the file has one of them.
        """
        self._file.only_whole("graph.set_apart")
        self._file.require("graph")
        cannot_link.set_apart(self._file.writing_pipeline(), name, other)

    @spends
    def unite(self, name: str, other: str) -> None:
        """Take back :meth:`set_apart`: the graph is as if it had never been said.

        Raises
        ------
        NotFound
            If they were not set apart.
        """
        self._file.only_whole("graph.unite")
        self._file.require("graph")
        cannot_link.unite(self._file.writing_pipeline(), name, other)

    def to_networkx(self, name: str = "", hops: int = 2) -> networkx.Graph:
        """The graph around an entity, or without a name the whole graph, as networkx has graphs (extra ``graph``).

        Nodes and edges are those of :func:`monograph.graph.export.to_networkx`. Around an entity at most EXPORTED
        others are in it. The whole graph takes about 15 KB of memory and 2 ms a chunk; a file of millions of chunks is
        better looked at in parts.

        Raises
        ------
        NotFound
            As for :meth:`neighbourhood`.
        MissingExtra
            If networkx is not installed.
        """
        return export.to_networkx(self._exported(name, hops))

    def to_graphml(self, path: str | os.PathLike[str], name: str = "", hops: int = 2) -> None:
        """Write what :meth:`to_networkx` gives as a GraphML file, for Gephi, Cytoscape, yEd and the like.

        Raises
        ------
        NotFound, MissingExtra
            As for :meth:`to_networkx`.
        InputError
            If the file cannot be written.
        """
        target = arguments.path(path, "the path")
        export.to_graphml(self._exported(name, hops), target)

    def _read(self) -> AbstractContextManager[Connection]:
        """Begin to read a graph that is made."""
        self._file.require("graph")
        return self._file.database.read()

    def _exported(self, name: str, hops: int) -> Neighbourhood:
        if name:
            return self.neighbourhood(name, hops, EXPORTED)
        with self._read() as connection:
            return neighbourhood.whole(connection)

    @spends
    def build(self, *, progress: OnProgress | None = None) -> Report:
        """Make what is made on demand and is not made yet: the graph, and the trigrams that substrings are found by.

        From now on they are made with the documents. A batch of documents is done at a time, while others read and
        write; ended before the end, the next call goes on from there. :meth:`price` says what a model would be asked.
        """
        self._file.only_whole("graph.build")
        started = time.perf_counter()
        made = on_demand.make(self._file.writing_pipeline(), settings.ON_DEMAND, progress)
        return Report(extracted=made.extracted, fell_back=made.fell_back, seconds=time.perf_counter() - started)

    def price(self) -> Cost:
        """What of the graph is not made yet, and what making it would take; nothing is written."""
        self._file.only_whole("graph.price")
        return on_demand.price(self._file.pipeline())

    @spends
    def rebuild(self, extractor: Extractor | None = None, *, progress: OnProgress | None = None) -> Report:
        """Make the graph anew with another extractor; without one, ask again for the chunks that a model failed on.

        What the new extractor found in a chunk before is remembered, and costs nothing.
        """
        self._file.only_whole("graph.rebuild")
        configuration.adopt_embedder(self._file.database, self._file.embedder)
        chosen = extractor or self._file.extractor
        made = rebuild_graph.reextract(self._file.pipeline(extractor=chosen), progress)
        self._file.given_extractor = chosen
        return Report(extracted=made.extracted, fell_back=made.fell_back)
