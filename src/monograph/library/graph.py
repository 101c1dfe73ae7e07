"""The entity–chunk graph, ``archive.graph``: methods that explore, correct and rebuild it."""

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
from monograph.store.graph.assertions import RelationKey
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
"""Largest number of other entities in an exported graph around an entity.

A search for routes reads at most this many entities around each of the two ends.
"""

MOST_HOPS = 12
"""Largest number of links of a route."""

MOST_ROUTES = 100
"""Largest number of routes between two entities."""

_BATCH_SIZE = 64
"""Number of asserted nodes that :meth:`GraphReader.nearest_assertions` loads at a time."""


class GraphReader:
    """Reader of the graph of a file, view, snapshot or shelf: the value of :attr:`monograph.Reader.graph`."""

    def __init__(self, file: OpenFile) -> None:
        self._file = file

    @property
    def extractor(self) -> Extractor:
        """The model that finds names in chunks. Raises ModelError if it cannot be loaded here, or has changed."""
        return self._file.models.extractor

    def entities(self, limit: int = 50, like: str = "") -> list[Entity]:
        """Return at most ``limit`` entities, ordered by the number of chunks that name them, highest first.

        If ``like`` is given, only entities are returned that have a name containing this text; case and accents are
        ignored. Raises InputError if ``limit`` is negative.
        """
        with self._open_graph() as state:
            return entities.most_named(state, limit, like)

    def of_document(self, name: str, limit: int = 50) -> list[Entity]:
        """Return at most ``limit`` entities of a document, ordered by how many of its chunks name them, highest first.

        ``name`` is the id or uri of the document. Raises NotFound if there is no such document, or several documents
        have that uri.
        """
        with self._open_graph() as state:
            return entities.of_document(state, name, limit)

    def on_paths(self, paths: Iterable[Way]) -> list[Entity]:
        """Return the entities on the paths of hits (``hit.path``), each once, in the order of the paths.

        Entities that the graph does not have any more are left out.
        """
        with self._file.reading_graph() as state:
            return entities.entities_on_paths(state, paths)

    def neighbourhood(self, name: str, hops: int = 1, limit: int = 60) -> Neighbourhood:
        """Return the part of the graph around an entity: see :func:`monograph.explore.neighbourhood.neighbourhood`.

        Parameters
        ----------
        name:
            Name of the entity as it occurs in a text, or a part of the name if only one entity matches. If several
            entities have this very name, such as ``Green``, all of them are meant; ``Green (album)`` means one of them.
        hops:
            Largest distance from the entity, in links.
        limit:
            Largest number of entities around it, and largest number of chunks.

        Raises
        ------
        NotFound
            If no name matches, or if ``name`` is only a part of a name and several entities match. The hint lists some
            names.
        InputError
            If ``hops`` is negative, or ``limit`` below 1.
        """
        with self._open_graph() as state:
            return neighbourhood.neighbourhood(state, entities.find(state, name), hops, limit)

    def routes(self, name: str, other: str, hops: int = 4, limit: int = 3) -> list[Route]:
        """Return the shortest routes from one entity to another along the links of the graph.

        Routes of one link are searched first, then routes of two links, and so on, until a route is found. So a larger
        ``hops`` never finds fewer routes. The search goes from both ends to the middle, among at most EXPORTED entities
        at each end. In a large file it may miss a route between two very frequent entities.

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
        Routes that all have the same, smallest number of links. They are ordered by their lightest link's weight,
        highest first: see :func:`monograph.explore.neighbourhood.neighbourhood` for links and weights. The list is
        empty if no route was found, or if ``name`` and ``other`` mean the same entity.
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

        If ``name`` is given, only the merges of the entity with that name are returned (see :meth:`neighbourhood`),
        including merges that apply only within one document.
        """
        with self._open_graph() as state:
            heads = list(dict.fromkeys(entity.head for entity in entities.find(state, name))) if name else None
            return merges.merges(state, heads)

    def assertions(self, ids: Iterable[str] | None = None) -> Assertions:
        """Return asserted nodes by id, their asserted relations, and the nodes at the other ends of these relations.

        If ``ids`` is None, all assertions are returned.
        """
        node_ids = None if ids is None else arguments.names(ids, "an id")
        with self._file.reading_graph() as state:
            return state.assertions(node_ids)

    def nearest_assertions(
        self, vector: Sequence[float], k: int = 5, *, where: Mapping[str, Any] | None = None
    ) -> list[tuple[AssertedNode, float]]:
        """Return at most k asserted nodes whose embeddings are nearest to a vector, with their cosines, highest first.

        The vector has shape (dimension,). It is compared with every embedding of the same length; nodes without such an
        embedding are left out. If ``where`` is given, only nodes whose properties match this filter are returned: see
        :meth:`monograph.Monograph.search`. Nodes with equal cosines are in order of id. Raises InputError if the vector
        is not finite.
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
        """Return the whole graph, or the graph around an entity, as a networkx graph (extra ``graph``).

        ``name`` and ``hops`` are as for :meth:`neighbourhood`. If ``name`` is empty, the whole graph is returned, which
        takes about 15 KB of memory and 2 ms per chunk. The graph around an entity has at most EXPORTED other entities.

        :func:`monograph.graph.export.to_networkx` describes the nodes and edges. A file and a shelf of the same
        documents give the same nodes and edges in the same order: chunks are in order of their documents' ids. Raises
        the errors of :meth:`neighbourhood`, and MissingExtra if networkx is not installed.
        """
        return export.to_networkx(self._read_graph(name, hops))

    def to_graphml(self, path: str | os.PathLike[str], name: str = "", hops: int = 2) -> None:
        """Write the graph of :meth:`to_networkx` to ``path`` as a GraphML file, for Gephi, Cytoscape or yEd.

        ``name`` and ``hops`` are as for :meth:`to_networkx`. The GraphML file gets the permissions of the .mono file.
        Raises the errors of :meth:`to_networkx`, and InputError if the GraphML file cannot be written.
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
        """Open a reader of one state of the graph; raise InputError if there is no graph."""
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
        """Add asserted nodes and relations to the graph. On an error nothing is stored.

        The origins of an assertion (``origins``) are the chunks or documents that it comes from. The assertion is
        stored once for each origin. Removing an origin also removes the assertion that is stored for it. An assertion
        replaces an earlier assertion of the same node or relation with the same origin. Assertions of one node or
        relation with different origins are merged: the latest value of each property, label and name counts. A relation
        also adds the two nodes that it connects.

        Raises InputError or InvalidDocument if a text, an embedding or properties cannot be stored. Raises NotFound if
        an origin is neither a chunk nor a document of the file; with ``missing_ok``, this origin is skipped. Raises
        OutsideView if an assertion that is added to a view has no origin in this view.
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
        """Remove asserted nodes and relations, and return the number of removed assertions.

        ``nodes`` are ids of nodes; all asserted relations of a node are removed with it. ``relations`` are given as
        (source, label, target). Unknown nodes and relations are skipped. ``forget`` is as for
        :meth:`monograph.Monograph.remove`. A node that two chunks assert counts as two assertions.
        """
        named = arguments.names(nodes, "an id")
        ends = [RelationKey(*arguments.names(relation, "a relation")) for relation in relations]
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
        """Keep two names apart, so that they are not merged into one entity any more. :meth:`unite` undoes this.

        Raises InputError if the names differ only in case, accents, punctuation or an article. Raises NotFound if one
        of the names occurs in no chunk and no title of the file.
        """
        self._file.require_graph()
        rebuild_graph.keep_apart(self._file.writing_pipeline(), name, other)

    @spends
    def unite(self, name: str, other: str) -> None:
        """Undo :meth:`keep_apart` for two names. The graph is then as if that method had never been called for them.

        Raises NotFound if the names are not kept apart.
        """
        self._file.require_graph()
        rebuild_graph.unite(self._file.writing_pipeline(), name, other)

    @spends
    def build(self, *, progress: OnProgress | None = None) -> Report:
        """Build the graph and the trigram index of a file that was created with ``Settings(graph=False)``.

        From then on every write updates the graph and the trigram index. Documents are processed in batches. Between
        the batches, other processes can write. After an interruption, the next call continues. :meth:`price` returns
        the cost in model calls.
        """
        report = rebuild_graph.build(self._file.writing_pipeline(), progress)
        for file in (self._file, *self._file.parts.values()):
            file.settings = replace(file.settings, graph=True)
        return report

    def price(self) -> Cost:
        """Return the cost of :meth:`build`: documents, chunks and model calls. Nothing is written."""
        return rebuild_graph.price(self._file.pipeline())

    @spends
    def rebuild(self, extractor: Extractor | None = None, *, progress: OnProgress | None = None) -> Report:
        """Rebuild the graph with another extractor, which becomes the extractor of the file.

        Stored results of the extractor are reused and cost nothing. If ``extractor`` is None, the graph is rebuilt with
        the present extractor, which is called again only for the chunks that it failed on before.
        """
        configuration.adopt_embedder(self._file.database, self._file.models.embedder)
        chosen = extractor or self._file.models.extractor
        report = rebuild_graph.reextract(self._file.pipeline(extractor=chosen), progress)
        self._file.models.given_extractor = chosen
        return report
