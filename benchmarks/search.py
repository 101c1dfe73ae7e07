"""Benchmark of search latency: every mode, contexts, two threads at once, and the first question of a process.

``make bench-search`` measures files of 10,000, 100,000 and a million passages, and writes docs/benchmarks/search.md.
It takes an hour, most of it to write the file of a million passages, unless ``make bench-writing`` has written it.
``--only 10000`` measures one size. The files are kept in build/search.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from graph_files import dataset, mixture
from machine import CHILD_ENVIRONMENT, console, in_threads, run_sections
from monograph import Document, Graph, Monograph
from page import NOISE, write_page
from vector_report import table
from vector_rivals import drop, memory
from writing_files import processor, shuffled

HERE = Path(__file__).resolve().parent
CACHE = HERE.parent / "build" / "search"
PAGE = HERE.parent / "docs" / "benchmarks" / "search.md"
SIZES = ("10000", "100000", "1000000")
ASKED = ("hotpotqa", "2wikimultihopqa", "musique")
AT_ONCE = 20_000
K = 10
BUDGET = 1_000
METHOD = """

For each mode, the file is opened and warmed up by 120 questions. Then 120 other questions of three sets are timed, for
10 hits each; less is better. *MiniRAG's formulas* is `Graph(faithful=True)`, *context* is `context()`. Chroma gets
embedded questions. *First question* is the time to open the uncached file and answer a process's first question."""
WAYS: dict[str, Callable[[Monograph, str], object]] = {
    "lexical": lambda archive, text: archive.search(text, K, "lexical"),
    "dense": lambda archive, text: archive.search(text, K, "dense"),
    "hybrid": lambda archive, text: archive.search(text, K, "hybrid"),
    "graph": lambda archive, text: archive.search(text, K, "graph"),
    "auto": lambda archive, text: archive.search(text, K),
    "MiniRAG's formulas": lambda archive, text: archive.search(text, K, Graph(faithful=True)),
    f"context of {BUDGET:,} tokens": lambda archive, text: archive.context(text, budget=BUDGET),
}
Results = dict[str, Any]


def questions(count: int = 120, begin: int = 0) -> list[str]:
    """Return questions of three sets in equal parts, from question ``begin`` of each set on."""
    part = count // len(ASKED)
    return [one.question for name in ASKED for one in dataset(name).questions[begin : begin + part]]


def passages(count: int) -> Iterator[Document]:
    """Yield passages of four question sets, then texts of random sentences from them."""
    real = mixture(min(count, 25_000))
    yield from real
    more = shuffled(count - len(real))
    yield from (Document(text, id=f"{number:07}") for number, text in enumerate(more))


def write(count: int) -> dict[str, float]:
    """Write a file of ``count`` passages with all derived data, and return the costs."""
    CACHE.mkdir(parents=True, exist_ok=True)
    making = CACHE / f"{count}.making"
    for end in ("", "-wal", "-shm"):
        Path(f"{making}{end}").unlink(missing_ok=True)
    every = passages(count)
    before, started, most = processor(), time.perf_counter(), 0.0
    with Monograph.open(making) as archive:
        while some := list(islice(every, AT_ONCE)):
            archive.add(some)
            most = max(most, memory()[0] / 1e6)
    size = making.rename(file_of(count)).stat().st_size
    return {
        "passages": float(count),
        "minutes": (time.perf_counter() - started) / 60,
        "processor, µs a passage": (processor() - before) / count * 1e6,
        "memory, MB": most,
        "file, bytes a passage": size / count,
    }


def file_of(count: int) -> Path:
    return CACHE / f"{count}.mono"


def made(count: int) -> Path:
    """Return the file of ``count`` passages; write it if it is missing."""
    if not file_of(count).exists():
        write(count)
    return file_of(count)


def waits(path: Path) -> Results:
    """Return milliseconds per question by mode, and questions per second by number of threads."""
    before, asked = memory()[0], questions()
    others = questions(begin=len(asked) // len(ASKED))
    found = {}
    for name, ask in WAYS.items():
        # A new Monograph for each mode, so that no mode uses the data that another has cached.
        with Monograph.open(path) as archive:
            found[name] = times(lambda text, ask=ask: ask(archive, text), asked, others)
    with Monograph.open(path) as archive:
        for text in others:
            archive.search(text, K)
        return {"ways": found, "memory": (memory()[0] - before) / 1e6, "threads": at_once(archive)}


def times(ask: Callable[[Any], object], asked: Sequence[Any], others: Sequence[Any]) -> dict[str, float]:
    """Return p50 and p95 milliseconds of questions that are asked once, after others."""
    for one in others:
        ask(one)
    spent = []
    for one in asked:
        begun = time.perf_counter()
        ask(one)
        spent.append((time.perf_counter() - begun) * 1e3)
    return {"p50": statistics.median(spent), "p95": float(np.percentile(spent, 95))}


def at_once(archive: Monograph) -> Results:
    """Return questions per second in modes graph and hybrid, with one thread and two; each question is new."""

    def rate(how: str, threads: int, begin: int) -> float:
        asked = questions(begin=begin)
        part = lambda first: [archive.search(text, K, how) for text in asked[first::threads]]  # noqa: E731
        return len(asked) / in_threads(part, threads)

    rounds = enumerate((how, threads) for how in ("graph", "hybrid") for threads in (1, 2))
    return {f"{how}, {threads}": rate(how, threads, 80 + 40 * at) for at, (how, threads) in rounds}


def first(path: Path, how: str) -> float:
    """Return the milliseconds from opening to the first hits, with no page of the file in memory."""
    asked = questions()[7]
    drop(path.parent)
    begun = time.perf_counter()
    with Monograph.open(path) as archive:
        if not WAYS[how](archive, asked):
            raise SystemExit("nothing was found")
        return (time.perf_counter() - begun) * 1e3


def chroma(path: Path) -> Results:
    """Return milliseconds of Chroma's queries by the same vectors, if it is installed."""
    try:
        import chromadb
    except ImportError:
        return {}
    with Monograph.open(path) as archive:
        embedder = archive.embedder
        asked = list(embedder.embed(questions(), "query"))
        others = list(embedder.embed(questions(begin=len(asked) // len(ASKED)), "query"))
        texts = [one.text for one in passages(int(path.stem))]
        vectors = embedder.embed(texts, "document")
    client = chromadb.EphemeralClient(chromadb.Settings(anonymized_telemetry=False))
    held = client.get_or_create_collection("passages", metadata={"hnsw:space": "cosine"}, embedding_function=None)
    for start in range(0, len(texts), 5_000):
        some = slice(start, start + 5_000)
        names = [str(row) for row in range(start, start + len(texts[some]))]
        held.add(ids=names, embeddings=vectors[some], documents=texts[some])
    ask = lambda vector: held.query(query_embeddings=vector[None], n_results=K)  # noqa: E731
    return {"Chroma, query by vector": times(ask, asked, others)}


def child(job: str, path: Path) -> Any:
    """Return the result of a job that runs in its own process."""
    command = [sys.executable, __file__, "--job", job, "--file", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=CHILD_ENVIRONMENT)
    if done.returncode:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def measured(count: int) -> Results:
    path = made(count)
    found: Results = child("waits", path)
    found["first"] = {
        how: statistics.median(child(f"first {how}", path) for _ in range(5)) for how in ("dense", "hybrid", "graph")
    }
    rival = child("chroma", path) if count <= 100_000 else {}
    return {**found, "rival": rival, "passages": count, "bytes": path.stat().st_size}


def told(found: Results) -> list[str]:
    """Return the paragraphs of a size."""
    rows = [
        [
            name,
            f"{one['p50']:,.2f}",
            f"{one['p95']:,.2f}",
            f"{found['first'][name]:,.0f}" if name in found["first"] else "",
        ]
        for name, one in {**found["ways"], **found["rival"]}.items()
    ]
    rates = found["threads"]
    return [
        f"The file has {found['bytes'] / 1e6:,.0f} MB. Searching adds {found['memory']:,.0f} MB of private memory. "
        f"One thread answers {rates['graph, 1']:,.0f} graph or {rates['hybrid, 1']:,.0f} hybrid "
        f"searches a second; two threads answer {rates['graph, 2']:,.0f} or {rates['hybrid, 2']:,.0f}.",
        table(["mode", "p50, ms", "p95, ms", "first question, ms"], rows),
    ]


JOBS: dict[str, Callable[[Path], Any]] = {
    "waits": waits,
    "chroma": chroma,
    **{f"first {how}": lambda path, how=how: first(path, how) for how in ("dense", "hybrid", "graph")},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", choices=SIZES, default=list(SIZES))
    parser.add_argument("--job", choices=JOBS)
    parser.add_argument("--file", type=Path)
    options = parser.parse_args()
    if options.job:
        print(json.dumps(JOBS[options.job](options.file)))
        return
    CACHE.mkdir(parents=True, exist_ok=True)
    sections = {size: lambda _, size=size: measured(int(size)) for size in SIZES}
    results = run_sections(sections, options, CACHE / "results.json", "")
    headings = {size: (f"{int(size):,} passages", told) for size in SIZES}
    for path in write_page(results, PAGE, "Searching, measured", headings, remark=NOISE + METHOD):
        console.print(f"{path} written")


if __name__ == "__main__":
    main()
