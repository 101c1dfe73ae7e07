"""Cache of what searches have read of one state of a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Generic, TypeVar

from monograph.store.words.postings import Counted
from monograph.store.words.prefetch import Prefetcher

if TYPE_CHECKING:
    from monograph.search.names import Leads, Signs, StartText

_Value = TypeVar("_Value")

MOST_CHUNKS = 16_384
"""Chunks whose words are kept: of passages about 7 MB. Without them a graph search takes 0.5 ms more, of 4 ms."""

MOST_STARTS = 2_048
"""Texts that walks start from: 1.1 ms if the same question is asked again, 0.2 ms if another one is."""

MOST_ENTITIES = 8_192
"""Entities whose links are kept: 0.5 ms if the same question is asked again, 0.2 ms if another one is."""


class RowCache(Generic[_Value]):
    """Values by row, at most ``most`` of them: if there are more, all that were there are dropped."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._held: dict[int, _Value] = {}

    def get(self, rows: Sequence[int], read: Callable[[list[int]], Mapping[int, _Value]]) -> list[_Value]:
        """Return the values of different rows in their order; those that are not kept are read, and kept.

        Rows that ``read`` does not return are left out.
        """
        held = self._held
        try:
            return [held[row] for row in rows]
        except KeyError:
            values = {row: held[row] for row in rows if row in held}
        new = read([row for row in rows if row not in values])
        if len(held) + len(new) > self._most:
            # Another thread may be reading the old one.
            self._held = held = {}
        held.update(new)
        values.update(new)
        return [values[row] for row in rows if row in values]


class SearchCache:
    """What searches have read of the state of a file that has a generation number. Safe for use by many threads.

    Parameters
    ----------
    generation:
        The number; -1 for no state yet.
    ahead:
        Announces pages that are about to be read: it outlives the state.
    """

    def __init__(self, generation: int = -1, ahead: Prefetcher | None = None) -> None:
        self.generation = generation
        self.ahead = ahead or Prefetcher()
        self.counted = Counted(self.ahead)
        self.words = RowCache[tuple[int, bytes]](MOST_CHUNKS)
        self.starts: RowCache[StartText] = RowCache(MOST_STARTS)
        self.leads: RowCache[Leads] = RowCache(MOST_ENTITIES)
        self.signs: Signs = {}

    def at(self, generation: int) -> SearchCache:
        """Return this cache if it is of that state, else a new one."""
        return self if self.generation == generation else SearchCache(generation, self.ahead)
