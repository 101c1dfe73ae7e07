"""Benchmarks of a tree that grows in many steps, beside a rebuild at every step, and of a first build, beside RAPTOR."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import tree_rivals
from machine import SHARED, console
from monograph import Document, Monograph
from monograph.derive.tokens import count_tokens
from monograph.evaluate.datasets import EvaluationQuestion, load_dataset
from monograph.evaluate.metrics import contains_answer, recall_at_k
from tree_files import Metered, file, keys_and_texts, lose_tree

SETS = ("hotpotqa", "2wikimultihopqa")
STEPS, FIRST = 20, 0.5
"""Number of insertions, and share of the documents in the first build."""
HITS = 50
BUDGET = 1_000
Results = dict[str, Any]
Search = Callable[[str], Sequence[tuple[str, str]]]
"""Function that returns (document id, text) of the best HITS hits of a question, best first."""


@dataclass(frozen=True)
class GrowingCorpus:
    """Documents in random order, and questions whose evidence is among them."""

    documents: Sequence[Document]
    questions: Sequence[EvaluationQuestion]


def corpus(count: int) -> GrowingCorpus:
    """Return ``count`` documents with distinct texts, among them the evidence of all questions, in random order."""
    first_with: dict[str, str] = {}
    given: dict[str, Document] = {}
    questions: list[EvaluationQuestion] = []
    for name in SETS:
        data = load_dataset(SHARED / "data" / name)
        ids = {one.id: first_with.setdefault(one.text, f"{name}/{one.id}") for one in data.documents}
        given |= {ids[one.id]: replace(one, id=ids[one.id]) for one in data.documents if ids[one.id] not in given}
        questions += [
            replace(one, evidence_ids=tuple(ids[evidence] for evidence in one.evidence_ids))
            for one in data.questions
            if one.evidence_ids
        ]
    needed = list(dict.fromkeys(evidence for one in questions for evidence in one.evidence_ids))[:count]
    others = [name for name in given if name not in set(needed)]
    chosen = needed + random.Random(5).sample(others, max(0, count - len(needed)))
    random.Random(6).shuffle(chosen)
    return GrowingCorpus([given[name] for name in chosen], questions)


def quality(search: Search, questions: Sequence[EvaluationQuestion], stored: set[str]) -> Results:
    """Return the mean recall@5 and the share of answers in contexts, over questions whose evidence is all stored."""
    recalls, contained = [], []
    for one in questions:
        if not stored.issuperset(one.evidence_ids):
            continue
        hits = search(one.question)
        recalls.append(recall_at_k(list(dict.fromkeys(document for document, _ in hits)), one.evidence_ids, 5))
        contained.append(contains_answer(within_budget([text for _, text in hits]), one.answers))
    return {
        "questions": len(recalls),
        "recall@5": statistics.mean(recalls),
        "answer in context": statistics.mean(contained),
    }


def searching(monograph: Monograph) -> Search:
    """Return the search of passages and summaries together."""
    return lambda question: [(hit.chunk.document_id, hit.text) for hit in monograph.search(question, HITS, how="tree")]


def within_budget(texts: Sequence[str]) -> str:
    """Return the first texts, joined, that have at most BUDGET tokens together."""
    chosen, left = [], BUDGET
    for text, tokens in zip(texts, count_tokens(list(texts)), strict=True):
        left -= tokens
        if left < 0:
            break
        chosen.append(text)
    return "\n".join(chosen)


def growth(count: int) -> Results:
    """Measure growth from half of the documents in 20 insertions, then deletes and edits."""
    given, meter = corpus(count), Metered()
    documents = given.documents
    steps: list[Results] = []
    with file(meter) as grown, file() as rebuilt:
        first, before = round(FIRST * len(documents)), 0
        for number in range(STEPS + 1):
            end = first + round(number * (len(documents) - first) / STEPS)
            some, before = documents[before:end], end
            started = time.perf_counter()
            grown.add(some)
            step: Results = {"chunks": grown.stats().chunks, "ours": meter.take(time.perf_counter() - started)}
            started = time.perf_counter()
            rebuilt.add(some)
            rebuilt.tree.rebuild(meter)
            step["rebuild"] = meter.take(time.perf_counter() - started)
            step["equal"] = keys_and_texts(grown) == keys_and_texts(rebuilt)
            lose_tree(rebuilt)  # So that the next step builds it from nothing.
            stored = {one.id for one in documents[:end]}
            step["ours"] |= quality(searching(grown), given.questions, stored)
            console.print(f"step {number}: {step}")
            steps.append(step)
        changes = _change(grown, meter, documents)
    after = steps[1:]
    return {
        "chunks": steps[-1]["chunks"],
        "documents": len(documents),
        "steps": steps,
        "tokens": sum(one["ours"]["tokens"] for one in after),
        "rebuild tokens": sum(one["rebuild"]["tokens"] for one in after),
        "seconds": sum(one["ours"]["seconds"] for one in after),
        "rebuild seconds": sum(one["rebuild"]["seconds"] for one in after),
        **changes,
    }


def _change(grown: Monograph, meter: Metered, documents: Sequence[Document]) -> Results:
    """Delete a fifth of the documents, edit a tenth, and compare the tree with a fresh build."""
    shuffled = random.Random(7).sample(list(documents), len(documents))
    gone, edited = shuffled[: len(documents) // 5], shuffled[len(documents) // 5 : 3 * len(documents) // 10]
    grown.remove([one.id for one in gone])
    removed = {"documents": len(gone), **meter.take()}
    changed = [replace(one, text=f"{one.text} It was written anew.") for one in edited]
    grown.add(changed)
    result: Results = {"removed": removed, "edited": {"documents": len(edited), **meter.take()}}
    left = {one.id: one for one in documents} | {one.id: one for one in changed}
    for one in gone:
        del left[one.id]
    with file() as fresh:
        fresh.add(random.Random(8).sample(list(left.values()), len(left)))
        fresh.tree.rebuild()
        result["equal"] = keys_and_texts(fresh) == keys_and_texts(grown)
        result["faults"] = len([*grown.check(), *fresh.check()])
    return result


def raptor(counts: Sequence[int]) -> Results:
    """Build RAPTOR and Monograph over the same documents, for several numbers of documents."""
    if not tree_rivals.installed():
        console.print("llama-index-packs-raptor is not installed: left out")
        return {}
    results: Results = {}
    for count in counts:
        given, meter = corpus(count), Metered()
        stored = {one.id for one in given.documents}
        with file() as built:
            started = time.perf_counter()
            built.add(given.documents)
            built.tree.rebuild(meter)
            ours = meter.take(time.perf_counter() - started)
            ours |= quality(searching(built), given.questions, stored)
        rival = tree_rivals.Raptor(given.documents)
        theirs = rival.spent | quality(rival.search, given.questions, stored)
        results[str(count)] = {"ours": ours, "raptor": theirs}
        console.print(f"{count} documents: {results[str(count)]}")
    return results
