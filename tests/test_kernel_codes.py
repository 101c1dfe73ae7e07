"""Compact codes: every implementation and every processor level gives the same, to the bit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monograph.errors import InputError
from monograph.vectors import kernel
from monograph.vectors.cluster import (
    COMPACT,
    Centre,
    Metric,
    Precision,
    body_size,
    encode_about,
    head_size,
    joined,
    pack,
    strike,
    unpack,
)
from monograph.vectors.kernel import reference, reference_codes, reference_graph

METRICS: tuple[Metric, ...] = ("cosine", "inner_product", "l2")


@dataclass(frozen=True)
class Implementation:
    level: str | None
    encode: Callable[..., Any]
    scan: Callable[..., Any]
    graph_insert: Callable[..., Any]

    def scanned(self, bodies: list[bytes], query: Any, k: int, allowed: Any, pool: int) -> tuple[Any, Any, Any]:
        scores, ids = np.zeros(pool, dtype=np.float32), np.zeros(pool, dtype=np.int64)
        if self.level is not None:
            _kernel.use_level(self.level)
        try:
            result = self.scan(bodies, query, scores, ids, 0, k, allowed, False)
        finally:
            if self.level is not None:
                _kernel.use_level(_kernel.levels()[0])
        return result, scores[: result[0]].tolist(), ids[: result[0]].tolist()


IMPLEMENTATIONS = [Implementation(None, reference_codes.encode, reference.scan, reference_graph.graph_insert)]
if kernel.IMPLEMENTATION == "compiled":
    from monograph.vectors.kernel import _kernel

    IMPLEMENTATIONS += [
        Implementation(level, _kernel.encode, _kernel.scan, _kernel.graph_insert) for level in _kernel.levels()
    ]


def drawn(n: int, dimension: int, metric: Metric, seed: int = 0) -> np.ndarray[Any, np.dtype[np.float32]]:
    made = np.random.default_rng(seed).standard_normal((n, dimension)).astype(np.float32)
    return made / np.linalg.norm(made, axis=1, keepdims=True) if metric == "cosine" else made


def cluster(n: int, dimension: int, metric: Metric, precision: Precision, seed: int = 0) -> bytes:
    vectors = drawn(n + 1, dimension, metric, seed)
    ids = np.arange(n, dtype=np.int64) * 3 + 1
    return pack(encode_about(Centre.of(vectors[n]), ids, vectors[:n], metric, precision))


@settings(max_examples=300, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    n=st.integers(0, 70),
    dimension=st.one_of(st.integers(0, 40), st.sampled_from([127, 256, 384, 1_030])),
    metric=st.sampled_from(METRICS),
    precision=st.sampled_from(COMPACT),
    size=st.sampled_from([1.0, 1e-25, 1e15, 0.0]),
    struck=st.sets(st.integers(0, 69)),
    allowed=st.one_of(st.none(), st.sets(st.integers(0, 220))),
    k=st.integers(0, 12),
    pool=st.sampled_from([0, 1, 10, 50, 90]),
)
def test_all_give_the_same_to_the_bit(
    seed: int,
    n: int,
    dimension: int,
    metric: Metric,
    precision: Precision,
    size: float,
    struck: set[int],
    allowed: set[int] | None,
    k: int,
    pool: int,
) -> None:
    vectors = drawn(n, dimension, metric, seed) if dimension else np.zeros((n, 0), dtype=np.float32)
    vectors *= np.float32(size)
    centre = Centre.of(vectors[0] * np.float32(0.7)) if n else Centre(np.full(dimension, 128, dtype=np.uint8), 0.0)
    planes = COMPACT.index(precision) + 1
    made = [one.encode(vectors, centre.values, centre.scale, planes) for one in IMPLEMENTATIONS]
    for codes, scales in made:
        assert codes.tolist() == made[0][0].tolist()
        assert scales.tobytes() == made[0][1].tobytes()
        assert (codes.shape, codes.dtype, scales.dtype) == (
            (n, planes * reference_codes.groups_of(dimension)),
            np.uint8,
            np.float32,
        )
    ids = np.arange(n, dtype=np.int64) * 3 + 1
    body = pack(encode_about(centre, ids, vectors, metric, precision))
    assert len(body) == body_size(n, dimension, precision)
    gone = ids[[row for row in struck if row < n]]
    head = strike(body[: head_size(body)], gone)
    body = head + body[len(head) :]
    bits = None
    if allowed is not None:
        flags = np.zeros(max(allowed, default=0) + 1, dtype=np.uint8)
        flags[list(allowed)] = 1
        bits = np.packbits(flags, bitorder="little")
    query = drawn(1, dimension, metric, seed + 1)[0] if dimension else np.zeros(0, dtype=np.float32)
    query *= np.float32(min(1.0, size))
    found = [one.scanned([body], query, k, bits, pool) for one in IMPLEMENTATIONS]
    assert all(one == found[0] for one in found)
    alive = set(ids.tolist()) - set(gone.tolist())
    wanted = alive if allowed is None else alive & allowed
    if pool >= n:
        assert set(found[0][2]) == wanted
    assert set(found[0][2]) <= wanted


@settings(max_examples=300, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    dimension=st.integers(1, 70),
    exponents=st.lists(st.integers(-45, 38), min_size=1, max_size=6),
    scale=st.sampled_from([0.0, 1e-40, 1.0, 1e30]),
    planes=st.sampled_from([1, 2]),
)
def test_vectors_of_any_size_are_coded_alike(
    seed: int, dimension: int, exponents: list[int], scale: float, planes: int
) -> None:
    vectors = drawn(len(exponents), dimension, "cosine", seed) * np.array(
        [[np.float32(10.0**one)] for one in exponents], dtype=np.float32
    )
    centre = np.random.default_rng(seed).integers(0, 256, dimension).astype(np.uint8)
    made = [one.encode(vectors, centre, scale, planes) for one in IMPLEMENTATIONS]
    for codes, scales in made:
        assert codes.tolist() == made[0][0].tolist()
        assert scales.tobytes() == made[0][1].tobytes()
        assert np.isfinite(scales).all()


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize(("precision", "error"), [("bits1", 0.8), ("bits2", 0.38)])
@pytest.mark.parametrize("dimension", [24, 127, 384])
def test_estimates_err_little_and_to_no_side(
    metric: Metric, precision: Precision, error: float, dimension: int
) -> None:
    n = 600
    vectors = drawn(n, dimension, metric)
    centre = Centre.of(vectors.mean(axis=0))
    body = pack(encode_about(centre, np.arange(n), vectors, metric, precision))
    off = []
    for query in drawn(20, dimension, metric, seed=3):
        exact = vectors @ query - (0.5 * (vectors * vectors).sum(axis=1) if metric == "l2" else 0)
        pool = kernel.Pool(n)
        assert kernel.scan([body], query, pool, 5).compared == n
        off.append((pool.scores - exact[pool.ids]) / np.linalg.norm(query))
    spread = np.linalg.norm(vectors - vectors.mean(axis=0), axis=1).mean() / dimension**0.5
    assert np.std(off) <= error * spread
    assert abs(np.mean(off)) <= 0.03 * spread


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 1000),
    n=st.integers(1, 70),
    dimension=st.integers(1, 50),
    metric=st.sampled_from(METRICS),
    precision=st.sampled_from(COMPACT),
)
def test_what_is_stored_is_what_was_coded(
    seed: int, n: int, dimension: int, metric: Metric, precision: Precision
) -> None:
    vectors = drawn(n, dimension, metric, seed)
    centre = Centre.of(vectors.mean(axis=0))
    entries = encode_about(centre, np.arange(n), vectors, metric, precision)
    held = unpack(pack(entries))
    assert (held.ids.tolist(), held.scales.tolist(), held.codes.tolist()) == (
        entries.ids.tolist(),
        entries.scales.tolist(),
        entries.codes.tolist(),
    )
    assert held.biases.tolist() == entries.biases.tolist()
    # One by one they are coded as together, and join to the same.
    alone = [encode_about(centre, np.array([row]), vectors[row : row + 1], metric, precision) for row in range(n)]
    assert pack(joined(alone)) == pack(entries)
    # The product of a vector's difference to the centre with what its code stands for is its square, to rounding.
    about = (centre.values.astype(np.float32) - 128) * np.float32(centre.scale)
    off, near = vectors - about, held.vectors() - about
    assert (off * near).sum(axis=1) == pytest.approx((off * off).sum(axis=1), rel=1e-3, abs=1e-5)


def test_codes_about_different_centres_are_not_joined() -> None:
    vectors = drawn(4, 8, "cosine")
    one, two = (encode_about(Centre.of(centre), np.arange(4), vectors, "cosine", "bits2") for centre in vectors[:2])
    with pytest.raises(kernel.DamagedBytes, match="different centres"):
        joined([one, two])


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 1000),
    parts=st.lists(st.lists(st.integers(0, 60), unique=True), max_size=4),
    k=st.integers(0, 9),
    precision=st.sampled_from(COMPACT),
)
def test_a_vector_of_two_clusters_is_kept_once_by_its_higher_estimate(
    seed: int, parts: list[list[int]], k: int, precision: Precision
) -> None:
    vectors, query = drawn(61, 20, "cosine", seed), drawn(1, 20, "cosine", seed + 7)[0]
    said = []
    for one in IMPLEMENTATIONS:
        scores, ids, filled = np.zeros(7, dtype=np.float32), np.zeros(7, dtype=np.int64), 0
        history, best = [], dict[int, float]()
        for place, part in enumerate(parts):
            rows = np.array(part, dtype=np.int64)
            body = pack(encode_about(Centre.of(vectors[place]), rows, vectors[rows], "cosine", precision))
            _, alone, memos = one.scanned([body], query, 0, None, 61)
            for memo, score in zip(memos, alone, strict=True):
                best[memo] = max(score, best.get(memo, score))
            before = set(ids[:filled].tolist())
            filled, ranks, compared = one.scan([body], query, scores, ids, filled, k, None, False)
            assert compared == len(part)
            new = {rank for rank in range(min(filled, k)) if int(ids[rank]) not in before}
            # One that was pushed out and came back by its higher estimate is told too.
            assert new <= set(ranks) <= new | {rank for rank in range(min(filled, k)) if int(ids[rank]) in part}
            ranked = sorted(best.items(), key=lambda pair: (-pair[1], pair[0]))[:7]
            assert list(zip(ids[:filled].tolist(), scores[:filled].tolist(), strict=True)) == ranked
            history.append((ranks, ids[:filled].tolist(), scores[:filled].tolist()))
        said.append(history)
    assert all(history == said[0] for history in said)


@pytest.mark.parametrize("precision", COMPACT)
@pytest.mark.parametrize("place", [0, 4, 9, 13, 17, 21, 40, 900, -1])
def test_damage_is_told_alike(precision: Precision, place: int) -> None:
    body = bytearray(cluster(40, 20, "cosine", precision))
    body[place] ^= 0x41
    said = set()
    for one in IMPLEMENTATIONS:
        with pytest.raises((RuntimeError, ValueError), match=r"damaged: |dimension") as caught:
            one.scanned([bytes(body)], drawn(1, 20, "cosine")[0], 3, None, 10)
        said.add(str(caught.value))
    assert len(said) == 1
    for size in (0, 31, 32, 700, len(body) - 1):
        for one in IMPLEMENTATIONS:
            with pytest.raises(RuntimeError, match="damaged: "):
                one.scanned([bytes(body[:size])], drawn(1, 20, "cosine")[0], 3, None, 10)


FINE, CENTRE = drawn(3, 4, "cosine"), np.full(4, 128, dtype=np.uint8)


@pytest.mark.parametrize(
    ("vectors", "centre", "planes"),
    [
        (FINE, CENTRE, 0),
        (FINE, CENTRE, 3),
        (FINE, CENTRE[:3], 1),
        (FINE * np.float32(np.nan), CENTRE, 1),
        (FINE + np.array([0, 0, np.inf, 0], dtype=np.float32), CENTRE, 2),
    ],
)
def test_wrong_values_are_told_alike(vectors: Any, centre: Any, planes: int) -> None:
    said = set()
    for one in IMPLEMENTATIONS:
        with pytest.raises(ValueError, match=r"\w+ ") as caught:
            one.encode(vectors, centre, 1.0, planes)
        said.add(str(caught.value))
    with pytest.raises(InputError) as ours:
        kernel.encode(vectors, centre, 1.0, planes)
    assert said == {ours.value.message}


@pytest.mark.parametrize(
    ("vectors", "centre", "planes"),
    [
        (FINE.astype(np.float64), CENTRE, 1),
        (FINE[0], CENTRE, 1),
        (FINE, CENTRE.astype(np.int8), 1),
        (drawn(4, 8, "cosine")[:, ::2], CENTRE, 1),
        (None, CENTRE, 1),
    ],
)
def test_wrong_types(vectors: Any, centre: Any, planes: int) -> None:
    for one in IMPLEMENTATIONS:
        with pytest.raises(TypeError):
            one.encode(vectors, centre, 1.0, planes)
    with pytest.raises(InputError, match="float32"):
        kernel.encode(vectors, centre, 1.0, planes)


def test_compact_codes_have_no_graph() -> None:
    for one in IMPLEMENTATIONS:
        with pytest.raises(ValueError, match="codes of bits have no graph"):
            one.graph_insert(cluster(9, 8, "cosine", "bits2"), None, 4, 10, 1.0)
