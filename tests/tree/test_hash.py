"""Hash codes of vectors: the sides of random hyperplanes, and the chance that two vectors share one."""

from __future__ import annotations

import numpy as np
import pytest

from monograph.tree.hash import PLANES, directions, ranks


@pytest.mark.parametrize("dimension", [16, 256])
@pytest.mark.parametrize("degrees", [20, 60, 90, 150])
def test_vectors_share_a_side_with_the_probability_of_their_angle(dimension: int, degrees: int) -> None:
    drawn = np.random.default_rng(degrees).standard_normal((2, 4_000, dimension))
    first = drawn[0] / np.linalg.norm(drawn[0], axis=1, keepdims=True)
    across = drawn[1] - (drawn[1] * first).sum(axis=1, keepdims=True) * first
    across /= np.linalg.norm(across, axis=1, keepdims=True)
    angle = np.radians(degrees)
    second = np.cos(angle) * first + np.sin(angle) * across
    codes = [rank ^ rank >> 1 for rank in map(ranks, (first.astype(np.float32), second.astype(np.float32)))]
    differing = np.bitwise_count(codes[0] ^ codes[1]).mean() / PLANES
    assert differing == pytest.approx(angle / np.pi, abs=0.02)


def test_a_bit_of_a_code_is_a_side_of_a_plane() -> None:
    vectors = np.eye(24, dtype=np.float32)[:7]
    sides = vectors @ directions(24).T > 0
    expected = [int("".join(map(str, map(int, row))), 2) for row in sides]
    found = ranks(vectors)
    assert [rank ^ rank >> 1 for rank in found.tolist()] == expected
