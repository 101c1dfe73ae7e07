"""Stop conditions of vector searches."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monograph.errors import InputError
from monograph.vectors.calibrate import CONDITIONS, outcomes, record
from monograph.vectors.stop import (
    Budget,
    Calibration,
    Exponential,
    Never,
    Point,
    RankAware,
    RankedRecall,
    StopCondition,
    VBase,
    cheapest_points,
    choose_stop,
    reciprocal_rank,
    rule_of,
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


@given(
    loads=st.lists(st.lists(st.integers(0, 30), unique=True, max_size=4).map(sorted), min_size=1, max_size=40),
    k=st.sampled_from([1, 5, 10]),
    seed=st.integers(0, 1_000),
)
def test_each_condition_is_measured_where_it_would_have_stopped(loads: list[list[int]], k: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    pool = _RecordedPool([random.permutation(50)[: 3 * (load + 1)] for load in range(len(loads))])
    trace = record(pool.after(loads), pool)  # type: ignore[arg-type]
    truth, rooms, windows = random.permutation(50)[:k], [k, 2 * k], [1, 2, 3, 7]
    found = outcomes(trace, truth, 50, k, rooms, windows)
    for condition, (weight, epsilon) in enumerate(CONDITIONS):
        for place, window in enumerate(windows):
            stop = RankAware(weight, epsilon, window)
            below_k = [[rank for rank in ranks if rank < k] for ranks in loads]
            stopped = [
                end for end in range(1, len(loads) + 1) if len(pool.states[end - 1]) >= k and stop.after(below_k[:end])
            ]
            end = stopped[0] if stopped else len(loads)
            for index, room in enumerate(rooms):
                kept = set(pool.states[end - 1][:room].tolist())
                weights = [Exponential()(rank) for rank in range(k)]
                ranked = sum(one for one, row in zip(weights, truth.tolist(), strict=True) if row in kept)
                plain = len(kept & set(truth.tolist())) / k
                assert found[index, :, condition, place] == pytest.approx((end, plain, ranked / sum(weights)))


class _RecordedPool:
    """Pool that has the given results, best first, after each load."""

    def __init__(self, states: list[Any]) -> None:
        self.states, self.ids, self.filled = states, np.empty(0, dtype=np.int64), 0

    def after(self, loads: list[list[int]]) -> Iterator[list[int]]:
        for state, ranks in zip(self.states, loads, strict=True):
            self.ids, self.filled = state, len(state)
            yield ranks


POINTS = st.lists(
    st.builds(
        Point,
        k=st.sampled_from([10, 100]),
        width=st.sampled_from([1, 4]),
        window=st.integers(1, 9),
        epsilon=st.sampled_from([0.0, 0.1]),
        tau=st.just(1.8),
        beta=st.just(0.5),
        loads=st.integers(1, 50).map(float),
        recall=st.sampled_from([0.8, 0.9, 0.95, 1.0]),
        ranked_recall=st.sampled_from([0.8, 0.9, 0.97, 1.0]),
    ),
    max_size=20,
)


@given(
    points=POINTS,
    k=st.sampled_from([3, 10, 40, 500]),
    target=st.sampled_from([0.5, 0.9, 0.96, 1.0]),
    ranked=st.booleans(),
)
def test_the_cheapest_point_that_reaches_the_target_is_chosen(
    points: list[Point], k: int, target: float, ranked: bool
) -> None:
    calibration = Calibration(10_000, cheapest_points(points))
    chosen = calibration.point(k, target, ranked=ranked)
    measured = {point.k for point in calibration.points}
    nearest = min((one for one in measured if one >= k), default=max(measured, default=0))
    usable = [point for point in points if point.k == nearest and (ranked or point.epsilon == 0)]
    reached = {point: point.ranked_recall if ranked else point.recall for point in usable}
    enough = [point for point in usable if reached[point] >= target]
    if enough:
        assert chosen is not None
        assert reached[chosen] >= target
        assert chosen.cost == min(point.cost for point in enough)
    elif usable and target < 1:
        assert chosen is not None
        assert reached[chosen] == max(reached.values())
    else:
        assert chosen is None
    assert Calibration.from_json(calibration.to_json()) == calibration


def test_a_point_widens_its_window_and_keeps_its_weights() -> None:
    point = Point(10, 1, 5, 0.1, 5.0, 1.0, 9.0, 0.9, 0.95)
    assert point.stop(3) == RankAware(Exponential(5.0, 1.0), 0.1, 15)
    assert point.stop(0.01) == RankAware(Exponential(5.0, 1.0), 0.1, 1)


@pytest.mark.parametrize(
    ("text", "stop"),
    [
        ("rankaware:window=8,epsilon=0.1,tau=2.5,beta=0.7", RankAware(Exponential(2.5, 0.7), 0.1, 8)),
        ("rankaware:window=3", RankAware(window=3)),
        ("vbase:e=10, window=4", VBase(10, 4)),
        ("budget:loads=20", Budget(20)),
        ("never", Never()),
    ],
)
def test_stop_conditions_are_read_from_text(text: str, stop: StopCondition) -> None:
    assert choose_stop(text, None) == choose_stop(stop, None) == choose_stop(str(stop), None) == stop


def test_weights_too_small_for_a_float_are_0() -> None:
    assert Exponential(beta=1_000)(9) == 0
    assert str(RankAware(weight=reciprocal_rank)) == repr(RankAware(weight=reciprocal_rank))


def test_conditions_whose_weights_have_no_hash_are_evaluated_in_python() -> None:
    class Equal:
        __hash__: None = None  # type: ignore[assignment]

        def __call__(self, rank: int) -> float:
            return 1.0

    assert rule_of(RankAware(Equal()), 10) is None
    assert rule_of(RankAware(), 10) is not None


def test_a_ranked_recall_takes_the_place_of_a_stop_condition() -> None:
    assert choose_stop(None, None) is None
    assert choose_stop(None, 0.9) == RankedRecall(0.9)


@pytest.mark.parametrize(
    ("stop", "ranked_recall", "message"),
    [
        ("sometimes", None, "unknown stop condition 'sometimes'.*rankaware, budget, vbase, never"),
        ("vbase:e=10", None, "lacks window"),
        ("never:loads=1", None, "has no parameter 'loads'"),
        ("budget:loads=1.5", None, "loads is 1.5"),
        ("rankaware:window=2,tau=0", None, "tau is 0"),
        (Budget, None, "give a StopCondition"),
        ("never", 0.9, "both given"),
        (None, 0, "ranked_recall is 0"),
        (None, 1.5, "ranked_recall is 1.5"),
    ],
)
def test_invalid_stops_are_refused(stop: Any, ranked_recall: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        choose_stop(stop, ranked_recall)
