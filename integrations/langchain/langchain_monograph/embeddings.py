"""Embedders across the border: LangChain's in a .mono file, and a file's own in LangChain."""

from __future__ import annotations

from langchain_core.embeddings import Embeddings

from monograph.models import Embedder
from monograph_tools import BorrowedEmbedder


class LangChainEmbedder(BorrowedEmbedder):
    """Embeddings of LangChain as the embedder of a file: ``Monograph.open(path, LangChainEmbedder(embeddings))``.

    Parameters
    ----------
    embeddings:
        LangChain's.
    name:
        What tells this model from others; made from its class and its ``model`` where it is not given.
    dimension:
        Length of its vectors; found out by embedding a word where it is not given.
    """

    def __init__(self, embeddings: Embeddings, name: str = "", dimension: int | None = None) -> None:
        model = getattr(embeddings, "model", None) or getattr(embeddings, "model_name", None) or ""
        key = "langchain/" + (name or f"{type(embeddings).__name__}/{model}".rstrip("/"))
        super().__init__(key, embeddings.embed_documents, embeddings.embed_query, dimension)


class MonographEmbeddings(Embeddings):
    """An embedder of Monograph in LangChain: ``MonographEmbeddings(monograph.embedder)``."""

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """One vector a text, of unit length."""
        made: list[list[float]] = self.embedder.embed(texts, "document").tolist()
        return made

    def embed_query(self, text: str) -> list[float]:
        """The vector of a query, of unit length."""
        made: list[float] = self.embedder.embed([text], "query")[0].tolist()
        return made
