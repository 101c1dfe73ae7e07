"""Stop conditions of a search: Terminus, VBASE and a fixed budget.

A search loads clusters one by one, nearest first. After each load, a stop condition decides whether the search ends.
The condition gets the ranks of the new results (see :data:`Ranks`) of all loads so far. A condition has no state, so
many searches can share one condition.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import astuple, dataclass
from functools import lru_cache
from typing import NamedTuple, Protocol, TypeAlias, runtime_checkable

import numpy as np

from monograph.errors import InputError
from monograph.values import Float64

Ranks: TypeAlias = Sequence[int]
"""Ranks, ascending, of the results that one load added to the best k so far. The best result has rank 0."""
Weight: TypeAlias = Callable[[int], float]
"""Function that returns the weight of a new result, given its rank (0 is the best)."""


@runtime_checkable
class StopCondition(Protocol):
    """Condition that decides when a search ends. It is ignored until the search has k results."""

    def after(self, loads: Sequence[Ranks]) -> bool:
        """Return whether the search ends now.

        ``loads`` has the ranks of the new results of each load so far, oldest first.
        """
        ...


@dataclass(frozen=True, slots=True)
class Exponential:
    """Weight w(r) = exp(-(r / tau)^beta) of a result with rank r, counted from 0 (Terminus, Eq. 2).

    ``tau`` and ``beta`` set how fast the weight falls. The paper's Eq. 4 counts ranks from 1, an erratum.
    """

    tau: float = 1.8
    beta: float = 0.5

    def __call__(self, rank: int) -> float:
        """Return the weight of a rank, counted from 0."""
        return math.exp(-((rank / self.tau) ** self.beta))


def reciprocal_rank(rank: int) -> float:
    """Return the weight w(r) = 1 / (r + 1) of a rank r, counted from 0."""
    return 1.0 / (rank + 1)


@dataclass(frozen=True, slots=True)
class RankAware:
    """Stop when each of the last ``window`` loads had a utility of at most ``epsilon`` (Terminus).

    The utility of a load is the sum of the weights of its new results. The weights depend on the ranks.

    Parameters
    ----------
    weight:
        Weight of a rank: :class:`Exponential`, :func:`reciprocal_rank` or a function of your own.
    epsilon:
        Largest utility of a load that counts as useless, 0 or more.
    window:
        Number of successive useless loads that end the search, 1 or more. The paper's 2 is too few on real text; an
        index calibrates its own number.

    Raises InputError if a number is out of range.
    """

    weight: Weight = Exponential()
    epsilon: float = 0.0
    window: int = 2

    def __post_init__(self) -> None:
        if self.epsilon < 0 or self.window < 1:
            raise InputError(
                f"epsilon is {self.epsilon:g}, window {self.window}", "give epsilon of 0 or more, a window of 1 or more"
            )

    def after(self, loads: Sequence[Ranks]) -> bool:
        """Return whether the search ends now: see :meth:`StopCondition.after`."""
        if len(loads) < self.window:
            return False
        for index in range(len(loads) - 1, len(loads) - 1 - self.window, -1):
            ranks = loads[index]
            if ranks and sum(map(self.weight, ranks)) > self.epsilon:
                return False
        return True


@dataclass(frozen=True, slots=True)
class Budget:
    """Stop after a fixed number of loads (nprobe; Terminus calls it IO-Budget).

    Raises InputError if the number is below 1.
    """

    loads: int

    def __post_init__(self) -> None:
        if self.loads < 1:
            raise InputError(f"loads is {self.loads}", "give 1 or more")

    def after(self, loads: Sequence[Ranks]) -> bool:
        """Return whether the search ends now: see :meth:`StopCondition.after`."""
        return len(loads) >= self.loads


@dataclass(frozen=True, slots=True)
class VBase:
    """Stop when none of the last ``window`` loads brought a new result among the best ``e`` (VBASE).

    If ``e`` is above the search's k, k is used. Raises InputError if ``e`` or ``window`` is below 1.
    """

    e: int
    window: int

    def __post_init__(self) -> None:
        if self.e < 1 or self.window < 1:
            raise InputError(f"e is {self.e}, window {self.window}", "give 1 or more")

    def after(self, loads: Sequence[Ranks]) -> bool:
        """Return whether the search ends now: see :meth:`StopCondition.after`."""
        if len(loads) < self.window:
            return False
        return not any(ranks and ranks[0] < self.e for ranks in loads[-self.window :])


@dataclass(frozen=True, slots=True)
class Never:
    """Search every cluster. Results are then exact, except for errors that come from the codes."""

    def after(self, loads: Sequence[Ranks]) -> bool:
        """Return False: the search never ends early. See :meth:`StopCondition.after`."""
        return False


class SearchEffort(NamedTuple):
    """Stop condition of a search, and number of additional results that the search keeps.

    A search of 2-bit codes keeps ``width`` * k additional results: see
    :meth:`monograph.vectors.search.VectorQuery.room`. ``stopped`` is the reason that is reported if the condition ends
    the search. It is ``"short"`` if no measured condition reaches the target recall, else ``"enough"``.
    """

    stop: StopCondition
    width: int = 0
    stopped: str = "enough"


class StopRule(NamedTuple):
    """A stop condition as numbers, which the compiled kernel evaluates.

    The search ends when each of the last ``window`` loads had a utility of at most ``epsilon``. It also ends after
    ``most`` loads. The utility of a load is the sum of the weights of its new results; ``weights``, float64, has the
    weight of each rank.
    """

    weights: Float64
    epsilon: float
    window: int
    most: int


_WITHOUT_END = 1 << 62
NEVER = StopRule(np.empty(0, dtype=np.float64), 0.0, _WITHOUT_END, _WITHOUT_END)


def rule_of(condition: StopCondition, k: int) -> StopRule | None:
    """Convert the stop condition of a search of k results into numbers for the compiled kernel.

    Return None if only Python can evaluate the condition.
    """
    is_known = type(condition) in {RankAware, VBase, Budget, Never}
    return _make_rule(condition, k) if is_known and isinstance(condition, Hashable) else None


@lru_cache(maxsize=64)
def _make_rule(condition: StopCondition, k: int) -> StopRule:
    if isinstance(condition, RankAware):
        weights = np.fromiter((condition.weight(rank) for rank in range(k)), dtype=np.float64, count=k)
        return StopRule(weights, condition.epsilon, condition.window, _WITHOUT_END)
    if isinstance(condition, VBase):
        return StopRule(np.ones(min(k, condition.e), dtype=np.float64), 0.0, condition.window, _WITHOUT_END)
    return NEVER._replace(most=condition.loads) if isinstance(condition, Budget) else NEVER


@dataclass(frozen=True, slots=True)
class Point:
    """Mean recall@k and mean number of loads, measured for searches with one k, one window and one width.

    A search with ``width`` keeps ``width`` * k additional results: see
    :attr:`monograph.vectors.design.Design.widths`.
    """

    k: int
    window: int
    recall: float
    loads: float
    width: int = 0

    def stop(self, window_factor: float = 1.0) -> StopCondition:
        """Return the stop condition that was measured, with its window multiplied by ``window_factor``."""
        return RankAware(window=max(1, round(self.window * window_factor)))


@dataclass(frozen=True, slots=True)
class Calibration:
    """Measurements of an index, and the number of vectors that it had when they were taken."""

    vectors: int = 0
    points: tuple[Point, ...] = ()

    def point(self, k: int, target: float) -> Point | None:
        """Return the cheapest measured point whose mean recall@k reaches the target.

        The cost of a point is its number of loads plus its number of additional results. If k was not measured, the
        points of the next larger measured k are used. If k is larger than all measured k, the points of the largest one
        are used. If no point reaches a target below 1, the point with the highest recall is returned. If no point
        reaches a target of 1, or if nothing was measured, return None: every cluster must be searched.
        """
        measured = {point.k for point in self.points}
        nearest_k = min((measured_k for measured_k in measured if measured_k >= k), default=max(measured, default=0))
        points = [point for point in self.points if point.k == nearest_k]
        enough = [point for point in points if point.recall >= target]
        if not enough and target < 1:
            # Do not search every cluster: it would take hundreds of times as long as the widest window.
            return max(points, key=lambda point: point.recall, default=None)
        # Each kept result is compared again at the end, which takes about as long as a load.
        return min(enough, key=lambda point: point.loads + point.width * point.k, default=None)

    def to_json(self) -> str:
        """Return the calibration as JSON, as it is stored in the file."""
        return json.dumps([self.vectors, [astuple(point) for point in self.points]])

    @classmethod
    def from_json(cls, text: str) -> Calibration:
        """Return the calibration that :meth:`to_json` wrote."""
        vectors, points = json.loads(text)
        return cls(vectors, tuple(Point(*point) for point in points))
