"""Embedders across the border: LangChain's in a .mono file, and a file's own in LangChain."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from langchain_core.embeddings import Embeddings

from monograph.errors import ModelUnavailable
from monograph.models import Embedder, Float32, TextKind


class LangChainEmbedder:
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
        self._embeddings = embeddings
        model = getattr(embeddings, "model", None) or getattr(embeddings, "model_name", None) or ""
        self._name = name or f"{type(embeddings).__name__}/{model}".rstrip("/")
        self._dimension = dimension

    @property
    def key(self) -> str:
        """The model's name."""
        return f"langchain/{self._name}"

    @property
    def spec(self) -> str:
        """Says where it comes from; nobody but the caller can make it again."""
        return self.key

    @cached_property
    def _measured(self) -> int:
        return len(self._embeddings.embed_query("length"))

    @property
    def dimension(self) -> int:
        """Length of every vector."""
        return self._measured if self._dimension is None else self._dimension

    def embed(self, texts: Sequence[str], kind: TextKind = "document") -> Float32:
        """float32 (len(texts), dimension), rows of unit length."""
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        try:
            if kind == "query":
                made = [self._embeddings.embed_query(text) for text in texts]
            else:
                made = self._embeddings.embed_documents(list(texts))
        except Exception as error:
            raise ModelUnavailable(f"the embeddings {self.key!r} failed: {error}", "see their settings") from error
        vectors = np.asarray(made, dtype=np.float32)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        made_unit: Float32 = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
        return made_unit


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
