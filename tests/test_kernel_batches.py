"""Courses side by side: on any number of threads each goes as it goes alone."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monograph.errors import InputError
from monograph.vectors import kernel
from monograph.vectors.kernel import course
from monograph.vectors.kernel.compiled import compiled
from test_kernel_codes import drawn
from test_kernel_course import LEVELS, NEVER, arena_of, best_level, made

__all__ = ["best_level"]


@dataclass(frozen=True)
class Asked:
    """What each course of a batch is asked, but for its query."""

    k: int
    room: int
    weights: Any
    epsilon: float
    window: int
    most: int
    allowed: Any


@dataclass
class Going:
    """A course, and where it puts what it finds."""

    course: Any
    scores: Any
    ids: Any

    @classmethod
    def begun(cls, arena: Any, query: Any, asked: Asked) -> Going:
        scores, ids = np.zeros(asked.room, dtype=np.float32), np.zeros(asked.room, dtype=np.int64)
        rule = (asked.weights, asked.epsilon, asked.window, asked.most)
        return cls(compiled.Course(arena, query, scores, ids, asked.k, *rule, asked.allowed), scores, ids)

    def found(self) -> tuple[int, int, list[int], list[float], list[int]]:
        filled = self.course.filled
        return (
            self.course.loads,
            self.course.compared,
            self.ids[:filled].tolist(),
            self.scores[:filled].tolist(),
            self.course.ranks(),
        )


@settings(max_examples=150, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    n=st.integers(0, 90),
    clusters=st.integers(1, 40),
    kept=st.sampled_from([0.0, 0.5, 1.0]),
    queries=st.integers(0, 20),
    threads=st.sampled_from([1, 2, 3, 8]),
    k=st.integers(0, 12),
    room=st.sampled_from([0, 1, 12, 40]),
    window=st.sampled_from([1, 2, 5, NEVER]),
    most=st.sampled_from([1, 6, NEVER]),
    filtered=st.booleans(),
    step=st.sampled_from([1, 3, NEVER]),
)
def test_a_batch_goes_as_each_alone(
    seed: int,
    n: int,
    clusters: int,
    kept: float,
    queries: int,
    threads: int,
    k: int,
    room: int,
    window: int,
    most: int,
    filtered: bool,
    step: int,
) -> None:
    given_ = made(seed, n, clusters)
    random = np.random.default_rng(seed)
    keep = {name for name in given_.bodies if random.random() < kept}
    bits = np.packbits(random.random(n + 8) < 0.5, bitorder="little") if filtered else None
    asked = Asked(k, room, np.ones(min(k, 5)), 0.0, window, most, bits)
    vectors = drawn(queries, 20, seed + 3)
    told = []
    for level in LEVELS:
        compiled.use_level(level)
        arena = arena_of(given_, keep)
        alone = []
        for query in vectors:
            single = Going.begun(arena, query, asked)
            while (came := single.course.run(step)) not in {kernel.ENOUGH, kernel.ALL}:
                if came != kernel.PAUSED:
                    single.course.bring({came: given_.bodies[came]})
            alone.append((came, single.found()))
        together = [Going.begun(arena, query, asked) for query in vectors]
        ends: dict[int, int] = {}
        while going := [place for place in range(queries) if place not in ends]:
            states = compiled.run_many([together[place].course for place in going], step, threads, 0)
            for place, came in zip(going, states, strict=True):
                if came in {kernel.ENOUGH, kernel.ALL}:
                    ends[place] = came
                elif came != kernel.PAUSED:
                    assert came not in keep
                    together[place].course.bring({came: given_.bodies[came]})
        assert [(ends[place], single.found()) for place, single in enumerate(together)] == alone
        told.append(alone)
    assert all(one == told[0] for one in told)


@pytest.mark.parametrize("threads", [None, 1, 2, 5, 64])
def test_batches_share_an_arena_that_grows(threads: int | None) -> None:
    given_ = made(6, 300, 60)
    rule = kernel.Rule(np.ones(10), 0.0, 4, NEVER)

    def gone(arena: kernel.Arena, queries: range) -> list[tuple[list[int], list[float], int]]:
        pools = [kernel.Pool(20) for _ in queries]
        courses = [
            kernel.Course(arena, drawn(1, 20, place)[0], pool, 10, rule)
            for place, pool in zip(queries, pools, strict=True)
        ]
        going = courses
        while going:
            states = kernel.run_many(going, threads=threads)
            for one, came in zip(going, states, strict=True):
                if came >= 0 and came % 2:
                    arena.keep(came, given_.bodies[came])
                elif came >= 0:
                    one.bring({came: given_.bodies[came]})
            going = [one for one, came in zip(going, states, strict=True) if came >= 0]
        for one in courses:
            missing = one.rank_by_value(10, [])
            arena.remember([given_.by_value[memo] for memo in missing])
            assert not missing or one.rank_by_value(10, []) == []
        return [(pool.ids.tolist(), pool.scores.tolist(), one.loads) for pool, one in zip(pools, courses, strict=True)]

    alone = [gone(kernel.Arena(given_.centroids), range(place, place + 1))[0] for place in range(120)]
    shared = kernel.Arena(given_.centroids)
    with ThreadPoolExecutor(6) as pool:
        parts = pool.map(lambda first: gone(shared, range(first, first + 20)), range(0, 120, 20))
        assert [one for part in parts for one in part] == alone


def long_batch(queries: int) -> Callable[[], list[kernel.Course]]:
    """Makes courses that see every one of many clusters."""
    given_ = made(9, 2_000, 300)
    arena, rule = kernel.Arena(given_.centroids), kernel.Rule(np.ones(10), 0.0, NEVER, NEVER)
    for name, bodies in given_.bodies.items():
        arena.keep(name, bodies)
    vectors = drawn(queries, 20, 4)
    return lambda: [kernel.Course(arena, one, kernel.Pool(20), 10, rule) for one in vectors]


def test_a_long_batch_goes_as_each_alone() -> None:
    begin = long_batch(80)
    alone, together = begin(), begin()
    assert [one.run() for one in alone] == [kernel.ALL] * 80
    assert kernel.run_many(together) == [kernel.ALL] * 80

    def found(courses: list[kernel.Course]) -> list[tuple[list[int], list[float], int]]:
        return [(one._pool.ids.tolist(), one._pool.scores.tolist(), one.compared) for one in courses]

    assert found(together) == found(alone)


TASKS = Path("/proc/self/task")


@pytest.mark.skipif(not TASKS.exists(), reason="tells its threads nowhere")
def test_a_batch_goes_on_its_threads_with_the_interpreter_left_to_others() -> None:
    """Python sees the threads that a call has started while that call goes on, which is in its middle then."""
    begin, done = long_batch(400), threading.Event()

    def search() -> int:
        times = 0
        while not done.is_set() and times < 500:
            kernel.run_many(begin(), threads=4)
            times += 1
        return times

    before = len(list(TASKS.iterdir()))
    most = 0
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(search)
        while not running.done() and most < before + 4:
            most = max(most, len(list(TASKS.iterdir())))
        done.set()
        assert running.result() >= 1
    assert most == before + 4  # The one that calls, and three that it has started.


def test_wrong_batches_are_refused() -> None:
    given_ = made(7, 40, 5)
    asked = Asked(3, 4, np.ones(3), 0.0, 1, 1, None)
    first, second = (Going.begun(compiled.Arena(given_.centroids), given_.query, asked).course for _ in range(2))
    for wrong, said in (
        (([first, second, first], 1, 2, 0), "a course is there twice"),
        (([first], 1, 0, 0), "threads is 0: give 1 or more"),
        (([first], 1, 1, -1), "worth is -1: give 0 or more"),
    ):
        with pytest.raises(ValueError, match=said):
            compiled.run_many(*wrong)
    for piece in (None, [1], [first, None], first, (first,)):
        with pytest.raises(TypeError):
            compiled.run_many(piece, 1, 2, 0)
    assert compiled.run_many([], 1, 2, 0) == []
    assert (first.loads, second.loads) == (0, 0)
    one_course = kernel.Course(
        kernel.Arena(given_.centroids), given_.query, kernel.Pool(3), 3, kernel.Rule(np.ones(3), 0.0, 1, 1)
    )
    with pytest.raises(InputError, match="a course is there twice"):
        kernel.run_many([one_course, one_course])
    with pytest.raises(InputError, match="threads is 0"):
        kernel.run_many([one_course], threads=0)


def test_processors_are_those_that_may_be_used() -> None:
    assert course.processors() >= 1
