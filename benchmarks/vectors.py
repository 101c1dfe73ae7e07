"""Benchmark of the vector index and its rivals: recall, latency, memory, cold queries, changes, stopping.

``make bench-vectors`` runs all sections and writes docs/benchmarks/vectors.md with its plots and vectors.json. Each
rival is built and searched in its own process, by one thread, one query at a time. ``--only`` without a section
measures nothing, and writes the page from docs/benchmarks/vectors.json. ``--vectors 20000`` tries every section in a
few minutes, and writes the page below build/vectors.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import vector_centroids
import vector_churn
import vector_cold
import vector_cost
import vector_data
import vector_public
import vector_report
import vector_stopping
import vector_threads
from machine import console, run_sections
from monograph.vectors.kernel import levels
from vector_data import CACHE, VectorSet
from vector_report import MEASURED, at_recall
from vector_rivals import KS, RIVALS, SAME_FILES, folder_of

HERE = Path(__file__).resolve().parent
DOCS = HERE.parent / "docs" / "benchmarks"
K = 10
MANY = 1_000_000
ON_MANY = ("Monograph", "Monograph, all in memory", "hnswlib")
Results = dict[str, Any]


def prepared(made: VectorSet, rows: Any = None) -> Path:
    """Store the arrays of a set where the rivals' processes read them; return the folder.

    The true neighbours are those among ``rows``; None means all.
    """
    folder = CACHE / f"{made.name}-{len(made.vectors)}"
    folder.mkdir(parents=True, exist_ok=True)
    rows = np.arange(len(made.vectors)) if rows is None else rows
    np.save(folder / "base.npy", made.vectors)
    np.save(folder / "queries.npy", made.queries)
    np.save(folder / "truth.npy", rows[vector_data.nearest(made.vectors[rows], made.queries, max(KS))])
    return folder


def run(script: str, *arguments: str) -> Results:
    """Run a script in its own process; return its result, or the last line of its error under ``failed``."""
    done = subprocess.run([sys.executable, str(HERE / script), *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        return {"failed": done.stderr.strip().splitlines()[-1:]}
    return json.loads(done.stdout.strip().splitlines()[-1])  # type: ignore[no-any-return]


def beside_rivals(made: VectorSet, names: Sequence[str], options: argparse.Namespace) -> Results:
    """Build and search the named rivals on one set."""
    folder = prepared(made)
    results: Results = {}
    for name in names:
        results[name] = one = rival(folder, name, results.get(SAME_FILES.get(name, ""), {}).get("build"), options)
        at = at_recall(one.get("curves", {}).get("k=10", []))
        print(f"{made.name:10} {name:32} p50 at 0.95: {at[0]:9.0f} us   {one.get('failed', '')}", flush=True)
    return {"recipe": made.recipe, "indexes": results}


def rival(folder: Path, name: str, built: Results | None, options: argparse.Namespace) -> Results:
    """Build a rival unless its files are ``built`` already, and search it."""
    built = built or run("vector_rivals.py", "build", name, str(folder))
    found = run("vector_rivals.py", "search", name, str(folder), str(options.seconds))
    starts = [run("vector_rivals.py", "start", name, str(folder)).get("cold", float("nan")) for _ in range(3)]
    return {"build": built, **found, "cold": float(np.median(starts))}


def expected(real: Results) -> Results:
    """Return the models' predictions and the measurements: memory in MB, latency in us here and in ms on the phone."""
    n, d = real["shape"]
    results: Results = {}
    for algorithm in vector_cost.ALGORITHMS:
        ours = algorithm == "Monograph"
        shape = vector_cost.Shape(n, d, n // (100 if ours else 250), 13 if ours else 32)
        spent = vector_cost.latency(algorithm, shape)
        found = real["indexes"].get(MEASURED.get(algorithm, ""), {})
        curve = found.get("curves", {}).get("k=10", [])
        results[algorithm] = {
            "memory": vector_cost.memory(algorithm, shape) / 1e6,
            "measured_memory": found.get("anonymous", float("nan")) / 1e6,
            "phone_ms": spent.total,
            "measured_us": at_recall(curve)[0],
            "energy_mJ": vector_cost.energy(spent) / 1e3,
            "measured_mJ": at_recall(curve, what="mJ")[0] if curve and "mJ" in curve[0] else None,
        }
    return results


def real(options: argparse.Namespace) -> Results:
    """Measure all rivals on MiniLM embeddings, and compare some with the paper's cost models."""
    made = minilm(options)
    found = {**beside_rivals(made, list(RIVALS), options), "shape": made.vectors.shape}
    return {**found, "instructions": levels()[0], "expected": expected(found)}


def cold(options: argparse.Namespace) -> Results:
    """Measure cold queries of the indexes of :func:`real`; those that have not been measured there are measured now."""
    made = minilm(options)
    folder = prepared(made)
    saved = json.loads(options.saved.read_text()) if options.saved.exists() else {}
    known: Results = dict(saved.get("real", {}).get("found", {}).get("indexes", {}))

    def curve_of(name: str) -> Sequence[Results]:
        is_built = folder_of(name, folder).exists()
        if not is_built or name not in known:
            built = known.get(SAME_FILES.get(name, name), {}).get("build") if is_built else None
            known[name] = rival(folder, name, built, options)
        return known[name].get("curves", {}).get("k=10", [])  # type: ignore[no-any-return]

    return vector_cold.measured(folder, run, curve_of)


def million(options: argparse.Namespace) -> Results:
    """Measure the fastest rival on large sets: easy vectors, and static word vectors of passages."""
    made = {"easy": vector_data.synthetic, "real": vector_data.passages}
    return {name: beside_rivals(make(options.vectors), ON_MANY, options) for name, make in made.items()}


def public(_: argparse.Namespace) -> Results:
    """Measure searches through public classes."""
    return vector_public.measured()


def threads(options: argparse.Namespace) -> Results:
    """Measure queries per second of one thread and of several."""
    made = minilm(options)
    return vector_threads.measured(made.vectors, made.queries, vector_data.nearest(made.vectors, made.queries, K))


def stop(options: argparse.Namespace) -> Results:
    """Measure stop conditions on real and easy vectors."""
    return vector_stopping.measured(minilm(options))


def churn(options: argparse.Namespace) -> Results:
    """Measure the replacement of a fifth of the vectors."""
    return vector_churn.measured(minilm(options), prepared, run)


def centroids(options: argparse.Namespace) -> Results:
    """Measure the search for the nearest centroids."""
    return vector_centroids.measured(minilm(options))


def minilm(options: argparse.Namespace) -> VectorSet:
    """Return the MiniLM embeddings, at most as many as the options allow. Embeds the sentences first if necessary."""
    vector_data.embed_minilm(3_600)
    made = vector_data.minilm()
    return replace(made, vectors=made.vectors[: options.vectors])


SECTIONS: dict[str, Callable[[argparse.Namespace], Results]] = {
    "real": real,
    "cold": cold,
    "million": million,
    "public": public,
    "threads": threads,
    "stopping": stop,
    "churn": churn,
    "centroids": centroids,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", choices=list(SECTIONS), default=list(SECTIONS))
    parser.add_argument("--seconds", type=float, default=5, help="longest time of a pass at one setting of a rival")
    parser.add_argument("--vectors", type=int, default=MANY, help="of the large sets; with fewer, nothing is published")
    options = parser.parse_args()
    is_whole = options.vectors == MANY
    folder = DOCS if is_whole else CACHE / f"page-{options.vectors}"
    folder.mkdir(parents=True, exist_ok=True)
    CACHE.mkdir(parents=True, exist_ok=True)
    options.saved = (CACHE if is_whole else folder) / "measured.json"
    saved = options.saved if options.only else folder / "vectors.json"
    limits = "" if is_whole else f"at most {options.vectors:,} vectors"
    results = run_sections(SECTIONS, options, saved, limits)
    for path in vector_report.write(results, folder):
        console.print(f"written: {path}")


if __name__ == "__main__":
    main()
