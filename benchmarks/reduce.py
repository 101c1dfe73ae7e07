"""Benchmark of reduction: answers kept, tokens cut, answers within a budget of tokens, and speed.

``make bench-reduce`` runs all sections and writes docs/benchmarks/reduce.md. ``--only curves budgets`` runs two
sections, and ``--questions 50`` limits the questions of each set. It needs the question sets, and downloads nothing.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import random
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import graph_files
import reduce_report
from answers import softmax
from graph_files import dataset, fresh, questions
from machine import SHARED, console, run_sections
from monograph import Monograph, Windows
from monograph.answer.pack import Packing, pack
from monograph.answer.reading import QueryTerms, Reading, compare, query_terms, read_hits, titled
from monograph.answer.reduce import _CUTS, kept, reduce, reduce_to_windows, score_sentences
from monograph.derive.loading import load_embedder
from monograph.derive.sentences import sentence_spans
from monograph.derive.tokens import count_tokens
from monograph.evaluate.datasets import EvaluationQuestion
from monograph.evaluate.metrics import contains_answer, mean, reciprocal_rank
from monograph.models import Embedder
from monograph.settings import Settings
from monograph.values import DEFAULT_CUT, Chunk, Document, Hit, ReducedHit, Span

HERE = Path(__file__).resolve().parent
DOCS = HERE.parent / "docs" / "benchmarks"
CACHE = HERE.parent / "build" / "reduce"
SETS = ("squad", "hotpotqa", "musique", "lihuaworld", "nq-sample")
LONG = ("lihuaworld", "nq-sample", "multihop-rag")
SMALLER_SETS = ("squad", "lihuaworld", "nq-sample")
CUTS = (0.1, 0.2, 0.3, 0.35, 0.42, 0.5, 0.6, 0.7, 0.8)
BUDGETS = (250, 500, 1000, 2000)
SMALLER = (0.6, 0.7, 0.8, 0.9)
FOUND = 10
REPEATS = 6
MOST_BUDGETED = 100
MOST_EMBEDDED = 200
MINILM = SHARED / "models" / "all-MiniLM-L6-v2"
PAPER = Windows()
"""Sizes of the windows in the MobileRAG paper."""

Results = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Reduction:
    """Result of a reduction: mean tokens of a question's texts before and after, and the share of answers kept.

    ``cut`` is the share of tokens removed. ``kept`` counts only questions whose texts contained an answer before.
    """

    questions: int
    tokens_before: float
    tokens_after: float
    cut: float
    kept: float


@dataclass(frozen=True, slots=True)
class Case:
    """A question's texts before and after a reduction, their tokens, and the expected answers."""

    before: Sequence[str]
    after: Sequence[str]
    tokens_before: int
    tokens_after: int
    answers: Sequence[str]


def reduction(cases: Sequence[Case]) -> Reduction:
    """Return the result of a reduction over questions, as in MobileRAG's Table 4, with answers in place of accuracy.

    An answer counts only if one text contains all of it; after the reduction, one span.
    """
    held = [one for one in cases if any(contains_answer(text, one.answers) for text in one.before)]
    left = [one for one in held if any(contains_answer(text, one.answers) for text in one.after)]
    before = sum(one.tokens_before for one in cases)
    after = sum(one.tokens_after for one in cases)
    return Reduction(
        questions=len(cases),
        tokens_before=mean([one.tokens_before for one in cases]),
        tokens_after=mean([one.tokens_after for one in cases]),
        cut=1.0 - after / before if before else 0.0,
        kept=len(left) / len(held) if held else 1.0,
    )


Cut = Callable[[QueryTerms, EvaluationQuestion, Sequence[Hit]], list[ReducedHit]]


def as_hits(documents: Iterable[Document]) -> list[Hit]:
    """Return hits that have the whole text of each document, all at the first rank."""
    return [
        Hit(Chunk(one.id, one.id, one.text, 0, len(one.text), 0), 0.0, 0, one.title, "", {}, ()) for one in documents
    ]


@cache
def by_id(name: str) -> dict[str, Document]:
    return {one.id: one for one in dataset(name).documents}


def answerable(name: str, options: argparse.Namespace) -> list[tuple[EvaluationQuestion, list[Hit]]]:
    """Return the questions with their gold passages, if one of these contains an answer.

    In the sets ``LONG``, the passages are the chunks of gold documents that contain an answer, at most three of each.
    """
    some = [one for one in dataset(name).questions[: options.questions or None] if worded(one)]
    if name in LONG:
        with graph_files.opened(name) as monograph:
            pairs = [(one, gold_chunks(monograph, one.evidence_ids, one.answers)) for one in some]
    else:
        pairs = [(one, as_hits(by_id(name)[each] for each in one.evidence_ids)) for one in some]
    return [(one, hits) for one, hits in pairs if any(contains_answer(hit.text, one.answers) for hit in hits)]


def gold_chunks(monograph: Monograph, documents: Sequence[str], answers: Sequence[str]) -> list[Hit]:
    """Return the first three chunks of each document that contain an answer."""
    found = []
    for each in documents:
        held = [one for one in monograph.chunks(each) if contains_answer(one.text, answers)]
        found += [Hit(one, 0.0, 0, "", "", {}, ()) for one in held[:3]]
    return found


def worded(question: EvaluationQuestion) -> bool:
    """Return whether a question has evidence, and none of its expected answers is yes, no or empty."""
    return bool(question.evidence_ids) and not {one.lower() for one in question.answers} & {"yes", "no", ""}


@cache
def counted(text: str) -> int:
    return count_tokens([text])[0]


def measured(name: str, pairs: Sequence[tuple[EvaluationQuestion, list[Hit]]], cut: Cut) -> Results:
    """Return the tokens before and after a reduction, and the share of answers kept within one span."""
    cases = []
    with graph_files.opened(name) as monograph, monograph._file.reading() as snapshot:
        for question, hits in pairs:
            made = cut(query_terms(snapshot, question.question), question, hits)
            spans = [span.text for one in made for span in one.spans]
            before = sum(counted(hit.text) for hit in hits)
            cases.append(Case([hit.text for hit in hits], spans, before, sum(count_tokens(spans)), question.answers))
    found = reduction(cases)
    return {
        "questions": found.questions,
        "before": found.tokens_before,
        "after": found.tokens_after,
        "cut": found.cut,
        "kept": found.kept,
    }


def ours(cut: float) -> Cut:
    return lambda asked, _, hits: reduce(read_hits(asked, hits), hits, cut)


def windows(embedder: Embedder, sizes: Windows = PAPER) -> Cut:
    return lambda _, question, hits: reduce_to_windows(embedder, question.question, hits, sizes)


def prototype(embedder: Embedder, least: float) -> Cut:
    """Return a reduction that scores sentences by cosine + 2 x idf-weighted overlap, smoothed over neighbours."""

    def cut(asked: QueryTerms, question: EvaluationQuestion, hits: Sequence[Hit]) -> list[ReducedHit]:
        (vector,) = embedder.embed([question.question], "query")
        return [_by_prototype(asked, vector, embedder, hit, least) for hit in hits]

    return cut


def _by_prototype(asked: QueryTerms, vector: Any, embedder: Embedder, hit: Hit, least: float) -> ReducedHit:
    spans = sentence_spans(hit.text)
    texts = [hit.text[start:end] for start, end in spans]
    rows, _ = compare(asked, [hit.text], [spans])
    size = len(asked.words)
    raw = embedder.embed(texts) @ vector + 2 * (rows[:, size : 2 * size] @ asked.weights)
    scores = raw + 0.25 * (np.append(raw[1:], 0.0) + np.insert(raw[:-1], 0, 0.0))
    keep = scores >= scores.max() - least
    spans_kept = [
        Span(hit.chunk.document_id, *span, hit.text[span[0] : span[1]])
        for span, one in zip(spans, keep, strict=True)
        if one
    ]
    return ReducedHit(hit, tuple(spans_kept), 0.0)


def curves(options: argparse.Namespace) -> Results:
    """Measure answers kept against tokens cut on gold passages: our reduction, the paper's windows, the prototype."""
    static = load_embedder("static")
    results: Results = {}
    for name in SETS:
        pairs = answerable(name, options)
        found: Results = {
            "ours": [measured(name, pairs, ours(cut)) | {"asked": cut} for cut in CUTS],
            "windows": [measured(name, pairs, windows(static))],
            "prototype": [measured(name, pairs, prototype(static, least)) for least in reduce_report.DISTANCES],
        }
        if name == "squad":
            weighed = halves(name, pairs)
            found["halves"] = {
                half: [measured(name, some, ours(cut)) for cut in CUTS] for half, some in weighed.items()
            }
        results[name] = found
        line = " ".join(f"{one['cut']:.2f}:{one['kept']:.3f}" for one in found["ours"])
        console.print(
            f"{name:12} {len(pairs)} questions  {line}  windows {found['windows'][0]['cut']:.2f}:{found['windows'][0]['kept']:.3f}"
        )
    return results


def halves(
    name: str, pairs: Sequence[tuple[EvaluationQuestion, list[Hit]]]
) -> dict[str, list[tuple[EvaluationQuestion, list[Hit]]]]:
    """Divide questions into those that the weights were chosen on and the others, by the parity of the id's SHA-256."""
    import hashlib

    parity = {one.id: int(hashlib.sha256(one.id.encode()).hexdigest(), 16) % 2 for one, _ in pairs}
    return {
        "chosen on": [pair for pair in pairs if parity[pair[0].id] == 0],
        "others": [pair for pair in pairs if parity[pair[0].id] == 1],
    }


def weights(options: argparse.Namespace) -> Results:
    """Choose the weights of the sentence scores, and the thresholds of cuts with the weights in use.

    The weights are chosen on the training half of SQuAD and on the other sets, the thresholds on the training half.
    """
    chosen_on, thresholds = [], []
    for name in SETS:
        pairs = answerable(name, options)
        with graph_files.opened(name) as monograph, monograph._file.reading() as snapshot:
            training = halves(name, pairs)["chosen on"] if name == "squad" else pairs
            read = [
                (question, hits, read_hits(query_terms(snapshot, question.question), hits))
                for question, hits in training
            ]
        for question, hits, reading in read:
            for passage in map(titled, hits):
                sentences = reading.sentences([passage])
                texts = [passage.text[start:end] for start, end in sentences.spans[0]]
                holds = np.array([contains_answer(text, question.answers) for text in texts])
                if holds.any():
                    chosen_on.append((sentences.inputs, holds, 1.0))
        if name == "squad":
            thresholds = least_values([(hits, reading) for _, hits, reading in read])
    found = {"weights": softmax(chosen_on), "thresholds": thresholds}
    console.print(f"SENTENCE, _LEAST: {found}")
    return found


def least_values(read: Sequence[tuple[Sequence[Hit], Reading]]) -> list[float]:
    """Return the threshold of each cut between 0 and 1 in ``_CUTS``, for hits that were compared with a question."""
    values, tokens, total = [], [], 0
    for hits, reading in read:
        for hit, scores in zip(hits, score_sentences(reading, list(map(titled, hits))), strict=True):
            counts = np.array(count_tokens([hit.text[start:end] for start, end in scores.spans]))
            removable = ~kept(scores, len(hit.text), math.inf)
            values += scores.values[removable].tolist()
            tokens += counts[removable].tolist()
            total += counts.sum()
    order = np.argsort(values)
    shares = np.cumsum(np.array(tokens)[order]) / total
    return [round(values[order[np.searchsorted(shares, cut)]], 2) for cut in _CUTS[1:-1]]


def embedders(options: argparse.Namespace) -> Results:
    """Measure the paper's windows with two embedders, on the same questions."""
    if not MINILM.exists():
        return {"missing": str(MINILM)}
    results: Results = {}
    static, minilm = load_embedder("static"), load_embedder(f"onnx:{MINILM}")
    for name in SETS:
        every = answerable(name, options)
        pairs = every[:: max(1, len(every) // MOST_EMBEDDED)][:MOST_EMBEDDED]
        results[name] = {
            "static": measured(name, pairs, windows(static)),
            "MiniLM": measured(name, pairs, windows(minilm)),
            "ours": measured(name, pairs, ours(DEFAULT_CUT)),
        }
        console.print(
            f"{name}: " + "  ".join(f"{way} {one['cut']:.2f}:{one['kept']:.3f}" for way, one in results[name].items())
        )
    return results


def shapes(options: argparse.Namespace) -> Results:
    """Measure windows of other sizes and overlaps, as in the paper's Fig. 12."""
    static = load_embedder("static")
    results: Results = {}
    for name in ("squad", "hotpotqa"):
        pairs = answerable(name, options)[:400]
        results[name] = [
            {"window": size, "overlap": overlap} | measured(name, pairs, windows(static, Windows(size, overlap, 1)))
            for size in range(1, 6)
            for overlap in range(size)
        ]
    return results


def ranks(options: argparse.Namespace) -> Results:
    """Measure the reciprocal rank of the gold document among ten hits, in the search's order and reordered."""
    embedders = {"windows": load_embedder("static")}
    if MINILM.exists():
        embedders["windows by MiniLM"] = load_embedder(f"onnx:{MINILM}")
    results: Results = {}
    for name in SETS:
        ranked: dict[str, list[float]] = {}
        with graph_files.opened(name) as monograph, monograph._file.reading() as snapshot:
            for question in [one for one in questions(name, options) if one.evidence_ids][:MOST_BUDGETED]:
                hits = monograph.search(question.question, FOUND)
                asked = query_terms(snapshot, question.question)
                orders = {"before": hits, "ours": best_first(reduce(read_hits(asked, hits), hits))}
                for way, embedder in embedders.items():
                    orders[way] = best_first(reduce_to_windows(embedder, question.question, hits, PAPER))
                for way, order in orders.items():
                    ids = list(dict.fromkeys(hit.chunk.document_id for hit in order))
                    ranked.setdefault(way, []).append(reciprocal_rank(ids, question.evidence_ids))
        results[name] = {way: mean(values) for way, values in ranked.items()}
        console.print(f"{name}: " + "  ".join(f"{way} {one:.3f}" for way, one in results[name].items()))
    return results


def best_first(reduced: Sequence[ReducedHit]) -> list[Hit]:
    """Return the hits in the order of their best sentence or window."""
    return [one.hit for one in sorted(reduced, key=lambda one: -one.value)]


def facts(options: argparse.Namespace) -> Results:
    """Measure the gold sentences kept, in the one set that names them: the facts in MultiHop-RAG's whole articles."""
    name = "multihop-rag"
    with gzip.open(SHARED / "data" / name / "queries.jsonl.gz", "rt") as file:
        rows = [json.loads(line) for line in file][: options.questions or None]
    whole = {key for key, one in by_id(name).items() if one.metadata.get("kind") == "article"}
    results: list[Results] = []
    static = load_embedder("static")
    with graph_files.opened(name) as monograph, monograph._file.reading() as snapshot:
        cases = [
            (query_terms(snapshot, row["question"]), row["question"], hit, fact["fact"])
            for row in rows
            for fact in row.get("evidence_facts", [])
            if fact["doc"] in whole
            for hit in _chunk_with(monograph, fact["doc"], fact["fact"])
        ]
    ways: dict[str, Callable[[QueryTerms, str, Hit], list[ReducedHit]]] = {
        f"ours, {cut:.0%} asked for": (lambda asked, _, hit, cut=cut: reduce(read_hits(asked, [hit]), [hit], cut))
        for cut in (0.1, 0.2, 0.3, DEFAULT_CUT, 0.6)
    }
    ways["the paper's windows"] = lambda _, text, hit: reduce_to_windows(static, text, [hit], PAPER)
    for way, work in ways.items():
        made = [work(asked, text, hit)[0] for asked, text, hit, _ in cases]
        tokens = sum(sum(count_tokens([span.text for span in one.spans])) for one in made)
        held = [any(fact in span.text for span in one.spans) for one, (_, _, _, fact) in zip(made, cases, strict=True)]
        results.append(
            {"way": way, "cut": 1 - tokens / sum(counted(hit.text) for _, _, hit, _ in cases), "kept": mean(held)}
        )
        console.print(f"{way}: cut {results[-1]['cut']:.2f} kept {results[-1]['kept']:.3f} of {len(cases)}")
    return {"facts": len(cases), "ways": results}


def _chunk_with(monograph: Monograph, document: str, fact: str) -> list[Hit]:
    """Return the first chunk of a document that contains a text; empty if no chunk does."""
    held = [one for one in monograph.chunks(document) if fact in one.text]
    return [Hit(one, 0.0, 0, "", "", {}, ()) for one in held[:1]]


class Tally:
    """Record, by method and budget: whether the kept texts contain the answer, and their tokens."""

    def __init__(self) -> None:
        self.found: dict[str, list[list[float]]] = {}
        self.spent: dict[str, list[list[int]]] = {}

    def note(self, way: str, at: int, question: EvaluationQuestion, texts: Sequence[str], tokens: int) -> None:
        held = max([contains_answer(one, question.answers) for one in texts], default=0.0)
        self.found.setdefault(way, [[] for _ in BUDGETS])[at].append(held)
        self.spent.setdefault(way, [[] for _ in BUDGETS])[at].append(tokens)

    def means(self) -> Results:
        return {
            way: {"kept": [mean(one) for one in self.found[way]], "tokens": [mean(one) for one in self.spent[way]]}
            for way in self.found
        }


def budgets(options: argparse.Namespace) -> Results:
    """Measure the share of questions whose answer is in a context within a budget, by method and budget."""
    results: Results = {}
    for name in SETS:
        asked_of = [one for one in questions(name, options) if worded(one)]
        some = asked_of[:: max(1, len(asked_of) // MOST_BUDGETED)][:MOST_BUDGETED]
        tally = Tally()
        _pack_all(name, some, tally)
        for share in SMALLER if name in SMALLER_SETS else ():
            with smaller(name, share) as monograph:
                for question in some:
                    hits = monograph.search(question.question, round(FOUND / share))
                    for at, budget in enumerate(BUDGETS):
                        tally.note(f"chunks x {share}", at, question, *truncated([hit.text for hit in hits], budget))
        results[name] = {"questions": len(some), "ways": tally.means()}
        for way, one in results[name]["ways"].items():
            console.print(f"{name:12} {way:28} " + "  ".join(f"{share:.3f}" for share in one["kept"]))
    return results


def _pack_all(name: str, some: Sequence[EvaluationQuestion], tally: Tally) -> None:
    static = load_embedder("static")
    with graph_files.opened(name) as monograph, monograph._file.reading() as snapshot:
        for question in some:
            asked = query_terms(snapshot, question.question)
            hits = monograph.search(question.question, FOUND)
            by_windows = reduce_to_windows(static, question.question, hits, PAPER)
            windowed = [one.text for one in sorted(by_windows, key=lambda one: -one.value)]
            for at, budget in enumerate(BUDGETS):
                for way, cut in (("reduce and pack, cut 0", 0.0), ("reduce and pack", DEFAULT_CUT)):
                    made = pack(read_hits(asked, hits), hits, Packing(budget, cut))
                    texts = [span.text for one in made.citations for span in one.spans]
                    tally.note(way, at, question, texts, made.tokens)
                tally.note("truncated", at, question, *truncated([hit.text for hit in hits], budget))
                tally.note("the paper's windows", at, question, *truncated(windowed, budget))


def truncated(texts: Sequence[str], budget: int) -> tuple[list[str], int]:
    """Return texts up to the budget, the last cut after a sentence, and the tokens spent, with those of headings."""
    kept: list[str] = []
    left = budget - 40
    for text in texts:
        left -= 8
        spans = sentence_spans(text)
        end = 0
        for span, tokens in zip(spans, count_tokens([text[start:end] for start, end in spans]), strict=True):
            if tokens > left:
                break
            left -= tokens
            end = span[1]
        if end:
            kept.append(text[:end])
        if end < (spans[-1][1] if spans else 0) or left <= 8:
            break
    return kept, budget - max(0, left)


class smaller:  # noqa: N801 - used like a function
    """File of a set whose chunks have a share of the default size."""

    def __init__(self, name: str, share: float) -> None:
        self.path = CACHE / "smaller.mono"
        usual = Settings()
        settings = Settings(round(usual.chunk_tokens * share), round(usual.chunk_overlap * share))
        self.monograph = Monograph.open(fresh(self.path), settings=settings)
        self.monograph.add(dataset(name).documents)

    def __enter__(self) -> Monograph:
        return self.monograph

    def __exit__(self, *_: object) -> None:
        self.monograph.close()
        fresh(self.path)


def speed(options: argparse.Namespace) -> Results:
    """Measure the milliseconds to reduce ten documents of 300 words: new documents, and the same again."""
    words = " ".join(one.text for one in dataset("musique").documents[:3000]).split()
    random.Random(3).shuffle(asked := [one.question for one in dataset("musique").questions][:60])
    first, again = [], []
    with graph_files.opened("musique") as monograph, monograph._file.reading() as snapshot:
        for number, text in enumerate(asked):
            at = number * 3000
            hits = as_hits(Document(" ".join(words[at + n * 300 : at + (n + 1) * 300]), id=str(n)) for n in range(10))
            question = query_terms(snapshot, text)
            times = []
            for _ in range(REPEATS):
                begun, busy = time.perf_counter(), time.process_time()
                reduce(read_hits(question, hits), hits)
                times.append(((time.perf_counter() - begun) * 1000, (time.process_time() - busy) * 1000))
            first.append(times[0])
            again.append(tuple(map(min, zip(*times[1:], strict=True))))
    found = {
        "words new": statistics.median(wall for wall, _ in first[20:]),
        "words known": statistics.median(wall for wall, _ in again),
        "processor": statistics.median(busy for _, busy in again),
    }
    console.print(str(found))
    return found


SECTIONS: dict[str, Callable[[argparse.Namespace], Results]] = {
    one.__name__: one for one in (curves, weights, embedders, shapes, ranks, facts, budgets, speed)
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", choices=list(SECTIONS), default=list(SECTIONS))
    parser.add_argument("--questions", type=int, help="most questions of a set")
    options = parser.parse_args()
    for folder in (CACHE, graph_files.CACHE):
        folder.mkdir(parents=True, exist_ok=True)
    limits = f"at most {options.questions} questions a set" if options.questions else ""
    try:
        results = run_sections(SECTIONS, options, CACHE / "results.json", limits)
    finally:
        for path in graph_files.made:
            fresh(path)
    for path in reduce_report.write(results, DOCS):
        console.print(f"written: {path}")


if __name__ == "__main__":
    main()
