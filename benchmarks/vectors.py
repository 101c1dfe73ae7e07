"""Benchmark of the vector index and its rivals: recall, latency, memory, building, changing, filtering, stopping.

``make bench-vectors`` runs all sections and writes docs/benchmarks/vectors.md with its plots and vectors.json. Each
rival is built and searched in its own process, by one thread, one query at a time. ``--only`` without a section
measures nothing, and writes the page from docs/benchmarks/vectors.json.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

import vector_cost
import vector_data
import vector_public
import vector_report
import vector_threads
from machine import machine, show
from monograph.store.file import memo
from monograph.store.file.database import Database
from monograph.store.vectors import clusters as store
from monograph.store.vectors import vectors
from monograph.vectors.cluster_search import GraphSearch, probes
from monograph.vectors.design import DESIGNS, Design
from monograph.vectors.index import EcoVectorIndex
from monograph.vectors.kernel import levels
from monograph.vectors.search import VectorQuery, prepare
from monograph.vectors.stop import (
    Budget,
    Exponential,
    Never,
    RankAware,
    SearchEffort,
    StopCondition,
    VBase,
    Weight,
    reciprocal_rank,
)
from vector_data import CACHE, VectorSet
from vector_report import at_recall
from vector_rivals import RIVALS, SAME_FILES

HERE = Path(__file__).resolve().parent
DOCS = HERE.parent / "docs" / "benchmarks"
K = 10
ON_MANY = ("Monograph", "Monograph, all in memory", "Monograph, cache_bytes=0", "hnswlib")
Results = dict[str, Any]


def truths(base: Any, queries: Any, metric: str) -> Any:
    """Return the rows of the true neighbours of each query, nearest first."""
    half = 0.5 * np.einsum("ij,ij->i", base, base) if metric == "l2" else np.float32(0)
    found = []
    for query in queries:
        scores = base @ query - half
        near = np.argpartition(-scores, K)[:K]
        found.append(near[np.argsort(-scores[near])])
    return np.array(found)


def prepared(made: VectorSet, metric: str) -> Path:
    """Store the arrays of a set where the rivals' processes read them; return the folder."""
    folder = CACHE / made.name
    folder.mkdir(parents=True, exist_ok=True)
    np.save(folder / "base.npy", made.vectors)
    np.save(folder / "queries.npy", made.queries)
    np.save(folder / "truth.npy", truths(made.vectors, made.queries, metric))
    return folder


def run(*arguments: str) -> Results:
    """Run the process of a rival; return its result, or the last line of its error under ``failed``."""
    done = subprocess.run(
        [sys.executable, str(HERE / "vector_rivals.py"), *arguments], capture_output=True, text=True, check=False
    )
    if done.returncode:
        return {"failed": done.stderr.strip().splitlines()[-1:]}
    return json.loads(done.stdout.strip().splitlines()[-1])  # type: ignore[no-any-return]


def beside_rivals(
    made: VectorSet, metric: str, names: Sequence[str], known: Results, options: argparse.Namespace
) -> Results:
    """Measure the named rivals on one set. Others keep ``known`` results; those of ``--reuse`` are not rebuilt."""
    reused = options.reuse or ()
    folder = prepared(made, metric)
    results: Results = {name: {**one, "earlier": True} for name, one in known.items()}
    for name in names:
        if name in SAME_FILES:
            built = results[SAME_FILES[name]]["build"]
        elif name in reused:
            built = known[name]["build"]
        else:
            built = run("build", name, str(folder), metric)
        found = run("search", name, str(folder), metric, str(options.seconds))
        colds = [run("cold", name, str(folder), metric).get("cold", float("nan")) for _ in range(5)]
        results[name] = {"machine": machine(), "build": built, **found, "cold": float(np.median(colds))}
        at = at_recall(found.get("curve", []))
        print(f"{made.name:10} {name:30} p50 at 0.95: {at[0]:9.0f} us   {found.get('failed', '')}", flush=True)
    return {name: results[name] for name in RIVALS if name in results}


@contextmanager
def filled(name: str, base: Any, design: Design, known: int | None = None) -> Iterator[tuple[Database, EcoVectorIndex]]:
    """Yield a file that stores the vectors as rows from 1, and its index with the first ``known`` of them."""
    path = CACHE / f"{name}.mono"
    for end in ("", "-wal", "-shm"):
        Path(f"{path}{end}").unlink(missing_ok=True)
    database, index = Database(path), EcoVectorIndex(design=design)
    with database.write() as connection:
        memo.put(connection, memo.VECTOR, ((b"%d" % row, vectors.pack(one), 0) for row, one in enumerate(base)))
    count = len(base) if known is None else known
    with database.write() as connection:
        index.insert(connection, np.arange(1, count + 1), base[:count])
    yield database, index
    database.close()
    for end in ("", "-wal", "-shm"):
        Path(f"{path}{end}").unlink(missing_ok=True)


def measured(database: Database, index: EcoVectorIndex, queries: Any, truth: Any, query: VectorQuery) -> Results:
    """Return recall, p50 in us, loads and codes compared, of the second of two passes."""
    times: list[float] = []
    found = []
    for _ in range(2):
        times, found = [], []
        for one in queries:
            begun = time.perf_counter()
            with database.read() as connection:
                found.append(index.search(connection, one, query))
            times.append(time.perf_counter() - begun)
    hits = [
        len(set(one.items) & set(best.tolist())) / max(1, len(best)) for one, best in zip(found, truth, strict=True)
    ]
    return {
        "recall": float(np.mean(hits)),
        "p50": float(np.median(times)) * 1e6,
        "loads": float(np.mean([one.loads for one in found])),
        "compared": float(np.mean([one.compared for one in found])),
        "fewest": min(len(one.items) for one in found),
    }


def stopping(made: VectorSet, metric: str) -> Results:
    """Measure the loads that each stop condition needs for the same recall and the same ranked recall."""
    conditions: dict[str, list[StopCondition]] = {
        "RankAware, exponential": [RankAware(Exponential(), 0.0, window) for window in range(1, 60)],
        "RankAware, epsilon 0.2": [RankAware(Exponential(), 0.2, window) for window in range(1, 60)],
        "RankAware, reciprocal rank, 0.2": [RankAware(reciprocal_rank, 0.2, window) for window in range(1, 60)],
        "RankAware, DCG, 0.35": [
            RankAware(lambda rank: 1.0 / math.log2(rank + 2), 0.35, window) for window in range(1, 60)
        ],
        "VBase, e = k": [VBase(K, window) for window in range(1, 60)],
        "Budget": [Budget(loads) for loads in range(1, 120)],
    }
    base, queries = made.vectors[:100_000], made.queries[:300]
    truth = truths(base, queries, metric) + 1
    results: Results = {}
    with (
        filled("stopping", base, DESIGNS["graph"]) as (database, index),
        database.read() as connection,
    ):
        state = index._memory.state(connection)
        assert state is not None
        traces = []
        for query, best in zip(queries, truth, strict=True):
            asked = prepare(query, base.shape[1])
            search, reached = GraphSearch(VectorQuery(K, rerank=False), SearchEffort(Never()), asked), []
            for cluster in list(probes(state.centroids, asked))[:160]:
                search.probe(index._memory.cluster(connection, cluster, state.version), walks=True)
                ids = search.pool.ids.tolist()
                reached.append((recall(ids, best, lambda _: 1.0), recall(ids, best, Exponential())))
            traces.append((search.loads, reached))
        ceiling = np.mean([reached[-1] for _, reached in traces], axis=0)
        for name, some in conditions.items():
            points = [stopped_at(traces, condition) for condition in some]
            results[name] = {
                measure: loads_at(points, place, min(0.95, float(ceiling[place - 1]) - 0.002))
                for place, measure in ((1, "recall"), (2, "ranked_recall"))
            }
        two = stopped_at(traces, RankAware(Exponential(), 0.0, 2))
        results["the paper's X = 2"] = dict(zip(("loads", "reached", "ranked"), two, strict=True))
        results["Never"] = {"recall": float(len(state.centroids)), "ceiling": float(ceiling[0])}
        point = state.calibration.point(K, 0.95)
        chosen = Never() if point is None else point.stop()
        results["calibrated"] = {
            "window": getattr(chosen, "window", 0),
            **dict(zip(("loads", "reached", "ranked"), stopped_at(traces, chosen), strict=True)),
        }
    return results


def recall(found: Sequence[int], truth: Any, weight: Weight) -> float:
    """Return the share of true results that were found, weighted by their rank from 0 (Terminus, Eq. 4)."""
    weights = [weight(rank) for rank in range(len(truth))]
    return sum(w for one, w in zip(truth.tolist(), weights, strict=True) if one in found) / sum(weights)


def stopped_at(traces: Sequence[tuple[Any, Any]], condition: StopCondition) -> tuple[float, float, float]:
    """Return the mean (loads, recall, ranked recall) where a condition stops."""
    ends = []
    for loads, reached in traces:
        end = next((place for place in range(1, len(loads) + 1) if condition.after(loads[:place])), len(loads))
        ends.append((end, *reached[end - 1]))
    loads, found, ranked = np.mean(ends, axis=0).tolist()
    return loads, found, ranked


def loads_at(points: Sequence[tuple[float, float, float]], place: int, target: float) -> float | None:
    """Return the loads at which a recall is reached, interpolated; None if it is not reached."""
    for before, after in pairwise(points):
        if before[place] < target <= after[place]:
            return before[0] + (target - before[place]) / (after[place] - before[place]) * (after[0] - before[0])
    return points[0][0] if points[0][place] >= target else None


def changing(made: VectorSet) -> Results:
    """Measure an index that doubles in batches and then loses 30 %, fresh builds, and the cost of each change."""
    base, queries = made.vectors[:80_000], made.queries[:300]
    n, half = len(base), len(base) // 2
    results: Results = {}
    query = VectorQuery(K)

    def truth_of(rows: Any) -> Any:
        return rows[truths(base[rows - 1], queries, "cosine")]

    with filled("changing", base, Design(), half) as (database, index):
        spent = []
        for start in range(half, n, 1_000):
            begun = time.perf_counter()
            with database.write() as connection:
                index.insert(connection, np.arange(start + 1, start + 1_001), base[start : start + 1_000])
            spent.append((time.perf_counter() - begun) / 1_000 * 1e6)
        every = np.arange(1, n + 1)
        results["insert, us a vector in batches of 1,000"] = {
            "median": float(np.median(spent)),
            "mean": float(np.mean(spent)),
            "worst": max(spent),
        }
        results["grown"] = measured(database, index, queries, truth_of(every), query)
        gone = np.random.default_rng(1).permutation(every)[: int(0.3 * n)]
        spent = []
        for start in range(0, len(gone), 1_000):
            begun = time.perf_counter()
            with database.write() as connection:
                index.delete(connection, gone[start : start + 1_000].tolist())
            spent.append((time.perf_counter() - begun) / len(gone[start : start + 1_000]) * 1e6)
        results["delete, us a vector in batches of 1,000"] = {
            "median": float(np.median(spent)),
            "mean": float(np.mean(spent)),
            "worst": max(spent),
        }
        alive = np.setdiff1d(every, gone)
        results["shrunk"] = measured(database, index, queries, truth_of(alive), query)
        for name, work in (
            ("single insert with commit, ms", index.insert),
            ("single delete with commit, ms", index.delete),
        ):
            spent = []
            for row in gone[:200].tolist():
                begun = time.perf_counter()
                with database.write() as connection:
                    if work == index.insert:
                        index.insert(connection, np.array([row]), base[row - 1 : row])
                    else:
                        index.delete(connection, [row])
                spent.append((time.perf_counter() - begun) * 1e3)
            results[name] = {"median": float(np.median(spent)), "mean": float(np.mean(spent)), "worst": max(spent)}
        for name, rows in (("grown, fresh build", every), ("shrunk, fresh build", alive)):
            with database.write() as connection:
                store.clear(connection, index.space)
                index.insert(connection, rows, base[rows - 1])
            results[name] = measured(database, index, queries, truth_of(rows), query)
    return results


def filtering(made: VectorSet) -> Results:
    """Measure searches with a filter that allows a share of the vectors."""
    base, queries = made.vectors[:100_000], made.queries[:300]
    results: Results = {}
    with filled("filtering", base, Design()) as (database, index):
        for share in (1.0, 0.5, 0.05, 0.001):
            chosen = np.sort(np.random.default_rng(3).permutation(len(base))[: int(len(base) * share)]) + 1
            flags = np.zeros(len(base) + 1, dtype=np.uint8)
            flags[chosen] = 1
            bits = None if share == 1 else np.packbits(flags, bitorder="little")
            truth = chosen[truths(base[chosen - 1], queries, "cosine")]
            results[f"{share:.1%}"] = measured(database, index, queries, truth, VectorQuery(K, bits))
    return results


def sizing(made: VectorSet) -> Results:
    """Measure cluster sizes of both designs, at the calibrated recall."""
    base, queries = made.vectors[:60_000], made.queries[:200]
    truth = truths(base, queries, "cosine") + 1
    results: Results = {}
    for size in (50, 100, 200, 400):
        for name, design in (("codes", Design(cluster_size=size)), ("graph", Design("graph", size))):
            with filled("sizing", base, design) as (database, index):
                results[f"{size} {name}"] = measured(database, index, queries, truth, VectorQuery(K))
                with database.read() as connection:
                    results[f"{size} {name}"]["clusters"] = index.stats(connection).clusters
        print(f"sizing {size}", flush=True)
    return results


def expected(made: VectorSet, rivals: Results) -> Results:
    """Return the models' predictions and the measurements: memory in MB, latency in us here and in ms on the phone."""
    n, d = made.vectors.shape
    names = {
        "EcoVector": "hnswlib files",
        "HNSW": "faiss HNSW",
        **{one: f"faiss {one}" for one in vector_cost.ALGORITHMS if f"faiss {one}" in RIVALS},
    }
    results: Results = {}
    for algorithm in vector_cost.ALGORITHMS:
        shape = vector_cost.Shape(
            n, d, n // (100 if algorithm == "Monograph" else 250), 13 if algorithm == "Monograph" else 32, subvectors=64
        )
        spent = vector_cost.latency(algorithm, shape)
        found = rivals.get("Monograph" if algorithm == "Monograph" else names.get(algorithm, ""), {})
        results[algorithm] = {
            "memory": vector_cost.memory(algorithm, shape) / 1e6,
            "measured_memory": found.get("anonymous", float("nan")) / 1e6,
            "phone_ms": spent.total,
            "measured_us": at_recall(found.get("curve", []))[0],
            "energy_mJ": vector_cost.energy(spent) / 1e3,
        }
    return results


def many_at_once(made: VectorSet) -> Results:
    """Measure queries per second of one thread and of several."""
    return vector_threads.measured(made.vectors, made.queries, truths(made.vectors, made.queries, "cosine"))


def instructions() -> str:
    """Return the best instruction set that the processor and our kernel support."""
    return levels()[0]


SECTIONS = ("real", "synthetic", "million", "public", "threads", "stopping", "changing", "filtering", "sizing")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", choices=SECTIONS, default=list(SECTIONS))
    parser.add_argument("--seconds", type=float, default=10, help="longest time a setting of a rival is searched")
    parser.add_argument("--vectors", type=int, default=1_000_000, help="of the large sets")
    parser.add_argument(
        "--rivals", nargs="*", choices=list(RIVALS), help="measure only these anew, and keep the others"
    )
    parser.add_argument("--reuse", nargs="*", choices=list(RIVALS), help="search what was built before of these")
    options = parser.parse_args()
    if not options.only:
        vector_report.write(json.loads((DOCS / "vectors.json").read_text()), DOCS)
        return
    rivals = options.rivals or list(RIVALS)
    saved = CACHE / "results.json"
    results: Results = json.loads(saved.read_text()) if saved.exists() else {}
    vector_data.embed_minilm(3_600)
    real = vector_data.minilm()
    easy = vector_data.synthetic(options.vectors) if {"synthetic", "stopping"} & set(options.only) else None
    many = vector_data.passages(options.vectors) if "million" in options.only else None
    work = {
        "real": lambda: beside_rivals(real, "cosine", rivals, results.get("real", {}), options),
        "synthetic": lambda: (
            beside_rivals(easy, "cosine", ON_MANY, results.get("synthetic", {}), options) if easy else {}
        ),
        "million": lambda: beside_rivals(many, "cosine", ON_MANY, results.get("million", {}), options) if many else {},
        "public": vector_public.measured,
        "threads": lambda: many_at_once(real),
        "stopping": lambda: {"real": stopping(real, "cosine"), "easy": stopping(easy, "cosine")} if easy else {},
        "changing": lambda: changing(real),
        "filtering": lambda: filtering(real),
        "sizing": lambda: sizing(real),
    }
    for section in options.only:
        started = time.perf_counter()
        results[section] = work[section]()
        results["machine"] = f"{machine()}, {instructions()}"
        results["recipes"] = {
            "real": real.recipe,
            "synthetic": easy.recipe if easy else results.get("recipes", {}).get("synthetic", ""),
            "million": many.recipe if many else results.get("recipes", {}).get("million", ""),
        }
        if section == "real":
            results["expected"] = expected(real, results["real"])
        saved.write_text(json.dumps(results, indent=1))
        print(f"{section}: {time.perf_counter() - started:,.0f} s", flush=True)
    vector_report.write(results, DOCS)
    show("written", ["file"], [[str(path)] for path in sorted(DOCS.iterdir())])


if __name__ == "__main__":
    main()
