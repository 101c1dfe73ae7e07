"""Searches of the codes design that are followed for long: once to see where each would end, once to look there."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from monograph.store.file.database import Connection
from monograph.store.vectors import clusters as store
from monograph.values import Float32
from monograph.vectors import kernel
from monograph.vectors.centroids import Centroids
from monograph.vectors.curve import RESULTS, WIDE_WINDOWS, Int64, Recalls, Trace, ends_of
from monograph.vectors.kernel import Rule
from monograph.vectors.stop import NEVER

MOST_LOADS = 1_024
_OPEN = Rule(np.ones(max(RESULTS), dtype=np.float64), 0.0, WIDE_WINDOWS[-1], MOST_LOADS)
"""Goes on while a window of any k is open: what comes to the best of the smallest k comes to those of the largest."""
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
        pool = kernel.Pool(self._recalls.most)
        course = kernel.Course(self._arena, asked, pool, 0, NEVER, bits)
        stands = []
        for end in ends:
            self._go(course, end)
            stands.append(self._recalls.stands(pool.ids, truth))
        return [
            Trace(useful[k][: ends[-1]], _up_to(ends, found))
            for k, found in zip(self._recalls.ks, self._recalls.of(stands), strict=True)
        ]

    def _useful(self, asked: Float32, bits: npt.NDArray[np.uint8]) -> dict[int, tuple[bool, ...]]:
        """Whether each load brought something to the best k, for each k, until no window is left open."""
        course = kernel.Course(self._arena, asked, kernel.Pool(max(RESULTS)), max(RESULTS), _OPEN, bits)
        self._go(course, self._most)
        return {k: tuple(first < k for first in course.firsts) for k in RESULTS}

    def _go(self, course: kernel.Course, end: int) -> None:
        while (came := course.run(end - course.loads)) not in {kernel.ENOUGH, kernel.ALL, kernel.PAUSED}:
            bodies = store.bodies(self._connection, came)
            if self._arena.size >= KEPT_BYTES or not self._arena.keep(came, bodies, KEPT_BYTES):
                course.bring({came: bodies})


def _up_to(ends: Sequence[int], found: Sequence[float]) -> tuple[float, ...]:
    """What stands at each end, as what stands after every load: between two ends it is as at the first."""
    every: list[float] = []
    for end, one in zip(ends, found, strict=True):
        every += (every[-1:] or [0.0]) * (end - 1 - len(every))
        every.append(one)
    return tuple(every)
