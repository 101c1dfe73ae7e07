"""Conversion of LlamaIndex nodes to passages and documents, and back."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
from llama_index.core.schema import (
    BaseNode,
    MetadataMode,
    Node,
    NodeRelationship,
    NodeWithScore,
    RelatedNodeInfo,
    TextNode,
)
from llama_index.core.vector_stores.utils import metadata_dict_to_node, node_to_metadata_dict

import monograph as library
import monograph_tools as tools
from monograph.errors import InvalidDocument

if TYPE_CHECKING:
    from monograph import Document, Hit, Passage, StoredChunk

_CONTENT = "_node_content"
_WHOLE = "_node_whole"


def as_documents(nodes: Iterable[BaseNode]) -> list[Document]:
    """Return a document for each source document of the nodes; a node without a source becomes a document of its own.

    The document's id is ``ref_doc_id``, and the chunk's id is the node's. Filters apply to the node's metadata and to
    ``ref_doc_id``. A node without text, such as an image, can be found by its vector, its metadata and its id.
    """
    grouped: dict[str, list[Passage]] = {}
    for node in nodes:
        grouped.setdefault(node.ref_doc_id or node.node_id, []).append(_as_passage(node))
    return [library.Document(id=name, passages=tuple(passages)) for name, passages in grouped.items()]


def _as_passage(node: BaseNode) -> Passage:
    text = node.get_content(metadata_mode=MetadataMode.NONE)
    # Without its text, a Node cannot be restored with the same kind of text.
    keeps_text = not text.strip() or type(node) is Node
    try:
        json.dumps(node.metadata, allow_nan=False, default=str)  # The node's JSON would omit numbers like infinity.
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidDocument(
            f"the metadata of node {node.node_id!r} are not JSON: {error}",
            "use text, finite numbers, lists and objects",
        ) from error
    metadata = node_to_metadata_dict(node, remove_text=not keeps_text, flat_metadata=False)
    if keeps_text:
        metadata[_WHOLE] = True
    if not text.strip():
        text = node.get_content(metadata_mode=MetadataMode.EMBED).strip() or node.node_id.strip() or node.class_name()
    vector = None if node.embedding is None else np.asarray(node.embedding, dtype=np.float32)
    return library.Passage(text, node.node_id, metadata, vector)


class HitNode(NodeWithScore):
    """Node that a search found. Its ``score`` is the relevance of the hit, 0 to 1; the first hit has the highest.

    The node depends on the stored chunk only: its metadata and hash are the same for every query. So
    ``QueryFusionRetriever`` can merge the results of several retrievers.
    """

    own_score: float
    """Score that the search mode gave the hit; its range depends on the mode."""
    explanation: str
    """Retrievers that found the node, and the entities that led to it."""


def as_node(found: Hit | StoredChunk) -> BaseNode:
    """Convert a chunk to a node without embedding; a chunk stored from LlamaIndex becomes its original node.

    Other chunks get metadata ``monograph_title`` and ``monograph_uri``, hidden from embedders and language models.
    """
    if _CONTENT in found.metadata:
        keeps_text = _WHOLE in found.metadata
        return metadata_dict_to_node(dict(found.metadata), text=None if keeps_text else found.chunk.text)
    own = {"monograph_title": found.title, "monograph_uri": found.uri}
    metadata = {name: value for name, value in found.metadata.items() if name != tools.COLLECTION}
    return TextNode(
        id_=found.chunk.id,
        text=found.chunk.text,
        metadata={**own, **metadata},
        excluded_embed_metadata_keys=list(own),
        excluded_llm_metadata_keys=list(own),
        start_char_idx=found.chunk.start,
        end_char_idx=found.chunk.end,
        relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id=found.chunk.document_id)},
    )


def as_scored_node(hit: Hit) -> HitNode:
    """Convert a hit (a chunk or a summary) to a node with its scores and its explanation."""
    summary = hit.summary
    if summary is None:
        node = as_node(hit)
    else:
        metadata = {"monograph_layer": summary.layer}
        node = TextNode(
            id_=summary.id,
            text=summary.text,
            metadata=metadata,
            excluded_embed_metadata_keys=list(metadata),
            excluded_llm_metadata_keys=list(metadata),
            relationships={NodeRelationship.CHILD: [RelatedNodeInfo(node_id=name) for name in summary.chunks]},
        )
    return HitNode(node=node, score=hit.relevance, own_score=hit.score, explanation=hit.explain())
