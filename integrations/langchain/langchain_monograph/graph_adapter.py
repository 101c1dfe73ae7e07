"""Adapter of a store for langchain-graph-retriever: edges join documents by metadata, ids or graph entities."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
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

from langchain_monograph.documents import accepted, as_document, plain
from langchain_monograph.vectorstores import EcoVectorStore
from monograph_tools import build_graph

ENTITIES = "monograph_entities"
"""Metadata key of a document's entities. The edge ``(ENTITIES, ENTITIES)`` joins documents that share an entity."""

_COMBINERS = ("and", "or", "not", "$and", "$or", "$not")
_NAMED = 1_000
"""Maximum number of chunks that are looked up for one entity."""


class MonographAdapter(Adapter):
    """Lets ``GraphRetriever`` traverse an ``EcoVectorStore``: ``GraphRetriever(store=MonographAdapter(store), …)``.

    In a filter, each metadata key has one of these conditions:

    - A single value matches a document whose metadata have an equal value under the key, or a list that contains the
      value. This is the rule of langchain-graph-retriever.
    - A mapping of operators, such as ``{">=": 2020}``, is a ``where`` filter of Monograph.
    - A list is refused: it raises InvalidFilter.

    A key with a dot, such as ``a.b``, also matches the key ``b`` of a mapping under the key ``a``. Such keys are
    checked in Python, on the documents that match the rest of the filter.

    Parameters
    ----------
    store:
        The store, which the caller closes.
    entities:
        Whether each document gets the metadata key ``monograph_entities``: the names of at most 50 entities that its
        chunks name. The entities come from the file's graph. If the file has no graph, the constructor builds it.
    """

    def __init__(self, store: EcoVectorStore, entities: bool = False) -> None:
        super().__init__()
        self._archive = store.monograph
        if entities:
            build_graph(self._archive)
        self.store = store
        self.entities = entities

    def search_with_embedding(
        self, query: str, k: int = 4, filter: dict[str, Any] | None = None
    ) -> tuple[list[float], list[Content]]:
        """Return the vector of a query, and the documents nearest to it; see ``search``."""
        embedding = self.store.query_vector(query)
        return embedding, self.search(embedding, k, filter)

    def search(self, embedding: list[float], k: int = 4, filter: dict[str, Any] | None = None) -> list[Content]:
        """Return at most ``k`` documents nearest to a vector, nearest first; with ``filter``, only matching documents.

        Raises InputError if the vector has another dimension than the file's, and InvalidFilter if the filter cannot be
        understood.
        """
        where, meets = self._split_filter(filter)
        # The store's filter also matches parts of texts, which are removed here.
        documents = accepted(
            k, meets, lambda limit: self.store.similarity_search_by_vector(embedding, limit, filter=where), k
        )
        return self._contents([document.id for document in documents if document.id is not None])

    def get(self, ids: Sequence[str], filter: dict[str, Any] | None = None) -> list[Content]:
        """Return the stored documents that have one of these ids and match the filter, in the order of the ids.

        An id that is given twice counts once. Raises InvalidFilter if the filter cannot be understood.
        """
        where, meets = self._split_filter(filter)
        return self._contents(list(dict.fromkeys(ids)), where, meets)

    def _contents(
        self, ids: list[str], where: Mapping[str, Any] | None = None, meets: Callable[[Document], bool] = lambda _: True
    ) -> list[Content]:
        archive = self._archive
        contents = []
        for stored in archive.fetch(ids, where=where, vectors=True) if ids else []:
            document = as_document(stored)
            if not meets(document):
                continue
            vector = [0.0] * archive.embedder.dimension if stored.vector is None else stored.vector.tolist()
            metadata = dict(document.metadata)
            if self.entities:
                metadata[ENTITIES] = [entity.name for entity in archive.graph.of_document(stored.chunk.document_id)]
            contents.append(Content.new(stored.chunk.id, document.page_content, vector, metadata=metadata))
        return contents

    def _metadata_filter(self, edge: Any, base_filter: dict[str, Any] | None = None) -> dict[str, Any]:
        return _EdgeFilter(base_filter or {}, edge)

    def _split_filter(
        self, query_filter: Mapping[str, Any] | None
    ) -> tuple[dict[str, Any] | None, Callable[[Document], bool]]:
        """Split a filter into a ``where`` filter for the search and a function that checks each found document."""
        parts: list[dict[str, Any]] = []
        values: list[tuple[str, Any]] = []
        for key, value in (query_filter or {}).items():
            if key in _COMBINERS or isinstance(value, Mapping):
                parts.append({key: plain(value)})
            elif isinstance(value, list | tuple | set):
                raise InvalidFilter(
                    f"the filter on {key!r} is a list", f'give one value, or {{"{key}": {{"in": [...]}}}}'
                )
            else:
                values.append((key, value))
        if isinstance(query_filter, _EdgeFilter):
            values.append((query_filter.edge.incoming_field, query_filter.edge.value))
        for key, value in values:
            if key == ENTITIES:
                parts.append({"$chunk": {"in": self._chunks_naming(value)}})
            elif _is_supported(key, value):
                parts.append({"or": [{key: plain(value)}, {key: {"contains": plain(value)}}]})
        conditions = [(key, plain(value)) for key, value in values if key != ENTITIES]
        return {"and": parts} if parts else None, lambda document: all(
            _matches(document, *condition) for condition in conditions
        )

    def _chunks_naming(self, name: Any) -> list[str]:
        try:
            return [chunk.id for chunk in self._archive.graph.neighbourhood(str(name), 0, _NAMED).chunks]
        except NotFound:
            return []


_MISSING = object()


class _EdgeFilter(dict[str, Any]):
    """Metadata filter with an edge: documents must also have ``edge.value`` under the key ``edge.incoming_field``."""

    def __init__(self, conditions: Mapping[str, Any], edge: MetadataEdge) -> None:
        super().__init__(conditions)
        self.edge = edge


def _is_supported(key: str, value: Any) -> bool:
    """Return whether a ``where`` filter can express this condition on metadata."""
    if "." in key or key.startswith("$"):
        return False
    if isinstance(value, float):
        return math.isfinite(value)
    return "\0" not in value if isinstance(value, str) else isinstance(value, int)


def _matches(document: Document, key: str, value: Any) -> bool:
    """Return whether the metadata have ``value``, or a list with it, under ``key``: a literal key or a dotted path."""
    nested: Any = document.metadata
    for part in key.split("."):
        nested = nested.get(part, _MISSING) if isinstance(nested, Mapping) else _MISSING
    candidates = (document.metadata.get(key, _MISSING), nested)
    return any(candidate == value or (isinstance(candidate, list) and value in candidate) for candidate in candidates)
