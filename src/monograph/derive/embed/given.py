"""Embedder for files in which the caller gives the vectors of all chunks, and of queries."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from monograph.errors import UnknownModel
from monograph.models import TextKind
from monograph.values import Float32, arguments


class GivenVectors:
    """Embedder that embeds nothing: each text gets a zero vector, whose cosine to every vector is 0.

    In a file with this embedder, the caller gives a vector with each chunk. A chunk without one cannot be stored. A
    query without a vector is searched by words only.

    Parameters
    ----------
    dimension:
        Number of values of each given vector.

    Raises
    ------
    InputError
        If the dimension is below 1.
    """

    given = True
    """Tells :func:`monograph.models.is_given` that the caller gives the vectors."""

    def __init__(self, dimension: int) -> None:
        self.dimension = arguments.whole_number(dimension, "dimension", 1)
        """Number of values of every vector."""
        self.key = f"given/{self.dimension}"
        """``given/`` and the dimension."""
        self.spec = f"given:{self.dimension}"
        """The spec from which ``load_embedder`` builds this embedder."""

    @classmethod
    def from_spec(cls, source: str) -> GivenVectors:
        """Return the embedder for ``source``, a dimension in digits. Raises UnknownModel if it is anything else."""
        if not source.isdecimal():
            raise UnknownModel(f"unknown embedder 'given:{source}'", "give given:DIMENSION")
        return cls(int(source))

    def embed(self, texts: Sequence[str], kind: TextKind = "document") -> Float32:
        """Return zeros, float32 of shape (len(texts), dimension)."""
        return np.zeros((len(texts), self.dimension), dtype=np.float32)
