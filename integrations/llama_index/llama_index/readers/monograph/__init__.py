"""Monograph for LlamaIndex: a reader of .mono files."""

from monograph.errors import MissingExtra

try:
    import llama_index.core  # noqa: F401
except ImportError as error:
    raise MissingExtra(
        "llama_index.readers.monograph needs LlamaIndex", 'pip install "monograph[llama-index]"'
    ) from error

from llama_index.readers.monograph.reader import MonographReader

__all__ = ["MonographReader"]
