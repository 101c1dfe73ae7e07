"""The kernel: compiled and numpy give the same results and the same errors."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from monograph.errors import InputError
from monograph.vectors import kernel
from monograph.vectors.kernel import reference, reference_signs

IMPLEMENTATIONS: dict[str, Callable[..., Any]] = {"numpy": reference.top_k}
if kernel.IMPLEMENTATION == "compiled":
    from monograph.vectors.kernel import _kernel

    IMPLEMENTATIONS["compiled"] = _kernel.top_k


@pytest.fixture(params=["numpy", "compiled"])
def top_k(request: pytest.FixtureRequest) -> Callable[..., Any]:
    if request.param not in IMPLEMENTATIONS:
        pytest.skip("nothing was compiled on this machine")
    return IMPLEMENTATIONS[request.param]


# Small whole numbers: sums are exact in any order, and ties are many.
WHOLE = st.integers(-3, 3).map(float)
SHAPES = st.tuples(st.integers(0, 30), st.integers(0, 40))


@settings(max_examples=150, deadline=None)
@given(data=st.data(), shape=SHAPES, k=st.integers(0, 40))
def test_against_brute_force(data: st.DataObject, shape: tuple[int, int], k: int) -> None:
    vectors = data.draw(arrays.arrays(np.float32, shape, elements=WHOLE))
    query = data.draw(arrays.arrays(np.float32, shape[1], elements=WHOLE))
    scores = [float(sum(a * b for a, b in zip(row, query, strict=True))) for row in vectors.tolist()]
    order = sorted(range(len(scores)), key=lambda row: (-scores[row], row))[:k]
    for implementation in IMPLEMENTATIONS.values():
        rows, found = implementation(vectors, query, k)
        assert rows.tolist() == order
        assert found.tolist() == [scores[row] for row in order]
        assert (rows.dtype, found.dtype) == (np.int64, np.float32)


def test_real_vectors_agree() -> None:
    random = np.random.default_rng(3)
    for n, d in ((1, 1), (1000, 256), (777, 383), (5000, 17)):
        vectors = random.standard_normal((n, d)).astype(np.float32)
        query = random.standard_normal(d).astype(np.float32)
        results = [implementation(vectors, query, 20) for implementation in IMPLEMENTATIONS.values()]
        for rows, scores in results:
            assert scores == pytest.approx((vectors @ query)[rows], rel=1e-4, abs=1e-4)
            assert rows.tolist() == results[0][0].tolist()


FINE = np.ones((3, 4), dtype=np.float32)
QUERY = np.ones(4, dtype=np.float32)


@pytest.mark.parametrize(
    ("vectors", "query", "k"),
    [
        (FINE.astype(np.float64), QUERY, 1),
        (FINE, QUERY.astype(np.float64), 1),
        (FINE.astype(np.int32), QUERY, 1),
        (np.ones((4, 6), dtype=np.float32)[:, ::2], np.ones(3, dtype=np.float32), 1),
        (np.asfortranarray(np.ones((3, 4), dtype=np.float32)), QUERY, 1),
        (FINE[0], QUERY, 1),
        (FINE, FINE, 1),
        ([[1.0]], QUERY, 1),
        (FINE, None, 1),
        (FINE, QUERY, "1"),
        (FINE, QUERY, 1.5),
    ],
)
def test_wrong_types(top_k: Callable[..., Any], vectors: Any, query: Any, k: Any) -> None:
    with pytest.raises(TypeError):
        top_k(vectors, query, k)
    with pytest.raises(InputError, match="float32"):
        kernel.top_k(vectors, query, k)


@pytest.mark.parametrize(
    ("vectors", "query", "k"),
    [
        (FINE, np.ones(5, dtype=np.float32), 1),
        (FINE, QUERY, -1),
        (FINE, np.array([1, np.nan, 1, 1], dtype=np.float32), 1),
        (FINE, np.array([1, np.inf, 1, 1], dtype=np.float32), 1),
        (np.array([[1, 1], [np.nan, 1]], dtype=np.float32), np.ones(2, dtype=np.float32), 1),
        (np.array([[1, 1], [np.inf, -np.inf]], dtype=np.float32), np.ones(2, dtype=np.float32), 0),
    ],
)
def test_wrong_values_are_told_alike(vectors: Any, query: Any, k: int) -> None:
    said = set()
    for implementation in IMPLEMENTATIONS.values():
        with pytest.raises(ValueError, match=r"\w+ ") as caught:
            implementation(vectors, query, k)
        said.add(str(caught.value))
    with pytest.raises(InputError) as ours:
        kernel.top_k(vectors, query, k)
    assert said == {ours.value.message}


def test_many_threads(top_k: Callable[..., Any]) -> None:
    random = np.random.default_rng(4)
    vectors = random.standard_normal((2000, 64)).astype(np.float32)
    queries = random.standard_normal((40, 64)).astype(np.float32)
    alone = [top_k(vectors, query, 10)[0].tolist() for query in queries]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda query: top_k(vectors, query, 10)[0].tolist(), queries))
    assert together == alone


SIGNS: dict[str, Callable[..., Any]] = {"numpy": reference_signs.nearest_signs}
if kernel.IMPLEMENTATION == "compiled":
    SIGNS["compiled"] = _kernel.nearest_signs


@settings(max_examples=150, deadline=None)
@given(data=st.data(), vectors=st.integers(0, 9), size=st.integers(1, 4), count=st.integers(0, 40))
def test_nearest_signs_are_those_of_the_highest_sums(data: st.DataObject, vectors: int, size: int, count: int) -> None:
    table = data.draw(arrays.arrays(np.float32, (vectors, size, 256), elements=WHOLE, fill=st.just(1.0)))
    codes = data.draw(arrays.arrays(np.uint8, (count, size)))
    k = data.draw(st.integers(0, count))
    sums = table[:, np.arange(size), codes].sum(axis=2)
    for implementation in SIGNS.values():
        places, scores = np.empty((vectors, k), dtype=np.int64), np.empty((vectors, k), dtype=np.float32)
        implementation(table, codes, places, scores)
        for row, found, values in zip(sums.tolist(), places.tolist(), scores.tolist(), strict=True):
            assert found == sorted(range(count), key=lambda place: (-row[place], place))[:k]
            assert values == [row[place] for place in found]


def test_nearest_signs_agree_to_the_bit() -> None:
    random = np.random.default_rng(5)
    table = random.standard_normal((7, 32, 256)).astype(np.float32)
    codes = random.integers(0, 256, (40_000, 32), dtype=np.uint8)
    results = []
    for implementation in SIGNS.values():
        places, scores = np.empty((7, 12), dtype=np.int64), np.empty((7, 12), dtype=np.float32)
        implementation(table, codes, places, scores)
        results.append((places.tolist(), scores.tolist()))
    assert all(one == results[0] for one in results)
    places, scores = kernel.nearest_signs(table, codes, 12)
    assert (places.tolist(), scores.tolist()) == results[0]


@pytest.mark.parametrize("implementation", ["numpy", "compiled"])
def test_signs_that_do_not_fit(implementation: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if implementation not in SIGNS:
        pytest.skip("nothing was compiled on this machine")
    monkeypatch.setattr(kernel, "_nearest_signs", SIGNS[implementation])
    table, codes = np.zeros((2, 3, 256), dtype=np.float32), np.zeros((4, 3), dtype=np.uint8)
    with pytest.raises(InputError, match="does not fit"):
        kernel.nearest_signs(table, codes[:, :2].copy(), 1)
    with pytest.raises(InputError):
        kernel.nearest_signs(table, codes, -1)
