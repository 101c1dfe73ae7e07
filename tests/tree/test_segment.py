"""Segments: bounds that always hold and depend on the set of nodes alone."""

from __future__ import annotations

import hashlib
import sqlite3
from pathlib import Path
from random import Random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from monograph.errors import InputError
from monograph.settings import Settings
from monograph.tree.segment import BITS, Bounds, NodeList, Segment, TreeNode, segments
from support.properties import examples

TOP = (1 << BITS) - 1

ranks = st.one_of(
    st.integers(0, TOP),
    st.integers(0, 40),  # crowded at one end
    st.integers(0, 7).map(lambda place: place << BITS - 3 | 5),  # crowded in a few places
    st.integers(0, BITS - 1).map(lambda bit: 1 << bit),  # a comb: each part has a small neighbour
)
sets_of_ranks = st.lists(st.tuples(ranks, st.integers(0, 60)), max_size=150, unique=True)
all_bounds = st.sampled_from([Bounds(6, 12), Bounds(6, 11), Bounds(2, 3), Bounds(3, 9), Bounds(4, 7)])


def nodes_of(placed: list[tuple[int, int]]) -> list[TreeNode]:
    return [TreeNode(rank, hashlib.sha256(f"{rank}/{number}".encode()).digest()[:16], 0) for rank, number in placed]


def by_the_book(nodes: list[TreeNode], bounds: Bounds, low: int = 0, bits: int = BITS) -> list[Segment]:
    """The rule as it is written, over a whole list, with no thought of speed."""
    if len(nodes) <= bounds.most:
        return [tuple(nodes)] if nodes else []
    if not bits:
        count = -(-len(nodes) // bounds.most)
        ends = [len(nodes) * place // count for place in range(count + 1)]
        return [tuple(nodes[ends[place] : ends[place + 1]]) for place in range(count)]
    middle = low + (1 << bits - 1)
    left = by_the_book([node for node in nodes if node.rank < middle], bounds, low, bits - 1)
    right = by_the_book([node for node in nodes if node.rank >= middle], bounds, middle, bits - 1)
    if not left or not right:
        return left + right
    if sum(map(len, left)) < bounds.least or sum(map(len, right)) < bounds.least:
        joined = left[-1] + right[0]
        half = (len(joined) + 1) // 2
        parts = [joined] if len(joined) <= bounds.most else [joined[:half], joined[half:]]
        return [*left[:-1], *parts, *right[1:]]
    return left + right


@settings(max_examples=examples(120))
@given(sets_of_ranks, all_bounds, st.randoms(use_true_random=False))
@example([(77, number) for number in range(100)], Bounds(6, 12), Random(0))  # Many nodes of one rank.
def test_segments_keep_their_bounds_and_hang_on_the_set_alone(placed, bounds, random) -> None:  # type: ignore[no-untyped-def]
    nodes = nodes_of(placed)
    found = segments(NodeList(nodes), bounds)
    assert [node for segment in found for node in segment] == sorted(nodes)
    if len(nodes) >= bounds.least:
        assert all(bounds.least <= len(segment) <= bounds.most for segment in found)
    else:
        assert len(found) == (1 if nodes else 0)
    assert found == by_the_book(sorted(nodes), bounds)
    random.shuffle(nodes)
    assert segments(NodeList(nodes), bounds) == found


@settings(max_examples=examples(150))
@given(sets_of_ranks, sets_of_ranks, st.randoms(use_true_random=False), all_bounds)
def test_only_segments_near_a_change_change(before, coming, random, bounds) -> None:  # type: ignore[no-untyped-def]
    old = set(nodes_of(before))
    going = set(random.sample(sorted(old), random.randint(0, min(5, len(old)))))
    new = (old - going) | set(nodes_of(coming[:5]))
    changed = sorted({node.rank for node in old ^ new})
    was, now = set(segments(NodeList(list(old)), bounds)), set(segments(NodeList(list(new)), bounds))
    near = segments(NodeList(list(new)), bounds, changed)
    assert set(near) <= now
    assert now - was <= set(near)
    covered = {node for segment in near for node in segment} | going
    assert all(set(segment) <= covered for segment in was - now)


def test_a_change_touches_few_of_many_segments() -> None:
    digests = [hashlib.sha256(bytes([n >> 8, n & 255])).digest() for n in range(4_000)]
    nodes = [TreeNode(int.from_bytes(digest[:8], "big") >> 1, digest[8:24], 0) for digest in digests]
    was = set(segments(NodeList(nodes), Bounds(6, 12)))
    touched = []
    for gone in nodes[:40]:
        left = NodeList([node for node in nodes if node is not gone])
        touched.append(len(set(segments(left, Bounds(6, 12), [gone.rank])) - was))
    assert max(touched) <= 4
    assert sum(touched) / len(touched) < 1.5


@pytest.mark.parametrize(("least", "most"), [(1, 12), (6, 10), (0, 0), (7, 12)])
def test_bounds_that_cannot_hold_are_refused(least: int, most: int) -> None:
    with pytest.raises(InputError, match="cannot always be made"):
        Settings(segment_least=least, segment_most=most)


def test_the_highest_rank_is_a_number_that_sqlite_holds(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "x")
    assert connection.execute("SELECT ?", (TOP,)).fetchone() == (TOP,)
