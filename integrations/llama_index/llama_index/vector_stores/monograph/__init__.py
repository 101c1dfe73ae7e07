"""Monograph for LlamaIndex: a vector store in a .mono file."""

from monograph.errors import MissingExtra

try:
    import llama_index.core  # noqa: F401
except ImportError as error:
    raise MissingExtra(
        "llama_index.vector_stores.monograph needs LlamaIndex", 'pip install "monograph[llama-index]"'
    ) from error

from llama_index.vector_stores.monograph.events import AnswerEvent, ReductionEvent, SearchEvent
from llama_index.vector_stores.monograph.store import EcoVectorStore

__all__ = ["AnswerEvent", "EcoVectorStore", "ReductionEvent", "SearchEvent"]
