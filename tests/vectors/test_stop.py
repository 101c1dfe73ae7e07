"""Stop conditions of vector searches."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monograph.errors import InputError
from monograph.vectors.calibrate import Recalls, Trace, curve
from monograph.vectors.stop import (
    Budget,
    Calibration,
    Exponential,
    Never,
    Point,
    RankAware,
    StopCondition,
    VBase,
    reciprocal_rank,
)

LOADS = st.lists(st.lists(st.integers(0, 20), unique=True, max_size=5).map(sorted), max_size=30)


def test_rank_weights_are_the_papers() -> None:
    weight = Exponential()
    assert [round(weight(rank), 4) for rank in (0, 1, 2, 9)] == [1.0, 0.4746, 0.3485, 0.1069]
    assert weight(3) == pytest.approx(math.exp(-math.sqrt(3 / 1.8)))
    assert [reciprocal_rank(rank) for rank in (0, 1, 3)] == [1.0, 0.5, 0.25]


@pytest.mark.parametrize("weight", [Exponential(), reciprocal_rank, lambda rank: 10.0 - rank])
@given(loads=LOADS, epsilon=st.sampled_from([0.0, 0.2, 0.9, 2.5]), window=st.integers(1, 6))
def test_rank_aware_reads_as_the_paper_says(
    weight: Callable[[int], float], loads: list[list[int]], epsilon: float, window: int
) -> None:
    utilities = [sum(weight(rank) for rank in ranks) for ranks in loads]
    enough = len(loads) >= window and all(utility <= epsilon for utility in utilities[-window:])
    assert RankAware(weight, epsilon, window).after(loads) == enough


@given(loads=LOADS, e=st.integers(1, 21), window=st.integers(1, 6))
def test_vbase_watches_the_best_e(loads: list[list[int]], e: int, window: int) -> None:
    enough = len(loads) >= window and all(rank >= e for ranks in loads[-window:] for rank in ranks)
    assert VBase(e, window).after(loads) == enough


@given(loads=LOADS, budget=st.integers(1, 40))
def test_budget_counts_and_never_never_stops(loads: list[list[int]], budget: int) -> None:
    assert Budget(budget).after(loads) == (len(loads) >= budget)
    assert not Never().after(loads)


@pytest.mark.parametrize("condition", [RankAware(), Budget(1), VBase(1, 1), Never()])
def test_every_stop_condition_follows_the_protocol(condition: StopCondition) -> None:
    assert isinstance(condition, StopCondition)


@pytest.mark.parametrize(
    "make",
    [
        lambda: RankAware(epsilon=-0.1),
        lambda: RankAware(window=0),
        lambda: Budget(0),
        lambda: VBase(0, 1),
        lambda: VBase(1, 0),
    ],
)
def test_stop_conditions_refuse_impossible_numbers(make: Callable[[], StopCondition]) -> None:
    with pytest.raises(InputError, match="give"):
        make()


@given(useful=st.lists(st.lists(st.booleans(), min_size=1, max_size=30), min_size=1, max_size=5))
def test_the_curve_is_what_stopping_would_have_given(useful: list[list[bool]]) -> None:
    traces = []
    for one in useful:
        shares = [sum(one[: place + 1]) / max(1, sum(one)) for place in range(len(one))]
        traces.append(Trace(tuple(one), tuple(shares)))
    for point in curve(traces, 10):
        condition = RankAware(window=point.window)
        ends = []
        for one in useful:
            loads = [[0] if flag else [] for flag in one]
            ends.append(next((end for end in range(1, len(one) + 1) if condition.after(loads[:end])), len(one)))
        assert point.loads == round(sum(ends) / len(ends), 2)
        reached = [trace.recalls[end - 1] for trace, end in zip(traces, ends, strict=True)]
        assert point.recall == round(sum(reached) / len(reached), 4)


def test_the_cheapest_window_that_reaches_the_target_is_chosen() -> None:
    points = tuple(Point(k, w, 0.8 + w / 100, 2.0 * w) for k in (10, 100) for w in (2, 5, 12))
    calibration = Calibration(10_000, points)

    def condition(k: int, target: float, stretch: float = 1.0) -> StopCondition:
        point = calibration.point(k, target)
        return Never() if point is None else point.stop(stretch)

    assert condition(10, 0.81) == RankAware(window=2)
    assert condition(3, 0.85) == RankAware(window=5)
    assert condition(10, 0.86) == RankAware(window=12)
    assert condition(500, 0.85, stretch=3) == RankAware(window=15)
    assert condition(10, 0.99) == RankAware(window=12)
    assert condition(10, 1.0) == Never()
    assert Calibration().point(10, 0.5) is None
    assert [calibration.point(10, one).loads for one in (0.85, 0.99)] == [10.0, 24.0]  # type: ignore[union-attr]
    assert Calibration.from_json(calibration.to_json()) == calibration


@given(
    st.lists(st.integers(0, 60), unique=True),
    st.lists(st.integers(0, 60), unique=True, min_size=1),
    st.lists(st.tuples(st.integers(1, 20), st.integers(1, 40)), min_size=1, max_size=4),
)
def test_recalls_of_thinned_curves_are_exact(ids: list[int], truth: list[int], kept: list[tuple[int, int]]) -> None:
    recalls = Recalls(kept, 61)
    ways = [ids, ids[::-1], []]
    stands = [recalls.positions_of(np.array(some, dtype=np.int64), np.array(truth, dtype=np.int64)) for some in ways]
    for (k, room), found in zip(kept, recalls.of(stands), strict=True):
        assert found == [len(set(some[:room]) & set(truth[:k])) / len(truth[:k]) for some in ways]
