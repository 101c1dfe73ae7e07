"""Reranker by the cosines of a second embedder.

The second embedder may be better and slower than the file's own embedder, because it embeds only the question and the
hits of a search.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from monograph.models import Embedder
from monograph.values import Float64


class EmbedderReranker:
    """Reranker that scores a text by the cosine between its vector and the question's vector.

    Parameters
    ----------
    embedder:
        An embedder other than the file's own: the search has already used the cosines of the file's embedder.
    weight:
        Weight of the cosines relative to the scores of the search.
    """

    def __init__(self, embedder: Embedder, weight: float = 1.0) -> None:
        self._embedder = embedder
        self.key = f"embedder/{embedder.key}"
        """``embedder/`` and the key of the embedder."""
        self.spec = f"embedder:{embedder.spec}"
        """``embedder:`` and the spec of the embedder."""
        self.weight = weight
        """Weight of this reranker's scores relative to the scores of the search."""

    def score(self, question: str, texts: Sequence[str]) -> Float64:
        """Return the cosine between the question's vector and each text's vector, from -1 to 1.

        See :class:`monograph.models.Reranker`.

        Raises
        ------
        ModelError
            If the embedder fails.
        """
        if not texts:
            return np.zeros(0)
        (query_vector,) = self._embedder.embed([question], "query")
        cosines: Float64 = np.vecdot(self._embedder.embed(texts, "document"), query_vector).astype(np.float64)
        return cosines
