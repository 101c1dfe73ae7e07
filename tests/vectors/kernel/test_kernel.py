"""Comparisons with all vectors, and with signs of names, against brute force."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from monograph.vectors import kernel
from support.properties import examples
from support.vectors import using

# Small whole numbers: sums are exact in any order, and ties are many.
WHOLE = st.integers(-3, 3).map(float)
SHAPES = st.tuples(st.integers(0, 30), st.integers(0, 40))


@settings(max_examples=examples(150))
@given(data=st.data(), shape=SHAPES, k=st.integers(0, 40))
def test_top_k_equals_brute_force(data: st.DataObject, shape: tuple[int, int], k: int) -> None:
    vectors = data.draw(arrays.arrays(np.float32, shape, elements=WHOLE))
    query = data.draw(arrays.arrays(np.float32, shape[1], elements=WHOLE))
    scores = [float(sum(a * b for a, b in zip(row, query, strict=True))) for row in vectors.tolist()]
    mask = data.draw(st.none() | arrays.arrays(np.uint8, shape[0], elements=st.integers(0, 1)))
    wanted = [row for row in range(len(scores)) if mask is None or mask[row]]
    order = sorted(wanted, key=lambda row: (-scores[row], row))[:k]
    rows, found = kernel.top_k(vectors, query, k, mask)
    assert rows.tolist() == order
    assert found.tolist() == [scores[row] for row in order]
    assert rows.dtype == np.int64
    assert found.dtype == np.float32


def test_every_processor_level_finds_the_same() -> None:
    random = np.random.default_rng(3)
    for n, d in ((1, 1), (1000, 256), (777, 383), (5000, 17)):
        vectors = random.standard_normal((n, d)).astype(np.float32)
        query = random.standard_normal(d).astype(np.float32)
        found = []
        for level in kernel.levels():
            with using(level):
                rows, scores = kernel.top_k(vectors, query, 20)
            assert scores == pytest.approx((vectors @ query)[rows], rel=1e-4, abs=1e-4)
            found.append(rows.tolist())
        assert all(one == found[0] for one in found)
        assert found[0] == np.argsort(-(vectors @ query), kind="stable")[:20].tolist()


FINE = np.ones((3, 4), dtype=np.float32)
QUERY = np.ones(4, dtype=np.float32)
WRONG_VALUE = (TypeError, ValueError, kernel.DamagedBytes)


@pytest.mark.parametrize(
    ("vectors", "query", "k", "errors"),
    [
        (FINE.astype(np.float64), QUERY, 1, TypeError),
        (FINE, QUERY.astype(np.float64), 1, TypeError),
        (FINE.astype(np.int32), QUERY, 1, TypeError),
        (np.ones((4, 6), dtype=np.float32)[:, ::2], np.ones(3, dtype=np.float32), 1, TypeError),
        (np.asfortranarray(np.ones((3, 4), dtype=np.float32)), QUERY, 1, TypeError),
        (FINE[0], QUERY, 1, TypeError),
        (FINE, FINE, 1, TypeError),
        ([[1.0]], QUERY, 1, TypeError),
        (FINE, None, 1, TypeError),
        (FINE, QUERY, "1", TypeError),
        (FINE, QUERY, 1.5, TypeError),
        (FINE, np.ones(5, dtype=np.float32), 1, WRONG_VALUE),
        (FINE, QUERY, -1, WRONG_VALUE),
        (FINE, np.array([1, np.nan, 1, 1], dtype=np.float32), 1, WRONG_VALUE),
        (FINE, np.array([1, np.inf, 1, 1], dtype=np.float32), 1, WRONG_VALUE),
        (np.array([[1, 1], [np.nan, 1]], dtype=np.float32), np.ones(2, dtype=np.float32), 1, WRONG_VALUE),
        (np.array([[1, 1], [np.inf, -np.inf]], dtype=np.float32), np.ones(2, dtype=np.float32), 0, WRONG_VALUE),
    ],
)
def test_kernel_refuses_wrong_types_and_values(vectors: Any, query: Any, k: Any, errors: Any) -> None:
    with pytest.raises(errors):
        kernel.top_k(vectors, query, k)


def test_a_mask_of_another_length_is_refused() -> None:
    with pytest.raises(ValueError, match="a mask of rows must be as long as the rows"):
        kernel.top_k(FINE, QUERY, 1, np.ones(2, dtype=np.uint8))


@settings(max_examples=examples(150))
@given(data=st.data(), vectors=st.integers(0, 9), size=st.integers(1, 4), count=st.integers(0, 40))
def test_nearest_signs_are_those_of_the_highest_sums(data: st.DataObject, vectors: int, size: int, count: int) -> None:
    table = data.draw(arrays.arrays(np.float32, (vectors, size, 256), elements=WHOLE, fill=st.just(1.0)))
    codes = data.draw(arrays.arrays(np.uint8, (count, size)))
    k = data.draw(st.integers(0, count))
    sums = table[:, np.arange(size), codes].sum(axis=2)
    places, scores = kernel.nearest_signs(table, codes, k)
    for row, found, values in zip(sums.tolist(), places.tolist(), scores.tolist(), strict=True):
        assert found == sorted(range(count), key=lambda place: (-row[place], place))[:k]
        assert values == [row[place] for place in found]


def test_nearest_signs_of_many_are_summed_in_order() -> None:
    random = np.random.default_rng(5)
    table = random.standard_normal((7, 32, 256)).astype(np.float32)
    codes = random.integers(0, 256, (40_000, 32), dtype=np.uint8)
    sums = np.zeros((7, 40_000), dtype=np.float32)
    for byte in range(32):
        sums += table[:, byte, codes[:, byte]]
    places, scores = kernel.nearest_signs(table, codes, 12)
    assert places.tolist() == np.argsort(-sums, axis=1, kind="stable")[:, :12].tolist()
    assert scores.tolist() == np.take_along_axis(sums, places, axis=1).tolist()


def test_signs_that_do_not_fit_are_refused() -> None:
    table, codes = np.zeros((2, 3, 256), dtype=np.float32), np.zeros((4, 3), dtype=np.uint8)
    with pytest.raises(ValueError, match="does not fit"):
        kernel.nearest_signs(table, codes[:, :2].copy(), 1)
    with pytest.raises(TypeError):
        kernel.nearest_signs(table, codes, -1)
