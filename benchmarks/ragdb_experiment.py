"""Experiment of the RAGdb paper (Sec. 5), with ragdb from PyPI and Monograph in one run.

There are 1,000 synthetic documents of business and technical English. 100 have codes like the paper's, 100 hyphenated
codes, and 100 codes that begin with another document's code. The queries are a bare code, and a question with the code.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import random
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from machine import console, machine, median_seconds, save, show
from monograph import Monograph

BUSINESS = [
    "quarterly",
    "revenue",
    "contract",
    "supplier",
    "delivery",
    "warehouse",
    "budget",
    "audit",
    "meeting",
    "invoice",
    "customer",
    "region",
    "shipment",
    "policy",
    "training",
    "schedule",
    "report",
    "license",
    "review",
    "capacity",
    "forecast",
    "margin",
    "procurement",
    "logistics",
]
TECHNICAL = [
    "pump",
    "valve",
    "firmware",
    "server",
    "network",
    "backup",
    "engineer",
    "inspection",
    "pressure",
    "sensor",
    "maintenance",
    "upgrade",
    "panel",
    "measurement",
    "tolerance",
    "assembly",
    "safety",
    "encryption",
    "latency",
    "throughput",
    "bearing",
    "voltage",
    "coolant",
    "telemetry",
]
LINKED = 0.4
LINKS = [
    "the",
    "a",
    "of",
    "for",
    "with",
    "and",
    "under",
    "before",
    "after",
    "during",
    "to",
    "from",
    "was",
    "is",
    "will",
    "be",
    "has",
]
SYLLABLES = [
    first + vowel + last for first in "bcdfghklmnprstvw" for vowel in "aeiou" for last in ("", "n", "r", "s", "l", "t")
]


def vocabulary(size: int, chance: random.Random) -> tuple[list[str], list[float]]:
    """Return words and their weights by Zipf's law: business and technical words first, then made-up words."""
    words = chance.sample(BUSINESS + TECHNICAL, len(BUSINESS + TECHNICAL))
    while len(words) < size:
        words.append("".join(chance.choice(SYLLABLES) for _ in range(chance.randint(2, 3))))
    words = list(dict.fromkeys(words))
    return words, [1 / (rank + 10) for rank in range(len(words))]


def corpus(folder: Path, count: int, words: int, chance: random.Random) -> dict[str, list[tuple[str, str]]]:
    """Write the documents; return (code, file name) of the documents with codes, by kind of code."""
    folder.mkdir()
    known_words, weights = vocabulary(words, chance)
    codes: dict[int, tuple[str, str]] = {}
    places = chance.sample(range(count), 300)
    for number, place in enumerate(places[:100]):
        codes[place] = ("paper's", f"UNIQUE_INVOICE_CODE_XYZ_{number:03}")
    for number, (short, long) in enumerate(zip(places[100:200], places[200:], strict=True)):
        codes[short] = ("hyphenated", f"INV-{2000 + number}")
        codes[long] = ("prefixed by another", f"INV-{2000 + number}{chance.choice(['5', '-A', '0'])}")
    known: dict[str, list[tuple[str, str]]] = {}
    for number in range(count):
        sentences = []
        for _ in range(chance.randint(12, 20)):
            picked = chance.choices(known_words, weights, k=chance.randint(8, 18))
            linked = (chance.choice(LINKS) if chance.random() < LINKED else word for word in picked)
            sentences.append(" ".join(linked).capitalize())
        if number in codes:
            kind, code = codes[number]
            sentences.insert(chance.randrange(len(sentences)), f"The reference of this case is {code}")
            known.setdefault(kind, []).append((code, f"doc_{number}.txt"))
        (folder / f"doc_{number}.txt").write_text(". ".join(sentences) + ".\n")
    return known


class Ours:
    name = "monograph"

    def __init__(self, path: Path) -> None:
        self.path = path

    def sync(self, folder: Path) -> Any:
        with Monograph.open(self.path) as monograph:
            return monograph.sync(folder)

    def open(self) -> Callable[[str], str]:
        monograph = Monograph.open(self.path)

        def first(query: str) -> str:
            hits = monograph.search(query, 1)
            return Path(hits[0].uri).name if hits else ""

        return first


class Theirs:
    name = "ragdb"

    def __init__(self, path: Path) -> None:
        self.path = path

    def sync(self, folder: Path) -> Any:
        from ragdb import RAGdb

        with contextlib.redirect_stdout(io.StringIO()):  # it prints a line for each file
            RAGdb(str(self.path)).ingest_folder(str(folder))

    def open(self) -> Callable[[str], str]:
        from ragdb import RAGdb

        database = RAGdb(str(self.path))

        def first(query: str) -> str:
            found = database.search(query, top_k=1)
            return Path(found[0].path).name if found else ""

        return first


def measure(system: Any, folder: Path, known: dict[str, list[tuple[str, str]]]) -> dict[str, float]:
    result: dict[str, float] = {}
    started = time.perf_counter()
    system.sync(folder)
    result["cold sync, s"] = time.perf_counter() - started
    result["nothing changed, ms"] = median_seconds(lambda: system.sync(folder)) * 1000
    times, embedded = [], []
    for number in range(5):
        path = folder / f"doc_{number}.txt"
        path.write_text(path.read_text() + f"One more sentence, number {number}.\n")
        started = time.perf_counter()
        report = system.sync(folder)
        times.append((time.perf_counter() - started) * 1000)
        if report is not None:
            assert report.embedded == report.chunks_added, report
            embedded.append(report.embedded)
    result["one file changed, ms"] = statistics.median(times)
    if embedded:
        result["  chunks embedded for it"] = statistics.median(embedded)
    first = system.open()
    latencies = []
    for kind, codes in known.items():
        for form, template in (
            ("bare code", "{}"),
            ("in a question", "which case has the reference {} and is it paid?"),
        ):
            right = 0
            for code, name in codes:
                started = time.perf_counter()
                found = first(template.format(code))
                latencies.append((time.perf_counter() - started) * 1000)
                right += found == name
            result[f"Recall@1 {kind}, {form}"] = right / len(codes)
    result["query p50, ms"] = statistics.median(latencies)
    result["file, MB"] = sum(path.stat().st_size for path in system.path.parent.glob(system.path.name + "*")) / 1e6
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=1000)
    parser.add_argument("--vocabulary", type=int, default=10_000, help="how many different words there are")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    systems: list[Any] = [Ours]
    try:
        import ragdb  # noqa: F401

        systems.append(Theirs)
    except ImportError:
        console.print("ragdb is not installed (pip install ragdb): its column is left out")
    results = {}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        known = corpus(folder / "texts", options.documents, options.vocabulary, random.Random(2024))
        words = sum(len(path.read_text().split()) for path in (folder / "texts").iterdir()) / options.documents
        for system in systems:
            shutil.copytree(folder / "texts", folder / system.name)
            os.sync()
            results[system.name] = measure(system(folder / f"{system.name}.db"), folder / system.name, known)
    console.print(machine())
    console.print(f"{options.documents} documents of {words:.0f} words, a vocabulary of {options.vocabulary}")
    names = list(results)
    rows = []
    for key in results[names[0]]:
        values = [results[name].get(key) for name in names]
        shown = ["-" if value is None else f"{value:.3f}" for value in values]
        ratio = ""
        if len(values) == 2 and None not in values and not key.startswith("Recall"):
            ratio = f"{values[1] / values[0]:.1f}x"
        rows.append((key, *shown, ratio))
    show("RAGdb's experiment", ("measure", *names, "ratio"), rows)
    save(options.json, results)


if __name__ == "__main__":
    main()
