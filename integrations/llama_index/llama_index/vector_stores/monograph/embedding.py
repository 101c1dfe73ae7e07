"""Embedders across the border: LlamaIndex's in a .mono file, and a file's own in LlamaIndex."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.bridge.pydantic import PrivateAttr

from monograph.errors import ModelUnavailable
from monograph.models import Embedder, Float32, TextKind


class LlamaIndexEmbedder:
    """An embedding model of LlamaIndex as the embedder of a file: ``Monograph.open(path, LlamaIndexEmbedder(model))``.

    Parameters
    ----------
    model:
        LlamaIndex's.
    dimension:
        Length of its vectors; found out by embedding a word where it is not given.
    """

    def __init__(self, model: BaseEmbedding, dimension: int | None = None) -> None:
        self._model = model
        self._dimension = dimension

    @property
    def key(self) -> str:
        """The model's class and name."""
        return f"llama-index/{self._model.class_name()}/{self._model.model_name}"

    @property
    def spec(self) -> str:
        """Says where it comes from; nobody but the caller can make it again."""
        return self.key

    @cached_property
    def _measured(self) -> int:
        return len(self._model.get_query_embedding("length"))

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
                made = [self._model.get_query_embedding(text) for text in texts]
            else:
                made = self._model.get_text_embedding_batch(list(texts))
        except Exception as error:
            raise ModelUnavailable(
                f"the embedding model {self.key!r} failed: {error}", "see its own settings"
            ) from error
        vectors = np.asarray(made, dtype=np.float32)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        made_unit: Float32 = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
        return made_unit


class MonographEmbedding(BaseEmbedding):
    """An embedder of Monograph in LlamaIndex: ``Settings.embed_model = MonographEmbedding(monograph.embedder)``."""

    _embedder: Embedder = PrivateAttr()

    def __init__(self, embedder: Embedder, **kwargs: Any) -> None:
        super().__init__(model_name=embedder.key, **kwargs)
        self._embedder = embedder

    @classmethod
    def class_name(cls) -> str:
        """Its name in stored settings."""
        return "MonographEmbedding"

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._lists([query], "query")[0]

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return await asyncio.to_thread(self._get_query_embedding, query)

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._lists([text], "document")[0]

    async def _aget_text_embedding(self, text: str) -> list[float]:
        return await asyncio.to_thread(self._get_text_embedding, text)

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return self._lists(texts, "document")

    async def _aget_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return await asyncio.to_thread(self._get_text_embeddings, texts)

    def _lists(self, texts: list[str], kind: TextKind) -> list[list[float]]:
        made: list[list[float]] = self._embedder.embed(texts, kind).tolist()
        return made
