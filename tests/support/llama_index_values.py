"""Nodes, filters and embedding models of LlamaIndex."""

from __future__ import annotations

from typing import Any

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.schema import NodeRelationship, RelatedNodeInfo, TextNode
from llama_index.core.vector_stores.types import FilterOperator, MetadataFilter, MetadataFilters


class TextEmbedding(BaseEmbedding):
    """Embedding model that embeds queries as texts."""

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)


def node(name: str, text: str, of: str = "", metadata: dict[str, Any] | None = None, **more: Any) -> TextNode:
    """Return a node of a document."""
    source = {NodeRelationship.SOURCE: RelatedNodeInfo(node_id=of)} if of else {}
    return TextNode(id_=name, text=text, relationships=dict(source), metadata=metadata or {}, **more)


def above(key: str, value: int) -> MetadataFilters:
    """Return the filter for numbers above a value."""
    return MetadataFilters(filters=[MetadataFilter(key=key, value=value, operator=FilterOperator.GT)])
