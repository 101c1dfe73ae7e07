"""Benchmark of the tree of summaries: equality with a fresh build, cost of changes, recall, contexts.

``make bench-tree`` runs all sections and writes docs/benchmarks/tree.md with its plot and tree.json. Results are kept
from run to run, so ``--only`` measures some sections again and keeps the others.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import tree_contexts
import tree_growth
import tree_report
import tree_sweeps
from machine import SHARED, console, machine
from monograph import Document, Monograph, Settings, Tree
from monograph.derive.chunk import cut
from monograph.derive.sentences import sentence_spans
from monograph.derive.summarize.extractive import ExtractiveSummarizer
from monograph.derive.tokens import count_tokens
from monograph.evaluate.datasets import load_dataset
from monograph.evaluate.run import evaluate
from tree_files import Metered, file

HERE = Path(__file__).resolve().parent
DOCS = HERE.parent / "docs" / "benchmarks"
LONG = ("quality-sample", "longdoc-summary", "books", "nq-sample", "ultradomain-mix")
SHORT = ("hotpotqa", "2wikimultihopqa", "musique")
RECALL_SETS = ("lihuaworld", "quality-sample", "books")
Results = dict[str, Any]


def lines(name: str) -> Iterator[dict[str, Any]]:
    with gzip.open(SHARED / "data" / name / "corpus.jsonl.gz") as file:
        yield from map(json.loads, file)


def chunk_texts(count: int) -> list[str]:
    """Return distinct chunks of long texts and distinct short passages, in random order."""
    found: dict[str, None] = {}
    for name in LONG:
        for row in lines(name):
            found.update(dict.fromkeys(chunk.text for chunk in cut(Document(row["text"], id="x"), Settings())))
    for name in SHORT:
        found.update(dict.fromkeys(row["text"] for row in lines(name)) if len(found) < count else {})
    texts = [text for text in found if text.strip()]
    random.Random(5).shuffle(texts)
    return texts[:count]


def sentence_texts(count: int) -> list[str]:
    """Return distinct sentences of more than 30 characters from the question sets, in random order."""
    found: dict[str, None] = {}
    for name in (*LONG, *SHORT, "squad", "lihuaworld", "multihop-rag"):
        for row in lines(name):
            text = row["text"]
            spans = sentence_spans(text)
            found.update(dict.fromkeys(text[start:end] for start, end in spans if end - start > 30))
        if len(found) > count:
            break
    texts = list(found)
    random.Random(6).shuffle(texts)
    return texts[:count]


def documents(texts: Sequence[str], first: int = 0) -> list[Document]:
    return [Document(text, id=f"n{number}") for number, text in enumerate(texts, first)]


def single(options: argparse.Namespace) -> Results:
    """Measure inserts and deletes of one document, in files of two sizes."""
    results: Results = {}
    for name, given in (("chunks", chunk_texts(options.chunks)), ("sentences", sentence_texts(options.many))):
        extra, texts = given[:50], given[50:]
        meter = Metered()
        with file() as monograph:
            started = time.perf_counter()
            monograph.add(documents(texts))
            indexed = time.perf_counter() - started
            started = time.perf_counter()
            monograph.tree.rebuild(ExtractiveSummarizer())
            built = time.perf_counter() - started
            whole = monograph.stats().tree
            monograph._file.models.given_summarizer = meter  # The same summarizer, with counts.
            came = [_changed(monograph, meter, [one]) for one in documents(extra, len(texts))]
            went = [_changed(monograph, meter, f"n{number}") for number in range(0, 50 * 97, 97)]
            plan = _planned(monograph, extra[0])
            faults = monograph.check()
        rebuild = sum(count_tokens(texts)) + 100 * (whole.summaries if whole else 0)
        row = {
            "chunks": len(texts),
            "layers": list(whole.layers) if whole else [],
            "index seconds": indexed,
            "build seconds": built,
            "inserted": _mean(came),
            "deleted": _mean(went),
            "rebuild tokens": rebuild,
            "plan seconds": plan,
            "faults": len(faults),
        }
        results[name] = row
        console.print(f"{name}: {json.dumps(row)}")
    return results


def _changed(monograph: Monograph, meter: Metered, what: list[Document] | str) -> dict[str, float]:
    started = time.perf_counter()
    monograph.remove([what]) if isinstance(what, str) else monograph.add(what)
    return meter.take(time.perf_counter() - started)


def _mean(rows: Sequence[dict[str, float]]) -> Results:
    return {
        "summaries": statistics.mean(row["summaries"] for row in rows),
        "most summaries": max(row["summaries"] for row in rows),
        "tokens": statistics.mean(row["tokens"] for row in rows),
        "milliseconds": 1000 * statistics.median(row["seconds"] for row in rows),
    }


def _planned(monograph: Monograph, text: str) -> float:
    """Return the seconds to plan a sync of one new file, with its cost."""
    folder = Path(tempfile.mkdtemp(prefix="plan-"))
    try:
        (folder / "new.txt").write_text(f"{text} And something new.")
        started = time.perf_counter()
        monograph.files.plan(folder)
        return time.perf_counter() - started
    finally:
        shutil.rmtree(folder)


def recall(options: argparse.Namespace) -> Results:
    """Measure the recall of evidence, with the tree and with chunks alone."""
    results: Results = {}
    for name in RECALL_SETS:
        data = load_dataset(SHARED / "data" / name)
        asked = [one for one in data.questions if one.evidence_ids][: options.questions]
        with file() as monograph:
            monograph.add(data.documents)
            monograph.tree.rebuild()
            found = {
                "dense": evaluate(monograph, asked, "dense"),
                "hybrid": evaluate(monograph, asked, "hybrid"),
                "tree": evaluate(monograph, asked, "tree"),
                "tree, detail 0.7": evaluate(monograph, asked, Tree(detail=0.7)),
            }
        results[name] = {
            way: {
                "questions": one.scores.questions,
                "recall@5": one.scores.recall[4],
                "MRR": one.scores.reciprocal_rank,
            }
            for way, one in found.items()
        }
        console.print(f"{name}: " + "  ".join(f"{way} {one.scores.recall[4]:.3f}" for way, one in found.items()))
    return results


SECTIONS: dict[str, Callable[[argparse.Namespace], Results]] = {
    "growth": lambda options: tree_growth.growth(options.growth),
    "single": single,
    "raptor": lambda options: tree_growth.raptor(options.raptor),
    "recall": recall,
    "contexts": lambda options: tree_contexts.contexts(options.questions),
    "sweeps": lambda options: tree_sweeps.sweeps(options.questions),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", choices=SECTIONS, default=list(SECTIONS))
    parser.add_argument("--growth", type=int, default=12_000, help="documents of the file that grows")
    parser.add_argument(
        "--raptor", type=int, nargs="*", default=(1_000, 3_000), help="documents of each build beside RAPTOR"
    )
    parser.add_argument("--chunks", type=int, default=10_000, help="chunks of the smaller file of section single")
    parser.add_argument("--many", type=int, default=100_000, help="chunks of the larger file of section single")
    parser.add_argument("--questions", type=int, default=1_000_000, help="most questions of a set")
    parser.add_argument("--folder", type=Path, default=DOCS)
    options = parser.parse_args()
    path = options.folder / "tree.json"
    results = json.loads(path.read_text()) if path.exists() else {}
    results["machine"] = machine()
    for name in options.only:
        started = time.perf_counter()
        results[name] = SECTIONS[name](options)
        results[name]["section seconds"] = round(time.perf_counter() - started, 1)
        path.write_text(json.dumps(results, indent=1) + "\n")
    tree_report.write(results, options.folder)
    console.print(f"written: {options.folder / 'tree.md'}")


if __name__ == "__main__":
    main()
