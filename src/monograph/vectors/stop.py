"""Stop conditions of a search: Terminus, VBASE and a fixed budget.

A search loads clusters one by one, nearest first. After each load, a stop condition decides whether the search ends.
The condition gets the ranks of the new results (see :data:`Ranks`) of all loads so far. A condition has no state, so
many searches can share one condition.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from functools import lru_cache
from typing import NamedTuple, Protocol, TypeAlias, runtime_checkable

import numpy as np

from monograph.errors import InputError
from monograph.values import Float64, arguments

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

    ``tau`` and ``beta`` set how fast the weight falls. The paper's Eq. 4 counts ranks from 1, an erratum. Raises
    InputError if one of them is not above 0.
    """

    tau: float = 1.8
    beta: float = 0.5

    def __post_init__(self) -> None:
        for name in ("tau", "beta"):
            object.__setattr__(self, name, arguments.finite(getattr(self, name), name, "give a number above 0"))
            if getattr(self, name) <= 0:
                raise InputError(f"{name} is {getattr(self, name):g}", "give a number above 0")

    def __call__(self, rank: int) -> float:
        """Return the weight of a rank, counted from 0."""
        try:
            return math.exp(-((rank / self.tau) ** self.beta))
        except OverflowError:  # The power is above the largest float.
            return 0.0

    def of_ranks(self, k: int) -> Float64:
        """Return the weights of the ranks 0 to k - 1, float64 (k,)."""
        return np.fromiter(map(self, range(k)), dtype=np.float64, count=k)


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
        object.__setattr__(self, "window", arguments.whole_number(self.window, "window", 1))
        object.__setattr__(self, "epsilon", arguments.finite(self.epsilon, "epsilon", "give 0 or more"))
        if self.epsilon < 0:
            raise InputError(f"epsilon is {self.epsilon:g}", "give 0 or more")

    def __str__(self) -> str:
        """Return the text that :func:`choose_stop` reads; with a weight of your own, the representation."""
        if not isinstance(self.weight, Exponential):
            return repr(self)
        tau, beta = self.weight.tau, self.weight.beta
        return f"rankaware:window={self.window},epsilon={self.epsilon},tau={tau},beta={beta}"

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
        object.__setattr__(self, "loads", arguments.whole_number(self.loads, "loads", 1))

    def __str__(self) -> str:
        """Return the text that :func:`choose_stop` reads."""
        return f"budget:loads={self.loads}"

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
        for name in ("e", "window"):
            object.__setattr__(self, name, arguments.whole_number(getattr(self, name), name, 1))

    def __str__(self) -> str:
        """Return the text that :func:`choose_stop` reads."""
        return f"vbase:e={self.e},window={self.window}"

    def after(self, loads: Sequence[Ranks]) -> bool:
        """Return whether the search ends now: see :meth:`StopCondition.after`."""
        if len(loads) < self.window:
            return False
        return not any(ranks and ranks[0] < self.e for ranks in loads[-self.window :])


@dataclass(frozen=True, slots=True)
class Never:
    """Search every cluster. Results are then exact, except for errors that come from the codes."""

    def __str__(self) -> str:
        """Return the text that :func:`choose_stop` reads."""
        return "never"

    def after(self, loads: Sequence[Ranks]) -> bool:
        """Return False: the search never ends early. See :meth:`StopCondition.after`."""
        return False


@dataclass(frozen=True, slots=True)
class RankedRecall:
    """Mean ranked recall@k at which a search stops. The index's calibration chooses the stop condition that reaches it.

    Ranked recall is the share of true results that are found, weighted by their ranks (Terminus, Eq. 4, with ranks from
    0 and the weights of ``Exponential()``). Raises InputError if the target is not above 0 and at most 1.
    """

    target: float

    def __post_init__(self) -> None:
        hint = "give more than 0, at most 1"
        object.__setattr__(self, "target", arguments.share(self.target, "ranked_recall", hint))
        if not self.target:
            raise InputError("ranked_recall is 0", hint)


def _rank_aware(window: int, epsilon: float = 0.0, tau: float = 1.8, beta: float = 0.5) -> RankAware:
    return RankAware(Exponential(tau, beta), epsilon, window)


_BY_NAME: dict[str, Callable[..., StopCondition]] = {
    "rankaware": _rank_aware,
    "budget": Budget,
    "vbase": VBase,
    "never": Never,
}


def choose_stop(stop: StopCondition | str | None, ranked_recall: float | None) -> StopCondition | RankedRecall | None:
    """Return what ends a search, given the caller's arguments ``stop`` and ``ranked_recall``; None for the default.

    ``stop`` may be a text: ``rankaware:window=8,epsilon=0.1,tau=1.8,beta=0.5``, ``vbase:e=10,window=4``,
    ``budget:loads=20`` or ``never``. Raises InputError if both are given, or one of them is invalid.
    """
    if stop is None:
        return None if ranked_recall is None else RankedRecall(ranked_recall)
    if ranked_recall is not None:
        raise InputError("stop and ranked_recall are both given", "give one of them")
    if isinstance(stop, str):
        return arguments.parse(stop, _BY_NAME, "stop condition")
    if isinstance(stop, StopCondition) and not isinstance(stop, type):
        return stop
    raise InputError(f"stop is {arguments.shown(stop)}", f"give a StopCondition, or one of {', '.join(_BY_NAME)}")


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
    if type(condition) not in {RankAware, VBase, Budget, Never} or not isinstance(condition, Hashable):
        return None
    has_hash = isinstance(getattr(condition, "weight", None), Hashable)  # The caller's weight may have none.
    return _make_rule(condition, k) if has_hash else None


@contextmanager
def calling_condition(condition: StopCondition) -> Iterator[None]:
    """Raise InputError, which names the stop condition, if the caller's code in it raises an error.

    Without it, a view would report the error as damage of the file.
    """
    try:
        yield
    except Exception as error:
        raise InputError(
            f"the stop condition {arguments.shown(condition)} raised {type(error).__name__}: {error}",
            "correct its code",
        ) from error


@lru_cache(maxsize=64)
def _make_rule(condition: StopCondition, k: int) -> StopRule:
    if isinstance(condition, RankAware):
        weights = np.fromiter(map(condition.weight, range(k)), dtype=np.float64, count=k)
        return StopRule(weights, condition.epsilon, condition.window, _WITHOUT_END)
    if isinstance(condition, VBase):
        return StopRule(np.ones(min(k, condition.e), dtype=np.float64), 0.0, condition.window, _WITHOUT_END)
    return NEVER._replace(most=condition.loads) if isinstance(condition, Budget) else NEVER


@dataclass(frozen=True, slots=True)
class Point:
    """Mean number of loads, recall@k and ranked recall@k, measured for searches with one k and one stop condition.

    The condition is :class:`RankAware` with this window, epsilon, tau and beta. A search with ``width`` keeps ``width``
    * k additional results: see :attr:`monograph.vectors.design.Design.widths`. Ranked recall is measured with the
    weights of ``Exponential()``, whatever the condition's weights are.
    """

    k: int
    width: int
    window: int
    epsilon: float
    tau: float
    beta: float
    loads: float
    recall: float
    ranked_recall: float

    @property
    def cost(self) -> float:
        """Number of loads plus number of additional results: comparing a kept result again takes as long as a load."""
        return self.loads + self.width * self.k

    def reached(self, *, ranked: bool) -> float:
        """Return the ranked recall, or else the recall."""
        return self.ranked_recall if ranked else self.recall

    def stop(self, window_factor: float = 1.0) -> StopCondition:
        """Return the stop condition that was measured, with its window multiplied by ``window_factor``."""
        return _rank_aware(max(1, round(self.window * window_factor)), self.epsilon, self.tau, self.beta)


@dataclass(frozen=True, slots=True)
class Calibration:
    """Measurements of an index, and the number of vectors that it had when they were taken."""

    vectors: int = 0
    points: tuple[Point, ...] = ()

    def point(self, k: int, target: float, *, ranked: bool = False) -> Point | None:
        """Return the cheapest measured point whose mean recall@k, or ranked recall@k, reaches the target.

        For a target of recall, only the points with the epsilon 0 are used: at equal recall, a larger epsilon saves no
        loads. If k was not measured, the points of the next larger measured k are used. If k is larger than all
        measured k, the points of the largest one are used. If no point reaches a target below 1, the point with the
        highest recall is returned. If no point reaches a target of 1, or if nothing was measured, return None: every
        cluster must be searched.
        """
        measured = {point.k for point in self.points}
        nearest_k = min((measured_k for measured_k in measured if measured_k >= k), default=max(measured, default=0))
        points = [point for point in self.points if point.k == nearest_k and (ranked or not point.epsilon)]
        enough = [point for point in points if point.reached(ranked=ranked) >= target]
        if not enough and target < 1:
            # Do not search every cluster: it would take hundreds of times as long as the widest window.
            return max(points, key=lambda point: point.reached(ranked=ranked), default=None)
        return min(enough, key=lambda point: point.cost, default=None)

    def to_json(self) -> str:
        """Return the calibration as JSON, as it is stored in the file."""
        return json.dumps([self.vectors, [astuple(point) for point in self.points]])

    @classmethod
    def from_json(cls, text: str) -> Calibration:
        """Return the calibration that :meth:`to_json` wrote."""
        vectors, points = json.loads(text)
        return cls(vectors, tuple(Point(*point) for point in points))


def cheapest_points(points: Iterable[Point]) -> tuple[Point, ...]:
    """Return the points that :meth:`Calibration.point` can return, cheapest first.

    A point is left out if another point for the same k reaches at least as much for the same cost or less.
    """
    kept: dict[Point, None] = {}
    highest: dict[tuple[int, bool], float] = {}
    for point in sorted(points, key=lambda point: (point.cost, -point.recall, point.epsilon)):
        for ranked in (False, True):
            key = point.k, ranked
            if (ranked or not point.epsilon) and point.reached(ranked=ranked) > highest.get(key, -1.0):
                highest[key] = point.reached(ranked=ranked)
                kept[point] = None
    return tuple(kept)
