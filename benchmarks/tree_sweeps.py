"""Benchmark of the tree's settings: bounds of the segments, sizes of chunks, and the share of chunks among the hits."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

from machine import SHARED, console
from monograph import Monograph, Settings, Tree
from monograph.evaluate.datasets import QuestionSet, load_dataset
from monograph.evaluate.metrics import contains_answer
from monograph.evaluate.run import evaluate
from monograph.search.query import Strategy
from tree_contexts import scorer, where
from tree_files import Metered, file

SETS = ("multihop-rag", "lihuaworld", "quality-sample", "longdoc-summary")
CONTAINED = ("multihop-rag", "lihuaworld")
"""Sets with short answers: contexts are measured by whether they contain one; in the other sets, by ROUGE-2 recall."""
BOUNDS = ((4, 8), (6, 12), (7, 13), (4, 14), (3, 15), (12, 24))
CHUNK_TOKENS = (128, 256, 512)
DETAILS = (None, 1.0, 0.7, 0.5, 0.3, 0.0)
BUDGET = 1_000
Results = dict[str, Any]
Score = Callable[[str, str], float]


def sweeps(most: int) -> Results:
    """Measure each setting on every set, with the defaults for the other settings."""
    rouge = scorer()
    results: Results = {"questions": most, "bounds": {}, "chunks": {}, "detail": {}}
    for name in SETS:
        data = load_dataset(SHARED / "data" / name)
        data = QuestionSet(data.name, data.documents, data.questions[:most])
        score: Score = (lambda answer, text: contains_answer(text, [answer])) if name in CONTAINED else rouge
        for least, greatest in BOUNDS:
            settings = Settings(segment_least=least, segment_most=greatest)
            results["bounds"].setdefault(f"{least} to {greatest}", {})[name] = _measure(name, data, settings, score)
        for tokens in CHUNK_TOKENS:
            settings = Settings(chunk_tokens=tokens, chunk_overlap=tokens // 8)
            results["chunks"].setdefault(str(tokens), {})[name] = _measure(name, data, settings, score)
        with file() as monograph:
            monograph.add(data.documents)
            monograph.tree.rebuild()
            for detail in DETAILS:
                found = _quality(monograph, name, data, Tree(detail=detail), Tree(detail=detail), score)
                results["detail"].setdefault("none" if detail is None else f"{detail:g}", {})[name] = found
        console.print(
            {sweep: {row: one[name] for row, one in results[sweep].items()} for sweep in ("bounds", "chunks", "detail")}
        )
    return results


def _measure(name: str, data: QuestionSet, settings: Settings, score: Score) -> Results:
    meter = Metered()
    with file(meter, settings) as monograph:
        monograph.add(data.documents)
        stats = monograph.stats().tree
        spent = {"cosine": stats.cosine if stats else 0.0, **meter.take()}
        return spent | _quality(monograph, name, data, Tree(), "auto", score)


def _quality(
    monograph: Monograph, name: str, data: QuestionSet, how: Strategy, context_how: str | Strategy, score: Score
) -> Results:
    """Return recall@5 of the search mode ``how``, and the mean score and size of contexts in mode ``context_how``."""
    asked = [one for one in data.questions if one.evidence_ids]
    scores, sizes = [], []
    for one in data.questions:
        if any(answer.split() for answer in one.answers):
            made = monograph.context(one.question, BUDGET, how=context_how, where=where(name, one))
            scores.append(max(score(answer, made.text) for answer in one.answers))
            sizes.append(made.tokens)
    return {
        "recall@5": evaluate(monograph, asked, how).scores.recall[4],
        "context": statistics.mean(scores),
        "context tokens": statistics.mean(sizes),
    }
