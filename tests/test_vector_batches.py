"""Batches of queries, and searches of many threads at once: each result is that of a search alone, in its own state."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from by_sql import connected
from monograph.errors import DamagedFile, InputError
from monograph.store import clusters as store
from monograph.store.database import Database
from monograph.values import inner_products
from monograph.vectors import code_search
from monograph.vectors.design import KINDS, Design, Kind
from monograph.vectors.index import EcoVectorIndex
from monograph.vectors.kernel.compiled import compiled
from monograph.vectors.search import Neighbours, Query
from monograph.vectors.stop import Budget, Never, RankAware, Ranks, StopCondition
from test_compact_index import OwnCondition
from test_vector_index import Vectors, bitmap, clumps, filled, remember

LEVELS = compiled.levels()


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = Database(tmp_path / "v.mono")
    yield opened
    opened.close()


@contextmanager
def using(level: str) -> Iterator[None]:
    """Search at a level of the compiled kernel."""
    compiled.use_level(level)
    try:
        yield
    finally:
        compiled.use_level(LEVELS[0])


DESIGNED = (Design(), Design(cluster_size=20, exact_below=0), Design("graph", 20))


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[Design, Database]]:
    """An index of each design, with duplicates, deletions and what came since it was folded."""
    made: dict[Design, Database] = {}
    vectors = clumps(500)
    vectors[400:430] = vectors[0]
    for place, design in enumerate(DESIGNED):
        database = Database(tmp_path_factory.mktemp("batches") / f"{place}.mono")
        rows = remember(database, vectors)
        index = EcoVectorIndex(design=design)
        with database.write() as connection:
            index.insert(connection, rows[:400], vectors[:400])
            index.fold(connection)
            index.insert(connection, rows[400:], vectors[400:])
            index.delete(connection, rows[100:160].tolist())
        made[design] = database
    yield made
    for database in made.values():
        database.close()


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    design=st.sampled_from(DESIGNED),
    queries=st.integers(0, 12),
    k=st.sampled_from([0, 1, 3, 10, 60, 700]),
    stop=st.sampled_from([None, Never(), Budget(3), RankAware(window=3), OwnCondition()]),
    share=st.sampled_from([None, 0.95, 0.5, 0.02, 0.0]),
    cache=st.sampled_from([0, 4_000, 12_000, 1 << 20]),
    rerank=st.booleans(),
    ties=st.booleans(),
    again=st.booleans(),
    level=st.sampled_from(LEVELS),
)
def test_a_batch_finds_what_each_finds_alone(
    files: dict[Design, Database],
    seed: int,
    design: Design,
    queries: int,
    k: int,
    stop: StopCondition | None,
    share: float | None,
    cache: int,
    rerank: bool,
    ties: bool,
    again: bool,
    level: str,
) -> None:
    random = np.random.default_rng(seed)
    bits = None if share is None else bitmap(np.flatnonzero(random.random(500) < share) + 1, 501)
    query = Query(k, bits, stop, rerank=rerank, ties=ties)
    vectors = clumps(queries, seed)
    alone, together = EcoVectorIndex(cache_bytes=cache), EcoVectorIndex(cache_bytes=cache)
    with using(level), files[design].read() as connection:
        expected = [alone.search(connection, one, query) for one in vectors]
        assert together.search_many(connection, vectors, query) == expected
        if again:
            assert together.search_many(connection, vectors[::-1], query) == expected[::-1]
            assert alone.search_many(connection, vectors, query) == expected
        if cache < 1 << 20 and together._must(connection).centroids.memory:
            kept = together.stats(connection).memory - together._must(connection).centroids.memory
            assert kept <= cache


@pytest.mark.parametrize("cache", [0, 8 << 20])
def test_more_than_goes_at_once(database: Database, cache: int) -> None:
    _, made = filled(database, Design(cluster_size=40, exact_below=0), 3_000)
    index = EcoVectorIndex(cache_bytes=cache)
    asked = np.concatenate([made[:600], clumps(100, seed=3)])
    assert len(asked) > code_search.TOGETHER
    for query in (Query(10), Query(900), Query(5, ties=True)):
        some = asked if query.k < 900 else asked[:40]
        with database.read() as connection:
            assert index.search_many(connection, some, query) == [index.search(connection, one, query) for one in some]


@pytest.mark.parametrize("level", LEVELS)
def test_what_is_wrong_with_one_is_told(tmp_path: Path, level: str) -> None:
    path = tmp_path / "v.mono"
    database = Database(path)
    index, made = filled(database, Design(cluster_size=40, exact_below=0), 600)
    asked = made[:9].copy()
    with using(level), database.read() as connection:
        for spoiled, said in ((np.nan, "not finite"), (0.0, "is zero")):
            asked[4] = spoiled
            with pytest.raises(InputError, match=said):
                index.search_many(connection, asked, Query(3))
        with pytest.raises(InputError, match="dimension"):
            index.search_many(connection, made[:3, :7], Query(3))
        assert index.search_many(connection, made[:0], Query(3)) == []
    database.close()
    by_hand = connected(path)
    by_hand.execute("UPDATE parts SET body = CAST(substr(body, 1, length(body) - 1) || x'07' AS BLOB)")
    by_hand.close()
    database = Database(path)
    for cache in (0, 1 << 20):
        with using(level), database.read() as connection, pytest.raises(DamagedFile, match="checksum does not match"):
            EcoVectorIndex(cache_bytes=cache).search_many(connection, made[:9], Query(3))
    database.close()


@dataclass(frozen=True)
class Together:
    """Never enough; asked after a search's third load, it waits until as many searches as there are stand there."""

    barrier: threading.Barrier

    def after(self, loads: Sequence[Ranks]) -> bool:
        if len(loads) == 3:
            self.barrier.wait(timeout=60)
        return False


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("cache", [0, 8 << 20])
@pytest.mark.parametrize("many", [False, True])
def test_no_search_waits_for_another(database: Database, kind: Kind, cache: int, many: bool) -> None:
    """Eight are in the middle of their clusters at one time: nothing is held over a whole search."""
    _, made = filled(database, Design(kind, 20, exact_below=0), 400)
    index = EcoVectorIndex(cache_bytes=cache)
    query = Query(5, stop=Together(threading.Barrier(8)))

    def search(place: int) -> Neighbours:
        with database.read() as connection:
            if many:
                return index.search_many(connection, made[place : place + 1], query)[0]
            return index.search(connection, made[place], query)

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(search, range(8)))
    with database.read() as connection:
        assert found == index.search_many(connection, made[:8], Query(5, stop=Never()))


def nearest(made: Vectors, alive: frozenset[int], query: Vectors) -> list[tuple[float, int]]:
    """Every vector of a state by its cosine, by brute force."""
    rows = np.array(sorted(alive))
    unit = query / np.float32(np.sqrt(query @ query))
    vectors = made[rows - 1]
    scores = inner_products(vectors, unit) / np.sqrt(inner_products(vectors, vectors))
    order = np.lexsort((rows, -scores))
    return list(zip(scores[order].tolist(), rows[order].tolist(), strict=True))


def told(found: Neighbours) -> list[tuple[float, int]]:
    return list(zip(found.scores, found.items, strict=True))


class Changing:
    """An index that one thread changes while others search it, and what is alive in each of its states."""

    def __init__(self, database: Database, index: EcoVectorIndex) -> None:
        self.database, self.index = database, index
        self.made = clumps(900)
        self.rows = remember(database, self.made).tolist()
        self.states: dict[int, frozenset[int]] = {}
        self.alive: frozenset[int] = frozenset()
        self.searched, self.done = threading.Semaphore(0), threading.Event()
        self.change([], self.rows[:300])

    def change(self, gone: list[int], come: list[int], *, fold: bool = False) -> None:
        """Delete and insert in one transaction."""
        with self.database.write() as connection:
            self.index.delete(connection, gone)
            self.index.insert(connection, np.array(come), self.made[np.array(come) - 1])
            if fold:
                self.index.fold(connection)
            self.alive = self.alive.difference(gone).union(come)
            self.states[store.versions(connection, self.index.space)[0]] = self.alive

    def search(self, seed: int) -> set[int]:
        """Search, alone or in batches, until all is done; returns the states that were seen."""
        random, seen = np.random.default_rng(seed), set()
        while not self.done.is_set():
            asked = self.made[random.integers(0, 900, 4)]
            with self.database.read() as connection:
                version, _ = store.versions(connection, self.index.space)
                if seed % 2:
                    found = self.index.search_many(connection, asked, Query(900, stop=Never()))
                else:
                    found = [self.index.search(connection, one, Query(900, stop=Never())) for one in asked]
                few = self.index.search_many(connection, asked, Query(3, stop=Never()))
            for one, best, vector in zip(found, few, asked, strict=True):
                expected = nearest(self.made, self.states[version], vector)
                assert told(one) == expected
                assert {*best.items} <= self.states[version]
                assert len(best.items) == 3
            seen.add(version)
            self.searched.release()
        return seen

    def write(self, running: list[Future[set[int]]]) -> None:
        """Change the index, over and over, each time when some searches have ended since."""
        try:
            for turn in range(12):
                free = [row for row in self.rows if row not in self.alive]
                self.change(sorted(self.alive)[turn % 7 :: 7], free[: 30 + turn], fold=turn % 4 == 3)
                for _ in range(8):
                    while not self.searched.acquire(timeout=1):
                        assert not all(one.done() for one in running)
        finally:
            self.done.set()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("cache", [0, 20_000, 8 << 20])
def test_eight_threads_search_while_one_inserts_and_deletes(database: Database, kind: Kind, cache: int) -> None:
    """All that is alive is asked for, and each transaction knows what that is: nothing is right by chance."""
    index = EcoVectorIndex(design=Design(kind, 25, exact_below=0), cache_bytes=cache)
    changing = Changing(database, index)
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(8) as pool:
            running = [pool.submit(changing.search, seed) for seed in range(8)]
            changing.write(running)
            seen = set().union(*(one.result() for one in running))
    finally:
        sys.setswitchinterval(before)
    assert len(seen) >= 6
    assert seen <= changing.states.keys()
