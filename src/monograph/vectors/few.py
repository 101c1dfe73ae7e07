"""The few vectors that a filter allows, kept from one search to the next."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from monograph.store import vectors
from monograph.store.database import Connection
from monograph.values import Float32
from monograph.vectors.search import Bits, Int64

MOST = 8
"""Filters whose vectors are kept."""


@dataclass(frozen=True, slots=True, eq=False)
class Vectors:
    """Memo rows (n,) and their vectors (n, dimension), and which filter and version of the index they are of."""

    allowed: Bits
    version: int
    rows: Int64
    values: Float32


class Few:
    """Vectors of filters that allow few. Safe for use by many threads.

    A filter's bitmap is the same one as long as the file has not changed.
    """

    def __init__(self) -> None:
        self._held: tuple[Vectors, ...] = ()

    def of(
        self, connection: Connection, allowed: Bits, version: int, dimension: int, memos: Callable[[], list[int]]
    ) -> Vectors:
        """The vectors of a filter; ``memos`` tells the rows where they are not known."""
        for one in self._held:
            if one.allowed is allowed and one.version == version and one.values.shape[1] == dimension:
                return one
        found = Vectors(allowed, version, *vectors.load(connection, memos(), dimension))
        self._held = (found, *(one for one in self._held if one.version == version))[:MOST]
        return found
