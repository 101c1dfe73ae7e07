"""Monograph for LlamaIndex: retrievers over a .mono file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from monograph.errors import MissingExtra
from monograph.lazy import lazy_names

try:
    import llama_index.core  # noqa: F401
except ImportError as error:
    raise MissingExtra(
        "llama_index.retrievers.monograph needs LlamaIndex", 'pip install "monograph[llama-index]"'
    ) from error

_MODULES = {"llama_index.retrievers.monograph.retrievers": "HybridRetriever MiniRAGRetriever TreeRetriever"}
__all__ = [name for names in _MODULES.values() for name in names.split()]

if TYPE_CHECKING:
    from llama_index.retrievers.monograph.retrievers import HybridRetriever as HybridRetriever
    from llama_index.retrievers.monograph.retrievers import MiniRAGRetriever as MiniRAGRetriever
    from llama_index.retrievers.monograph.retrievers import TreeRetriever as TreeRetriever
else:
    __getattr__, __dir__ = lazy_names(__name__, _MODULES)
