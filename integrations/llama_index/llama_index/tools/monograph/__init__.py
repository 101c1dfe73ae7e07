"""Monograph for LlamaIndex: what an agent can do with a .mono file."""

from monograph.errors import MissingExtra

try:
    import llama_index.core  # noqa: F401
except ImportError as error:
    raise MissingExtra(
        "llama_index.tools.monograph needs LlamaIndex", 'pip install "monograph[llama-index]"'
    ) from error

from llama_index.tools.monograph.spec import MonographToolSpec

__all__ = ["MonographToolSpec"]
