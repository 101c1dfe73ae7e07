"""Monograph for LlamaIndex: any LLM as the model that answers questions of a file."""

from monograph.errors import MissingExtra

try:
    import llama_index.core  # noqa: F401
except ImportError as error:
    raise MissingExtra("llama_index.llms.monograph needs LlamaIndex", 'pip install "monograph[llama-index]"') from error

from llama_index.llms.monograph.model import Model

__all__ = ["Model"]
