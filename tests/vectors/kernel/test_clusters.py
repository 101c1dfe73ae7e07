"""Scans, graphs and walks of clusters: every processor level gives what brute force finds."""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import partial
from itertools import accumulate
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monograph.vectors import kernel
from monograph.vectors.cluster import encode, pack, unpack
from support.oracles import clusters as oracle
from support.properties import examples
from support.vectors import bitmap, clusters_that_overlap, scanned, struck_from, unit_vectors, using

LEVELS = kernel.levels()


def cluster(n: int, dimension: int, seed: int = 0) -> bytes:
    ids = np.arange(n, dtype=np.int64) * 3 + 1
    return pack(encode(ids, unit_vectors(n, dimension, seed)))


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(("n", "dimension"), [(0, 8), (1, 1), (7, 5), (60, 33), (300, 384), (50, 127), (40, 200)])
def test_a_scan_finds_what_brute_force_finds(level: str, n: int, dimension: int) -> None:
    body, query = cluster(n, dimension), unit_vectors(1, dimension, seed=9)[0]
    held = unpack(body)
    with using(level):
        result, scores, ids = scanned([body], query, 5)
    assert list(zip(ids, scores, strict=True)) == oracle.best([held], query, 10)  # Whole numbers: to the bit.
    assert result == (list(range(min(n, 5))), n)
    # The query's own codes are off by at most half a step in each of the values.
    exact = held.vectors() @ query
    assert scores == pytest.approx(exact[np.searchsorted(held.ids, ids)].tolist(), abs=0.02 * dimension**0.5)


@settings(max_examples=examples(60))
@given(
    seed=st.integers(0, 1000),
    n=st.integers(0, 40),
    allowed=st.sets(st.integers(0, 130)),
    struck=st.sets(st.integers(0, 39)),
    k=st.integers(0, 12),
)
def test_deleted_and_forbidden_are_never_found(seed: int, n: int, allowed: set[int], struck: set[int], k: int) -> None:
    body = cluster(n, 6, seed)
    ids = unpack(body).ids
    gone = ids[[row for row in struck if row < n]]
    body = struck_from(body, gone)
    assert set(unpack(body).alive().ids.tolist()) == set(ids.tolist()) - set(gone.tolist())
    query = unit_vectors(1, 6, seed + 1)[0]
    _, scores, found = scanned([body], query, k, bitmap(allowed, max(allowed, default=0) + 1), pool=50)
    assert set(found) == (set(ids.tolist()) - set(gone.tolist())) & allowed
    assert list(zip(found, scores, strict=True)) == oracle.best([unpack(body)], query, 50, allowed)


@settings(max_examples=examples(60))
@clusters_that_overlap
def test_loads_merge_and_report_the_ranks_of_new_entries(seed: int, parts: list[list[int]], k: int) -> None:
    every = encode(np.arange(61), unit_vectors(61, 8, seed))
    query = unit_vectors(1, 8, seed + 7)[0]
    pool = kernel.Pool(7)
    for part in parts:
        before = set(pool.ids.tolist())
        body = pack(every.take(np.array(part, dtype=np.int64)))
        ranks, compared = kernel.scan([body], query, pool, k)
        assert compared == len(part)
        assert [rank for rank, one in enumerate(pool.ids[:k].tolist()) if one not in before] == ranks
    seen = sorted({one for part in parts for one in part})
    expected = oracle.best([every.take(np.array(seen, dtype=np.int64))], query, 7)
    assert list(zip(pool.ids.tolist(), pool.scores.tolist(), strict=True)) == expected


@pytest.mark.parametrize("level", LEVELS)
def test_graphs_are_the_same_at_every_level_and_find_nearly_all(level: str) -> None:
    n, dimension = 300, 24
    body = cluster(n, dimension)
    usual = kernel.graph_insert(body, None, 8, 40, 1.0)
    with using(level):
        graph = kernel.graph_insert(body, None, 8, 40, 1.0)
        assert graph == usual
        found = 0
        for seed in range(20):
            query = unit_vectors(1, dimension, seed + 100)[0]
            truth = oracle.best([unpack(body)], query, 10)
            _, scores, ids = walked(body, graph, query)
            assert set(zip(ids, scores, strict=True)) <= set(oracle.best([unpack(body)], query, n))
            found += len({one for one, _ in truth} & set(ids))
    assert found >= 190
    links = oracle.read_graph(graph)
    assert all(len(row) <= (8 if level else 16) for node in links.links for level, row in enumerate(node))


def walked(body: bytes, graph: bytes, query: Any, ef: int = 60) -> tuple[Any, list[float], list[int]]:
    pool = kernel.Pool(10)
    result = kernel.walk(body, graph, query, pool, 10, ef)
    return result, pool.scores.tolist(), pool.ids.tolist()


def test_hnswlib_is_no_better_at_the_same_settings() -> None:
    hnswlib = pytest.importorskip("hnswlib")
    n, dimension = 2_000, 32
    vectors = unit_vectors(n, dimension)
    body = pack(encode(np.arange(n), vectors))
    graph = kernel.graph_insert(body, None, m=12, ef=80)
    oracle = hnswlib.Index("ip", dimension)
    oracle.init_index(n, M=12, ef_construction=80, random_seed=1)
    oracle.add_items(vectors, num_threads=1)
    for ef in (20, 60):
        oracle.set_ef(ef)
        ours = theirs = 0
        for query in unit_vectors(100, dimension, seed=5):
            truth = set(np.argsort(-(vectors @ query))[:10].tolist())
            pool = kernel.Pool(10)
            kernel.walk(body, graph, query, pool, 10, ef)
            ours += len(truth & set(pool.ids.tolist()))
            theirs += len(truth & set(oracle.knn_query(query, 10)[0][0].tolist()))
        assert ours >= theirs - 30  # Of 1,000.


@settings(max_examples=examples(25))
@given(data=st.data())
def test_a_graph_keeps_its_recall_through_inserts_and_deletes(data: st.DataObject) -> None:
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    vectors = unit_vectors(120, 12, seed=3)
    ids = rng.permutation(120)[:60].tolist()
    body = pack(encode(np.array(ids), vectors[ids]))
    graph = kernel.graph_insert(body, None, m=6, ef=40)
    for _ in range(data.draw(st.integers(1, 6))):
        if data.draw(st.booleans()) and len(ids) > 5:
            rows = sorted(rng.permutation(len(ids))[: data.draw(st.integers(1, len(ids) // 2))].tolist())
            graph = kernel.graph_remove(body, graph, rows, 40, 1.0)
            ids = [one for row, one in enumerate(ids) if row not in rows]
        else:
            fresh = [one for one in rng.permutation(120).tolist() if one not in ids][: data.draw(st.integers(1, 30))]
            ids += fresh
        body = pack(encode(np.array(ids), vectors[ids]))
        graph = kernel.graph_insert(body, graph, 6, 40, 1.0)
        kernel.graph_check(body, graph)
    fresh_graph = kernel.graph_insert(body, None, m=6, ef=40)
    hits = {"changed": 0, "fresh": 0}
    for query in unit_vectors(20, 12, seed=11):
        truth = {one for one, _ in oracle.best([unpack(body)], query, 10)}
        for name, one in (("changed", graph), ("fresh", fresh_graph)):
            hits[name] += len(truth & set(walked(body, one, query, ef=40)[2]))
    assert hits["changed"] >= hits["fresh"] - 2  # Of 200: one point.


def test_the_last_node_can_go_and_the_first_can_come() -> None:
    body = cluster(3, 4)
    empty = pack(unpack(body).take(np.array([], dtype=np.int64)))
    graph = kernel.graph_insert(body, None, 4, 10, 1.0)
    none = kernel.graph_remove(body, graph, [0, 1, 2], 10, 1.0)
    assert walked(empty, none, unit_vectors(1, 4)[0]) == (([], 0), [], [])
    assert kernel.graph_insert(body, none, 4, 10, 1.0) == graph


@settings(max_examples=examples(100))
@given(place=st.integers(0, 10_000), bit=st.integers(0, 7), which=st.sampled_from(["body", "graph"]))
def test_one_flipped_bit_is_noticed(place: int, bit: int, which: str) -> None:
    body = cluster(30, 16)
    graph = kernel.graph_insert(body, None, m=4, ef=20)
    hurt = bytearray(body if which == "body" else graph)
    place %= len(hurt)
    if which == "body" and 24 <= place < 32:
        place = 16  # The header's last bytes are not in use.
    hurt[place] ^= 1 << bit
    body, graph = (bytes(hurt), graph) if which == "body" else (body, bytes(hurt))
    query = unit_vectors(1, 16)[0]
    if which == "body":
        with pytest.raises(kernel.DamagedBytes):
            scanned([body], query, 5)
    elif not 12 <= place < 16 and not 8 <= place < 12:
        with pytest.raises(kernel.DamagedBytes):
            walked(body, graph, query)


@settings(max_examples=examples(150))
@given(junk=st.binary(max_size=300), keep=st.integers(0, 64))
def test_junk_bytes_are_refused_as_clusters(junk: bytes, keep: int) -> None:
    body = cluster(5, 3)
    graph = kernel.graph_insert(body, None, m=2, ef=5)
    query = unit_vectors(1, 3)[0]
    for start in (b"", body[:keep], graph[:keep]):
        calls: tuple[Callable[[bytes], object], ...] = (
            lambda hurt: scanned([hurt], query, 5),
            lambda hurt: walked(body, hurt, query),
            lambda hurt: kernel.graph_insert(body, hurt, 4, 5, 1.0),
            lambda hurt: kernel.graph_remove(body, hurt, [0], 5, 1.0),
        )
        for call in calls:
            try:
                call(start + junk)
            except (kernel.DamagedBytes, ValueError) as error:
                assert str(error)


@settings(max_examples=examples(100))
@given(data=st.binary(max_size=2000), place=st.integers(0, 1999), value=st.integers(1, 255))
def test_checksums_agree_and_notice_a_changed_byte(data: bytes, place: int, value: int) -> None:
    for level in LEVELS:
        with using(level):
            assert kernel.checksum(data) == oracle.checksum(data)
    if data:
        changed = bytearray(data)
        changed[place % len(data)] ^= value
        assert oracle.checksum(bytes(changed)) != oracle.checksum(data)


QUERY = np.ones(4, dtype=np.float32)


def scan_with(arguments: dict[str, Any]) -> None:
    """Scan a small cluster, with some of the arguments replaced."""
    given_ = {
        "bodies": [cluster(3, 4)],
        "query": QUERY,
        "pool": kernel.Pool(4),
        "k": 2,
        "allowed": None,
        "trusted": False,
        **arguments,
    }
    kernel.scan(*given_.values())


@pytest.mark.parametrize(
    "arguments",
    [
        {"query": QUERY.astype(np.float64)},
        {"query": QUERY.reshape(2, 2)},
        {"query": None},
        {"bodies": "no list"},
        {"bodies": ["no bytes"]},
        {"allowed": np.zeros(4, dtype=np.int64)},
        {"pool": np.zeros(4, dtype=np.int64)},
        {"k": "1"},
    ],
)
def test_clusters_refuse_wrong_types(arguments: dict[str, Any]) -> None:
    with pytest.raises(TypeError):
        scan_with(arguments)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"query": np.ones(5, dtype=np.float32)}, "vectors have dimension 4, the query has 5"),
        ({"query": np.array([1, np.nan, 1, 1], dtype=np.float32)}, "the query is not finite"),
    ],
)
def test_clusters_refuse_wrong_values(arguments: dict[str, Any], said: str) -> None:
    with pytest.raises((ValueError, kernel.DamagedBytes), match="^" + said + "$"):
        scan_with(arguments)


@pytest.mark.parametrize(
    ("m", "ef", "alpha"), [(1, 10, 1.0), (300, 10, 1.0), (4, 0, 1.0), (4, 10, 0.5), (4, 10, float("nan"))]
)
def test_graphs_of_impossible_numbers_are_refused(m: int, ef: int, alpha: float) -> None:
    body = cluster(3, 4)
    with pytest.raises(ValueError, match="is"):
        kernel.graph_insert(body, None, m=m, ef=ef, alpha=alpha)


def test_a_graph_of_another_cluster_is_refused() -> None:
    graph = kernel.graph_insert(cluster(9, 4), None, m=4, ef=10)
    with pytest.raises(kernel.DamagedBytes, match="of another cluster"):
        walked(cluster(3, 4), graph, QUERY)
    with pytest.raises(kernel.DamagedBytes, match="of another cluster"):
        kernel.graph_insert(cluster(3, 4), graph, 4, 10, 1.0)
    with pytest.raises(ValueError, match="there is no row 7 to remove"):
        kernel.graph_remove(cluster(3, 4), kernel.graph_insert(cluster(3, 4), None, m=4, ef=10), [7], 10, 1.0)


def test_codes_are_within_half_a_step() -> None:
    vectors = unit_vectors(50, 40) * 7
    entries = encode(np.arange(50), vectors)
    off = np.abs(unpack(pack(entries)).vectors() - vectors)
    assert (off <= 0.5 * entries.scales[:, None] * 1.001).all()
    zero = encode(np.array([5]), np.zeros((1, 4), dtype=np.float32))
    assert (zero.vectors() == 0).all()


def hostile(body: bytes, graph: bytes) -> dict[str, bytes]:
    """Graphs that no one builds, each with a right checksum, by what is wrong with them."""
    n = len(unpack(body))

    def changed(change: Callable[[oracle.Graph], Any]) -> bytes:
        made = oracle.read_graph(graph)
        change(made)
        return oracle.write_graph(made)

    whole = oracle.read_graph(graph)
    high = next(node for node, links in enumerate(whole.links) if len(links) > 1)
    low = next(node for node, links in enumerate(whole.links) if len(links) == 1)
    rows = [0, *accumulate(len(links) - 1 for links in whole.links)]
    last = max(node for node, links in enumerate(whole.links) if len(links) == 1)
    return {
        "itself": changed(lambda made: made.links[whole.entry][0].__setitem__(0, whole.entry)),
        "each itself": changed(lambda made: [links[0].__setitem__(0, node) for node, links in enumerate(made.links)]),
        "beyond": changed(lambda made: made.links[whole.entry][0].__setitem__(0, n)),
        "far beyond": changed(lambda made: made.links[whole.entry][0].__setitem__(0, 2**31 - 1)),
        "twice": changed(lambda made: made.links[low][0].__setitem__(-1, made.links[low][0][0])),
        "a level up": changed(lambda made: made.links[high][1].append(low)),
        "itself, a level up": changed(lambda made: made.links[high][1].append(high)),
        "another entry": changed(lambda made: setattr(made, "entry", last)),
        "levels that sink": oracle.write_graph(whole, [rows[0], rows[-1], *rows[2:]]),
        "levels that begin late": oracle.write_graph(whole, [1, *rows[1:]]),
    }


def test_graphs_with_a_right_checksum_that_are_none_are_refused() -> None:
    body, more = cluster(120, 8), cluster(150, 8)
    for kind, hurt in hostile(body, kernel.graph_insert(body, None, m=4, ef=20)).items():
        calls: tuple[Callable[[], object], ...] = (
            partial(kernel.graph_remove, body, hurt, list(range(0, 120, 3)), 20, 1.0),
            partial(kernel.graph_remove, body, hurt, [], 20, 1.0),
            partial(kernel.graph_insert, more, hurt, 4, 20, 1.0),
            partial(kernel.graph_insert, body, hurt, 4, 20, 1.0),
            partial(kernel.graph_check, body, hurt),
        )
        said = set()
        for call in calls:
            with pytest.raises(kernel.DamagedBytes, match=r"of its graph") as caught:
                call()
            said.add(str(caught.value))
        assert len(said) == 1, kind


def test_a_walk_tells_alike_of_links_that_lead_astray() -> None:
    body = cluster(120, 8)
    for kind, hurt in hostile(body, kernel.graph_insert(body, None, m=4, ef=20)).items():
        said = set()
        for level in LEVELS:
            with using(level):
                try:
                    said.add(repr(walked(body, hurt, unit_vectors(1, 8, 7)[0])))
                except kernel.DamagedBytes as error:
                    said.add(str(error))
        assert len(said) == 1, kind
        astray = kind in ("itself", "each itself", "beyond", "far beyond")
        assert not astray or said == {"a link of its graph leads astray"}


@settings(max_examples=examples(150))
@given(
    changes=st.lists(st.tuples(st.integers(0, 10_000), st.integers(-2, 40)), max_size=6),
    gone=st.sets(st.integers(0, 29)),
)
def test_any_links_are_refused_or_served(changes: list[tuple[int, int]], gone: set[int]) -> None:
    body = cluster(30, 4)
    data = bytearray(kernel.graph_insert(body, None, m=2, ef=10))
    for place, value in changes:
        struct.pack_into("<i", data, 20 + 4 * (place % ((len(data) - 20) // 4)), value)
    struct.pack_into("<I", data, 16, oracle.checksum(bytes(data[20:])))
    hurt = bytes(data)
    calls: tuple[Callable[[], object], ...] = (
        lambda: kernel.graph_remove(body, hurt, sorted(gone), 10, 1.0),
        lambda: kernel.graph_insert(cluster(36, 4), hurt, 2, 10, 1.0),
        lambda: kernel.graph_check(body, hurt),
        lambda: walked(body, hurt, unit_vectors(1, 4)[0]),
    )
    for call in calls:
        try:
            assert call() is None or call() == call()
        except kernel.DamagedBytes as error:
            assert str(error)
