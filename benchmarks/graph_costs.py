"""Costs of the graph: build time, file size, search latency and edit latency."""

from __future__ import annotations

import argparse
import random
import sqlite3
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from graph_files import CACHE, MIXED, Faithful, Results, copied, dataset, fresh, made, mixture, questions
from graph_rivals import edited
from machine import console
from monograph import Monograph
from monograph.derive.embed.static import StaticEmbedder
from monograph.evaluate.metrics import percentile
from monograph.models import Extractor
from monograph.values import Chunk, Document, Extraction

REPEATS = {2_000: 3, 10_000: 3, 50_000: 1}
"""How often each size is built."""

ASKED = (10_000, 100_000)
ASKED_A_SET = 100
EDITED = 10_000
EDITS = 100
TABLES = ("chunk_graphs", "mentions", "subjects", "aliases", "extractions", "names", "cannot_link", "unresolved")


class Nothing:
    """An extractor that finds nothing."""

    key = spec = "benchmark:nothing"

    def extract(self, chunks: Sequence[Chunk]) -> list[Extraction]:
        return [Extraction() for _ in chunks]


def scaled(size: int, options: argparse.Namespace) -> int:
    return max(3 * EDITS, int(size * options.scale))


def build(options: argparse.Namespace) -> Results:
    """Measure how much the graph adds to the time of ``add()``, and to the size of a file."""
    results: Results = {"distinct": sum(len(dataset(name).documents) for name in MIXED), "sizes": {}}
    plain = CACHE / "plain.mono"
    made.add(plain)
    seconds_to_add(plain, mixture(200))
    for usual, repeats in REPEATS.items():
        size = scaled(usual, options)
        documents, path = mixture(size), CACHE / f"mixture-{size}.mono"
        pairs = [(seconds_to_add(path, documents), seconds_to_add(plain, documents, Nothing())) for _ in range(repeats)]
        made.add(path)
        seconds, without = (statistics.median(some) for some in zip(*pairs, strict=True))
        results["sizes"][str(size)] = {
            "repeats": repeats,
            "seconds": seconds,
            "seconds without": without,
            "words": statistics.mean(len(f"{one.title} {one.text}".split()) for one in documents),
            "megabytes": megabytes(path),
            "megabytes without": megabytes(path, without=TABLES),
        }
        console.print(f"build {size}: {seconds:.2f} s, {without:.2f} s where nothing is found")
    return results


def seconds_to_add(path: Path, documents: Sequence[Document], extractor: Extractor | None = None) -> float:
    """Return the seconds to add documents to a new file. The embedder is loaded before."""
    with Monograph.open(fresh(path), embedder=StaticEmbedder(), extractor=extractor) as monograph:
        monograph.embedder.embed(["loads the model"])
        begun = time.perf_counter()
        monograph.add(documents)
        return time.perf_counter() - begun


def megabytes(path: Path, without: Sequence[str] = ()) -> float:
    """Return the megabytes of a vacuumed copy of a file, without some tables and their stored extractions."""
    copy = copied(path, CACHE / "weighed.mono")
    connection = sqlite3.connect(copy, isolation_level=None)
    for table in without:
        connection.execute(f"DROP TABLE {table}")
    if without:
        connection.execute("DELETE FROM memo WHERE kind = 'extraction'")
    connection.execute("VACUUM")
    connection.close()
    size = copy.stat().st_size / 1e6
    fresh(copy)
    return size


def filled(size: int) -> Path:
    """Return the file of ``size`` passages; write it if this run has not written it."""
    path = CACHE / f"mixture-{size}.mono"
    if path not in made:
        seconds_to_add(path, mixture(size))
        made.add(path)
    return path


def query(options: argparse.Namespace) -> Results:
    """Measure the milliseconds of searches for 5 hits, in the second of two passes."""
    asked = [one.question for name in MIXED for one in questions(name, options)[:ASKED_A_SET]]
    results: Results = {}
    for usual in ASKED:
        size = scaled(usual, options)
        with Monograph.open(filled(size), read_only=True) as monograph:
            ways: dict[str, tuple[Any, str]] = {
                "hybrid": (monograph, "hybrid"),
                "graph": (monograph, "graph"),
                "faithful": (Faithful(monograph), "graph"),
            }
            for way, (searcher, how) in ways.items():
                times: list[float] = []
                for _ in range(2):
                    times = [milliseconds(partial(searcher.search, text, 5, how)) for text in asked]
                results.setdefault(str(size), {})[way] = spread(times)
        told = "  ".join(f"{way} {one['p50']:.1f}" for way, one in results[str(size)].items())
        console.print(f"query {size}: p50 ms {told}")
    return results


def edit(options: argparse.Namespace) -> Results:
    """Measure the milliseconds to change a document, add it again unchanged and remove one, each with its commit."""
    size = scaled(EDITED, options)
    documents = mixture(size)
    random.Random(11).shuffle(documents)
    path = copied(filled(size), CACHE / "edited.mono")
    made.add(path)
    results: Results = {"documents": size, "edits": EDITS, "works": {}}
    with Monograph.open(path, embedder=StaticEmbedder()) as monograph:
        first, *changes = [replace(one, text=edited(one.id, one.text)[1]) for one in documents[: EDITS + 1]]
        monograph.add([first])
        gone = documents[EDITS + 1 : 2 * EDITS + 1]
        works: dict[str, list[Callable[[], Any]]] = {
            "change a document": [partial(monograph.add, [one]) for one in changes],
            "add it again, unchanged": [partial(monograph.add, [one]) for one in changes],
            "remove a document": [partial(monograph.remove, [one.id]) for one in gone],
        }
        for name, some in works.items():
            results["works"][name] = spread([milliseconds(work) for work in some])
            console.print(f"{name}: {results['works'][name]['p50']:.1f} ms")
    return results


def milliseconds(work: Callable[[], Any]) -> float:
    begun = time.perf_counter()
    work()
    return (time.perf_counter() - begun) * 1000


def spread(times: Sequence[float]) -> Results:
    return {"times": len(times), "p50": percentile(times, 0.5), "p95": percentile(times, 0.95)}
