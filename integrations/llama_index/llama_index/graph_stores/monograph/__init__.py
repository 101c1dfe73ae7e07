"""Monograph for LlamaIndex: a property graph store in a .mono file."""

from monograph.errors import MissingExtra

try:
    import llama_index.core  # noqa: F401
except ImportError as error:
    raise MissingExtra(
        "llama_index.graph_stores.monograph needs LlamaIndex", 'pip install "monograph[llama-index]"'
    ) from error

from llama_index.graph_stores.monograph.store import MonographPropertyGraphStore

__all__ = ["MonographPropertyGraphStore"]
