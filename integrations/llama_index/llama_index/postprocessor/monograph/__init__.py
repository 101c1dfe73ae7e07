"""Monograph for LlamaIndex: a postprocessor that reduces nodes to the needed sentences, and rerankers for a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from monograph.errors import MissingExtra
from monograph.lazy import lazy_names

try:
    import llama_index.core  # noqa: F401
except ImportError as error:
    raise MissingExtra(
        "llama_index.postprocessor.monograph needs LlamaIndex", 'pip install "monograph[llama-index]"'
    ) from error

_MODULES = {
    "llama_index.postprocessor.monograph.reranker": "LlamaIndexReranker",
    "llama_index.postprocessor.monograph.scr": "SCRPostprocessor",
}
__all__ = [name for names in _MODULES.values() for name in names.split()]

if TYPE_CHECKING:
    from llama_index.postprocessor.monograph.reranker import LlamaIndexReranker as LlamaIndexReranker
    from llama_index.postprocessor.monograph.scr import SCRPostprocessor as SCRPostprocessor
else:
    __getattr__, __dir__ = lazy_names(__name__, _MODULES)
