"""Stop conditions of a search: Terminus, VBASE and a fixed budget.

A search loads clusters one by one, nearest first. After each load it passes the ranks of new results among the best k
to its stop condition, which decides whether the search ends. A condition is a value without state: it gets the ranks of
all loads so far, so that many searches can share one condition.
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
"""Ranks of the new results of one load among the best k: from 0, ascending."""
Weight: TypeAlias = Callable[[int], float]
"""Weight of a new result by its rank, from 0."""


@runtime_checkable
class StopCondition(Protocol):
    """Condition that decides when a search ends. Until it has k results, a search continues in any case."""

    def after(self, loads: Sequence[Ranks]) -> bool:
        """Return whether the search ends, by the ranks of the new results of each load so far, oldest first."""
        ...


@dataclass(frozen=True, slots=True)
class Exponential:
    """Weight w(r) = exp(-(r / tau)^beta), r from 0 (Terminus, Eq. 2; Eq. 4 counts from 1, which is an erratum)."""

    tau: float = 1.8
    beta: float = 0.5

    def __call__(self, rank: int) -> float:
        """Return the weight of a rank."""
        return math.exp(-((rank / self.tau) ** self.beta))


def reciprocal_rank(rank: int) -> float:
    """Return the weight w(r) = 1 / (r + 1) of a rank, from 0."""
    return 1.0 / (rank + 1)


@dataclass(frozen=True, slots=True)
class RankAware:
    """Stop when each of the last ``window`` loads had a utility of at most ``epsilon`` (Terminus).

    The utility of a load is the sum of the weights of the ranks of its new results.

    Parameters
    ----------
    weight:
        Weight of a rank: :class:`Exponential`, :func:`reciprocal_rank` or a function of your own.
    epsilon:
        Largest utility of a load that counts as useless, 0 or more.
    window:
        Number of loads, 1 or more. The paper's 2 is too few on real text; an index calibrates its own.

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
        """See :class:`StopCondition`."""
        if len(loads) < self.window:
            return False
        for index in range(len(loads) - 1, len(loads) - 1 - self.window, -1):
            ranks = loads[index]
            if ranks and sum(map(self.weight, ranks)) > self.epsilon:
                return False
        return True


@dataclass(frozen=True, slots=True)
class Budget:
    """Stop after a fixed number of loads (nprobe; Terminus calls it IO-Budget). Raises InputError if it is below 1."""

    loads: int

    def __post_init__(self) -> None:
        if self.loads < 1:
            raise InputError(f"loads is {self.loads}", "give 1 or more")

    def after(self, loads: Sequence[Ranks]) -> bool:
        """See :class:`StopCondition`."""
        return len(loads) >= self.loads


@dataclass(frozen=True, slots=True)
class VBase:
    """Stop when the last ``window`` loads brought no new result among the best ``e`` (VBASE).

    An ``e`` above the search's k has the effect of k. Raises InputError if a number is below 1.
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
    """Search every cluster. Results are exact except for errors of the codes."""

    def after(self, loads: Sequence[Ranks]) -> bool:
        """See :class:`StopCondition`."""
        return False


class SearchEffort(NamedTuple):
    """Stop condition of a search, and the width for 2-bit codes: ``width`` * k more results are kept.

    ``stopped`` is the reason that is reported if the condition ends the search: ``"short"`` if no measured condition
    reaches the target recall, else ``"enough"``.
    """

    stop: StopCondition
    width: int = 0
    stopped: str = "enough"


class StopRule(NamedTuple):
    """A stop condition as numbers, which the kernel evaluates.

    The search ends when each of the last ``window`` loads had a utility of at most ``epsilon``, or after ``most``
    loads. The utility of a load is the sum of the ``weights``, float64 by rank, of its new results.
    """

    weights: Float64
    epsilon: float
    window: int
    most: int


_WITHOUT_END = 1 << 62
NEVER = StopRule(np.empty(0, dtype=np.float64), 0.0, _WITHOUT_END, _WITHOUT_END)


def rule_of(condition: StopCondition, k: int) -> StopRule | None:
    """Return a condition for a search of k results as a rule for the kernel; None if only Python can evaluate it."""
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
    """Measured mean recall@k and mean number of loads of searches with a window and a width.

    With ``width``, a search keeps ``width`` * k more results (:attr:`monograph.vectors.design.Design.widths`).
    """

    k: int
    window: int
    recall: float
    loads: float
    width: int = 0

    def stop(self, stretch: float = 1.0) -> StopCondition:
        """Return the stop condition of the point, with its window multiplied by ``stretch``."""
        return RankAware(window=max(1, round(self.window * stretch)))


@dataclass(frozen=True, slots=True)
class Calibration:
    """Measurements of an index, and its number of vectors when they were taken."""

    vectors: int = 0
    points: tuple[Point, ...] = ()

    def point(self, k: int, target: float) -> Point | None:
        """Return the cheapest point that reaches a mean recall@k, or else the point with the highest recall.

        Points of the next larger measured k are used, or of the largest. None means to search every cluster: nothing
        was measured, or no point reaches a target of 1.
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
        """Return the calibration as stored JSON."""
        return json.dumps([self.vectors, [astuple(point) for point in self.points]])

    @classmethod
    def from_json(cls, text: str) -> Calibration:
        """Return the calibration from stored JSON."""
        vectors, points = json.loads(text)
        return cls(vectors, tuple(Point(*point) for point in points))
