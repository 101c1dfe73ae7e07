"""Monograph for LangChain: vector store and retrievers over a .mono file; adapters between both libraries' models."""

from __future__ import annotations

from typing import TYPE_CHECKING

from monograph.lazy import lazy_names, requires

with requires("LangChain", "langchain", __name__):
    import langchain_core  # noqa: F401

_MODULES = {
    "langchain_monograph.compressor": "SCRCompressor",
    "langchain_monograph.document_loaders": "MonographLoader",
    "langchain_monograph.embeddings": "LangChainEmbedder MonographEmbeddings",
    "langchain_monograph.models": "LangChainModel",
    "langchain_monograph.rerankers": "LangChainReranker",
    "langchain_monograph.retrievers": "EraRAGRetriever HybridRetriever MiniRAGRetriever TreeRetriever",
    "langchain_monograph.structured_query": "MonographTranslator",
    "langchain_monograph.toolkit": "MonographToolkit",
    "langchain_monograph.vectorstores": "EcoVectorStore",
}
__all__ = [name for names in _MODULES.values() for name in names.split()]

if TYPE_CHECKING:
    from langchain_monograph.compressor import SCRCompressor as SCRCompressor
    from langchain_monograph.document_loaders import MonographLoader as MonographLoader
    from langchain_monograph.embeddings import LangChainEmbedder as LangChainEmbedder
    from langchain_monograph.embeddings import MonographEmbeddings as MonographEmbeddings
    from langchain_monograph.models import LangChainModel as LangChainModel
    from langchain_monograph.rerankers import LangChainReranker as LangChainReranker
    from langchain_monograph.retrievers import EraRAGRetriever as EraRAGRetriever
    from langchain_monograph.retrievers import HybridRetriever as HybridRetriever
    from langchain_monograph.retrievers import MiniRAGRetriever as MiniRAGRetriever
    from langchain_monograph.retrievers import TreeRetriever as TreeRetriever
    from langchain_monograph.structured_query import MonographTranslator as MonographTranslator
    from langchain_monograph.toolkit import MonographToolkit as MonographToolkit
    from langchain_monograph.vectorstores import EcoVectorStore as EcoVectorStore
else:
    __getattr__, __dir__ = lazy_names(__name__, _MODULES)
