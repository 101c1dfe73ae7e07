"""LlamaIndex's property graph store over a .mono file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from monograph.lazy import requires

with requires("LlamaIndex", "llama-index", __name__):
    from fsspec import AbstractFileSystem
    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.graph_stores.types import (
        ChunkNode,
        EntityNode,
        LabelledNode,
        PropertyGraphStore,
        Relation,
        Triplet,
    )
    from llama_index.core.schema import BaseNode
    from llama_index.core.vector_stores.types import VectorStoreQuery, VectorStoreQueryMode

from llama_index.embeddings.monograph import LlamaIndexEmbedder
from llama_index.graph_stores.monograph import convert
from llama_index.vector_stores.monograph.nodes import as_documents, as_node
from llama_index.vector_stores.monograph.where import as_where
from monograph.errors import InputError
from monograph.values import AssertedNode, AssertedRelation, Assertions
from monograph_tools import AnyArchive, FileStore, in_thread, opened, to_write, warn_of_problems

if TYPE_CHECKING:
    from monograph.shelf import Archive

__all__ = ["MonographPropertyGraphStore"]

_TYPES: Mapping[type, str] = {
    bool: "BOOLEAN", int: "INTEGER", float: "FLOAT", str: "STRING", list: "LIST", dict: "MAP", type(None): "NULL",
}  # fmt: skip
"""Names of JSON types in a schema."""


class MonographPropertyGraphStore(FileStore, PropertyGraphStore):
    """Property graph of extracted entities and relations, in the same .mono file as the texts.

    ``PropertyGraphIndex`` stores its chunks as chunks of the file. Every search of the file finds these chunks. A chunk
    that the file already has is not stored twice. Each entity and relation keeps the id of its source: the chunk that
    it was extracted from (property ``triplet_source_id``), or that chunk's document (property ``ref_doc_id``). Every
    addition is on disk when the call returns.

    If a source is deleted, its entities and relations are deleted too. An entity or relation without a source stays
    until you delete it. If several sources assert the same entity, their properties are merged: the latest value of a
    property wins. If the source of this value is deleted, the latest value of the other sources is used again.

    Parameters
    ----------
    monograph:
        Path of a file, or an open file or store. The constructor opens a file at a path, or creates it if there
        is none; ``close`` closes it. An open file or store stays open. If the file has no graph, the constructor builds
        it. A shelf or its address can be given too, but can only be read.
    embed_model:
        Model that computes the vectors of chunks and queries that have no vector. Give it only with a path. If it is
        None, the file's own embedder is used. If the first chunks of a new file have vectors, every later chunk must
        have a vector too.
    collection:
        Name of a collection. Only entities and relations from chunks of the collection are read, and new nodes are
        added to the collection. The source of a new entity or relation must be a chunk or document of the collection;
        otherwise OutsideView is raised.
    key:
        Key of an encrypted file. Give it only with a path.

    Raises
    ------
    InputError
        If a model or a key is given with an open file.
    """

    supports_structured_queries = False
    supports_vector_queries = True

    def __init__(
        self,
        monograph: AnyArchive,
        embed_model: BaseEmbedding | None = None,
        *,
        collection: str | None = None,
        key: str | None = None,
    ) -> None:
        self._file = opened(monograph, embed_model, LlamaIndexEmbedder, key, collection=collection, graph=True)

    @property
    def client(self) -> Archive:
        """The open file, view or shelf: the same as ``monograph``."""
        return self.monograph

    def get(self, properties: dict[str, Any] | None = None, ids: list[str] | None = None) -> list[LabelledNode]:
        """Return entities and chunks: those that have all the given ``properties`` and one of the given ``ids``.

        If neither is given, all entities and chunks are returned. An empty list of ids matches nothing. An entity that
        was never stored itself, but is an end of a relation, is returned with its name alone.
        """
        chunks = self._chunks(ids, properties or {})
        nodes = self.monograph.graph.assertions(ids).nodes
        selected = nodes if ids is None else {name: nodes[name] for name in ids if name in nodes}
        entities = [
            convert.as_entity(node)
            for name, node in selected.items()
            if name not in chunks and convert.has_all(properties or {}, node.properties)
        ]
        return [*entities, *chunks.values()]

    def get_triplets(
        self,
        entity_names: list[str] | None = None,
        relation_names: list[str] | None = None,
        properties: dict[str, Any] | None = None,
        ids: list[str] | None = None,
    ) -> list[Triplet]:
        """Return the relations that meet all given conditions, as (source node, relation, target node).

        At least one end node must be among ``entity_names``, and at least one among ``ids``. The label of the relation
        must be one of ``relation_names``. Each of ``properties`` must occur in the relation or in one of its end nodes.
        If no condition is given, the result is empty.
        """
        if not (entity_names or relation_names or properties or ids):
            return []
        entity_ids = {EntityNode(name=name).id for name in entity_names or ()}
        assertions = self.monograph.graph.assertions([*(ids or ()), *entity_ids] or None)
        relations = [
            relation
            for relation in assertions.relations
            if (not entity_ids or {relation.source, relation.target} & entity_ids)
            and (not ids or {relation.source, relation.target} & set(ids))
            and (not relation_names or relation.label in relation_names)
        ]
        triplets = self._triplets(assertions, relations)
        if properties:
            triplets = [
                triplet for triplet in triplets if convert.has_all(properties, *(part.properties for part in triplet))
            ]
        return triplets

    def get_rel_map(
        self,
        graph_nodes: list[LabelledNode],
        depth: int = 2,
        limit: int = 30,
        ignore_rels: list[str] | None = None,
    ) -> list[Triplet]:
        """Return at most ``limit`` relations within ``depth`` steps of the given nodes, nearest first, each once.

        Relations with a label in ``ignore_rels`` are neither returned nor followed. All others are followed in both
        directions.
        """
        ignored = set(ignore_rels or ())
        seen: set[tuple[str, str, str]] = set()
        triplets: list[Triplet] = []
        visited = {node.id for node in graph_nodes}
        frontier = list(dict.fromkeys(node.id for node in graph_nodes))
        for _ in range(depth):
            if not frontier or len(triplets) >= limit:
                break
            assertions = self.monograph.graph.assertions(frontier)
            fresh = [
                relation
                for relation in assertions.relations
                if relation.label not in ignored and _triple(relation) not in seen
            ][: limit - len(triplets)]
            seen.update(map(_triple, fresh))
            triplets += self._triplets(assertions, fresh)
            frontier = [end for end in _ends(fresh) if end not in visited]
            visited.update(frontier)
        return triplets[: max(0, limit)]

    def get_llama_nodes(self, node_ids: list[str]) -> list[BaseNode]:
        """Return LlamaIndex's nodes as they were stored, in the order of ``node_ids``; skip ids that are not stored."""
        return [as_node(chunk) for chunk in self.monograph.fetch(node_ids)]

    def upsert_nodes(self, nodes: Sequence[LabelledNode]) -> None:
        """Store entities and chunks.

        If a source asserts an entity again, the new assertion replaces the previous assertion of this source. Raises
        InputError if a node is neither an entity nor a chunk. Raises InvalidDocument if properties are not JSON, or if
        the vector of a chunk has another dimension than the file's vectors.
        """
        chunks = [node for node in nodes if isinstance(node, ChunkNode)]
        entities = [convert.as_asserted_node(node) for node in nodes if not isinstance(node, ChunkNode)]
        self.upsert_llama_nodes([convert.as_base_node(chunk) for chunk in chunks])
        if entities:
            to_write(self.monograph).graph.add(entities, missing_ok=True)

    def upsert_relations(self, relations: list[Relation]) -> None:
        """Store relations; an end node that does not exist is created."""
        if relations:
            asserted = [convert.as_asserted_relation(relation) for relation in relations]
            to_write(self.monograph).graph.add((), asserted, missing_ok=True)

    def upsert_llama_nodes(self, llama_nodes: list[BaseNode]) -> None:
        """Store LlamaIndex's nodes as chunks.

        Chunks that were not stored from LlamaIndex are kept: a node with the id and text of such a chunk is skipped.
        """
        if not llama_nodes:
            return
        file = to_write(self.monograph)
        existing = {chunk.chunk.id: chunk for chunk in file.fetch([node.node_id for node in llama_nodes])}
        fresh = [
            node
            for node in llama_nodes
            if node.node_id not in existing or _is_replaceable(existing[node.node_id], node)
        ]
        if fresh:
            warn_of_problems(file.put(as_documents(fresh)))

    def delete(
        self,
        entity_names: list[str] | None = None,
        relation_names: list[str] | None = None,
        properties: dict[str, Any] | None = None,
        ids: list[str] | None = None,
    ) -> None:
        """Delete entities by name, relations by label, nodes and relations by property, and nodes by id.

        An item is deleted if it matches any of the four arguments. Deleting a node deletes its relations. Deleting a
        chunk deletes the entities and relations that only this chunk asserts.
        """
        file = to_write(self.monograph)
        names = [*(EntityNode(name=name).id for name in entity_names or ()), *(ids or ())]
        chunks = list(ids or ())
        relations: list[tuple[str, str, str]] = []
        if relation_names or properties:
            assertions = file.graph.assertions()
            relations = [
                _triple(relation)
                for relation in assertions.relations
                if relation.label in (relation_names or ())
                or (properties and convert.has_all(properties, relation.properties))
            ]
            if properties:
                names += [node.id for node in assertions.nodes.values() if convert.has_all(properties, node.properties)]
                chunks += self._chunks(None, properties)
        if chunks:
            warn_of_problems(file.remove_chunks(chunks))
        if names or relations:
            file.graph.remove(names, relations)

    def delete_llama_nodes(self, node_ids: list[str] | None = None, ref_doc_ids: list[str] | None = None) -> None:
        """Delete chunks by their ids, or by the ids of their documents.

        Assertions that come from these chunks or documents are deleted too. Assertions of other sources about the same
        entities stay.
        """
        file = to_write(self.monograph)
        sources = [*(node_ids or ()), *(ref_doc_ids or ())]
        if node_ids:
            warn_of_problems(file.remove_chunks(node_ids))
        if ref_doc_ids:
            warn_of_problems(file.remove_chunks(where={"$document": {"in": list(ref_doc_ids)}}))
        assertions = file.graph.assertions()
        nodes = [node.id for node in assertions.nodes.values() if _is_stray(node, sources)]
        relations = [_triple(relation) for relation in assertions.relations if _is_stray(relation, sources)]
        file.graph.remove([*sources, *nodes], relations)

    def structured_query(self, query: str, param_map: dict[str, Any] | None = None) -> Any:
        """Raise InputError: a file has no graph query language."""
        raise InputError(
            "MonographPropertyGraphStore has no structured queries",
            "use get_triplets, get_rel_map or vector_query, or search the file with store.client.search",
        )

    def vector_query(self, query: VectorStoreQuery, **kwargs: Any) -> tuple[list[LabelledNode], list[float]]:
        """Return the entities whose embeddings are nearest to the query's, and their cosines (0 for a negative cosine).

        The embeddings of all entities are compared. The query's ``filters`` are applied to the entities' properties. If
        the query has ``node_ids``, only entities with these ids are returned. If it has ``doc_ids``, only entities that
        these documents assert are returned.

        Raises InputError if the query's mode is not ``default``, or if the query has neither an embedding nor a text.
        Raises InvalidFilter if a filter cannot be understood.
        """
        if VectorStoreQueryMode(query.mode) != VectorStoreQueryMode.DEFAULT:
            raise InputError(f"a graph has no mode {query.mode!r}", "use the mode default, or a vector store")
        vector = query.query_embedding
        if vector is None:
            if not query.query_str:
                raise InputError("the query has neither an embedding nor a text", "give query_embedding")
            vector = self.monograph.embedder.embed([query.query_str], "query")[0].tolist()
        graph, k = self.monograph.graph, query.similarity_top_k
        limit = len(graph.assertions().nodes) if query.node_ids or query.doc_ids else k
        nearest = graph.nearest_assertions(vector, limit, where=as_where(query.filters))
        if query.node_ids:
            nearest = [pair for pair in nearest if pair[0].id in query.node_ids]
        if query.doc_ids:
            nearest = [pair for pair in nearest if self._documents(pair[0].origins) & set(query.doc_ids)]
        nearest = nearest[:k]
        return [convert.as_entity(node) for node, _ in nearest], [max(0.0, cosine) for _, cosine in nearest]

    def persist(self, persist_path: str = "", fs: AbstractFileSystem | None = None) -> None:
        """Do nothing: every addition is already in the file."""

    def get_schema(self, refresh: bool = False) -> dict[str, Any]:
        """Return the labels of nodes and relations, their properties, and the pairs of labels that relations join."""
        asserted = self.monograph.graph.assertions()
        ends = _ends(asserted.relations)
        labels = {name: asserted.nodes.get(name, AssertedNode(name)).label for name in ends}
        labels |= {chunk.chunk.id: convert.as_chunk(chunk).label for chunk in self.monograph.fetch(ends)}
        patterns = {
            (labels[relation.source], relation.label, labels[relation.target]) for relation in asserted.relations
        }
        return {
            "node_props": _properties_by_label(asserted.nodes.values()),
            "rel_props": _properties_by_label(asserted.relations),
            "relationships": [{"start": start, "type": label, "end": end} for start, label, end in sorted(patterns)],
        }

    def get_schema_str(self, refresh: bool = False) -> str:
        """Return the schema of ``get_schema`` as lines for the prompt of a language model."""
        schema = self.get_schema(refresh)
        lines = []
        for title, kind in (("Node properties:", "node_props"), ("Relationship properties:", "rel_props")):
            lines.append(title)
            for label, properties in schema[kind].items():
                listed = ", ".join(f"{item['property']}: {item['type']}" for item in properties)
                lines.append(f"{label} {{{listed}}}")
        lines.append("The relationships:")
        lines += [f"({joins['start']})-[:{joins['type']}]->({joins['end']})" for joins in schema["relationships"]]
        return "\n".join(lines)

    # LlamaIndex's default implementations would block the event loop.
    aget = in_thread("get")
    aget_triplets = in_thread("get_triplets")
    aget_rel_map = in_thread("get_rel_map")
    aget_llama_nodes = in_thread("get_llama_nodes")
    aupsert_nodes = in_thread("upsert_nodes")
    aupsert_relations = in_thread("upsert_relations")
    adelete = in_thread("delete")
    adelete_llama_nodes = in_thread("delete_llama_nodes")
    avector_query = in_thread("vector_query")
    aget_schema = in_thread("get_schema")
    aget_schema_str = in_thread("get_schema_str")

    def _chunks(self, ids: Iterable[str] | None, properties: dict[str, Any]) -> dict[str, ChunkNode]:
        chunk_ids = None if ids is None else list(ids)
        chunks = (convert.as_chunk(stored) for stored in self.monograph.fetch(chunk_ids, vectors=True))
        return {chunk.id: chunk for chunk in chunks if convert.has_all(properties, chunk.properties)}

    def _triplets(self, assertions: Assertions, relations: Sequence[AssertedRelation]) -> list[Triplet]:
        ends = _ends(relations)
        nodes: dict[str, LabelledNode] = {
            name: convert.as_entity(assertions.nodes.get(name, AssertedNode(name, name))) for name in ends
        }
        nodes.update((chunk.chunk.id, convert.as_chunk(chunk)) for chunk in self.monograph.fetch(ends))
        return [
            (nodes[relation.source], convert.as_relation(relation), nodes[relation.target]) for relation in relations
        ]

    def _documents(self, origins: Iterable[str]) -> set[str]:
        names = list(origins)
        return {*names, *(chunk.chunk.document_id for chunk in self.monograph.fetch(names))}


def _ends(relations: Iterable[AssertedRelation]) -> list[str]:
    """Return the ids of the nodes that relations connect, each once."""
    return list(dict.fromkeys(end for relation in relations for end in (relation.source, relation.target)))


def _properties_by_label(items: Iterable[AssertedNode | AssertedRelation]) -> dict[str, list[dict[str, str]]]:
    """Return for each label the names of its items' properties, with the JSON types of their values."""
    types: dict[str, dict[str, set[str]]] = {}
    for item in items:
        of_label = types.setdefault(item.label, {})
        for name, value in item.properties.items():
            of_label.setdefault(name, set()).add(_TYPES[type(value)])
    return {
        label: [{"property": name, "type": " | ".join(sorted(kinds))} for name, kinds in sorted(of_label.items())]
        for label, of_label in sorted(types.items())
    }


def _triple(relation: AssertedRelation) -> tuple[str, str, str]:
    return relation.source, relation.label, relation.target


def _is_replaceable(stored: Any, node: BaseNode) -> bool:
    """Return whether a node replaces the chunk with its id: the chunk is from LlamaIndex, or the texts differ."""
    return "_node_content" in stored.metadata or stored.chunk.text != node.get_content()


def _is_stray(item: AssertedNode | AssertedRelation, sources: Sequence[str]) -> bool:
    """Return whether an assertion has no stored source, although its properties name one of ``sources``."""
    return not item.origins and any(item.properties.get(key) in sources for key in ("triplet_source_id", "ref_doc_id"))
