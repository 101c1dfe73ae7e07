"""Monograph for LlamaIndex: embedding models across the border, both ways."""

from monograph.errors import MissingExtra

try:
    import llama_index.core  # noqa: F401
except ImportError as error:
    raise MissingExtra(
        "llama_index.embeddings.monograph needs LlamaIndex", 'pip install "monograph[llama-index]"'
    ) from error

from llama_index.embeddings.monograph.embedding import LlamaIndexEmbedder, MonographEmbedding

__all__ = ["LlamaIndexEmbedder", "MonographEmbedding"]
