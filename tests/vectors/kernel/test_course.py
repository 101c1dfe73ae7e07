"""Courses through clusters in memory, equal to brute force at every processor level."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monograph.vectors import kernel
from monograph.vectors.cluster import Centre, encode, encode_about, pack, unpack
from monograph.vectors.stop import StopRule
from support.oracles import clusters as oracle
from support.properties import examples
from support.vectors import unit_vectors

NEVER = 1 << 62


LEVELS = kernel.levels()


@pytest.fixture(autouse=True)
def best_level() -> Any:
    yield
    kernel.use_level(LEVELS[0])


@dataclass(frozen=True)
class Made:
    """Clusters of some vectors, two parts each, and what belongs to them."""

    centroids: bytes
    bodies: dict[int, list[bytes]]
    by_value: dict[int, bytes]
    query: Any


def made(seed: int, n: int, clusters: int, dimension: int = 20) -> Made:
    random = np.random.default_rng(seed)
    vectors, middles = unit_vectors(n, dimension, seed), unit_vectors(clusters, dimension, seed + 1)
    names = np.sort(random.permutation(500)[:clusters]).astype(np.int64) + 1
    bodies = {}
    for name, middle in zip(names.tolist(), middles, strict=True):
        rows = np.flatnonzero(random.random(n) < 0.4)
        cut = int(random.integers(0, len(rows) + 1))
        parts = [encode_about(Centre.many(middle[None])[0], some, vectors[some]) for some in np.split(rows, [cut])]
        for part in parts:
            part.ids[random.random(len(part.ids)) < 0.1] = -1
        bodies[name] = [pack(part) for part in parts]
    coded = encode(np.arange(n, dtype=np.int64), vectors)
    one = {row: pack(coded.take(slice(row, row + 1))) for row in range(n)}
    return Made(pack(encode(names, middles)), bodies, one, unit_vectors(1, dimension, seed + 2)[0])


def arena_of(given_: Made, kept: set[int]) -> Any:
    """An arena that keeps some clusters, and remembers two of three vectors."""
    arena = kernel.Arena(given_.centroids)
    for name in kept:
        arena.keep(name, given_.bodies[name])
    arena.remember([body for row, body in given_.by_value.items() if row % 3])
    return arena


@settings(max_examples=examples(300))
@given(
    seed=st.integers(0, 10_000),
    n=st.integers(0, 90),
    clusters=st.integers(1, 60),
    kept=st.sampled_from([0.0, 0.5, 1.0]),
    k=st.integers(0, 12),
    room=st.sampled_from([0, 1, 12, 40]),
    weights=st.lists(st.floats(0, 2), max_size=12),
    epsilon=st.sampled_from([0.0, 0.7]),
    window=st.sampled_from([1, 2, 5, NEVER]),
    most=st.sampled_from([1, 6, NEVER]),
    filtered=st.booleans(),
    step=st.sampled_from([1, 3, NEVER]),
    brought=st.sampled_from([1, 2, 7]),
)
def test_courses_of_all_kinds_find_the_same(
    seed: int,
    n: int,
    clusters: int,
    kept: float,
    k: int,
    room: int,
    weights: list[float],
    epsilon: float,
    window: int,
    most: int,
    filtered: bool,
    step: int,
    brought: int,
) -> None:
    given_ = made(seed, n, clusters)
    random = np.random.default_rng(seed)
    keep = {name for name in given_.bodies if random.random() < kept}
    bits = np.packbits(random.random(n + 8) < 0.5, bitorder="little") if filtered else None
    told = []
    for level in LEVELS:
        kernel.use_level(level)
        arena = arena_of(given_, keep)
        pool = kernel.Pool(room)
        course = kernel.Course(
            arena, given_.query, pool, k, np.array(weights, dtype=np.float64), epsilon, window, most, bits
        )
        history: list[Any] = []
        some: list[int] = []
        sure: list[int] = []
        while (came := course.run(step)) not in {kernel.ENOUGH, kernel.ALL}:
            if came != kernel.PAUSED:
                assert came not in keep
                assert course.spent == some  # Each came to its turn before another was wanted.
                some = course.ahead(brought)
                assert some[0] == came
                course.bring({name: given_.bodies[name] for name in reversed(some)})
            history.append((came, course.ranks, course.loads, pool.ids.tolist()))
            sure.append(course.loads + course.sure)
        assert came == kernel.ALL or all(loads <= course.loads for loads in sure)
        assert course.sure == 0 or came == kernel.ALL
        history.append(sure)
        found = pool.scores.tolist()
        assert course.spent == some[: len(course.spent)]
        history.append((came, course.loads, course.compared, pool.ids.tolist(), found))
        lacking = course.rank_by_value(5, [])
        history.append(lacking)
        assert all(memo % 3 == 0 for memo in lacking)
        if lacking:
            assert pool.scores.tolist() == found
        assert course.rank_by_value(5, [given_.by_value[memo] for memo in lacking]) == []
        history.append((pool.ids.tolist(), pool.scores.tolist()))
        told.append(history)
    assert all(history == told[0] for history in told)
    came, loads, _, _, _ = told[0][-3]
    assert loads == clusters or came == kernel.ENOUGH
    if came == kernel.ALL:
        allowed = None if bits is None else set(np.flatnonzero(np.unpackbits(bits, bitorder="little")).tolist())
        every = [unpack(body) for bodies in given_.bodies.values() for body in bodies]
        _, _, _, ids_found, scores_found = told[0][-3]
        assert list(zip(ids_found, scores_found, strict=True)) == oracle.best(every, given_.query, room, allowed)


def test_a_whole_course_finds_what_scans_find() -> None:
    given_ = made(5, 80, 30)
    arena, pool = kernel.Arena(given_.centroids), kernel.Pool(15)
    for name, bodies in given_.bodies.items():
        arena.keep(name, bodies)
    rule = StopRule(np.ones(10), 0.0, NEVER, NEVER)
    course = kernel.Course(arena, given_.query, pool, 10, *rule)
    assert course.run() == kernel.ALL
    whole = kernel.Pool(15)
    for bodies in given_.bodies.values():
        kernel.scan(bodies, given_.query, whole, 0)
    assert (pool.ids.tolist(), pool.scores.tolist()) == (whole.ids.tolist(), whole.scores.tolist())
    arena.remember(list(given_.by_value.values()))
    size = arena.size
    arena.remember(list(given_.by_value.values()))
    for name, bodies in given_.bodies.items():
        arena.keep(name, bodies)
    assert arena.size == size
    among = set(pool.ids.tolist())
    assert course.rank_by_value(6, []) == []
    best = kernel.Pool(6)
    kernel.scan([given_.by_value[memo] for memo in sorted(among)], given_.query, best, 0)
    assert (pool.ids.tolist(), pool.scores.tolist()) == (best.ids.tolist(), best.scores.tolist())


def test_brought_clusters_change_no_result() -> None:
    given_ = made(9, 300, 60)
    rule = StopRule(np.ones(10), 0.0, 6, NEVER)

    def gone(size: int) -> tuple[list[int], list[float], int, int, int]:
        pool = kernel.Pool(20)
        course = kernel.Course(kernel.Arena(given_.centroids), given_.query, pool, 10, *rule)
        while (came := course.run()) not in {kernel.ENOUGH, kernel.ALL}:
            course.bring({name: given_.bodies[name] for name in course.ahead(size)})
        return pool.ids.tolist(), pool.scores.tolist(), course.loads, course.compared, came

    alone = gone(1)
    assert 6 < alone[2] < 60
    assert all(gone(size) == alone for size in (2, 5, 60))


def test_many_threads_go_while_more_is_kept() -> None:
    given_ = made(6, 300, 60)
    rule = StopRule(np.ones(10), 0.0, 4, NEVER)

    def gone(arena: kernel.Arena, place: int) -> tuple[list[int], list[float], int]:
        pool = kernel.Pool(20)
        query = unit_vectors(1, 20, place)[0]
        course = kernel.Course(arena, query, pool, 10, *rule)
        while (came := course.run()) not in {kernel.ENOUGH, kernel.ALL}:
            if place % 2:
                arena.keep(came, given_.bodies[came])
            else:
                course.bring({came: given_.bodies[came]})
        missing = course.rank_by_value(10, [])
        arena.remember([given_.by_value[memo] for memo in missing])
        assert not missing or course.rank_by_value(10, []) == []
        return pool.ids.tolist(), pool.scores.tolist(), course.loads

    alone = [gone(kernel.Arena(given_.centroids), place) for place in range(60)]
    shared = kernel.Arena(given_.centroids)
    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(lambda place: gone(shared, place), range(60))) == alone


def test_damaged_clusters_are_refused_in_a_course() -> None:
    given_ = made(7, 40, 5)
    name, bodies = next(iter(given_.bodies.items()))
    value = given_.by_value[0]
    other = made(7, 40, 5, dimension=24)
    spoiled = [bytes([*body[:-1], body[-1] ^ 1]) for body in bodies]
    arena = kernel.Arena(given_.centroids)
    wrong: list[Callable[[], Any]] = [
        lambda: kernel.Arena(bodies[0]),
        lambda: kernel.Arena(given_.centroids[:-1]),
        lambda: arena.keep(name, spoiled),
        lambda: arena.keep(name, [value]),
        lambda: arena.keep(name, next(iter(other.bodies.values()))),
        lambda: arena.remember(bodies),
        lambda: arena.remember([value[:-1]]),
        lambda: arena.remember([given_.centroids]),
        lambda: arena.remember([other.by_value[0]]),
    ]
    for attempt in wrong:
        with pytest.raises(kernel.DamagedBytes):
            attempt()
    with pytest.raises(ValueError, match="there is no cluster 9999"):
        arena.keep(9999, bodies)
    for piece in (None, [1], bodies[0]):
        with pytest.raises(TypeError):
            arena.keep(name, piece)  # type: ignore[arg-type]
    course = kernel.Course(arena, given_.query, kernel.Pool(4), 3, np.ones(3), 0.0, NEVER, NEVER)
    first, second, *_ = course.ahead(5)
    wrongly: list[Any] = [None, [first], {first: None}, {first: [1]}, {first: bodies[0]}]
    for given_wrongly in wrongly:
        with pytest.raises(TypeError):
            course.bring(given_wrongly)
    with pytest.raises(ValueError, match="there is no cluster 9999"):
        course.bring({first: given_.bodies[first], 9999: bodies})
    assert course.run(NEVER) == first
    # It is looked at when its turn comes.
    cut = [body[:-1] for body in given_.bodies[second]]
    course.bring({first: given_.bodies[first], second: cut})
    with pytest.raises(kernel.DamagedBytes):
        course.run(NEVER)
    assert (course.loads, course.spent) == (1, [first])
    course.bring({second: given_.bodies[second]})
    assert course.run(NEVER) not in {first, second}
    with pytest.raises(kernel.DamagedBytes, match="checksum"):
        kernel.Arena(given_.centroids).keep(name, spoiled)


@pytest.mark.parametrize(
    ("query", "k", "said"),
    [
        (np.ones(7, dtype=np.float32), 3, "dimension 20, the query has 7"),
        (np.full(20, np.nan, dtype=np.float32), 3, "not finite"),
        (np.ones(20, dtype=np.float32), -1, "incompatible function arguments"),
    ],
)
def test_wrong_queries_are_refused_in_a_course(query: Any, k: int, said: str) -> None:
    given_ = made(7, 40, 5)
    with pytest.raises((TypeError, ValueError, kernel.DamagedBytes), match=said):
        kernel.Course(kernel.Arena(given_.centroids), query, kernel.Pool(3), k, np.ones(3), 0.0, 1, 1)


def test_the_order_of_clusters_is_that_of_their_scores() -> None:
    given_ = made(8, 10, 400)
    body = unpack(given_.centroids)
    near = oracle.scores(body, given_.query)
    expected = body.ids[np.lexsort((body.ids, -near))].tolist()
    for level in LEVELS:
        kernel.use_level(level)
        arena = kernel.Arena(given_.centroids)
        course = kernel.Course(arena, given_.query, kernel.Pool(4), 3, np.ones(3), 0.0, NEVER, NEVER)
        assert course.ahead(500) == expected


def forged(body: bytes, random: np.random.Generator) -> bytes:
    """A body with a valid checksum, whose scales are anything."""
    entries = unpack(body)
    wild = np.array([np.nan, np.inf, -np.inf, 3e38, -1.0, 0.0], dtype=np.float32)
    scales = random.choice(wild, len(entries)).astype(np.float32)
    kept = random.random(len(entries)) < 0.5
    return pack(replace(entries, scales=np.where(kept, entries.scales, scales)))


@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value")
@settings(max_examples=examples(60))
@given(seed=st.integers(0, 10_000), clusters=st.integers(1, 200))
def test_forged_clusters_are_searched_alike(seed: int, clusters: int) -> None:
    random = np.random.default_rng(seed)
    given_ = made(seed, 60, clusters)
    centroids = forged(given_.centroids, random)
    bodies = {name: [forged(part, random) for part in parts] for name, parts in given_.bodies.items()}
    values = [forged(body, random) for body in given_.by_value.values()]
    told = []
    for level in LEVELS:
        kernel.use_level(level)
        arena = kernel.Arena(centroids)
        for name, parts in bodies.items():
            arena.keep(name, parts)
        arena.remember(values)
        pool = kernel.Pool(30)
        course = kernel.Course(arena, given_.query, pool, 10, np.ones(10), 0.0, 9, NEVER)
        came = course.run(NEVER)
        found = pool.ids.tolist()
        assert course.rank_by_value(20, []) == []
        told.append((came, course.loads, set(found), pool.ids.tolist()))
    assert all(one == told[0] for one in told)
