"""The best results of a search so far."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from monograph.values import Float32

Int64 = npt.NDArray[np.int64]


class Pool:
    """The best results of one search so far: scores float32 and ids int64, nearest first, then by id.

    Parameters
    ----------
    capacity:
        Most results that are kept.
    """

    __slots__ = ("_ids", "_scores", "filled")

    def __init__(self, capacity: int) -> None:
        self._scores = np.empty(capacity, dtype=np.float32)
        self._ids = np.empty(capacity, dtype=np.int64)
        self.filled = 0

    @property
    def scores(self) -> Float32:
        """Float32 of shape (filled,)."""
        return self._scores[: self.filled]

    @property
    def ids(self) -> Int64:
        """Int64 of shape (filled,)."""
        return self._ids[: self.filled]
