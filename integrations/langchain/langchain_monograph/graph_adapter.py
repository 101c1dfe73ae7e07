"""Walks of langchain-graph-retriever over a store: along metadata, ids, and the names in the file's own graph."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from monograph.errors import InvalidFilter, MissingExtra, NotFound

try:
    from graph_retriever import Content
    from graph_retriever.adapters import Adapter
    from graph_retriever.edges import MetadataEdge
except ImportError as error:
    raise MissingExtra(
        "langchain_monograph.graph_adapter needs langchain-graph-retriever", "pip install langchain-graph-retriever"
    ) from error

from langchain_core.documents import Document

from langchain_monograph.documents import as_document, plain
from langchain_monograph.vectorstores import EcoVectorStore
from monograph import StoredChunk
from monograph_tools import build_graph

ENTITIES = "monograph_entities"
"""Edges from this to this lead from a document to all that name what it names."""

_COMBINERS = ("and", "or", "not", "$and", "$or", "$not")
_NAMED = 1_000
"""Most chunks that an edge along one name leads to."""


class MonographAdapter(Adapter):
    """Lets ``GraphRetriever`` walk over an ``EcoVectorStore``: ``GraphRetriever(store=MonographAdapter(store), …)``.

    In a filter a value is met by one that equals it and by a list that holds it, as that package has it; an object of
    operators is a ``where`` of Monograph's. A key with dots in it means what lies within as well.

    Parameters
    ----------
    store:
        The store, which stays the caller's to close.
    entities:
        Give what documents name in their metadata, as ``monograph_entities``: the names in the file's graph, which is
        built here if the file has none. Of a document of several chunks those of all of them.
    """

    def __init__(self, store: EcoVectorStore, entities: bool = False) -> None:
        super().__init__()
        self._archive = store.monograph
        if entities:
            build_graph(self._archive)
        self.store = store
        self.entities = entities

    def search_with_embedding(
        self,
        query: str,
        k: int = 4,
        filter: dict[str, Any] | None = None,  # noqa: A002
    ) -> tuple[list[float], list[Content]]:
        """The vector of a query, and what is nearest to it; see :meth:`search`."""
        embedding = self.store.query_vector(query)
        return embedding, self.search(embedding, k, filter)

    def search(
        self,
        embedding: list[float],
        k: int = 4,
        filter: dict[str, Any] | None = None,  # noqa: A002
    ) -> list[Content]:
        """At most ``k`` documents nearest to a vector, the nearest first.

        Raises
        ------
        InputError
            If the vector is of another dimension than the file's.
        InvalidFilter
            If the filter cannot be understood.
        """
        if k <= 0:
            return []
        where, meets = self._understood(filter)
        most = k
        while True:  # the store takes a part of a text for a value in a list: what is no value is left out here
            found = self.store.similarity_search_by_vector(embedding, most, filter=where)
            kept = [document.id for document in found if meets(document)][:k]
            if len(kept) == k or len(found) < most:
                return self._contents([name for name in kept if name is not None])
            most *= 4

    def get(
        self,
        ids: Sequence[str],
        filter: dict[str, Any] | None = None,  # noqa: A002
    ) -> list[Content]:
        """The documents of these ids that are there and meet the filter, each once.

        Raises
        ------
        InvalidFilter
            If the filter cannot be understood.
        """
        where, meets = self._understood(filter)
        return self._contents(list(dict.fromkeys(ids)), where, meets)

    def _contents(
        self,
        ids: list[str],
        where: Mapping[str, Any] | None = None,
        meets: Callable[[Document], bool] = lambda _: True,
    ) -> list[Content]:
        archive = self._archive
        stored = archive.fetch(ids, where=where, vectors=True) if ids else []
        pairs = [(one, as_document(one)) for one in stored]
        return [self._content(one, document) for one, document in pairs if meets(document)]

    def _content(self, stored: StoredChunk, document: Document) -> Content:
        archive = self._archive
        vector = [0.0] * archive.embedder.dimension if stored.vector is None else stored.vector.tolist()
        metadata = dict(document.metadata)
        if self.entities:
            metadata[ENTITIES] = [entity.name for entity in archive.graph.of_document(stored.chunk.document_id)]
        return Content.new(stored.chunk.id, document.page_content, vector, metadata=metadata)

    def _metadata_filter(self, edge: Any, base_filter: dict[str, Any] | None = None) -> dict[str, Any]:
        return _Along(base_filter or {}, edge)

    def _understood(self, given: Mapping[str, Any] | None) -> tuple[dict[str, Any] | None, Callable[[Document], bool]]:
        """A filter as a ``where``, which may let more through, and what a document must meet besides."""
        pairs = list((given or {}).items())
        parts: list[dict[str, Any]] = []
        values: list[tuple[str, Any]] = []
        for key, value in pairs:
            if key in _COMBINERS or isinstance(value, Mapping):
                parts.append({key: plain(value)})
            elif isinstance(value, list | tuple | set):
                raise InvalidFilter(
                    f"the filter on {key!r} is a list", f'give one value, or {{"{key}": {{"in": [...]}}}}'
                )
            else:
                values.append((key, value))
        if isinstance(given, _Along):
            values.append((given.edge.incoming_field, given.edge.value))
        for key, value in values:
            if key == ENTITIES:
                parts.append({"$chunk": {"in": self._naming(value)}})
            elif _can_be_asked(key, value):
                parts.append({"or": [{key: plain(value)}, {key: {"contains": plain(value)}}]})
        held = [(key, plain(value)) for key, value in values if key != ENTITIES]
        return {"and": parts} if parts else None, lambda document: all(_held(document, *one) for one in held)

    def _naming(self, name: Any) -> list[str]:
        """The chunks that name an entity."""
        try:
            return [chunk.id for chunk in self._archive.graph.neighbourhood(str(name), 0, _NAMED).chunks]
        except NotFound:
            return []


class _Along(dict[str, Any]):
    """A filter, and an edge that must lead to what is found."""

    def __init__(self, given: Mapping[str, Any], edge: MetadataEdge) -> None:
        super().__init__(given)
        self.edge = edge


def _can_be_asked(key: str, value: Any) -> bool:
    """Whether the store can be asked for a value; what it cannot be is left to be looked at one by one."""
    if "." in key or key.startswith("$"):
        return False
    if isinstance(value, float):
        return math.isfinite(value)
    return "\0" not in value if isinstance(value, str) else isinstance(value, int)


def _held(document: Document, key: str, value: Any) -> bool:
    return any(found == value or _within(found, value) for found in _found(document.metadata, key))


def _found(metadata: Mapping[str, Any], key: str) -> Iterable[Any]:
    """Return the value under a key, and under the keys within it that its dots name."""
    if key in metadata:
        yield metadata[key]
    inner: Any = metadata
    parts = key.split(".")
    for part in parts if len(parts) > 1 else ():
        if not isinstance(inner, Mapping) or part not in inner:
            return
        inner = inner[part]
    if len(parts) > 1:
        yield inner


def _within(found: Any, value: Any) -> bool:
    return isinstance(found, list) and value in found
