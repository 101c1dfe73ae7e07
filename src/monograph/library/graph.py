"""The entity–chunk graph, explored, corrected and rebuilt: ``archive.graph``."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from monograph import where as filters
from monograph.derive.embed.static import unit_rows
from monograph.errors import InputError
from monograph.explore import entities, merges, neighbourhood, routes
from monograph.explore.graph_state import GraphState
from monograph.graph import export
from monograph.library.opened import FilePart, OpenFile, WholeFile, spends
from monograph.store.graph.assertions import Ends
from monograph.values import (
    AssertedNode,
    AssertedRelation,
    Assertions,
    Entity,
    Merge,
    Neighbourhood,
    Report,
    Route,
    arguments,
)
from monograph.values import Path as Way
from monograph.write import assertions, configuration, rebuild_graph

if TYPE_CHECKING:
    import networkx

    from monograph.models import Extractor
    from monograph.values import Cost, OnProgress

EXPORTED = 1_000
"""Largest number of entities around an entity that are exported, or searched for a route."""

MOST_HOPS = 12
"""Largest number of links of a route."""

MOST_ROUTES = 100
"""Largest number of routes between two entities."""

_BATCH_SIZE = 64
"""Number of nodes that :meth:`GraphReader.nearest_assertions` reads together."""


class GraphReader:
    """Reader of the graph of a file, view, snapshot or shelf: the value of :attr:`monograph.Reader.graph`."""

    def __init__(self, file: OpenFile) -> None:
        self._file = file

    @property
    def extractor(self) -> Extractor:
        """The model that finds names in chunks. Raises as ``Monograph.embedder``."""
        return self._file.models.extractor

    def entities(self, limit: int = 50, like: str = "") -> list[Entity]:
        """Return at most ``limit`` entities, ordered by the number of chunks that name them, highest first.

        With ``like``, only entities with a name that contains this text, in any case and with any accents. Raises
        InputError if ``limit`` is negative.
        """
        with self._open_graph() as state:
            return entities.most_named(state, limit, like)

    def of_document(self, name: str, limit: int = 50) -> list[Entity]:
        """Return at most ``limit`` entities of a document, by its id or uri, those that most chunks name first.

        Raises NotFound if there is no such document, or several have that uri.
        """
        with self._open_graph() as state:
            return entities.of_document(state, name, limit)

    def on_paths(self, paths: Iterable[Way]) -> list[Entity]:
        """Return the entities on the paths of hits (``hit.path``), each once, in order."""
        with self._file.reading_graph() as state:
            return entities.on_paths(state, paths)

    def neighbourhood(self, name: str, hops: int = 1, limit: int = 60) -> Neighbourhood:
        """Return the part of the graph around an entity: see :func:`monograph.explore.neighbourhood.neighbourhood`.

        Parameters
        ----------
        name:
            Name of the entity as it occurs in a text, or a part of a name that no other name contains. A name of
            several entities, ``Green``, means all of them; ``Green (album)`` means one.
        hops:
            Largest distance from the entity, in links.
        limit:
            Largest number of entities around it, and of chunks.

        Raises
        ------
        NotFound
            If no name matches, or several do; the hint names some.
        InputError
            If ``hops`` is negative, or ``limit`` below 1.
        """
        with self._open_graph() as state:
            return neighbourhood.neighbourhood(state, entities.find(state, name), hops, limit)

    def routes(self, name: str, other: str, hops: int = 4, limit: int = 3) -> list[Route]:
        """Return routes from one entity to another, over entities that chunks name together.

        Routes of one link are searched first, then of two, and so on: more hops never find fewer routes. The search
        goes from both ends to the middle, among at most EXPORTED entities each. In a large file it may miss a route
        between two very frequent entities.

        Parameters
        ----------
        name, other:
            As for :meth:`neighbourhood`, with its errors.
        hops:
            Largest number of links of a route, at least 1; values above MOST_HOPS count as MOST_HOPS.
        limit:
            Largest number of routes, at least 1; values above MOST_ROUTES count as MOST_ROUTES.

        Returns
        -------
        Routes of the fewest links, ordered by the weight of their lightest link, highest first. The list is empty if no
        route was found, or the two are one entity.
        """
        hops, limit = arguments.whole_number(hops, "hops", 1), arguments.whole_number(limit, "limit", 1)
        hops, limit = min(hops, MOST_HOPS), min(limit, MOST_ROUTES)
        around_name, around_other = self.neighbourhood(name, 0, EXPORTED), self.neighbourhood(other, 0, EXPORTED)
        starts, ends = set(around_name.centre), set(around_other.centre)
        for length in range(1, hops + 1):
            if length % 2:
                around_name = self.neighbourhood(name, (length + 1) // 2, EXPORTED)
            else:
                around_other = self.neighbourhood(other, length // 2, EXPORTED)
            if results := routes.routes((around_name, around_other), starts, ends, length, limit):
                return results
        return []

    def merges(self, name: str = "") -> list[Merge]:
        """Return names that were merged into one entity, with reasons: see :func:`monograph.explore.merges.merges`.

        With a name, as for :meth:`neighbourhood`, only the merges of that entity, including those within single
        documents.
        """
        with self._open_graph() as state:
            heads = list(dict.fromkeys(entity.head for entity in entities.find(state, name))) if name else None
            return merges.merges(state, heads)

    def assertions(self, ids: Iterable[str] | None = None) -> Assertions:
        """Return asserted nodes by id, their relations, and the nodes at the other ends; all assertions without ids."""
        node_ids = None if ids is None else arguments.names(ids, "an id")
        with self._file.reading_graph() as state:
            return state.assertions(node_ids)

    def nearest_assertions(
        self, vector: Sequence[float], k: int = 5, *, where: Mapping[str, Any] | None = None
    ) -> list[tuple[AssertedNode, float]]:
        """Return at most k asserted nodes with the embeddings nearest to a vector, and cosines, highest first.

        Every embedding of the vector's length is compared. With ``where``, only nodes whose properties match this
        filter: see :meth:`monograph.Monograph.search`. Raises InputError if the vector, of shape (dimension,), is not
        finite.
        """
        query, k = arguments.vector(vector, "the vector"), arguments.whole_number(k, "k", 0)
        if not np.isfinite(query).all():
            raise InputError("the vector is not finite", "embed the question again")
        condition = filters.parse(where)
        results: list[tuple[AssertedNode, float]] = []
        with self._file.reading_graph() as state:
            ids, rows = state.asserted_embeddings(len(query))
            unit = unit_rows(np.vstack([query, rows]).astype(np.float64)).astype(np.float32)
            cosines = np.vecdot(unit[1:], unit[0])
            ranked = np.argsort(-cosines, kind="stable").tolist()  # Equal cosines are in order of id.
            while ranked and len(results) < k:
                batch, ranked = ranked[:_BATCH_SIZE], ranked[_BATCH_SIZE:]
                nodes = state.asserted_nodes([ids[index] for index in batch])
                for index in batch:
                    node = nodes[ids[index]]
                    if filters.matches(condition, node.properties):
                        results.append((node, float(cosines[index])))
        return results[:k]

    def to_networkx(self, name: str = "", hops: int = 2) -> networkx.Graph:
        """Return the graph around an entity, or without a name the whole graph, for networkx (extra ``graph``).

        :func:`monograph.graph.export.to_networkx` describes nodes and edges. They are the same, in the same order, for
        a file and a shelf of the same documents: chunks are in order of their documents' ids. The graph around an
        entity has at most EXPORTED other entities. The whole graph takes about 15 KB of memory and 2 ms a chunk. Raises
        NotFound as :meth:`neighbourhood`, and MissingExtra if networkx is not installed.
        """
        return export.to_networkx(self._read_graph(name, hops))

    def to_graphml(self, path: str | os.PathLike[str], name: str = "", hops: int = 2) -> None:
        """Write the graph of :meth:`to_networkx` as a GraphML file, for Gephi, Cytoscape or yEd.

        The GraphML file gets the permissions of the .mono file. Raises as :meth:`to_networkx`, and InputError if the
        file cannot be written.
        """
        target = arguments.path(path, "the path")
        original = self._file.database.path
        export.to_graphml(self._read_graph(name, hops), target, original.stat().st_mode)

    def _read_graph(self, name: str, hops: int) -> Neighbourhood:
        if name:
            return self.neighbourhood(name, hops, EXPORTED)
        with self._open_graph() as state:
            return neighbourhood.whole(state)

    def _open_graph(self) -> AbstractContextManager[GraphState]:
        """Return a context that reads one state of the graph. Raises InputError if the file has no graph."""
        self._file.require_graph()
        return self._file.reading_graph()


class GraphWriter(GraphReader):
    """Graph of a file or view, to which assertions can be added: the value of :attr:`monograph.View.graph`."""

    _file: WholeFile | FilePart

    def add(
        self,
        nodes: Iterable[AssertedNode] = (),
        relations: Iterable[AssertedRelation] = (),
        *,
        missing_ok: bool = False,
    ) -> None:
        """Assert nodes and relations; on an error none is stored.

        An assertion replaces an earlier assertion of the same node or relation with the same origin. Assertions with
        different origins are merged: the latest property, label and name count. A relation also adds the nodes at its
        ends. An assertion is removed with the chunk or document that is its origin.

        Raises InputError or InvalidDocument if a text, an embedding or properties cannot be stored; NotFound if an
        origin is neither a chunk nor a document of the file, unless ``missing_ok`` skips it; and OutsideView if in a
        view an assertion has no origin.
        """
        file, guard, nodes, relations = self._file.whole, self._file.guard, list(nodes), list(relations)
        file.forgetting(
            lambda _: assertions.add(file.database, nodes, relations, guard, missing_ok=missing_ok), strict=True
        )

    def remove(
        self,
        nodes: Iterable[str] = (),
        relations: Iterable[tuple[str, str, str]] = (),
        *,
        forget: bool | None = None,
    ) -> int:
        """Remove asserted nodes with all their relations, and relations given as (source, label, target).

        Unknown nodes and relations are skipped. ``forget`` as for :meth:`monograph.Monograph.remove`. Returns the
        number of assertions removed: a node that two chunks assert counts twice.
        """
        named = arguments.names(nodes, "an id")
        ends = [Ends(*arguments.names(relation, "a relation")) for relation in relations]
        file, guard = self._file.whole, self._file.guard
        report = file.forgetting(lambda _: assertions.remove(file.database, named, ends, guard), forget, strict=True)
        return report.removed


class EntityGraph(GraphWriter):
    """The entity–chunk graph of a file: the value of :attr:`monograph.Monograph.graph`.

    In a file created with ``Settings(graph=False)``, reading the graph raises InputError until :meth:`build` is called.
    """

    _file: WholeFile

    @spends
    def keep_apart(self, name: str, other: str) -> None:
        """Keep two names apart: they are never merged into one entity again.

        Raises InputError if the names differ only in case, accents, signs or an article, and NotFound if no chunk and
        no title of the file has one of the names.
        """
        self._file.require_graph()
        rebuild_graph.keep_apart(self._file.writing_pipeline(), name, other)

    @spends
    def unite(self, name: str, other: str) -> None:
        """Undo :meth:`keep_apart`: the graph is as if it had never been called.

        Raises NotFound if the names are not kept apart.
        """
        self._file.require_graph()
        rebuild_graph.unite(self._file.writing_pipeline(), name, other)

    @spends
    def build(self, *, progress: OnProgress | None = None) -> Report:
        """Build the graph and the trigram index of a file created with ``Settings(graph=False)``.

        From then on every write updates them. Documents are processed in batches, between which other processes can
        write. After an interruption the next call continues. :meth:`price` returns the cost in model calls.
        """
        report = rebuild_graph.build(self._file.writing_pipeline(), progress)
        for file in (self._file, *self._file.parts.values()):
            file.settings = replace(file.settings, graph=True)
        return report

    def price(self) -> Cost:
        """Return the cost of :meth:`build`; nothing is written."""
        return rebuild_graph.price(self._file.pipeline())

    @spends
    def rebuild(self, extractor: Extractor | None = None, *, progress: OnProgress | None = None) -> Report:
        """Rebuild the graph with another extractor; without one, retry the chunks that a model failed on.

        Stored extractions of the new extractor are reused and cost nothing.
        """
        configuration.adopt_embedder(self._file.database, self._file.models.embedder)
        chosen = extractor or self._file.models.extractor
        report = rebuild_graph.reextract(self._file.pipeline(extractor=chosen), progress)
        self._file.models.given_extractor = chosen
        return report
