"""The papers' cost models, against the sums done by hand."""

from __future__ import annotations

import sys

import pytest

from support.paths import ROOT

sys.path.insert(0, str(ROOT / "benchmarks"))
from vector_cost import Algorithm, Device, Latency, Shape, distances, energy, latency, memory

SIFT = Shape(vectors=1_000_000, dimension=128, clusters=4_000, probes=16)


@pytest.mark.parametrize(
    ("algorithm", "expected_bytes", "expected_distances"),
    [
        ("IVF", 4_000 * 512 + 8_000_000 + 512_000_000, 8_000),
        ("IVFPQ", 4_000 * 512 + 8_000_000 + 16_000_000 + 256 * 512, 4_000 + 4_000 * 16 / 128 + 256),
        ("HNSW", 1_000_000 * (512 + 64 / (1 - 1 / 16)), 1_024),
        ("HNSWPQ", 1_000_000 * (16 + 64 / (1 - 1 / 16)) + 256 * 512, 1_024 * 16 / 128 + 256),
        ("IVF-DISK", 4_000 * 512 + 8_000_000 + 250 * 512, 8_000),
        ("IVFPQ-DISK", 4_000 * 512 + 8_000_000 + 250 * 16 + 256 * 512, 4_000 + 500 + 256),
        ("IVF-HNSW", 4_000 * (512 + 32 / (1 - 1 / 8)) + 8_000_000 + 250 * 512, 256 + 4_000),
        ("EcoVector", 4_000 * (512 + 32 / (1 - 1 / 8)) + 8_000_000 + 250 * (512 + 32 / (1 - 1 / 8)), 256 + 16 * 320),
        ("Monograph", 4_000 * (640 + 24) + 500 * 144, 3_000),
    ],
)
def test_memory_and_distances_are_corrected_tables_1_and_2(
    algorithm: Algorithm, expected_bytes: float, expected_distances: float
) -> None:
    assert memory(algorithm, SIFT) == pytest.approx(expected_bytes)
    assert distances(algorithm, SIFT) == pytest.approx(expected_distances)


def test_latency_and_energy_equal_those_by_hand() -> None:
    spent = latency("IVF-DISK", SIFT)
    assert spent.compute == pytest.approx(8_000 * 2.0833e-4, rel=1e-3)
    assert spent.disk == pytest.approx(16 * (0.025 + 0.015 + 128_000 * 3.6e-7))
    assert latency("IVF", SIFT) == Latency(spent.compute, 0.0)
    assert energy(Latency(2.0, 3.0), Device(voltage=4.0)) == pytest.approx(4 * (2300 * 2 + 800 * 3))
