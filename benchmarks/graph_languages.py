"""Recall by language: the same paragraphs and questions in four languages, and two-hop questions in three."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace

from graph_files import CACHE, Results, dataset, fresh, made
from machine import console
from monograph import Monograph
from monograph.derive.loading import load_embedder
from monograph.evaluate.datasets import QuestionSet
from monograph.evaluate.run import evaluate
from two_hops import LANGUAGES, two_hops

WAYS = ("lexical", "dense", "hybrid", "graph", "auto")
EVERY = 3
"""Ask every third question of XQuAD."""


def languages(options: argparse.Namespace) -> Results:
    """Measure recall@5 of the search modes by language."""
    results: Results = {}
    for name, one in _sets():
        path = CACHE / "language.mono"
        made.add(path)
        asked = one.questions[: options.questions]
        with Monograph.open(fresh(path), embedder=load_embedder("static")) as monograph:
            monograph.add(one.documents)
            results[name] = {"documents": len(one.documents), "questions": len(asked)}
            results[name] |= {way: evaluate(monograph, asked, way).scores.recall[4] for way in WAYS}
        console.print(f"{name:24} " + "  ".join(f"{way} {results[name][way]:.3f}" for way in WAYS))
    return results


def _sets() -> Iterator[tuple[str, QuestionSet]]:
    """Yield XQuAD by language, English first; then the synthetic questions by language, with and without titles."""
    everything, english = dataset("xquad-zh-de-es"), dataset("squad")
    language = {one.id: str(one.metadata["lang"]) for one in everything.documents}
    for name in ("en", "de", "es", "zh"):
        if name == "en":
            told = {f"de-{one.id}" for one in english.questions} & {one.id for one in everything.questions}
            questions = [one for one in english.questions if f"de-{one.id}" in told]
            ids = {one for question in questions for one in question.evidence_ids}
            documents = [one for one in english.documents if one.id in ids]
        else:
            questions = [one for one in everything.questions if language[one.evidence_ids[0]] == name]
            documents = [one for one in everything.documents if language[one.id] == name]
        yield f"XQuAD: {name}", QuestionSet(name, tuple(documents), tuple(questions[::EVERY]))
    for name in LANGUAGES:
        made_up = two_hops(name)
        yield f"two hops: {name}", made_up
        untitled = tuple(replace(one, title="") for one in made_up.documents)
        yield f"two hops, no titles: {name}", replace(made_up, documents=untitled)
