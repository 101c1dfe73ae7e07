"""Benchmark of summaries in contexts: the same questions on the same files, without a tree and with one."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from machine import SHARED, console
from monograph import Monograph
from monograph.answer.overviews import is_about_a_whole
from monograph.evaluate.datasets import EvaluationQuestion, QuestionSet, load_dataset
from monograph.values import Context

BUDGET = 1_000
"""Tokens of a context: the default of ``context``."""
SETS = ("longdoc-summary", "quality-sample", "books", "multihop-rag", "ultradomain-mix")
BOOKS = ("The Wonderful Wizard of Oz", "A Christmas Carol")
TOLD = (
    *SETS,
    "squad",
    "hotpotqa",
    "2wikimultihopqa",
    "musique",
    "nq-sample",
    "popqa-rebuilt",
    "lihuaworld",
    "xquad-zh-de-es",
)
Results = dict[str, Any]
Score = Callable[[str, str], float]


def scorer() -> Score:
    """Return a function that returns the ROUGE-2 recall of a text against a reference."""
    from rouge_score.rouge_scorer import RougeScorer

    made = RougeScorer(["rouge2"], use_stemmer=True)
    return lambda reference, text: made.score(reference, text)["rouge2"].recall


def groups(name: str, data: QuestionSet, most: int) -> dict[str, list[EvaluationQuestion]]:
    """Return the questions of a set in groups: about a whole document or file, and others."""
    asked = list(data.questions[:most])
    whole = [one for one in asked if is_about_a_whole(one.question, BOOKS)]
    rest = [one for one in asked if one not in whole]
    if name == "longdoc-summary":
        reports = [one for one in whole if one.type == "whole-document summary"]
        meetings = [one for one in whole if one.type != "whole-document summary"]
        return {"whole reports": reports, "whole meetings": meetings, "something in a meeting": rest}
    return {"whole": whole, "other": rest}


def where(name: str, question: EvaluationQuestion) -> dict[str, str] | None:
    """Return a filter for the document if the questions of the set are worded alike, else None."""
    return {"$document": question.evidence_ids[0]} if name == "longdoc-summary" else None


def measured(
    monograph: Monograph,
    name: str,
    questions: Sequence[EvaluationQuestion],
    score: Score,
    how: str = "auto",
) -> Results:
    """Return the means over the questions. Means of ROUGE-2 and of evidence are None if no question has them."""
    rouge, evidence, documents, tokens = [], [], [], []
    for one in questions:
        made = monograph.context(one.question, BUDGET, how=how, where=where(name, one))
        cited = documents_of(made)
        documents.append(len(cited))
        tokens.append(made.tokens)
        if any(answer.split() for answer in one.answers):
            rouge.append(max(score(answer, made.text) for answer in one.answers))
        if one.evidence_ids:
            evidence.append(len(cited.intersection(one.evidence_ids)) / len(set(one.evidence_ids)))
    return {
        "questions": len(questions),
        "ROUGE-2 recall": statistics.mean(rouge) if rouge else None,
        "evidence": statistics.mean(evidence) if evidence else None,
        "documents": statistics.mean(documents),
        "tokens": statistics.mean(tokens),
    }


def documents_of(context: Context) -> set[str]:
    """Return the ids of the documents that a context quotes."""
    return {span.document_id for one in context.citations for span in one.spans}


def contexts(most: int) -> Results:
    """Measure the questions of every set, on a file without a tree and on the same file with one."""
    score = scorer()
    results: Results = {"told": told()}
    for name in SETS:
        data = load_dataset(SHARED / "data" / name)
        with tempfile.TemporaryDirectory(prefix="tree-") as folder, Monograph.open(Path(folder) / "a.mono") as without:
            without.add(data.documents)
            with Monograph.open(without.backup(Path(folder) / "b.mono")) as grown:
                grown.tree.rebuild()
                for group, questions in groups(name, data, most).items():
                    if questions:
                        results[f"{name}, {group}"] = beside(without, grown, name, questions, score)
                        console.print(f"{name}, {group}: {results[f'{name}, {group}']}")
    return results


def beside(
    without: Monograph, grown: Monograph, name: str, questions: Sequence[EvaluationQuestion], score: Score
) -> Results:
    """Measure a group of questions without a tree, with one, and in mode tree."""
    ways = {"without": (without, "auto"), "with": (grown, "auto"), "tree": (grown, "tree")}
    return {way: measured(file, name, questions, score, how) for way, (file, how) in ways.items()}


def told() -> Results:
    """Return [questions recognised as about a whole, all questions] of each set."""
    counts = {}
    for name in TOLD:
        asked = load_dataset(SHARED / "data" / name).questions
        counts[name] = [sum(is_about_a_whole(one.question, BOOKS) for one in asked), len(asked)]
    return counts
