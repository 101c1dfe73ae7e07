"""Monograph for LangChain: a vector store and retrievers over a .mono file, and models across the border."""

from monograph.errors import MissingExtra

try:
    import langchain_core  # noqa: F401
except ImportError as error:
    raise MissingExtra("langchain_monograph needs LangChain", 'pip install "monograph[langchain]"') from error

from langchain_monograph.compressor import SCRCompressor
from langchain_monograph.document_loaders import MonographLoader
from langchain_monograph.embeddings import LangChainEmbedder, MonographEmbeddings
from langchain_monograph.models import ChatModel
from langchain_monograph.rerankers import LangChainReranker
from langchain_monograph.retrievers import EraRAGRetriever, HybridRetriever, MiniRAGRetriever, TreeRetriever
from langchain_monograph.structured_query import MonographTranslator
from langchain_monograph.toolkit import MonographToolkit
from langchain_monograph.vectorstores import EcoVectorStore

__all__ = [
    "ChatModel",
    "EcoVectorStore",
    "EraRAGRetriever",
    "HybridRetriever",
    "LangChainEmbedder",
    "LangChainReranker",
    "MiniRAGRetriever",
    "MonographEmbeddings",
    "MonographLoader",
    "MonographToolkit",
    "MonographTranslator",
    "SCRCompressor",
    "TreeRetriever",
]
