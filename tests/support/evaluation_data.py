"""Excerpts of the evaluation data: texts of a data set, and questions with their evidence."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from monograph import Document
from monograph.evaluate.datasets import EvaluationQuestion, load_dataset

OTHERS = 20
"""Of the documents that are no evidence, one in this many is included."""
CORPORA = (
    "multihop-rag", "popqa-rebuilt", "ultradomain-mix", "xquad-zh-de-es", "lihuaworld", "books", "hotpotqa", "2wikimultihopqa",
)  # fmt: skip


def excerpts(
    shared: Path,
    names: Iterable[str],
    chosen: Callable[[str, Sequence[EvaluationQuestion]], Sequence[EvaluationQuestion]],
) -> tuple[list[str], list[Document]]:
    """Return chosen questions of data sets, and their evidence documents with some others."""
    questions: list[str] = []
    documents: dict[str, Document] = {}
    for name in names:
        dataset = load_dataset(shared / "data" / name)
        chosen_questions = chosen(name, dataset.questions)
        evidence = {identifier for question in chosen_questions for identifier in question.evidence_ids}
        included = [d for at, d in enumerate(dataset.documents) if d.id in evidence or at % OTHERS == 0]
        documents.update((document.id, document) for document in included)
        questions += [question.question for question in chosen_questions]
    return questions, list(documents.values())


def corpus(shared: Path, name: str, most: int, characters: int = 4_000) -> Iterator[str]:
    """Yield about ``most`` texts, evenly spread over a data set, each cut to ``characters`` characters."""
    with gzip.open(shared / "data" / name / "corpus.jsonl.gz", "rt", encoding="utf-8") as lines:
        texts = [json.loads(line)["text"] for line in lines]
    yield from (text[:characters] for text in texts[:: max(1, len(texts) // most)])
