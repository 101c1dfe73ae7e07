"""Adapters of embedding models: LangChain embeddings for use in Monograph, and Monograph embedders for LangChain."""

from __future__ import annotations

from langchain_core.embeddings import Embeddings

from monograph.models import Embedder
from monograph_tools import BorrowedEmbedder, require_vectors

_MODEL = ("model", "model_name", "model_id", "repo_id", "deployment")
"""Attributes in which LangChain's embeddings classes keep the name of their model. The first that has text is used."""


class LangChainEmbedder(BorrowedEmbedder):
    """Embeddings of LangChain as the embedder of a file: ``Monograph.open(path, LangChainEmbedder(embeddings))``.

    Parameters
    ----------
    embeddings:
        Any embeddings of LangChain.
    name:
        Text that identifies the model and every setting that changes its vectors. The default is the name of the class
        and the name of the model. If the model has no name, the default is the module and the class. For
        ``CacheBackedEmbeddings``, the default is that of the embeddings that they wrap. Pass a name if two models have
        the same default name, but differ in another setting.
    dimension:
        Length of the vectors. If None, it is measured by embedding one word.
    """

    def __init__(self, embeddings: Embeddings, name: str = "", dimension: int | None = None) -> None:
        super().__init__(
            f"langchain/{name or _model_key(embeddings)}", embeddings.embed_documents, embeddings.embed_query, dimension
        )


def _model_key(embeddings: Embeddings) -> str:
    """Return the default name of an embedder: the class name and the name of its model."""
    while isinstance(wrapped := getattr(embeddings, "underlying_embeddings", None), Embeddings):
        embeddings = wrapped
    kind = type(embeddings)
    values = [getattr(embeddings, name, None) for name in _MODEL]
    # Some classes keep the model object, not its name, in such an attribute.
    names = [value for value in values if isinstance(value, str) and value]
    return f"{kind.__name__}/{names[0]}" if names else f"{kind.__module__}.{kind.__qualname__}"


def as_embedder(embeddings: Embeddings) -> Embedder:
    """Return LangChain's embeddings as an embedder of Monograph.

    For :class:`MonographEmbeddings`, the embedder of Monograph that they wrap is returned.
    """
    return embeddings.embedder if isinstance(embeddings, MonographEmbeddings) else LangChainEmbedder(embeddings)


class MonographEmbeddings(Embeddings):
    """An embedder of Monograph in LangChain: ``MonographEmbeddings(archive.embedder)``.

    Parameters
    ----------
    embedder:
        Any embedder of Monograph, such as that of a file.

    Raises
    ------
    InputError
        If the embedder belongs to a file whose vectors the caller supplies.
    """

    def __init__(self, embedder: Embedder) -> None:
        require_vectors(embedder, "embedding=")
        self.embedder = embedder
        self.model = embedder.key

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return one vector of unit length for each text."""
        vectors: list[list[float]] = self.embedder.embed(texts, "document").tolist()
        return vectors

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a query, of unit length."""
        vector: list[float] = self.embedder.embed([text], "query")[0].tolist()
        return vector
