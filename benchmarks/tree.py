"""Benchmark of the tree of summaries: equality with a fresh build, cost of changes, recall, contexts.

``make bench-tree`` runs all sections and writes docs/benchmarks/tree.md with its plot and tree.json. Results are kept
from run to run, so ``--only`` measures some sections again and keeps the others. ``--chunks`` and ``--many`` set the
sizes of the files.
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
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import tree_contexts
import tree_report
import tree_rivals
from machine import SHARED, console, machine
from monograph import Document, Monograph, Settings, Tree
from monograph.derive.chunk import cut
from monograph.derive.sentences import sentence_spans
from monograph.derive.summarize.extractive import ExtractiveSummarizer
from monograph.derive.tokens import count_tokens
from monograph.evaluate.datasets import load_dataset
from monograph.evaluate.run import evaluate
from monograph.models import TextKind
from monograph.store import tree as store
from monograph.store.file import checksums
from monograph.values import Chunk, Extraction, Float32, Hit, SummaryText
from monograph.write.pipeline import write

HERE = Path(__file__).resolve().parent
DOCS = HERE.parent / "docs" / "benchmarks"
LONG = ("quality-sample", "longdoc-summary", "books", "nq-sample", "ultradomain-mix")
SHORT = ("hotpotqa", "2wikimultihopqa", "musique")
STEPS, FIRST, STEP = 10, 0.5, 0.05
RECALL_SETS = ("lihuaworld", "quality-sample", "books")
BUDGETS = (500, 1_000, 2_000)
TOLERANCES = ((7, 13), (6, 12), (5, 13), (4, 14), (3, 15))
COVERAGES = (0.0, 0.25, 0.5, 0.75, 1.0)
Results = dict[str, Any]


class NoNames:
    """Extractor that finds nothing, because the graph is not measured here."""

    key = spec = "benchmark:nothing"

    def extract(self, chunks: Sequence[Chunk]) -> Iterator[Extraction]:
        for _ in chunks:
            yield Extraction()


class Metered:
    """Extractive summarizer that counts calls and tokens read, as for a language model."""

    spec = "extractive"

    def __init__(self) -> None:
        self._inner = ExtractiveSummarizer()
        self.key = self._inner.key
        self.calls = self.tokens = 0

    def summarize(self, texts: Sequence[str], max_tokens: int) -> SummaryText:
        self.calls += 1
        self.tokens += sum(count_tokens(list(texts)))
        return self._inner.summarize(texts, max_tokens)

    def take(self) -> tuple[int, int]:
        """Return the calls and tokens since the last call of ``take``."""
        taken = self.calls, self.tokens
        self.calls = self.tokens = 0
        return taken


class Known:
    """Embedder that computes static word vectors once, for several files of the same texts."""

    def __init__(self, texts: Sequence[str]) -> None:
        from monograph.derive.embed.static import StaticEmbedder

        self._inner = StaticEmbedder()
        self.key, self.spec, self.dimension = self._inner.key, self._inner.spec, self._inner.dimension
        self._known = dict(zip(texts, self._inner.embed(list(texts)), strict=True))

    def embed(self, texts: Sequence[str], kind: TextKind = "document") -> Float32:
        import numpy as np

        lacking = [text for text in texts if text not in self._known]
        made = dict(zip(lacking, self._inner.embed(lacking), strict=True)) if lacking else {}
        rows = [self._known[text] if text in self._known else made[text] for text in texts]
        return np.array(rows, dtype=np.float32).reshape(len(texts), self.dimension)


def lines(name: str) -> Iterator[dict[str, Any]]:
    with gzip.open(SHARED / "data" / name / "corpus.jsonl.gz") as file:
        yield from map(json.loads, file)


def chunk_texts(count: int) -> list[str]:
    """Return distinct chunks of long texts and distinct short passages, in random order."""
    found: dict[str, None] = {}
    for name in LONG:
        for row in lines(name):
            found.update(dict.fromkeys(chunk.text for chunk in cut(Document(row["text"], id="x"), Settings(), None)))
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


@contextmanager
def file(embedder: Any, summarizer: Any = None, settings: Settings | None = None) -> Iterator[Monograph]:
    folder = Path(tempfile.mkdtemp(prefix="tree-"))
    try:
        with Monograph.open(
            folder / "x.mono", embedder, NoNames(), summarizer, settings=settings, cache_bytes=0
        ) as opened:
            yield opened
    finally:
        shutil.rmtree(folder)


def keys_and_texts(monograph: Monograph) -> list[tuple[Any, ...]]:
    """Return (layer, rank, key, parent's key, text) of all nodes of a tree, sorted. Only row numbers are left out."""
    with monograph._file.database.read() as connection:
        rows = store.load(connection, store.nodes_above(connection, -1))
        texts = dict(
            connection.execute("SELECT n.node, m.value FROM nodes AS n JOIN memo AS m ON m.memo = n.gist").fetchall()
        )
    return sorted(
        (row.layer, row.rank, row.key, rows[row.parent].key if row.parent else b"", texts.get(row.node, b""))
        for row in rows.values()
    )


def with_planes_of(monograph: Monograph, other: Monograph) -> None:
    """Give a file without a tree the planes of another."""
    with other._file.database.read() as connection:
        planes = store.planes(connection)
    with write(monograph._file.database, monograph._file.indexes) as connection:
        store.begin(connection, planes or b"")


def growth(options: argparse.Namespace) -> Results:
    """Measure growth from 50 % in ten steps of 5 %, then deletes and edits. Compare the tree with a fresh build."""
    texts = chunk_texts(options.chunks)
    embedder, meter = Known(texts), Metered()
    given = documents(texts)
    first, step = round(FIRST * len(given)), round(STEP * len(given))
    with file(embedder, meter) as grown, file(embedder) as rebuilt:
        steps = [_step("first 50 %", grown, rebuilt, given[:first], meter)]
        for at in range(first, len(given), step):
            some = given[at : at + step]
            steps.append(_step(f"+{len(some):,}", grown, rebuilt, some, meter))
        shuffled = random.Random(7).sample(given, len(given))
        gone, edited = shuffled[: len(given) // 5], shuffled[len(given) // 5 : 3 * len(given) // 10]
        grown.remove([one.id for one in gone])
        removed_calls, removed_tokens = meter.take()
        changed = [replace(one, text=f"{one.text} It was written anew.") for one in edited]
        grown.add(changed)
        edited_calls, edited_tokens = meter.take()
        held = {one.id: one for one in given} | {one.id: one for one in changed}
        for one in gone:
            del held[one.id]
        before = keys_and_texts(grown)
        stats = grown.stats().tree
        with file(embedder) as fresh:
            fresh.add(random.Random(8).sample(list(held.values()), len(held)))
            with_planes_of(fresh, grown)
            fresh.tree.rebuild()
            equal = keys_and_texts(fresh) == before
            faults = [*grown.check(), *fresh.check()]
    console.print(f"equal to a fresh build: {equal}; faults: {faults}")
    after = steps[1:]
    return {
        "chunks": len(texts),
        "steps": steps,
        "tokens": sum(one["tokens"] for one in after),
        "rebuild tokens": sum(one["rebuild tokens"] for one in after),
        "seconds": sum(one["seconds"] for one in after),
        "rebuild seconds": sum(one["rebuild seconds"] for one in after),
        "removed": {"chunks": len(gone), "calls": removed_calls, "tokens": removed_tokens},
        "edited": {"chunks": len(edited), "calls": edited_calls, "tokens": edited_tokens},
        "equal": equal,
        "faults": len(faults),
        "layers": list(stats.layers) if stats else [],
        "sizes": [list(pair) for pair in stats.sizes] if stats else [],
        "cosine": stats.cosine if stats else 0.0,
    }


def _step(name: str, grown: Monograph, rebuilt: Monograph, some: list[Document], meter: Metered) -> Results:
    """Measure one step, and a rebuild of the same chunks from nothing."""
    started = time.perf_counter()
    grown.add(some)
    seconds = time.perf_counter() - started
    calls, tokens = meter.take()
    started = time.perf_counter()
    rebuilt.add(some)
    with rebuilt._file.database.write() as connection:
        store.clear(connection)
        connection.execute("DELETE FROM memo WHERE kind = 'summary'")
    rebuilt.tree.rebuild(meter)  # type: ignore[arg-type]
    again = time.perf_counter() - started
    rebuilt_calls, rebuilt_tokens = meter.take()
    with rebuilt._file.database.write() as connection:
        store.clear(connection)
        connection.execute("DELETE FROM settings WHERE name = 'summarizer'")
        checksums.drop(connection, "settings/summarizer")
    rebuilt._file.models.given_summarizer = None
    console.print(f"{name:>12}: {calls} summaries, {tokens:,} tokens; a rebuild {rebuilt_calls}, {rebuilt_tokens:,}")
    return {
        "name": name, "chunks": grown.stats().chunks, "summaries": calls, "tokens": tokens, "seconds": seconds,
        "rebuild summaries": rebuilt_calls, "rebuild tokens": rebuilt_tokens, "rebuild seconds": again,
    }  # fmt: skip


def single(options: argparse.Namespace) -> Results:
    """Measure inserts and deletes of one document, in files of two sizes."""
    results: Results = {}
    for name, given in (("chunks", chunk_texts(options.chunks)), ("sentences", sentence_texts(options.many))):
        extra, texts = given[:50], given[50:]
        meter = Metered()
        with file(Known(texts)) as monograph:
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


def _changed(monograph: Monograph, meter: Metered, what: list[Document] | str) -> tuple[int, int, float]:
    started = time.perf_counter()
    monograph.remove([what]) if isinstance(what, str) else monograph.add(what)
    return *meter.take(), time.perf_counter() - started


def _mean(rows: Sequence[tuple[int, int, float]]) -> Results:
    return {
        "summaries": statistics.mean(row[0] for row in rows),
        "most summaries": max(row[0] for row in rows),
        "tokens": statistics.mean(row[1] for row in rows),
        "milliseconds": 1000 * statistics.median(row[2] for row in rows),
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


class Detailed:
    """Searcher in mode tree that takes a share ``detail`` of the hits from chunks."""

    def __init__(self, monograph: Monograph, detail: float | None) -> None:
        self._monograph, self._detail = monograph, detail

    def search(self, query: str, k: int = 5, how: str = "tree") -> list[Hit]:
        return self._monograph.search(query, k, how=Tree(detail=self._detail))


def recall(options: argparse.Namespace) -> Results:
    """Measure the recall of evidence, with the tree and with chunks alone."""
    results: Results = {}
    for name in RECALL_SETS:
        data = load_dataset(SHARED / "data" / name)
        asked = [one for one in data.questions if one.evidence_ids][: options.questions]
        with file(None) as monograph:
            monograph.add(data.documents)
            monograph.tree.rebuild()
            found = {
                "dense": evaluate(monograph, asked, "dense"),
                "hybrid": evaluate(monograph, asked, "hybrid"),
                "tree": evaluate(monograph, asked, "tree"),
                "tree, detail 0.7": evaluate(Detailed(monograph, 0.7), asked, "tree"),
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


def rouge(options: argparse.Namespace) -> Results:
    """Measure ROUGE-L of hits against reference summaries: the tree and chunks alone, within the same budgets."""
    from rouge_score.rouge_scorer import RougeScorer

    scorer = RougeScorer(["rougeL"], use_stemmer=True)
    data = load_dataset(SHARED / "data" / "longdoc-summary")
    asked: dict[str, list[Any]] = {}
    for one in data.questions[: options.questions]:
        asked.setdefault(one.evidence_ids[0], []).append(one)
    ways = {"flat": 1.0, "tree": None, "tree, detail 0.5": 0.5, "summaries alone": 0.0}
    scores: dict[str, dict[int, list[tuple[float, float]]]] = {way: {most: [] for most in BUDGETS} for way in ways}
    for document in data.documents:
        with file(None) as monograph:
            monograph.add([document])
            monograph.tree.rebuild()
            for one in asked.get(document.id, ()):
                for way, detail in ways.items():
                    for most in BUDGETS:
                        hits = monograph.search(one.question, 100, how=Tree(detail=detail, budget=most))
                        got = scorer.score(one.answers[0], "\n".join(hit.text for hit in hits))["rougeL"]
                        scores[way][most].append((got.recall, got.fmeasure))
    return {
        "questions": sum(map(len, asked.values())),
        "ways": {
            way: {
                str(most): {"recall": statistics.mean(r for r, _ in rows), "F": statistics.mean(f for _, f in rows)}
                for most, rows in by_budget.items()
            }
            for way, by_budget in scores.items()
        },
    }


def coverage(options: argparse.Namespace) -> Results:
    """Measure the effect of the first build's share of the corpus (the paper's Table IV), with both kinds of planes."""
    data = load_dataset(SHARED / "data" / "multihop-rag")
    asked = [one for one in data.questions if one.evidence_ids][: options.questions]
    given = random.Random(9).sample(list(data.documents), len(data.documents))
    results: Results = {}
    for planes in ("random", "learned"):
        trees = []
        for share in COVERAGES:
            first = round(share * len(given))
            with file(None, ExtractiveSummarizer(), Settings(planes=planes)) as monograph:
                if first:
                    monograph.add(given[:first])
                step = max(1, (len(given) - first) // 10)
                for at in range(first, len(given), step):
                    monograph.add(given[at : at + step])
                trees.append([row[:3] + row[4:] for row in keys_and_texts(monograph)])
                stats = monograph.stats().tree
                results[f"{planes}, {share:.0%}"] = {
                    "recall@5": evaluate(monograph, asked, "tree").scores.recall[4],
                    "cosine": stats.cosine if stats else 0.0,
                    "learned from": stats.learned_from if stats else 0,
                    "the same tree": trees[-1] == trees[0],
                }
                console.print(f"{planes}, {share:.0%}: {json.dumps(results[f'{planes}, {share:.0%}'])}")
    return results


def tolerance(options: argparse.Namespace) -> Results:
    """Measure bounds of the segment size (the paper's Table V): half the corpus, then ten steps."""
    data = load_dataset(SHARED / "data" / "quality-sample")
    asked = [one for one in data.questions if one.evidence_ids][: options.questions]
    chunks = [
        replace(Document(chunk.text, id=f"{one.id}/{place}", title=one.title))
        for one in data.documents
        for place, chunk in enumerate(cut(one, Settings(), None))
    ]
    random.Random(10).shuffle(chunks)
    results: Results = {}
    for least, most in TOLERANCES:
        meter = Metered()
        settings = Settings(segment_least=least, segment_most=most)
        with file(None, meter, settings) as monograph:
            half, step = len(chunks) // 2, len(chunks) // 20
            for first, last in [(0, half), *((at, at + step) for at in range(half, len(chunks), step))]:
                monograph.add(chunks[first:last])
            started = time.perf_counter()
            calls, tokens = meter.take()
            stats = monograph.stats().tree
            hits = [{one.title for one in monograph.search(question.question, 5, how="tree")} for question in asked]
            titles = {one.id: one.title for one in data.documents}
            found = [titles[question.evidence_ids[0]] in some for question, some in zip(asked, hits, strict=True)]
            results[f"{least} to {most}"] = {
                "recall@5": statistics.mean(found), "summaries": calls, "tokens": tokens,
                "cosine": stats.cosine if stats else 0.0, "seconds": time.perf_counter() - started,
            }  # fmt: skip
        console.print(f"{least} to {most}: {json.dumps(results[f'{least} to {most}'])}")
    return results


def raptor(options: argparse.Namespace) -> Results:
    """Measure the growth of a small corpus, and RAPTOR's pack, which is rebuilt at three of the ten steps."""
    if not tree_rivals.installed():
        console.print("llama-index-packs-raptor is not installed: left out")
        return {"installed": False}
    texts = chunk_texts(options.chunks)[: options.raptor]
    meter, embedder = Metered(), Known(texts)
    given = documents(texts)
    first, step = round(FIRST * len(given)), round(STEP * len(given))
    ours, theirs = [], {}
    with file(embedder, meter) as grown:
        grown.add(given[:first])
        meter.take()
        for number, at in enumerate(range(first, len(given), step), start=1):
            started = time.perf_counter()
            grown.add(given[at : at + step])
            calls, tokens = meter.take()
            ours.append({"calls": calls, "tokens": tokens, "seconds": time.perf_counter() - started})
            if number in (1, STEPS // 2, STEPS):
                theirs[str(number)] = tree_rivals.rebuild(texts[: at + step])
                console.print(f"step {number}: {json.dumps(ours[-1])} RAPTOR {json.dumps(theirs[str(number)])}")
        started = time.perf_counter()
        grown.add(documents(["One new note about nothing in particular, two sentences long. That is all."], len(texts)))
        calls, tokens = meter.take()
    mean = statistics.mean(one["tokens"] for one in theirs.values())
    return {
        "installed": True, "chunks": len(texts), "ours": ours, "theirs": theirs,
        "share": sum(one["tokens"] for one in ours) / (mean * STEPS),
        "share of one": tokens / theirs[str(STEPS)]["tokens"],
    }  # fmt: skip


def contexts(options: argparse.Namespace) -> Results:
    """Measure what summaries add to contexts."""
    return tree_contexts.contexts(options.questions)


SECTIONS = {
    "growth": growth,
    "single": single,
    "recall": recall,
    "rouge": rouge,
    "contexts": contexts,
    "coverage": coverage,
    "tolerance": tolerance,
    "raptor": raptor,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", choices=SECTIONS, default=list(SECTIONS))
    parser.add_argument("--chunks", type=int, default=10_000, help="chunks of the file that grows")
    parser.add_argument("--many", type=int, default=100_000, help="chunks of the larger file")
    parser.add_argument("--raptor", type=int, default=600, help="chunks of the corpus that RAPTOR is built over")
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
