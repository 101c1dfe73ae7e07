"""Monograph for LlamaIndex: a query engine whose answers cite their sources."""

from __future__ import annotations

from typing import TYPE_CHECKING

from monograph.errors import MissingExtra
from monograph.lazy import lazy_names

try:
    import llama_index.core  # noqa: F401
except ImportError as error:
    raise MissingExtra(
        "llama_index.query_engine.monograph needs LlamaIndex", 'pip install "monograph[llama-index]"'
    ) from error

_MODULES = {"llama_index.query_engine.monograph.citing": "CitingQueryEngine"}
__all__ = [name for names in _MODULES.values() for name in names.split()]

if TYPE_CHECKING:
    from llama_index.query_engine.monograph.citing import CitingQueryEngine as CitingQueryEngine
else:
    __getattr__, __dir__ = lazy_names(__name__, _MODULES)
