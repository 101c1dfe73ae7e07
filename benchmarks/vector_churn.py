"""Inserts and deletes per second, and recall after a fifth of an index has been replaced.

``python vector_churn.py NAME FOLDER`` reads base.npy, queries.npy and truth.npy from the folder, measures one index,
and prints a line of JSON. The rows of base.npy are the first vectors of the index, and then those that replace a fifth
of them. truth.npy is for the vectors that remain.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from vector_data import VectorSet
from vector_rivals import KS, RIVALS, Search, folder_of, timed, warm_up

CHANGING = ("Monograph", "Monograph, graph", "hnswlib", "usearch", "faiss IVF", "LanceDB", "Chroma", "sqlite-vec")
FIRST = 40_000
SHARE = 0.2
BATCH = 1_000
SINGLE = 50
"""Vectors that are deleted and inserted one by one."""
TARGET = 0.95
Results = dict[str, Any]


def replaced(base: Any) -> tuple[Any, Any]:
    """Return (deleted rows, remaining rows) of the vectors: all rows of the last sixth are inserted later."""
    first = round(len(base) / (1 + SHARE))
    gone = np.random.default_rng(1).permutation(first)[: len(base) - first]
    return gone, np.setdiff1d(np.arange(len(base)), gone)


def measured(made: VectorSet, prepared: Callable[..., Path], run: Callable[..., Results]) -> Results:
    """Measure the change of each index in its own process.

    ``prepared`` stores the vectors of a set, and the true neighbours among some rows. ``run`` runs a script.
    """
    base = made.vectors[: round(FIRST * (1 + SHARE))]
    folder = prepared(VectorSet("churn", base, made.queries[:200], made.recipe), replaced(base)[1])
    results: Results = {"vectors": round(len(base) / (1 + SHARE))}
    for name in CHANGING:
        results[name] = run("vector_churn.py", name, str(folder))
        print(f"{name:20} {results[name]}", flush=True)
    return results


def built(name: str, data: Path, base: Any) -> Path:
    """Build an index of some vectors in an empty folder; return the folder."""
    folder = folder_of(name, data)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    os.link(data / "queries.npy", folder / "queries.npy")
    RIVALS[name].build(base, folder)
    return folder


def changed(name: str, data: Path) -> Results:
    """Replace a fifth of an index in batches; return its speed, and recall and p50 beside those of a new index."""
    base, queries, truth = (np.load(data / f"{file}.npy") for file in ("base", "queries", "truth"))
    gone, left = replaced(base)
    coming = np.arange(len(base) - len(gone), len(base))
    warm_up(name)
    rival = RIVALS[name]
    fresh = rival.open(built(name, data, base[left])).find
    search: Search = lambda query, value, k: left[[row for row in fresh(query, value, k) if row >= 0]].tolist()  # noqa: E731
    for value in rival.dial:
        new = timed(search, queries, truth, value, KS[0], 5)
        if new["recall"] >= TARGET:
            break
    index = rival.open(built(name, data, base[: len(base) - len(gone)]))
    assert index.insert is not None and index.delete is not None
    spent = {"insert": 0.0, "delete": 0.0}
    singles: dict[str, list[float]] = {"insert": [], "delete": []}
    sizes = [1] * SINGLE + [BATCH] * ((len(gone) - SINGLE) // BATCH)
    start = 0
    for size in (*sizes, len(gone) - sum(sizes)):
        some = slice(start, start + size)
        begun = time.perf_counter()
        index.delete(gone[some].tolist())
        middle = time.perf_counter()
        index.insert(coming[some].tolist(), base[coming[some]])
        for work, seconds in (("delete", middle - begun), ("insert", time.perf_counter() - middle)):
            if size == 1:
                singles[work].append(seconds)
            else:
                spent[work] += seconds
        start += size
    begun = time.perf_counter()
    index.finish()
    spent["insert"] += time.perf_counter() - begun
    batched = len(gone) - SINGLE
    return {
        **{f"{work}s per second": batched / seconds for work, seconds in spent.items()},
        **{f"one {work}, ms": float(np.median(times)) * 1e3 for work, times in singles.items()},
        "new": new,
        "changed": timed(index.find, queries, truth, new["dial"], KS[0], 5),
    }


if __name__ == "__main__":
    print(json.dumps(changed(sys.argv[1], Path(sys.argv[2]))))
