"""One query's way through clusters of compact codes, most of them in memory: one call, until it is enough."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from monograph.values import Float32
from monograph.vectors.kernel.compiled import KERNEL_ERRORS, SEARCHED, compiled, ours
from monograph.vectors.kernel.pool import Pool

Bits = npt.NDArray[np.uint8]

ENOUGH, ALL, PAUSED = -1, -2, -3
"""Why a course came to an end."""
MOST_BYTES = (1 << 63) - 1
"""No bound on what an arena keeps."""


class Arena:
    """Clusters of codes of two bits, and codes of a byte, that stay in memory, while other threads search.

    Parameters
    ----------
    centroids:
        As stored: codes of a byte, whose ids are the clusters' numbers.

    Raises
    ------
    DamagedBytes
        If they are not what was written.
    """

    __slots__ = ("held",)

    def __init__(self, centroids: bytes) -> None:
        try:
            self.held = compiled.Arena(centroids)
        except KERNEL_ERRORS as error:
            raise ours(error, "Arena", SEARCHED) from None

    @property
    def size(self) -> int:
        """Bytes of what is kept."""
        return int(self.held.size)

    def keep(self, cluster: int, bodies: list[bytes], most: int = MOST_BYTES) -> bool:
        """Keep all parts of a cluster, as stored, unless more than so many bytes would be kept then.

        Returns
        -------
        Whether it is there now.

        Raises
        ------
        DamagedBytes
            If they are not what was written.
        """
        try:
            return bool(self.held.keep(cluster, bodies, most))
        except KERNEL_ERRORS as error:
            raise ours(error, "keep", SEARCHED) from None

    def remember(self, bodies: list[bytes]) -> None:
        """Keep codes of a byte a value, a body of one entry each; raises as :meth:`keep`."""
        try:
            self.held.remember(bodies)
        except KERNEL_ERRORS as error:
            raise ours(error, "remember", SEARCHED) from None


class Rule(NamedTuple):
    """When a course ends: the last ``window`` loads brought at most ``epsilon`` each, or there were ``most`` of them.

    What a load brings is the sum of the weights (float64, by rank) of the ranks at which it brought new results.
    """

    weights: npt.NDArray[np.float64]
    epsilon: float
    window: int
    most: int


class Course:
    """One query's way through the clusters of an arena, nearest first. The interpreter lock is released meanwhile.

    Parameters
    ----------
    arena:
        What is in memory.
    query:
        float32 (d,), finite.
    pool:
        Results so far: filled in place. An id that comes twice is kept once, with its higher estimate.
    k:
        Results that are wanted: no search ends before so many are found.
    rule:
        When it ends then.
    allowed:
        As for :func:`scan`.

    Raises
    ------
    InputError
        If the query is of another length or not finite, or k is negative.
    """

    __slots__ = ("_course", "_pool")

    def __init__(
        self, arena: Arena, query: Float32, pool: Pool, k: int, rule: Rule, allowed: Bits | None = None
    ) -> None:
        try:
            self._course = compiled.Course(arena.held, query, pool._scores, pool._ids, k, *rule, allowed)
        except KERNEL_ERRORS as error:
            raise ours(error, "Course", SEARCHED) from None
        self._pool = pool

    def run(self, loads: int = 1 << 62) -> int:
        """Go on, for so many loads at most.

        Returns
        -------
        ENOUGH, ALL (every cluster was searched), PAUSED, or which cluster is wanted that is neither in the arena nor
        was brought.

        Raises
        ------
        DamagedBytes
            If one that was brought is not what was written. It is looked at when its turn comes.
        """
        try:
            state: int = self._course.run(loads)
        except KERNEL_ERRORS as error:
            raise ours(error, "run", SEARCHED) from None
        self._pool.filled = self._course.filled
        return state

    def bring(self, clusters: dict[int, list[bytes]]) -> None:
        """Clusters by their numbers, all parts of each, to be searched when their turn comes.

        Those that were brought before are let go.

        Raises
        ------
        InputError
            If there is no cluster of that number.
        """
        try:
            self._course.bring(clusters)
        except KERNEL_ERRORS as error:
            raise ours(error, "bring", "a dict of lists of bytes", clusters) from None

    @property
    def spent(self) -> list[int]:
        """Which of the clusters that were brought last were searched, in their order."""
        found: list[int] = self._course.spent()
        return found

    def ahead(self, count: int) -> list[int]:
        """Which of the next clusters the arena does not hold."""
        names: list[int] = self._course.ahead(count)
        return names

    @property
    def sure(self) -> int:
        """So many loads follow at least, whatever they bring, if there are so many clusters."""
        return int(self._course.sure())

    def rank_by_value(self, most: int, bodies: list[bytes]) -> list[int]:
        """Put what was found into the order of scores by value, of which the best stay.

        Parameters
        ----------
        most:
            How many.
        bodies:
            Codes of a byte a value that the arena does not remember, a body of one entry each.

        Returns
        -------
        Ids whose codes are lacking; then nothing was changed.
        """
        try:
            missing: list[int] = self._course.rank_by_value(most, bodies)
        except KERNEL_ERRORS as error:
            raise ours(error, "rank_by_value", SEARCHED) from None
        self._pool.filled = self._course.filled
        return missing

    @property
    def ranks(self) -> list[int]:
        """Ranks below k at which the last load brought new results."""
        found: list[int] = self._course.ranks()
        return found

    @property
    def firsts(self) -> list[int]:
        """Of every load, the best rank below k at which it brought a new result; k where it brought none."""
        found: list[int] = self._course.firsts()
        return found

    @property
    def loads(self) -> int:
        """Clusters that were searched."""
        return int(self._course.loads)

    @property
    def compared(self) -> int:
        """Codes that the query was compared with."""
        return int(self._course.compared)
