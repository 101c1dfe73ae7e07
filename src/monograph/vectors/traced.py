"""Searches through compact codes that are followed for long: once to see where each would end, once to look there."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from monograph.store import clusters as store
from monograph.store.database import Connection
from monograph.values import Float32
from monograph.vectors import kernel
from monograph.vectors.centroids import Centroids
from monograph.vectors.curve import RESULTS, WEIGHTS, WIDE_WINDOWS, Trace, ends_of
from monograph.vectors.search import Query
from monograph.vectors.stop import NEVER

MOST_LOADS = 1_024
_FAR = np.iinfo(np.int32).max
KEPT_BYTES = 64 << 20
"""Clusters that are kept in memory meanwhile."""


class Followed:
    """Follows searches of one index.

    Parameters
    ----------
    connection:
        Of the index.
    centroids:
        Of all its clusters.
    kept:
        Each k, with each width at which it is looked at.
    """

    def __init__(self, connection: Connection, centroids: Centroids, kept: Sequence[tuple[int, int]]) -> None:
        self._connection = connection
        self._arena = kernel.Arena(centroids.body)
        self._most = min(MOST_LOADS, len(centroids))
        self._kept = kept
        self._rooms = [Query(k, rerank=False).room(width) for k, width in kept]
        self._stands = np.empty(0, dtype=np.int32)

    def trace(self, asked: Float32, truth: list[int], bits: npt.NDArray[np.uint8]) -> list[Trace]:
        """One search, as it looks for each k and width; ``bits`` are the rows that may be found.

        Recalls are right where a window ends, and between as they were at the last such place.
        """
        useful = self._useful(asked, bits)
        ends = sorted({end for flags in useful.values() for end in ends_of(flags, WIDE_WINDOWS)})
        recalls: list[list[tuple[float, float]]] = [[] for _ in self._kept]
        pool = kernel.Pool(max(self._rooms))
        wanted = np.array(truth, dtype=np.int64)
        course = kernel.Course(self._arena, asked, pool, 0, NEVER, bits)
        for end in ends:
            self._go(course, end)
            stands = self._stands_of(pool.ids, wanted, 8 * len(bits))
            for place, found in enumerate(self._recalls(stands)):
                before = recalls[place][-1:] or [(0.0, 0.0)]
                recalls[place] += before * (end - 1 - len(recalls[place]))
                recalls[place].append(found)
        return [
            Trace(tuple(useful[k][: len(found)]), tuple(found))
            for (k, _), found in zip(self._kept, recalls, strict=True)
        ]

    def _stands_of(self, ids: npt.NDArray[np.int64], wanted: npt.NDArray[np.int64], rows: int) -> npt.NDArray[np.int32]:
        """At which place each true result stands among those kept; behind all where it is not."""
        if len(self._stands) < rows:
            self._stands = np.full(rows, _FAR, dtype=np.int32)
        self._stands[ids] = np.arange(len(ids), dtype=np.int32)
        found: npt.NDArray[np.int32] = self._stands[wanted]
        self._stands[ids] = _FAR
        return found

    def _recalls(self, stands: npt.NDArray[np.int32]) -> list[tuple[float, float]]:
        """(recall, ranked recall) for each k and width, as :func:`recalls_of` of each."""
        recalls: list[tuple[float, float]] = []
        for k in RESULTS:
            rooms = [room for (own, _), room in zip(self._kept, self._rooms, strict=True) if own == k]
            there = stands[:k] < np.array(rooms, dtype=np.int32)[:, None]
            weights = np.array(WEIGHTS[:k][: len(stands)])
            recalls += zip(there.mean(axis=1).tolist(), (there @ weights / weights.sum()).tolist(), strict=True)
        return recalls

    def _useful(self, asked: Float32, bits: npt.NDArray[np.uint8]) -> dict[int, list[bool]]:
        """Whether each load brought something to the best k, for each k, until no window is left open."""
        useful: dict[int, list[bool]] = {k: [] for k in RESULTS}
        idle = dict.fromkeys(RESULTS, 0)
        course = kernel.Course(self._arena, asked, kernel.Pool(max(self._rooms)), max(RESULTS), NEVER, bits)
        while course.loads < self._most and min(idle.values()) < WIDE_WINDOWS[-1]:
            self._go(course, course.loads + 1)
            ranks = course.ranks
            for k, flags in useful.items():
                flags.append(bool(ranks) and ranks[0] < k)
                idle[k] = 0 if flags[-1] else idle[k] + 1
        return useful

    def _go(self, course: kernel.Course, end: int) -> None:
        while (came := course.run(end - course.loads)) not in {kernel.ENOUGH, kernel.ALL, kernel.PAUSED}:
            bodies = store.bodies(self._connection, came)
            if self._arena.size < KEPT_BYTES:
                self._arena.keep(came, bodies)
            else:
                course.load(bodies)
