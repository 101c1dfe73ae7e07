"""The cosines of an embedder as a reranker: a better one than the file's, for the few texts that were found."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from monograph.models import Embedder
from monograph.values import Float64


class EmbedderReranker:
    """Scores a text by the cosine of its vector and the question's. No model reads both together.

    Parameters
    ----------
    embedder:
        Another than the file's: that one's cosines count in the search already.
    weight:
        What its scores count beside those of the search.
    """

    def __init__(self, embedder: Embedder, weight: float = 1.0) -> None:
        self._embedder = embedder
        self.weight = weight
        """What scores count beside those of a search."""

    @property
    def key(self) -> str:
        """The embedder's."""
        return f"embedder/{self._embedder.key}"

    @property
    def spec(self) -> str:
        """``embedder:`` and the embedder's."""
        return f"embedder:{self._embedder.spec}"

    def score(self, question: str, texts: Sequence[str]) -> Float64:
        """Cosines, from -1 to 1. See :class:`monograph.models.Reranker`.

        Raises
        ------
        ModelError
            As the embedder does.
        """
        if not texts:
            return np.zeros(0)
        (asked,) = self._embedder.embed([question], "query")
        cosines: Float64 = np.vecdot(self._embedder.embed(texts, "document"), asked).astype(np.float64)
        return cosines
