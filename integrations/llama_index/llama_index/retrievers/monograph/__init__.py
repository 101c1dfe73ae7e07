"""Monograph for LlamaIndex: retrievers over a .mono file."""

from monograph.errors import MissingExtra

try:
    import llama_index.core  # noqa: F401
except ImportError as error:
    raise MissingExtra(
        "llama_index.retrievers.monograph needs LlamaIndex", 'pip install "monograph[llama-index]"'
    ) from error

from llama_index.retrievers.monograph.retrievers import HybridRetriever, MiniRAGRetriever, TreeRetriever

__all__ = ["HybridRetriever", "MiniRAGRetriever", "TreeRetriever"]
