"""Codes of two bits, equal to the oracle to the bit at every processor level."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monograph.vectors import kernel
from monograph.vectors.cluster import Centre, encode_about, join_entries, pack, unpack
from support.oracles import clusters as oracle
from support.properties import examples
from support.vectors import bitmap, clusters_that_overlap, scanned, struck_from, unit_vectors, using

LEVELS = kernel.levels()


def cluster(n: int, dimension: int, seed: int = 0) -> bytes:
    vectors = unit_vectors(n + 1, dimension, seed)
    ids = np.arange(n, dtype=np.int64) * 3 + 1
    return pack(encode_about(Centre.many(vectors[n:])[0], ids, vectors[:n]))


@settings(max_examples=examples(300))
@given(
    seed=st.integers(0, 10_000),
    n=st.integers(0, 70),
    dimension=st.one_of(st.integers(0, 40), st.sampled_from([127, 256, 384, 1_030])),
    size=st.sampled_from([1.0, 1e-25, 1e15, 0.0]),
    struck=st.sets(st.integers(0, 69)),
    allowed=st.one_of(st.none(), st.sets(st.integers(0, 220))),
    k=st.integers(0, 12),
    pool=st.sampled_from([0, 1, 10, 50, 90]),
)
def test_estimates_are_those_of_the_oracle_to_the_bit(
    seed: int,
    n: int,
    dimension: int,
    size: float,
    struck: set[int],
    allowed: set[int] | None,
    k: int,
    pool: int,
) -> None:
    vectors = unit_vectors(n, dimension, seed) if dimension else np.zeros((n, 0), dtype=np.float32)
    vectors *= np.float32(size)
    centre = (
        Centre.many(vectors[:1] * np.float32(0.7))[0] if n else Centre(np.full(dimension, 128, dtype=np.uint8), 0.0)
    )
    codes, scales = kernel.encode(vectors, centre.values, centre.scale)
    expected_codes, expected_scales = oracle.encode(vectors, centre.values, centre.scale)
    assert codes.tolist() == expected_codes.tolist()
    assert scales.tobytes() == expected_scales.tobytes()
    ids = np.arange(n, dtype=np.int64) * 3 + 1
    body = pack(encode_about(centre, ids, vectors))
    gone = ids[[row for row in struck if row < n]]
    body = struck_from(body, gone)
    bits = None if allowed is None else bitmap(allowed, max(allowed, default=0) + 1)
    query = unit_vectors(1, dimension, seed + 1)[0] if dimension else np.zeros(0, dtype=np.float32)
    query *= np.float32(min(1.0, size))
    expected = oracle.best([unpack(body)], query, pool, allowed)
    for level in LEVELS:
        with using(level):
            _, scored, found = scanned([body], query, k, bits, pool)
        assert list(zip(found, scored, strict=True)) == expected


@settings(max_examples=examples(300))
@given(
    seed=st.integers(0, 10_000),
    dimension=st.integers(1, 70),
    exponents=st.lists(st.integers(-45, 38), min_size=1, max_size=6),
    scale=st.sampled_from([0.0, 1e-40, 1.0, 1e30]),
)
def test_vectors_of_any_size_are_coded(seed: int, dimension: int, exponents: list[int], scale: float) -> None:
    vectors = unit_vectors(len(exponents), dimension, seed) * np.array(
        [[np.float32(10.0**one)] for one in exponents], dtype=np.float32
    )
    centre = np.random.default_rng(seed).integers(0, 256, dimension).astype(np.uint8)
    codes, scales = kernel.encode(vectors, centre, scale)
    with np.errstate(over="ignore", invalid="ignore"):
        expected_codes, expected_scales = oracle.encode(vectors, centre, scale)
    assert codes.tolist() == expected_codes.tolist()
    assert scales.tobytes() == expected_scales.tobytes()
    assert np.isfinite(scales).all()


@pytest.mark.parametrize("dimension", [24, 127, 384])
def test_estimates_err_little_and_to_no_side(dimension: int) -> None:
    n = 600
    vectors = unit_vectors(n, dimension)
    centre = Centre.many(vectors.mean(axis=0, keepdims=True))[0]
    body = pack(encode_about(centre, np.arange(n), vectors))
    off = []
    for query in unit_vectors(20, dimension, seed=3):
        exact = vectors @ query
        pool = kernel.Pool(n)
        assert kernel.scan([body], query, pool, 5)[1] == n
        off.append((pool.scores - exact[pool.ids]) / np.linalg.norm(query))
    spread = np.linalg.norm(vectors - vectors.mean(axis=0), axis=1).mean() / dimension**0.5
    assert np.std(off) <= 0.38 * spread
    assert abs(np.mean(off)) <= 0.03 * spread


@settings(max_examples=examples(60))
@given(
    seed=st.integers(0, 1000),
    n=st.integers(1, 70),
    dimension=st.integers(1, 50),
)
def test_stored_codes_are_those_that_were_made(
    seed: int,
    n: int,
    dimension: int,
) -> None:
    vectors = unit_vectors(n, dimension, seed)
    centre = Centre.many(vectors.mean(axis=0, keepdims=True))[0]
    entries = encode_about(centre, np.arange(n), vectors)
    held = unpack(pack(entries))
    assert (held.ids.tolist(), held.scales.tolist(), held.codes.tolist()) == (
        entries.ids.tolist(),
        entries.scales.tolist(),
        entries.codes.tolist(),
    )
    # One by one they are coded as together, and join to the same.
    alone = [encode_about(centre, np.array([row]), vectors[row : row + 1]) for row in range(n)]
    assert pack(join_entries(alone)) == pack(entries)
    # The product of a vector's difference to the centre with what its code stands for is its square, to rounding.
    about = (centre.values.astype(np.float32) - 128) * np.float32(centre.scale)
    off = vectors - about
    near = oracle.decoded(held.codes, dimension) * held.scales[:, None]
    assert (oracle.rotated(off) * near).sum(axis=1) == pytest.approx((off * off).sum(axis=1), rel=1e-3, abs=1e-5)


def test_codes_about_different_centres_are_not_joined() -> None:
    vectors = unit_vectors(4, 8)
    one, two = (encode_about(centre, np.arange(4), vectors) for centre in Centre.many(vectors[:2]))
    with pytest.raises(kernel.DamagedBytes, match="different centres"):
        join_entries([one, two])


@settings(max_examples=examples(60))
@clusters_that_overlap
def test_a_vector_of_two_clusters_is_kept_once_by_its_higher_estimate(
    seed: int, parts: list[list[int]], k: int
) -> None:
    vectors, query = unit_vectors(61, 20, seed), unit_vectors(1, 20, seed + 7)[0]
    pool = kernel.Pool(7)
    seen = []
    for place, part in enumerate(parts):
        rows = np.array(part, dtype=np.int64)
        seen.append(encode_about(Centre.many(vectors[place : place + 1])[0], rows, vectors[rows]))
        before = set(pool.ids.tolist())
        ranks, compared = kernel.scan([pack(seen[-1])], query, pool, k)
        ids = pool.ids.tolist()
        assert compared == len(part)
        new = {rank for rank, one in enumerate(ids[:k]) if one not in before}
        # One that was pushed out and came back by its higher estimate is told too.
        assert new <= set(ranks) <= new | {rank for rank, one in enumerate(ids[:k]) if one in part}
        expected = oracle.best(seen, query, 7)
        assert list(zip(ids, pool.scores.tolist(), strict=True)) == expected


@pytest.mark.parametrize("place", [0, 4, 9, 13, 17, 21, 40, 900, -1])
def test_damaged_codes_are_refused(place: int) -> None:
    body = bytearray(cluster(40, 20))
    body[place] ^= 0x41
    query = unit_vectors(1, 20)[0]
    with pytest.raises(kernel.DamagedBytes):
        scanned([bytes(body)], query, 3)
    for size in (0, 31, 32, 700, len(body) - 1):
        with pytest.raises(kernel.DamagedBytes):
            scanned([bytes(body[:size])], query, 3)


FINE, CENTRE = unit_vectors(3, 4), np.full(4, 128, dtype=np.uint8)


@pytest.mark.parametrize(
    ("vectors", "centre"),
    [
        (FINE, CENTRE[:3]),
        (FINE * np.float32(np.nan), CENTRE),
        (FINE + np.array([0, 0, np.inf, 0], dtype=np.float32), CENTRE),
        (FINE.astype(np.float64), CENTRE),
        (FINE[0], CENTRE),
        (FINE, CENTRE.astype(np.int8)),
        (unit_vectors(4, 8)[:, ::2], CENTRE),
        (None, CENTRE),
    ],
)
def test_wrong_arrays_are_refused(vectors: Any, centre: Any) -> None:
    with pytest.raises((TypeError, ValueError, kernel.DamagedBytes)):
        kernel.encode(vectors, centre, 1.0)


def test_codes_of_two_bits_have_no_graph() -> None:
    with pytest.raises(kernel.DamagedBytes, match="codes of two bits have no graph"):
        kernel.graph_insert(cluster(9, 8), None, 4, 10, 1.0)
