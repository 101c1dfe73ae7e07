"""Monograph for LlamaIndex: LlamaIndex embedding models in a .mono file, and a file's embedder in LlamaIndex."""

from __future__ import annotations

from typing import TYPE_CHECKING

from monograph.errors import MissingExtra
from monograph.lazy import lazy_names

try:
    import llama_index.core  # noqa: F401
except ImportError as error:
    raise MissingExtra(
        "llama_index.embeddings.monograph needs LlamaIndex", 'pip install "monograph[llama-index]"'
    ) from error

_MODULES = {"llama_index.embeddings.monograph.embedding": "LlamaIndexEmbedder MonographEmbedding"}
__all__ = [name for names in _MODULES.values() for name in names.split()]

if TYPE_CHECKING:
    from llama_index.embeddings.monograph.embedding import LlamaIndexEmbedder as LlamaIndexEmbedder
    from llama_index.embeddings.monograph.embedding import MonographEmbedding as MonographEmbedding
else:
    __getattr__, __dir__ = lazy_names(__name__, _MODULES)
