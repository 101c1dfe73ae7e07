"""The entity–chunk graph looked at, corrected and made anew: ``archive.graph``."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from monograph.errors import InputError
from monograph.explore import entities, merges, neighbourhood, routes
from monograph.graph import export
from monograph.library.ledger import spends
from monograph.library.told import ToldGraph
from monograph.models import Extractor
from monograph.store import settings
from monograph.store.database import Connection
from monograph.values import Cost, Entity, Merge, Neighbourhood, OnProgress, Report, Route, arguments
from monograph.values import Path as Way
from monograph.write import cannot_link, configuration, on_demand, rebuild_graph

if TYPE_CHECKING:
    import networkx

EXPORTED = 1_000
"""Most entities around one that are exported."""


class EntityGraph(ToldGraph):
    """The named things of a file and how they hang together; made by :attr:`monograph.Monograph.graph`.

    Where the graph is made on demand, what reads it makes it first; opened for reading only, that raises ReadOnlyFile.
    """

    @property
    def extractor(self) -> Extractor:
        """What finds the names in chunks. Raises as ``Monograph.embedder``."""
        return self._file.extractor

    def entities(self, limit: int = 50, like: str = "") -> list[Entity]:
        """The named things of the file, those that most chunks name first.

        Parameters
        ----------
        limit:
            Most of them.
        like:
            Only those with a name that contains this, whatever its case and accents.

        Raises
        ------
        InputError
            If ``limit`` is negative.
        """
        with self._read() as connection:
            return entities.most_named(connection, limit, like)

    def of_document(self, name: str, limit: int = 50) -> list[Entity]:
        """What a document, by its id or uri, names: the things that most of its chunks name first, at most ``limit``.

        Raises
        ------
        NotFound
            If there is no such document, or several came from that uri.
        """
        with self._read() as connection:
            return entities.of_document(connection, name, limit)

    def on_paths(self, paths: Iterable[Way]) -> list[Entity]:
        """The entities that the ways to hits lead over (``hit.path``), each once, in order."""
        with self._file.database.read() as connection:
            return entities.on_paths(connection, paths)

    def neighbourhood(self, name: str, hops: int = 1, limit: int = 60) -> Neighbourhood:
        """The part of the graph around an entity: see :func:`monograph.explore.neighbourhood.neighbourhood`.

        Parameters
        ----------
        name:
            What a text calls it, or a part that no other name has. A name of several things, ``Green``, means all of
            them, ``Green (album)`` one.
        hops:
            How far from it.
        limit:
            Most entities around it, and most chunks.

        Raises
        ------
        NotFound
            If no name fits, or several do; the mend names some.
        InputError
            If ``hops`` is negative, or ``limit`` below 1.
        """
        with self._read() as connection:
            return neighbourhood.neighbourhood(connection, entities.find(connection, name), hops, limit)

    def routes(self, name: str, other: str, hops: int = 4, limit: int = 3) -> list[Route]:
        """Ways from one entity to another, over entities that chunks name together.

        Each end is looked around for half of the way, at most EXPORTED entities far: in a large file a way between two
        that are named very often may be missed.

        Parameters
        ----------
        name, other:
            As for :meth:`neighbourhood`.
        hops:
            Most links of a way, at least 1.
        limit:
            Most ways.

        Returns
        -------
        Ways of fewest links; of these, those whose lightest link is heaviest come first. None where nothing joins the
        two, or they are one.

        Raises
        ------
        NotFound
            As for :meth:`neighbourhood`.
        InputError
            If a number is out of range.
        """
        hops, limit = arguments.whole_number(hops, "hops"), arguments.whole_number(limit, "limit")
        if hops < 1 or limit < 1:
            raise InputError(f"hops is {hops} and limit is {limit}", "give at least 1")
        there = self.neighbourhood(name, (hops + 1) // 2, EXPORTED)
        back = self.neighbourhood(other, hops // 2, EXPORTED)
        return routes.routes((there, back), set(there.centre), set(back.centre), hops, limit)

    def merges(self, name: str = "") -> list[Merge]:
        """Which names were taken to mean one entity, and why: see :func:`monograph.explore.merges.merges`.

        Parameters
        ----------
        name:
            Of an entity, as for :meth:`neighbourhood`: only its merges, and with them those that hold in single
            documents.

        Raises
        ------
        NotFound
            As for :meth:`neighbourhood`.
        """
        with self._read() as connection:
            heads = list(dict.fromkeys(one.head for one in entities.find(connection, name))) if name else None
            return merges.merges(connection, heads)

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
