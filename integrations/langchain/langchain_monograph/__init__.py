"""Monograph for LangChain: retrievers over a .mono file, and chat models that answer from one."""

from monograph.errors import MissingExtra

try:
    import langchain_core  # noqa: F401
except ImportError as error:
    raise MissingExtra("langchain_monograph needs LangChain", 'pip install "monograph[langchain]"') from error

from langchain_monograph.models import ChatModel
from langchain_monograph.retrievers import HybridRetriever

__all__ = ["ChatModel", "HybridRetriever"]
