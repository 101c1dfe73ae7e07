"""Embedders across the border: LangChain's in a .mono file, and a file's own in LangChain."""

from __future__ import annotations

from langchain_core.embeddings import Embeddings

from monograph.models import Embedder
from monograph_tools import BorrowedEmbedder, require_vectors

_MODEL = ("model", "model_name", "model_id", "repo_id", "deployment")
"""Attributes in which LangChain's classes keep the name of their model."""


class LangChainEmbedder(BorrowedEmbedder):
    """Embeddings of LangChain as the embedder of a file: ``Monograph.open(path, LangChainEmbedder(embeddings))``.

    Parameters
    ----------
    embeddings:
        LangChain's.
    name:
        Distinguishes this model from others; by default its class and the name of its model, or, if it has no such
        name, its module and class. Of ``CacheBackedEmbeddings`` those of the embeddings in it. Give a name if two
        models of one class differ in something else.
    dimension:
        Length of its vectors; found out by embedding a word where it is not given.
    """

    def __init__(self, embeddings: Embeddings, name: str = "", dimension: int | None = None) -> None:
        super().__init__(
            f"langchain/{name or _named(embeddings)}", embeddings.embed_documents, embeddings.embed_query, dimension
        )


def _named(embeddings: Embeddings) -> str:
    """Name a model by its class and its model's name, looking through caches."""
    while isinstance(inner := getattr(embeddings, "underlying_embeddings", None), Embeddings):
        embeddings = inner
    kind = type(embeddings)
    found = [getattr(embeddings, name, None) for name in _MODEL]
    # Some classes keep the loaded model itself under such a name.
    named = [one for one in found if isinstance(one, str) and one]
    return f"{kind.__name__}/{named[0]}" if named else f"{kind.__module__}.{kind.__qualname__}"


def as_embedder(embeddings: Embeddings) -> Embedder:
    """Convert LangChain's embeddings to an embedder of Monograph; those that came from Monograph come back as it."""
    return embeddings.embedder if isinstance(embeddings, MonographEmbeddings) else LangChainEmbedder(embeddings)


class MonographEmbeddings(Embeddings):
    """An embedder of Monograph in LangChain: ``MonographEmbeddings(monograph.embedder)``.

    Raises
    ------
    InputError
        If the embedder is that of a file whose vectors were given: it makes none.
    """

    def __init__(self, embedder: Embedder) -> None:
        require_vectors(embedder, "embedding=")
        self.embedder = embedder
        self.model = embedder.key

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """One vector a text, of unit length."""
        made: list[list[float]] = self.embedder.embed(texts, "document").tolist()
        return made

    def embed_query(self, text: str) -> list[float]:
        """The vector of a query, of unit length."""
        made: list[float] = self.embedder.embed([text], "query")[0].tolist()
        return made
