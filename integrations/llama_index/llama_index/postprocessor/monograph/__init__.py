"""Monograph for LlamaIndex: nodes cut down to what a question needs, and LlamaIndex's rerankers in a file."""

from monograph.errors import MissingExtra

try:
    import llama_index.core  # noqa: F401
except ImportError as error:
    raise MissingExtra(
        "llama_index.postprocessor.monograph needs LlamaIndex", 'pip install "monograph[llama-index]"'
    ) from error

from llama_index.postprocessor.monograph.reranker import LlamaIndexReranker
from llama_index.postprocessor.monograph.scr import SCRPostprocessor

__all__ = ["LlamaIndexReranker", "SCRPostprocessor"]
