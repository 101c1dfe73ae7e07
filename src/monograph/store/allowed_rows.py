"""Which chunks filters let through: held against each one by one, until it has paid to find them all."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from monograph.store import filters
from monograph.store.database import Connection
from monograph.store.filters import Allowed

MOST = 16
"""Filters that are remembered."""

MOST_ROWS = 1 << 22
"""Chunks of all of them together that are kept, 8 bytes each; those of a filter that allows more are not."""

WORTH = 2
"""To hold a chunk against a filter by itself takes so many times as long as in passing through all."""


class AllowedRows:
    """The chunks that filters allow, in one state of a file.

    All that a filter allows is looked for once as many chunks were held against it as that takes: until then no more
    was spent than has to be, and from then on nothing.
    """

    def __init__(self) -> None:
        self._held: dict[Allowed, npt.NDArray[np.int64]] = {}
        self._looked: dict[Allowed, int] = {}

    def every(self, connection: Connection, allowed: Allowed, total: int) -> npt.NDArray[np.int64] | None:
        """All chunks that are allowed of so many, ascending; None as long as they are not looked for."""
        found = self._held.get(allowed)
        if found is None and (allowed.indexed or WORTH * self._looked.get(allowed, 0) >= total):
            found = filters.rows(connection, allowed)
            if len(self._held) >= MOST or sum(map(len, self._held.values())) + len(found) > MOST_ROWS:
                self._held = {}
            if len(found) <= MOST_ROWS:
                self._held[allowed] = found
        return found

    def among(self, connection: Connection, allowed: Allowed, rows: list[int]) -> set[int]:
        """Those of some chunks that are allowed."""
        if len(self._looked) >= MOST and allowed not in self._looked:
            self._looked = {}
        self._looked[allowed] = self._looked.get(allowed, 0) + len(rows)
        return filters.among(connection, allowed, rows)
