"""The entity–chunk graph looked at, corrected and made anew: ``archive.graph``."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from monograph import where as filters
from monograph.errors import InputError
from monograph.explore import entities, merges, neighbourhood, routes
from monograph.explore.surroundings import Surroundings
from monograph.graph import export
from monograph.library.opened import FilePart, OpenFile, WholeFile, spends
from monograph.store.graph.assertions import Ends
from monograph.values import (
    Entity,
    Merge,
    Neighbourhood,
    Report,
    Route,
    Told,
    ToldNode,
    ToldRelation,
    arguments,
    inner_products,
)
from monograph.values import Path as Way
from monograph.write import cannot_link, configuration, rebuild_graph
from monograph.write import tell as telling

if TYPE_CHECKING:
    import networkx

    from monograph.models import Extractor
    from monograph.values import Cost, Float32, OnProgress
    from monograph.write.fence import Fence

EXPORTED = 1_000
"""Most entities around one that are exported, and that a way is looked for among."""

MOST_HOPS = 12
"""Most links of a way that is looked for."""

MOST_ROUTES = 100
"""Most ways between two entities."""

_AT_ONCE = 64
"""Nodes that are read together, of those that are nearest."""


class GraphReader:
    """The named things of a file, or of a shelf, and how they hang together."""

    def __init__(self, file: OpenFile) -> None:
        self._file = file

    @property
    def extractor(self) -> Extractor:
        """What finds the names in chunks. Raises as ``Monograph.embedder``."""
        return self._file.models.extractor

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
        with self._around() as around:
            return entities.most_named(around, limit, like)

    def of_document(self, name: str, limit: int = 50) -> list[Entity]:
        """What a document, by its id or uri, names: the things that most of its chunks name first, at most ``limit``.

        Raises
        ------
        NotFound
            If there is no such document, or several came from that uri.
        """
        with self._around() as around:
            return entities.of_document(around, name, limit)

    def on_paths(self, paths: Iterable[Way]) -> list[Entity]:
        """The entities that the ways to hits lead over (``hit.path``), each once, in order."""
        with self._file.around() as around:
            return entities.on_paths(around, paths)

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
        with self._around() as around:
            return neighbourhood.neighbourhood(around, entities.find(around, name), hops, limit)

    def routes(self, name: str, other: str, hops: int = 4, limit: int = 3) -> list[Route]:
        """Ways from one entity to another, over entities that chunks name together.

        Ways of one link are looked for first, then of two, and so on: more hops never find fewer ways. Each end is
        looked around for half of the way, among at most EXPORTED entities: in a large file a way between two that are
        named very often may be missed.

        Parameters
        ----------
        name, other:
            As for :meth:`neighbourhood`.
        hops:
            Most links of a way, at least 1; more than MOST_HOPS is as many as that.
        limit:
            Most ways, at least 1; more than MOST_ROUTES is as many as that.

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
        hops, limit = arguments.whole_number(hops, "hops", 1), arguments.whole_number(limit, "limit", 1)
        hops, limit = min(hops, MOST_HOPS), min(limit, MOST_ROUTES)
        there, back = self.neighbourhood(name, 0, EXPORTED), self.neighbourhood(other, 0, EXPORTED)
        starts, ends = set(there.centre), set(back.centre)
        for length in range(1, hops + 1):
            if length % 2:
                there = self.neighbourhood(name, (length + 1) // 2, EXPORTED)
            else:
                back = self.neighbourhood(other, length // 2, EXPORTED)
            if found := routes.routes((there, back), starts, ends, length, limit):
                return found
        return []

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
        with self._around() as around:
            heads = list(dict.fromkeys(one.head for one in entities.find(around, name))) if name else None
            return merges.merges(around, heads)

    def told(self, ids: Iterable[str] | None = None) -> Told:
        """Nodes by id, the relations that lead from or to them, and the nodes at the other ends; without ids all."""
        asked = None if ids is None else arguments.names(ids, "an id")
        with self._file.around() as around:
            return around.told_around(asked)

    def told_like(
        self, vector: Sequence[float], k: int = 5, *, where: Mapping[str, Any] | None = None
    ) -> list[tuple[ToldNode, float]]:
        """At most k nodes whose embeddings are nearest to a vector, with their cosines, the highest first.

        Every embedding of the vector's length is compared.

        Parameters
        ----------
        vector:
            (dimension,).
        where:
            Only nodes whose properties meet a filter: see :meth:`monograph.Monograph.search`.
        """
        asked, k = arguments.vector(vector, "the vector"), arguments.whole_number(k, "k", 0)
        if not np.isfinite(asked).all():
            raise InputError("the vector is not finite", "embed the question again")
        condition = filters.parse(where)
        found: list[tuple[ToldNode, float]] = []
        with self._file.around() as around:
            ids, rows = around.told_embeddings(len(asked))
            cosines = inner_products(_unit(rows), _unit(asked[None])[0])
            ranked = np.argsort(-cosines, kind="stable").tolist()  # Of equal ones the first by id.
            while ranked and len(found) < k:
                some, ranked = ranked[:_AT_ONCE], ranked[_AT_ONCE:]
                nodes = around.told_nodes([ids[place] for place in some])
                for place in some:
                    node = nodes[ids[place]]
                    if filters.matches(condition, node.properties):
                        found.append((node, float(cosines[place])))
        return found[:k]

    def to_networkx(self, name: str = "", hops: int = 2) -> networkx.Graph:
        """The graph around an entity, or without a name the whole graph, as networkx has graphs (extra ``graph``).

        Nodes and edges are those of :func:`monograph.graph.export.to_networkx`, the same and in the same order for a
        file and a shelf of the same documents: of the whole graph chunks come in order of their documents' ids. Around
        an entity at most EXPORTED others are in it. The whole graph takes about 15 KB of memory and 2 ms a chunk; one
        of millions of chunks is better looked at in parts.

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

        Nobody may read it who may not read the file.

        Raises
        ------
        NotFound, MissingExtra
            As for :meth:`to_networkx`.
        InputError
            If the file cannot be written.
        """
        target = arguments.path(path, "the path")
        original = self._file.database.path
        export.to_graphml(self._exported(name, hops), target, original.stat().st_mode)

    def _exported(self, name: str, hops: int) -> Neighbourhood:
        if name:
            return self.neighbourhood(name, hops, EXPORTED)
        with self._around() as around:
            return neighbourhood.whole(around)

    def _around(self) -> AbstractContextManager[Surroundings]:
        """Begin to look round in the graph."""
        self._file.require_graph()
        return self._file.around()


class GraphWriter(GraphReader):
    """The named things of a file or a view, to which callers may add; made by :attr:`monograph.View.graph`."""

    _file: WholeFile | FilePart

    def __init__(self, file: WholeFile | FilePart, fence: Fence | None = None) -> None:
        super().__init__(file)
        self._fence = fence

    def tell(
        self, nodes: Iterable[ToldNode] = (), relations: Iterable[ToldRelation] = (), *, missing_ok: bool = False
    ) -> None:
        """Store nodes and relations, all of them or, on an error, none.

        What an origin said of the same node, or of the same relation of two nodes, it says no more; what others said
        stays, and is laid under: of properties, labels and names the one that was told last counts. A node that only a
        relation names is there with that. What an origin says goes with the chunk or document.

        Parameters
        ----------
        nodes, relations:
            Any number.
        missing_ok:
            Pass over origins that the file does not hold.

        Raises
        ------
        InputError, InvalidDocument
            If a text, an embedding or properties cannot be stored.
        NotFound
            If an origin is neither a chunk nor a document of the file, and that is not allowed.
        OutsideView
            If one has no origin, and this is a view.
        """
        file, nodes, relations = self._file.whole, list(nodes), list(relations)
        file.forgetting(
            lambda _: telling.tell(file.database, nodes, relations, self._fence, missing_ok=missing_ok), strict=True
        )

    def untell(
        self,
        nodes: Iterable[str] = (),
        relations: Iterable[tuple[str, str, str]] = (),
        *,
        forget: bool | None = None,
    ) -> int:
        """Take nodes back, with all relations that lead from or to them, and relations: (source, label, target).

        What is not there is passed over. ``forget`` as for :meth:`monograph.Monograph.remove`.

        Returns
        -------
        How many tellings that were: a node that two chunks say is told twice.
        """
        named = arguments.names(nodes, "an id")
        ends = [Ends(*arguments.names(one, "a relation")) for one in relations]
        file = self._file.whole
        report = file.forgetting(lambda _: telling.untell(file.database, named, ends, self._fence), forget, strict=True)
        return report.removed


class EntityGraph(GraphWriter):
    """The named things of a file and how they hang together; made by :attr:`monograph.Monograph.graph`.

    In a file made with ``Settings(graph=False)``, reading it raises InputError until :meth:`build` was called.
    """

    _file: WholeFile

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
        self._file.require_graph()
        cannot_link.set_apart(self._file.writing_pipeline(), name, other)

    @spends
    def unite(self, name: str, other: str) -> None:
        """Take back :meth:`set_apart`: the graph is as if it had never been said.

        Raises
        ------
        NotFound
            If they were not set apart.
        """
        self._file.require_graph()
        cannot_link.unite(self._file.writing_pipeline(), name, other)

    @spends
    def build(self, *, progress: OnProgress | None = None) -> Report:
        """Build the graph and the index of trigrams of a file made with ``Settings(graph=False)``.

        From now on they are built with the documents. A batch of documents is done at a time, while others read and
        write; ended before the end, the next call goes on from there. :meth:`price` says what a model would be asked.
        """
        started = time.perf_counter()
        made = rebuild_graph.build(self._file.writing_pipeline(), progress)
        for one in (self._file, *self._file.parts.values()):
            one.settings = replace(one.settings, graph=True)
        return Report(extracted=made.extracted, fell_back=made.fell_back, seconds=time.perf_counter() - started)

    def price(self) -> Cost:
        """Return what :meth:`build` would take; nothing is written."""
        return rebuild_graph.price(self._file.pipeline())

    @spends
    def rebuild(self, extractor: Extractor | None = None, *, progress: OnProgress | None = None) -> Report:
        """Make the graph anew with another extractor; without one, ask again for the chunks that a model failed on.

        What the new extractor found in a chunk before is remembered, and costs nothing.
        """
        configuration.adopt_embedder(self._file.database, self._file.models.embedder)
        chosen = extractor or self._file.models.extractor
        made = rebuild_graph.reextract(self._file.pipeline(extractor=chosen), progress)
        self._file.models.given_extractor = chosen
        return Report(extracted=made.extracted, fell_back=made.fell_back)


def _unit(rows: Float32) -> Float32:
    lengths = np.linalg.norm(rows.astype(np.float64), axis=1, keepdims=True)
    return (rows / np.where(lengths > 0, lengths, 1.0)).astype(np.float32)
