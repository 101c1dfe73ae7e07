"""Monograph for LlamaIndex: an index with a tree of summaries."""

from monograph.errors import MissingExtra

try:
    import llama_index.core  # noqa: F401
except ImportError as error:
    raise MissingExtra(
        "llama_index.indices.monograph needs LlamaIndex", 'pip install "monograph[llama-index]"'
    ) from error

from llama_index.indices.monograph.erarag import EraRAGIndex

__all__ = ["EraRAGIndex"]
