"""Monograph for LlamaIndex: a vector store in a .mono file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from monograph.lazy import lazy_names, requires

with requires("LlamaIndex", "llama-index", __name__):
    import llama_index.core  # noqa: F401

_MODULES = {
    "llama_index.vector_stores.monograph.events": "AnswerEvent ReductionEvent SearchEvent",
    "llama_index.vector_stores.monograph.nodes": "HitNode",
    "llama_index.vector_stores.monograph.store": "EcoVectorStore",
}
__all__ = [name for names in _MODULES.values() for name in names.split()]

if TYPE_CHECKING:
    from llama_index.vector_stores.monograph.events import AnswerEvent as AnswerEvent
    from llama_index.vector_stores.monograph.events import ReductionEvent as ReductionEvent
    from llama_index.vector_stores.monograph.events import SearchEvent as SearchEvent
    from llama_index.vector_stores.monograph.nodes import HitNode as HitNode
    from llama_index.vector_stores.monograph.store import EcoVectorStore as EcoVectorStore
else:
    __getattr__, __dir__ = lazy_names(__name__, _MODULES)
