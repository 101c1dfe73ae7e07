"""Searches through compact codes that are followed for long: once to see where each would end, once to look there."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from monograph.store import clusters as store
from monograph.store.database import Connection
from monograph.values import Float32
from monograph.vectors import kernel
from monograph.vectors.centroids import Centroids
from monograph.vectors.curve import RESULTS, WIDE_WINDOWS, Int64, Recalls, Trace, ends_of
from monograph.vectors.stop import NEVER

MOST_LOADS = 1_024
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
    recalls:
        Finds what each search is worth, for each k and what is kept for it.
    """

    def __init__(self, connection: Connection, centroids: Centroids, recalls: Recalls) -> None:
        self._connection = connection
        self._arena = kernel.Arena(centroids.body)
        self._most = min(MOST_LOADS, len(centroids))
        self._recalls = recalls

    def trace(self, asked: Float32, truth: Int64, bits: npt.NDArray[np.uint8]) -> list[Trace]:
        """One search, as it looks for each k; ``bits`` are the rows that may be found.

        Recalls are right where a window ends, and between as they were at the last such place.
        """
        useful = self._useful(asked, bits)
        ends = sorted({end for flags in useful.values() for end in ends_of(flags, WIDE_WINDOWS)})
        recalls: list[list[tuple[float, float]]] = [[] for _ in self._recalls.ks]
        pool = kernel.Pool(self._recalls.most)
        course = kernel.Course(self._arena, asked, pool, 0, NEVER, bits)
        for end in ends:
            self._go(course, end)
            for place, found in enumerate(self._recalls.of(pool.ids, truth)):
                before = recalls[place][-1:] or [(0.0, 0.0)]
                recalls[place] += before * (end - 1 - len(recalls[place]))
                recalls[place].append(found)
        return [
            Trace(tuple(useful[k][: len(found)]), tuple(found))
            for k, found in zip(self._recalls.ks, recalls, strict=True)
        ]

    def _useful(self, asked: Float32, bits: npt.NDArray[np.uint8]) -> dict[int, list[bool]]:
        """Whether each load brought something to the best k, for each k, until no window is left open."""
        useful: dict[int, list[bool]] = {k: [] for k in RESULTS}
        idle = dict.fromkeys(RESULTS, 0)
        course = kernel.Course(self._arena, asked, kernel.Pool(self._recalls.most), max(RESULTS), NEVER, bits)
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
