"""Queries per second of one thread and of eight, for our index and hnswlib.

``python benchmarks/vector_threads.py --vectors 20000`` measures sentences with static word vectors in a minute and
prints the table; ``make bench-vectors`` measures the real set. Both indexes take turns in one process.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import vector_data
from machine import in_threads, machine, show
from monograph.store.file.database import Database
from monograph.vectors.index import EcoVectorIndex
from monograph.vectors.search import VectorQuery
from vector_report import THREADS_HEADINGS, threads_rows
from vector_rivals import RIVALS

K = 10
THREADS = 8
ALL = 1 << 30
"""Bytes of a cache that has room for all codes."""
TARGETS = (0.8, 0.9, 0.93, 0.95, 0.97, 0.98, 0.99, 0.995)
WIDTHS = (10, 20, 30, 40, 60, 80, 120, 200, 300)
ASKED = 2_000
"""Number of queries in a rate. If the set has fewer, they are repeated."""
Results = dict[str, Any]


@dataclass(frozen=True)
class Setting:
    """An index at one of its settings. ``begin`` makes the setting; ``one`` returns the rows nearest to a query."""

    name: str
    dial: float
    one: Callable[[Any], Sequence[int]]
    begin: Callable[[], object]


@contextmanager
def ours(base: Any, folder: Path) -> Iterator[list[Setting]]:
    """Yield the settings of our index. Every thread has its own connection."""
    RIVALS["Monograph"].build(base, folder)
    database, asked = Database(folder / "index.mono"), VectorQuery(K)

    def setting(target: float) -> Setting:
        index = EcoVectorIndex(target_recall=target, cache_bytes=ALL)

        def one(query: Any) -> Sequence[int]:
            with database.read() as connection:
                return [row - 1 for row in index.search(connection, query, asked).items]

        return Setting("Monograph", target, one, lambda: None)

    yield [setting(target) for target in TARGETS]
    database.close()


def hnswlib_settings(base: Any) -> list[Setting]:
    """Return the settings of hnswlib. ``begin`` must be called before the queries of a setting."""
    import hnswlib

    index = hnswlib.Index("ip", base.shape[1])
    index.init_index(len(base), M=16, ef_construction=200, random_seed=1)
    index.add_items(base, num_threads=os.cpu_count())

    def setting(ef: int) -> Setting:
        def one(query: Any) -> Sequence[int]:
            return index.knn_query(query, K, num_threads=1)[0][0].tolist()  # type: ignore[no-any-return]

        return Setting("hnswlib", ef, one, lambda: index.set_ef(ef))

    return [setting(ef) for ef in WIDTHS]


def threaded(setting: Setting, queries: Any) -> None:
    """Run the queries in ``THREADS`` threads, each with one query at a time."""
    in_threads(lambda first: [setting.one(query) for query in queries[first::THREADS]], THREADS)


def rates(setting: Setting, queries: Any) -> dict[str, float]:
    """Return the queries per second of one thread and of eight."""
    ways: dict[str, Callable[[], object]] = {
        "one": lambda: [setting.one(query) for query in queries],
        "threads": lambda: threaded(setting, queries),
    }
    told = {}
    for name, way in ways.items():
        begun = time.perf_counter()
        way()
        told[name] = len(queries) / (time.perf_counter() - begun)
    return told


def measured(base: Any, queries: Any, truth: Any, rounds: int = 3) -> Results:
    """Return each setting's recall, and its best rates of some rounds, in which the settings take turns."""
    asked = np.tile(queries, (-(-ASKED // len(queries)), 1))[:ASKED]
    curves: dict[str, list[Results]] = {"Monograph": [], "hnswlib": []}
    with tempfile.TemporaryDirectory() as folder, ours(base, Path(folder)) as settings:
        every = [*settings, *hnswlib_settings(base)]
        for setting in every:
            setting.begin()
            found = [setting.one(query) for query in queries]
            hits = [len(set(some) & set(best.tolist())) / K for some, best in zip(found, truth, strict=True)]
            curves[setting.name].append({"dial": setting.dial, "recall": float(np.mean(hits))})
        for _ in range(rounds):
            for setting in every:
                point = next(one for one in curves[setting.name] if one["dial"] == setting.dial)
                setting.begin()
                for name, rate in rates(setting, asked).items():
                    point[name] = max(rate, point.get(name, 0.0))
    return {"vectors": len(base), "dimension": base.shape[1], "processors": os.cpu_count(), "curves": curves}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--vectors", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    made = vector_data.static(options.vectors)
    scores = made.queries @ made.vectors.T
    truth = np.argpartition(-scores, K, axis=1)[:, :K]
    found = measured(made.vectors, made.queries, truth, options.rounds)
    for name, curve in found["curves"].items():
        rows = [[f"{point[one]:,.3f}" for one in ("dial", "recall", "one", "threads")] for point in curve]
        show(name, ["dial", "recall@10", "one thread", f"{THREADS} threads"], rows)
    show(f"{made.recipe}; {machine()}", THREADS_HEADINGS, threads_rows(found))


if __name__ == "__main__":
    main()
