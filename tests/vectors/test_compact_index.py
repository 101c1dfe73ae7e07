"""An index of the codes design: exact while it is small, then clusters of codes of two bits, and codes by value."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from monograph.errors import DamagedFile
from monograph.store.check import rules
from monograph.store.check.derived import CLUSTERS
from monograph.store.file.database import Database
from monograph.store.vectors import clusters as store
from monograph.vectors import kernel, verify
from monograph.vectors.cluster_search import Search
from monograph.vectors.design import DESIGNS, Design
from monograph.vectors.index import EcoVectorIndex
from monograph.vectors.search import Neighbours, VectorQuery, prepare
from monograph.vectors.stop import Budget, Never, RankAware, Ranks, VBase, reciprocal_rank
from support.raw_sql import connected
from support.vectors import DIMENSION, Vectors, bitmap, clumps, filled, recall, remember, scores_of

CLUSTERED = Design(cluster_size=60, exact_below=0)


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ("DELETE FROM codes WHERE place % 4294967296 < 200", "codes of vectors are missing"),
        ("UPDATE codes SET body = CAST(substr(body, 1, length(body) - 1) || x'07' AS BLOB)", "checksum does not match"),
    ],
)
def test_damaged_codes_are_reported_and_repaired(tmp_path: Path, damage: str, said: str) -> None:
    path = tmp_path / "v.mono"
    database = Database(path)
    index, made = filled(database, CLUSTERED, 400)
    with database.read() as connection:
        before = index.search(connection, made[3], VectorQuery(5))
    database.close()
    by_hand = connected(path)
    by_hand.execute(damage)
    by_hand.close()
    database, index = Database(path), EcoVectorIndex(design=CLUSTERED)
    with database.read() as connection:
        assert any("codes" in fault for fault in verify.faults(connection, index.space))
        with pytest.raises(DamagedFile, match=said):
            index.search(connection, made[3], VectorQuery(5))
    with database.write() as connection:
        store.clear(connection, index.space)
        assert not store.has_codes(connection, index.space)
        index.insert(connection, np.arange(1, 401), made)
        assert list(verify.faults(connection, index.space)) == []
        assert index.search(connection, made[3], VectorQuery(5)).items == before.items
    database.close()


def test_vectors_left_out_of_the_index_are_reported(database: Database) -> None:
    index, _ = filled(database, DESIGNS["codes"], 100)
    with database.write() as connection:
        connection.execute("UPDATE placements SET first = 0 WHERE memo = 7")
        assert list(verify.faults(connection, index.space)) == ["1 nonzero vectors are left out of the index"]


def test_an_index_without_clusters_has_no_codes(database: Database) -> None:
    index, _ = filled(database, DESIGNS["codes"], 100)
    with database.write() as connection:
        assert not store.has_codes(connection, index.space)
        store.put_codes(connection, index.space, [(1, b"x")])
        assert list(verify.faults(connection, index.space)) == ["there are 8-bit codes that the index does not use"]
        store.put_codes(connection, 9, [(1, b"x")])
        checked = rules.CheckedRows(connection)
        (finding,) = rules.findings(checked, CLUSTERS)
        assert finding.fault == "1 codes of a missing index"
        rules.repair(checked, CLUSTERS)
        assert not list(rules.findings(checked, CLUSTERS))


class OwnCondition:
    """Enough when two loads brought nothing."""

    def after(self, loads: Sequence[Ranks]) -> bool:
        return len(loads) >= 2 and not any(loads[-2:])


def one_by_one(connection: sqlite3.Connection, index: EcoVectorIndex, query: Vectors, asked: VectorQuery) -> Neighbours:
    """The same search, a cluster at a time, by what the kernel's scan finds."""
    state = index._must(connection)
    vector = prepare(query, DIMENSION)
    search = Search(asked, index._effort(state, asked), vector)
    loads: list[Ranks] = []
    stopped = "all"
    for cluster in state.centroids.nearest(vector, len(state.centroids)).tolist():
        ranks, compared = kernel.scan(store.bodies(connection, cluster), vector, search.pool, asked.k, asked.allowed)
        loads.append(ranks)
        search.loaded += 1
        search.compared += compared
        if search.pool.filled >= asked.k and search.how.stop.after(loads):
            stopped = "enough"
            break
    best = kernel.Pool(asked.pool)
    kernel.scan(store.load_codes(connection, index.space, search.pool.ids.tolist()), vector, best)
    search.pool = best
    return search.finish(connection, index._memory, stopped)


@pytest.mark.parametrize("cache", [0, 30_000, 150_000, 8 << 20])
def test_cached_clusters_change_no_result(database: Database, cache: int) -> None:
    index, made = filled(database, Design(cluster_size=30, exact_below=0), 1_500)
    bits = bitmap(range(1, 1_500, 2), 1_501)
    conditions = (
        Never(),
        Budget(5),
        VBase(4, 3),
        RankAware(window=4),
        RankAware(reciprocal_rank, 0.3, 2),
        OwnCondition(),
    )
    other = EcoVectorIndex(design=index.design, cache_bytes=cache)
    with database.read() as connection:
        for query in clumps(6, seed=77):
            for condition in conditions:
                for allowed in (None, bits):
                    asked = VectorQuery(10, allowed, condition)
                    expected = one_by_one(connection, index, query, asked)
                    for _ in range(2):
                        assert other.search(connection, query, asked) == expected
        memory = other.stats(connection).memory - len(other._must(connection).centroids.body)
        assert memory <= cache
        assert bool(memory) == bool(cache)
    with database.write() as connection:
        other.delete(connection, list(range(1, 700)))
        found = other.search(connection, made[0], VectorQuery(10, stop=Never()))
        assert min(found.items) >= 700


@pytest.mark.long
@pytest.mark.parametrize("design", [Design(cluster_size=8), Design("graph", 8)])
def test_recall_out_of_reach_is_reported(database: Database, design: Design) -> None:
    made = np.random.default_rng(1).standard_normal((12_000, 64)).astype(np.float32)
    rows = remember(database, made)
    near, far = (EcoVectorIndex(design=design, target_recall=target) for target in (0.5, 0.9999))
    with database.write() as connection:
        near.insert(connection, rows, made)
    with database.read() as connection:
        stats = far.stats(connection)
        assert stats.expected_recall is not None
        assert stats.expected_loads is not None
        assert 0.5 < stats.expected_recall < 0.9999
        found = far.search(connection, -made[0], VectorQuery(10))
        assert found.stopped == "short"
        assert found.loads < stats.clusters
        assert near.search(connection, -made[0], VectorQuery(10)).stopped == "enough"
        assert EcoVectorIndex(target_recall=1.0).search(connection, -made[0], VectorQuery(10)).stopped == "all"


def test_an_index_has_clusters_while_it_holds_many(database: Database) -> None:
    made = clumps(7_000)
    made[17] = 0
    rows = remember(database, made)
    index = EcoVectorIndex()

    def clusters() -> int:
        assert list(verify.faults(connection, index.space)) == []
        return index.stats(connection).clusters

    def assert_exact(first: int, last: int) -> None:
        alive = np.delete(rows[first:last], 17) if first == 0 else rows[first:last]
        for query in clumps(5, seed=9):
            truth = scores_of(made[alive - 1], query)
            best = np.argsort(-truth, kind="stable")[:10]
            found = index.search(connection, query, VectorQuery(10))
            assert (found.loads, found.compared, found.stopped) == (0, len(alive), "exact")
            assert list(found.items) == alive[best].tolist()
            assert list(found.scores) == pytest.approx(truth[best].tolist(), abs=1e-6)

    with database.write() as connection:
        index.insert(connection, rows[:3_000], made[:3_000])
        assert clusters() == 0
        assert_exact(0, 3_000)
        index.insert(connection, rows[3_000:5_500], made[3_000:5_500])
        assert clusters() > 40
        assert index.stats(connection).vectors == 5_499
        index.insert(connection, rows[5_500:], made[5_500:])
        index.delete(connection, rows[:4_000].tolist())
        assert clusters() == 0
        assert index.stats(connection).vectors == 3_000
        assert not store.has_codes(connection, index.space)
        assert_exact(4_000, 7_000)
        store.clear(connection, index.space)
        index.insert(connection, rows, made)
        assert clusters() > 40
        index.delete(connection, [18])  # It has no direction: it was noted, and kept out.
        assert index.stats(connection).vectors == 6_999


@pytest.mark.parametrize("cache", [0, 1 << 20, 1 << 26])
def test_a_small_index_is_exact_with_filters_and_ties(database: Database, cache: int) -> None:
    made = clumps(2_000)
    made[500:520] = made[0] * np.float32(3)  # Of one direction, and of another length.
    rows = remember(database, made)
    index = EcoVectorIndex(cache_bytes=cache)
    with database.write() as connection:
        index.insert(connection, rows, made)
    with database.read() as connection:
        assert set(index.search(connection, made[0], VectorQuery(21)).items) == {1, *range(501, 521)}
        assert len(index.search(connection, made[0], VectorQuery(3)).items) == 3
        for share in (0.5, 0.05, 0.0):
            chosen = np.flatnonzero(np.random.default_rng(4).random(2_000) < share)
            bits = bitmap(chosen + 1, 2_001)
            for query in clumps(5, seed=9):
                truth = scores_of(made[chosen], query)
                best = chosen[np.argsort(-truth, kind="stable")[:10]] + 1
                assert list(index.search(connection, query, VectorQuery(10, bits)).items) == best.tolist()
    same = remember(database, np.repeat(made[:1], 30, axis=0))
    with database.write() as connection:
        index.insert(connection, same, np.repeat(made[:1], 30, axis=0))
        tied = index.search(connection, made[0], VectorQuery(3, ties=True))
        assert {1, *same.tolist()} <= set(tied.items)
        assert min(tied.scores) == tied.scores[2]
        assert (index.stats(connection).memory > 0) == (cache >= 1 << 20)


@pytest.mark.parametrize(
    "target", [pytest.param(0.9, marks=pytest.mark.long), 0.98, pytest.param(0.995, marks=pytest.mark.long)]
)
def test_expected_recall_is_that_of_searches(database: Database, target: float) -> None:
    made = clumps(6_000, dimension=48)
    rows = remember(database, made)
    index = EcoVectorIndex(design=Design(cluster_size=15), target_recall=target)
    with database.write() as connection:
        index.insert(connection, rows, made)
        stats = index.stats(connection)
        assert stats.clusters > 192
        assert stats.expected_recall is not None
        assert stats.expected_recall >= target
        asked = made[:200] + np.float32(0.3) * clumps(200, seed=9, dimension=48)
        found = [index.search(connection, one, VectorQuery(10)) for one in asked]
    assert recall(found, rows, made, asked) >= target - 0.04
