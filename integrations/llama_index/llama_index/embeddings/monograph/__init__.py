"""Adapters of embedding models: LlamaIndex models for use in Monograph, and Monograph embedders for LlamaIndex."""

from __future__ import annotations

from typing import Any

from monograph.lazy import requires

with requires("LlamaIndex", "llama-index", __name__):
    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.bridge.pydantic import PrivateAttr

from monograph.models import Embedder, TextKind
from monograph_tools import BorrowedEmbedder, in_thread, require_vectors

__all__ = ["LlamaIndexEmbedder", "MonographEmbedding"]


class LlamaIndexEmbedder(BorrowedEmbedder):
    """An embedding model of LlamaIndex as the embedder of a file: ``Monograph.open(path, LlamaIndexEmbedder(model))``.

    Parameters
    ----------
    model:
        Any embedding model of LlamaIndex.
    name:
        Text that identifies the model and every setting that changes its vectors. The default is the model's class and
        its ``model_name``. Pass a name if two models have the same class and ``model_name``, but differ in another
        setting.
    dimension:
        Length of the vectors. If None, it is measured by embedding one word.
    """

    def __init__(self, model: BaseEmbedding, name: str = "", dimension: int | None = None) -> None:
        # An inherited class_name() is the name of another model.
        kind = model.class_name() if "class_name" in vars(type(model)) else type(model).__qualname__
        key = "llama-index/" + (name or f"{kind}/{model.model_name}")
        self._model = model
        super().__init__(key, self._embed_documents, self._embed_query, dimension)

    # LlamaIndex wraps the methods of a model in proxies, which cannot be pickled or copied.
    def _embed_documents(self, texts: list[str]) -> list[list[float]]:
        return self._model.get_text_embedding_batch(texts)

    def _embed_query(self, text: str) -> list[float]:
        return self._model.get_query_embedding(text)


class MonographEmbedding(BaseEmbedding):
    """An embedder of Monograph in LlamaIndex: ``Settings.embed_model = MonographEmbedding(archive.embedder)``.

    Parameters
    ----------
    embedder:
        Any embedder of Monograph, such as that of a file.
    **kwargs:
        Options of LlamaIndex's ``BaseEmbedding``: ``embed_batch_size``, …

    Raises
    ------
    InputError
        If the embedder belongs to a file whose vectors the caller supplies.
    """

    _embedder: Embedder = PrivateAttr()

    def __init__(self, embedder: Embedder, **kwargs: Any) -> None:
        require_vectors(embedder, "Settings.embed_model")
        super().__init__(model_name=embedder.key, **kwargs)
        self._embedder = embedder

    @classmethod
    def class_name(cls) -> str:
        """Return the name of this class in serialized settings."""
        return "MonographEmbedding"

    @property
    def embedder(self) -> Embedder:
        """The embedder of Monograph."""
        return self._embedder

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._lists([query], "query")[0]

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._lists([text], "document")[0]

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return self._lists(texts, "document")

    _aget_query_embedding = in_thread("_get_query_embedding")
    _aget_text_embedding = in_thread("_get_text_embedding")
    _aget_text_embeddings = in_thread("_get_text_embeddings")

    def _lists(self, texts: list[str], kind: TextKind) -> list[list[float]]:
        vectors: list[list[float]] = self._embedder.embed(texts, kind).tolist()
        return vectors


def as_embedder(model: BaseEmbedding) -> Embedder:
    """Return an embedding model of LlamaIndex as an embedder of Monograph.

    For a :class:`MonographEmbedding`, the embedder of Monograph that it wraps is returned.
    """
    return model.embedder if isinstance(model, MonographEmbedding) else LlamaIndexEmbedder(model)
