"""What a calibration measures, and which stop condition it chooses."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monograph.vectors.curve import Calibration, Point, Recalls, Trace, curve, rank_weight, stretched
from monograph.vectors.kernel import Rule


@given(useful=st.lists(st.lists(st.booleans(), min_size=1, max_size=30), min_size=1, max_size=5))
def test_the_curve_is_what_stopping_would_have_given(useful: list[list[bool]]) -> None:
    traces = []
    for one in useful:
        shares = [sum(one[: place + 1]) / max(1, sum(one)) for place in range(len(one))]
        traces.append(Trace(tuple(one), tuple((share, share / 2) for share in shares)))
    for point in curve(traces, 10):
        window = point.window
        ends = [
            next((end for end in range(window, len(one)) if not any(one[end - window : end])), len(one))
            for one in useful
        ]
        assert point.loads == round(sum(ends) / len(ends), 2)
        reached = [trace.recalls[end - 1][0] for trace, end in zip(traces, ends, strict=True)]
        assert point.recall == round(sum(reached) / len(reached), 4)


def test_the_cheapest_window_that_reaches_the_target_is_chosen() -> None:
    points = tuple(Point(k, w, 0.8 + w / 100, 0.85 + w / 100, 2.0 * w) for k in (10, 100) for w in (2, 5, 12))
    calibration = Calibration(10_000, points)
    for k, target, window in ((10, 0.81, 2), (3, 0.85, 5), (10, 0.86, 12), (500, 0.85, 5), (10, 0.99, 12)):
        point = calibration.point(k, target)
        assert point is not None
        assert point.window == window
        assert stretched(point, 3) == Rule(window=3 * window)
    assert calibration.point(10, 1.0) is None
    assert Calibration().point(10, 0.5) is None
    assert stretched(None, 3) == Rule()
    assert Calibration.from_json(calibration.to_json()) == calibration


@given(
    st.lists(st.integers(0, 60), unique=True),
    st.lists(st.integers(0, 60), unique=True, min_size=1),
    st.lists(st.tuples(st.integers(1, 20), st.integers(1, 40)), min_size=1, max_size=4),
)
def test_recalls_are_those_of_what_is_kept(ids: list[int], truth: list[int], kept: list[tuple[int, int]]) -> None:
    recalls = Recalls(kept, 61)
    ways = [ids, ids[::-1], []]
    stands = [recalls.stands(np.array(some, dtype=np.int64), np.array(truth, dtype=np.int64)) for some in ways]
    for (k, room), found in zip(kept, recalls.of(stands), strict=True):
        weights = [rank_weight(rank) for rank in range(len(truth[:k]))]
        for some, (share, ranked) in zip(ways, found, strict=True):
            hits = [one in some[:room] for one in truth[:k]]
            assert share == sum(hits) / len(hits)
            assert ranked == pytest.approx(sum(w for w, hit in zip(weights, hits, strict=True) if hit) / sum(weights))


def test_the_weights_are_the_papers() -> None:
    assert [round(rank_weight(rank), 4) for rank in (0, 1, 2, 9)] == [1.0, 0.4746, 0.3485, 0.1069]
