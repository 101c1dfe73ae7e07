"""Monograph for LlamaIndex: any LLM as the model that answers questions of a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from monograph.errors import MissingExtra
from monograph.lazy import lazy_names

try:
    import llama_index.core  # noqa: F401
except ImportError as error:
    raise MissingExtra("llama_index.llms.monograph needs LlamaIndex", 'pip install "monograph[llama-index]"') from error

_MODULES = {"llama_index.llms.monograph.model": "LlamaIndexModel"}
__all__ = [name for names in _MODULES.values() for name in names.split()]

if TYPE_CHECKING:
    from llama_index.llms.monograph.model import LlamaIndexModel as LlamaIndexModel
else:
    __getattr__, __dir__ = lazy_names(__name__, _MODULES)
