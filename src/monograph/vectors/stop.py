"""Stop conditions of a search: Terminus, VBASE and a fixed budget.

A search loads clusters one by one, nearest first. After each load it tells its stop condition at which ranks of the
best k new results stand, and asks whether to go on. A condition is a value: it sees the ranks of all loads so far, and
keeps nothing between them, so that one serves many searches at once.
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
"""Ranks from 0, ascending, at which one load brought new results."""
Weight: TypeAlias = Callable[[int], float]
"""How much a result at a rank from 0 is worth."""


@runtime_checkable
class StopCondition(Protocol):
    """Decides when a search ends. The search itself goes on, whatever a condition says, until it has k results."""

    def after(self, loads: Sequence[Ranks]) -> bool:
        """Whether it is enough.

        Parameters
        ----------
        loads:
            For every load so far, oldest first, the ranks at which it brought new results.
        """
        ...


@dataclass(frozen=True, slots=True)
class Exponential:
    """w(r) = exp(-(r / tau)^beta), r from 0 (Terminus, Eq. 2; Eq. 4 counts from 1, which is an erratum)."""

    tau: float = 1.8
    beta: float = 0.5

    def __call__(self, rank: int) -> float:
        """The weight of a rank."""
        return math.exp(-((rank / self.tau) ** self.beta))


def reciprocal_rank(rank: int) -> float:
    """w(r) = 1 / (r + 1)."""
    return 1.0 / (rank + 1)


@dataclass(frozen=True, slots=True)
class RankAware:
    """Stop when the last ``window`` loads each brought a utility of at most ``epsilon`` (Terminus).

    The utility of a load is the sum of the weights of the ranks at which it brought new results.

    Parameters
    ----------
    weight:
        Of a rank: :class:`Exponential`, :func:`reciprocal_rank` or one of your own.
    epsilon:
        0 or more.
    window:
        1 or more loads. The paper's 2 is too few on real text; an index calibrates its own.

    Raises
    ------
    InputError
        If a number is out of range.
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
        """See :class:`StopCondition`."""
        if len(loads) < self.window:
            return False
        for place in range(len(loads) - 1, len(loads) - 1 - self.window, -1):
            ranks = loads[place]
            if ranks and sum(map(self.weight, ranks)) > self.epsilon:
                return False
        return True


@dataclass(frozen=True, slots=True)
class Budget:
    """Stop after a fixed number of loads (nprobe; Terminus calls it IO-Budget).

    Raises
    ------
    InputError
        If it is below 1.
    """

    loads: int

    def __post_init__(self) -> None:
        if self.loads < 1:
            raise InputError(f"loads is {self.loads}", "give 1 or more")

    def after(self, loads: Sequence[Ranks]) -> bool:
        """See :class:`StopCondition`."""
        return len(loads) >= self.loads


@dataclass(frozen=True, slots=True)
class VBase:
    """Stop when the last ``window`` loads brought nothing among the best ``e``, whatever the rank (VBASE).

    Parameters
    ----------
    e:
        Results watched. Ranks are told below the search's k, so that an ``e`` above k is as k.
    window:
        1 or more loads.

    Raises
    ------
    InputError
        If a number is below 1.
    """

    e: int
    window: int

    def __post_init__(self) -> None:
        if self.e < 1 or self.window < 1:
            raise InputError(f"e is {self.e}, window {self.window}", "give 1 or more")

    def after(self, loads: Sequence[Ranks]) -> bool:
        """See :class:`StopCondition`."""
        if len(loads) < self.window:
            return False
        return not any(ranks and ranks[0] < self.e for ranks in loads[-self.window :])


@dataclass(frozen=True, slots=True)
class Never:
    """Search every cluster: exact, up to the codes."""

    def after(self, loads: Sequence[Ranks]) -> bool:
        """See :class:`StopCondition`."""
        return False


class SearchEffort(NamedTuple):
    """When a search ends, and how many times k more results it keeps than it would of codes by value.

    ``stopped`` is what a search says that its condition stopped: ``"short"`` if no condition that was measured reaches
    the recall that is asked for.
    """

    stop: StopCondition
    width: int = 0
    stopped: str = "enough"


class StopRule(NamedTuple):
    """A condition as the kernel asks it: enough when the last ``window`` loads brought at most ``epsilon`` each.

    A load brings the sum of the weights (float64, by rank) of the ranks of its new results. ``most`` loads are enough.
    """

    weights: Float64
    epsilon: float
    window: int
    most: int


_WITHOUT_END = 1 << 62
NEVER = StopRule(np.empty(0, dtype=np.float64), 0.0, _WITHOUT_END, _WITHOUT_END)


def rule_of(condition: StopCondition, k: int) -> StopRule | None:
    """Return a condition for a search of so many results as the kernel asks it; None if only Python can ask it."""
    known = type(condition) in {RankAware, VBase, Budget, Never}
    return _rule_of(condition, k) if known and isinstance(condition, Hashable) else None


@lru_cache(maxsize=64)
def _rule_of(condition: StopCondition, k: int) -> StopRule:
    if isinstance(condition, RankAware):
        weights = np.fromiter((condition.weight(rank) for rank in range(k)), dtype=np.float64, count=k)
        return StopRule(weights, condition.epsilon, condition.window, _WITHOUT_END)
    if isinstance(condition, VBase):
        return StopRule(np.ones(min(k, condition.e), dtype=np.float64), 0.0, condition.window, _WITHOUT_END)
    return NEVER._replace(most=condition.loads) if isinstance(condition, Budget) else NEVER


@dataclass(frozen=True, slots=True)
class Point:
    """Mean recall@k and mean loads of a query that a window gives.

    ``width`` is how many times k more results are kept (:attr:`Design.widths`).
    """

    k: int
    window: int
    recall: float
    loads: float
    width: int = 0

    def stop(self, stretch: float = 1.0) -> StopCondition:
        """Return the stop condition, its window widened by a factor."""
        return RankAware(window=max(1, round(self.window * stretch)))


@dataclass(frozen=True, slots=True)
class Calibration:
    """Measurements of an index when it was built, and its number of vectors then."""

    vectors: int = 0
    points: tuple[Point, ...] = ()

    def point(self, k: int, target: float) -> Point | None:
        """Return the cheapest point that reaches a recall; where none does that was measured, the one nearest to it.

        None where every cluster is searched: nothing was measured, or all is wanted.

        Parameters
        ----------
        k:
            Results asked for; those that were measured for the next larger k count, or for the largest.
        target:
            Recall@k to reach on average.
        """
        measured = {one.k for one in self.points}
        nearest = min((one for one in measured if one >= k), default=max(measured, default=0))
        points = [one for one in self.points if one.k == nearest]
        enough = [one for one in points if one.recall >= target]
        if not enough and target < 1:
            # The widest there is: to search every cluster would take hundreds of times as long.
            return max(points, key=lambda one: one.recall, default=None)
        # A result that is kept is compared once more in the end, which takes about as long as a load.
        return min(enough, key=lambda one: one.loads + one.width * one.k, default=None)

    def to_json(self) -> str:
        """Return the calibration as stored JSON."""
        return json.dumps([self.vectors, [astuple(point) for point in self.points]])

    @classmethod
    def from_json(cls, text: str) -> Calibration:
        """Return the calibration from stored JSON."""
        vectors, points = json.loads(text)
        return cls(vectors, tuple(Point(*point) for point in points))
