"""Monograph for LlamaIndex: a property graph store in a .mono file."""

from __future__ import annotations

from monograph.lazy import requires

with requires("LlamaIndex", "llama-index", __name__):
    import llama_index.core  # noqa: F401

from llama_index.graph_stores.monograph.store import MonographPropertyGraphStore

__all__ = ["MonographPropertyGraphStore"]
