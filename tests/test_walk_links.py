"""The arithmetic of a walk on arrays: to the bit what plain dicts and loops give."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from monograph.graph import evidence
from monograph.search.reckoning.links import Links, Pairs
from monograph.search.standard import standardised

PLACES = 6
CHANCES = st.sampled_from([0.0, 0.1, 1 / 3, 0.7, 0.9999, 1.0]) | st.floats(0.0, 1.0)
LINK = st.tuples(st.integers(0, 2), st.integers(100, 103), st.integers(0, PLACES - 1), CHANCES)
HOPS = st.lists(st.lists(st.lists(LINK, max_size=12), max_size=2), min_size=1, max_size=3)


class Dicts:
    """The same, link by link."""

    def __init__(self) -> None:
        self.led: dict[int, dict[int, float]] = {}
        self.through: dict[int, dict[int, int]] = {}

    def add(self, start: int, name: int, target: int, chance: float) -> None:
        led = self.led.setdefault(target, {})
        if chance > led.get(start, -1.0):
            led[start] = chance
            self.through.setdefault(target, {})[start] = name

    def combined(self, own: list[float]) -> list[float]:
        total = list(own)
        for target, starts in self.led.items():
            missed = 1.0 - own[target]
            for chance in starts.values():
                missed *= 1.0 - chance
            total[target] = 1.0 - missed
        return total


@settings(max_examples=500, deadline=None)
@given(HOPS, st.lists(CHANCES, min_size=PLACES, max_size=PLACES))
def test_links_add_up_as_one_by_one(hops: list[list[list[tuple[int, int, int, float]]]], own: list[float]) -> None:
    links, wanted = Links(), Dicts()
    for hop, turns in enumerate(hops):
        known = min(PLACES, 4 + hop)  # More chunks come to be known on the way.
        links.follow([10 * hop + number for number in range(3)], known)
        for turn in turns:
            some = sorted((link for link in turn if link[2] < known), key=lambda link: link[0])  # Start by start.
            columns = np.array([link[:3] for link in some], dtype=np.int64).reshape(-1, 3).T
            links.add(Pairs(columns[0], columns[0], columns[1], columns[2]), np.array([link[3] for link in some]))
            for number, name, target, chance in some:
                wanted.add(10 * hop + number, name, target, chance)
        total = links.combined(np.array(own[:known]))
        assert [one.hex() for one in total.tolist()] == [one.hex() for one in wanted.combined(own)[:known]]
        assert np.flatnonzero(links.reached()).tolist() == sorted(wanted.led)
    for place in range(PLACES):
        led, through = links.to(place)
        assert led == wanted.led.get(place, {})
        assert through == wanted.through.get(place, {})


@settings(max_examples=500, deadline=None)
@given(st.lists(st.floats(-1e6, 1e6), max_size=40))
def test_standardised_scores_are_those_of_numpy(given_scores: list[float]) -> None:
    scores = np.array(given_scores)
    spread = scores.std() if len(scores) else 0.0
    wanted = (scores - scores.mean()) / spread if spread > 0 else np.zeros(len(scores))
    assert standardised(scores).tobytes() == wanted.tobytes()


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_the_first_in_order_of_gain_are_those_of_all(data: st.DataObject) -> None:
    count, words = data.draw(st.integers(1, 8)), data.draw(st.integers(1, 5))
    random = np.random.default_rng(data.draw(st.integers(0, 1 << 32)))
    logarithms, covers = np.log(random.random(count)), (random.random((count, words)) < 0.5) / words
    every = evidence.in_order_of_gain(logarithms, covers)
    most = data.draw(st.integers(0, count + 2))
    assert evidence.in_order_of_gain(logarithms, covers, most) == every[:most]
