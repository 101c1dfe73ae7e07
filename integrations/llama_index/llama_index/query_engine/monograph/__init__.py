"""Monograph for LlamaIndex: answers with their places."""

from monograph.errors import MissingExtra

try:
    import llama_index.core  # noqa: F401
except ImportError as error:
    raise MissingExtra(
        "llama_index.query_engine.monograph needs LlamaIndex", 'pip install "monograph[llama-index]"'
    ) from error

from llama_index.query_engine.monograph.citing import CitingQueryEngine

__all__ = ["CitingQueryEngine"]
