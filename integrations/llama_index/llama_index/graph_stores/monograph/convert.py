"""Conversion of graph nodes and relations between LlamaIndex and Monograph."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from llama_index.core.graph_stores.types import TRIPLET_SOURCE_KEY, ChunkNode, EntityNode, LabelledNode, Relation
from llama_index.core.schema import BaseNode, NodeRelationship, RelatedNodeInfo, TextNode
from llama_index.core.vector_stores.utils import metadata_dict_to_node

from llama_index.vector_stores.monograph.nodes import as_node
from monograph import StoredChunk
from monograph.errors import InputError
from monograph.values import AssertedNode, AssertedRelation
from monograph_tools.file_handle import COLLECTION

CHUNK_LABEL = ChunkNode(text="").label
"""Default label of a chunk."""

_CONTENT = "_node_content"
_LABEL = "monograph_graph_label"
"""Metadata key of a chunk's label. Only chunks that were added as ``ChunkNode`` have this key; text nodes have none."""


def as_asserted_node(node: LabelledNode) -> AssertedNode:
    """Convert an entity of LlamaIndex to an asserted node."""
    if not isinstance(node, EntityNode):
        raise InputError(f"a {type(node).__name__} is neither an entity nor a chunk", "give EntityNode or ChunkNode")
    embedding = None if node.embedding is None else np.asarray(node.embedding, dtype=np.float32)
    return AssertedNode(node.id, node.name, node.label, node.properties, embedding, _source(node.properties))


def as_asserted_relation(relation: Relation) -> AssertedRelation:
    """Convert a relation of LlamaIndex to an asserted relation."""
    return AssertedRelation(
        relation.source_id, relation.label, relation.target_id, relation.properties, _source(relation.properties)
    )


def _source(properties: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the id of the source that properties name, as a tuple of one or no id."""
    source = properties.get(TRIPLET_SOURCE_KEY) or properties.get("ref_doc_id")
    return (source,) if isinstance(source, str) else ()


def as_entity(node: AssertedNode) -> EntityNode:
    """Convert an asserted node to an entity of LlamaIndex."""
    embedding = None if node.embedding is None else node.embedding.tolist()
    return EntityNode(name=node.name, label=node.label, properties=dict(node.properties), embedding=embedding)


def as_relation(relation: AssertedRelation) -> Relation:
    """Convert an asserted relation to a relation of LlamaIndex."""
    return Relation(
        label=relation.label, source_id=relation.source, target_id=relation.target, properties=dict(relation.properties)
    )


def as_base_node(chunk: ChunkNode) -> BaseNode:
    """Return the original node of a graph chunk if its properties contain it, else a new ``TextNode``."""
    if _CONTENT in chunk.properties:
        node = metadata_dict_to_node(dict(chunk.properties), text=chunk.text)
        node.embedding = chunk.embedding
        return node
    document = chunk.properties.get("ref_doc_id")
    relationships = {NodeRelationship.SOURCE: RelatedNodeInfo(node_id=document)} if document else {}
    return TextNode(
        id_=chunk.id,
        text=chunk.text,
        metadata={**chunk.properties, _LABEL: chunk.label},
        excluded_embed_metadata_keys=[_LABEL],
        excluded_llm_metadata_keys=[_LABEL],
        embedding=chunk.embedding,
        relationships=relationships,
    )


def as_chunk(found: StoredChunk) -> ChunkNode:
    """Convert a stored chunk to a graph node whose properties are its metadata and ``ref_doc_id``."""
    metadata = {name: value for name, value in found.metadata.items() if name != COLLECTION}
    label = metadata.pop(_LABEL, None)
    if label is not None:
        metadata = {name: value for name, value in as_node(found).metadata.items() if name != _LABEL}
    else:
        metadata.setdefault("ref_doc_id", found.chunk.document_id)
    vector = None if found.vector is None else found.vector.tolist()
    return ChunkNode(
        text=found.chunk.text, id_=found.chunk.id, label=label or CHUNK_LABEL, properties=metadata, embedding=vector
    )


def has_all(properties: Mapping[str, Any], *mappings: Mapping[str, Any]) -> bool:
    """Return whether each of ``properties`` is in one of ``mappings``, with an equal value."""
    return all(
        any(name in mapping and mapping[name] == value for mapping in mappings) for name, value in properties.items()
    )
