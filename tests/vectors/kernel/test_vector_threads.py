"""Searches of many threads, each in the state of its own transaction."""

from __future__ import annotations

import sys
import threading
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np
import pytest

from monograph.store.file.database import Database
from monograph.store.vectors import clusters as store
from monograph.vectors.design import KINDS, Design, Kind
from monograph.vectors.index import EcoVectorIndex
from monograph.vectors.search import Neighbours, VectorQuery
from monograph.vectors.stop import Never
from support.vectors import Vectors, clumps, filled, remember


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("cache", [0, 8 << 20])
def test_no_search_waits_for_another(database: Database, kind: Kind, cache: int) -> None:
    """Eight are in the middle of their clusters at one time: nothing is held over a whole search."""
    _, made = filled(database, Design(kind, 20, exact_below=0), 400)
    index = EcoVectorIndex(cache_bytes=cache)
    query, barrier, waited = VectorQuery(5, stop=Never()), threading.Barrier(8), set[int]()

    def search(place: int) -> Neighbours:
        def wait(statement: str) -> None:
            if "body FROM" in statement and "parts" in statement and place not in waited:
                waited.add(place)
                barrier.wait(timeout=60)

        with database.read() as connection:
            connection.set_trace_callback(wait)
            try:
                return index.search(connection, made[place], query)
            finally:
                connection.set_trace_callback(None)

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(search, range(8)))
    assert len(waited) == 8
    assert not barrier.broken
    with database.read() as connection:
        assert found == [index.search(connection, one, VectorQuery(5, stop=Never())) for one in made[:8]]


def nearest(made: Vectors, alive: frozenset[int], query: Vectors) -> list[tuple[float, int]]:
    """Every vector of a state by its cosine, by brute force."""
    rows = np.array(sorted(alive))
    unit = query / np.float32(np.sqrt(query @ query))
    vectors = made[rows - 1]
    scores = np.vecdot(vectors, unit) / np.sqrt(np.vecdot(vectors, vectors))
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
        """Search until all is done; returns the states that were seen."""
        random, seen = np.random.default_rng(seed), set()
        while not self.done.is_set():
            asked = self.made[random.integers(0, 900, 4)]
            with self.database.read() as connection:
                version, _ = store.versions(connection, self.index.space)
                found = [self.index.search(connection, one, VectorQuery(900, stop=Never())) for one in asked]
                few = [self.index.search(connection, one, VectorQuery(3, stop=Never())) for one in asked]
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


@pytest.mark.long
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
