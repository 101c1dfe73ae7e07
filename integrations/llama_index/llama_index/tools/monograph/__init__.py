"""Monograph for LlamaIndex: tools with which an agent uses a .mono file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from monograph.errors import MissingExtra
from monograph.lazy import lazy_names

try:
    import llama_index.core  # noqa: F401
except ImportError as error:
    raise MissingExtra(
        "llama_index.tools.monograph needs LlamaIndex", 'pip install "monograph[llama-index]"'
    ) from error

_MODULES = {"llama_index.tools.monograph.spec": "MonographToolSpec"}
__all__ = [name for names in _MODULES.values() for name in names.split()]

if TYPE_CHECKING:
    from llama_index.tools.monograph.spec import MonographToolSpec as MonographToolSpec
else:
    __getattr__, __dir__ = lazy_names(__name__, _MODULES)
