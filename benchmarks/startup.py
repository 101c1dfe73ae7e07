"""Waiting times: import, a search from the command line, a search in process."""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from machine import SHARED, console, machine, median_seconds, save, show
from monograph import Monograph
from monograph.evaluate.datasets import load_dataset, write_texts

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--data", type=Path, default=SHARED / "data/lihuaworld")
parser.add_argument("--repeats", type=int, default=9)
parser.add_argument("--json", type=Path)
options = parser.parse_args()


def run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)


dataset = load_dataset(options.data)
rows = []
with tempfile.TemporaryDirectory() as folder:
    write_texts(dataset, Path(folder) / "texts")
    path = Path(folder) / "set.mono"
    with Monograph.open(path) as monograph:
        monograph.sync(Path(folder) / "texts")
    program = str(Path(sys.executable).parent / "monograph")
    query = dataset.questions[0].question
    bare = median_seconds(lambda: run(sys.executable, "-c", "pass"), options.repeats)
    for statement in ("import monograph", "from monograph import Monograph"):
        imported = median_seconds(lambda code=statement: run(sys.executable, "-c", code), options.repeats)
        rows.append((statement, f"{(imported - bare) * 1000:.0f} ms"))
    whole = median_seconds(lambda: run(program, "search", str(path), query), options.repeats)
    rows.append(("monograph search, process start to printed hits", f"{whole * 1000:.0f} ms"))
    with Monograph.open(path) as monograph:
        for mode in ("lexical", "tfidf", "dense", "hybrid"):
            monograph.search(query, how=mode)
            times = []
            for question in dataset.questions:
                started = time.perf_counter()
                monograph.search(question.question, how=mode)
                times.append(time.perf_counter() - started)
            rows.append((f"search in process, {mode}, p50", f"{statistics.median(times) * 1000:.2f} ms"))
console.print(machine())
show(f"waiting, on {dataset.name} ({len(dataset.documents)} documents)", ("step", "median"), rows)
save(options.json, dict(rows))
