"""For files whose vectors all come from outside, with the chunks and with the queries."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from monograph.errors import UnknownModel
from monograph.models import TextKind
from monograph.values import Float32, arguments


class GivenVectors:
    """Knows no text: each gets a zero vector, which is near to nothing.

    A chunk without a vector cannot be stored in such a file, and a query without one is searched for by words alone.

    Parameters
    ----------
    dimension:
        Length of the vectors that are given.

    Raises
    ------
    InputError
        If it is below 1.
    """

    given = True
    """See :func:`monograph.models.is_given`."""

    def __init__(self, dimension: int) -> None:
        self._dimension = arguments.whole_number(dimension, "dimension", 1)

    @classmethod
    def from_spec(cls, source: str) -> GivenVectors:
        """Make it from the dimension, in digits. Raises UnknownModel if the text is something else."""
        if not source.isdecimal():
            raise UnknownModel(f"unknown embedder 'given:{source}'", "give given:DIMENSION")
        return cls(int(source))

    @property
    def key(self) -> str:
        """Name and dimension."""
        return f"given/{self._dimension}"

    @property
    def spec(self) -> str:
        """The text from which ``load_embedder`` makes this."""
        return f"given:{self._dimension}"

    @property
    def dimension(self) -> int:
        """Length of every vector."""
        return self._dimension

    def embed(self, texts: Sequence[str], kind: TextKind = "document") -> Float32:
        """Zeros of shape (len(texts), dimension)."""
        return np.zeros((len(texts), self._dimension), dtype=np.float32)
