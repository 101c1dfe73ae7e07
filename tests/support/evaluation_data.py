"""Parts of the evaluation data: texts of a set, and question sets with their evidence."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from monograph import Document
from monograph.evaluate.datasets import EvaluationQuestion, load_dataset

OTHERS = 20
"""One in so many documents that are no evidence is there too."""
CORPORA = (
    "multihop-rag", "popqa-rebuilt", "ultradomain-mix", "xquad-zh-de-es", "lihuaworld", "books", "hotpotqa", "2wikimultihopqa",
)  # fmt: skip


def excerpts(
    shared: Path,
    names: Iterable[str],
    chosen: Callable[[str, Sequence[EvaluationQuestion]], Sequence[EvaluationQuestion]],
) -> tuple[list[str], list[Document]]:
    """Some questions of sets, and the documents that are evidence for them, with a few others, set by set."""
    questions: list[str] = []
    documents: dict[str, Document] = {}
    for name in names:
        one = load_dataset(shared / "data" / name)
        asked = chosen(name, one.questions)
        evidence = {identifier for question in asked for identifier in question.evidence_ids}
        some = [d for at, d in enumerate(one.documents) if d.id in evidence or at % OTHERS == 0]
        documents.update((document.id, document) for document in some)
        questions += [question.question for question in asked]
    return questions, list(documents.values())


def corpus(shared: Path, name: str, most: int, characters: int = 4_000) -> Iterator[str]:
    """Texts of an evaluation set, evenly spread over it, each cut off after so many characters."""
    with gzip.open(shared / "data" / name / "corpus.jsonl.gz", "rt", encoding="utf-8") as lines:
        texts = [json.loads(line)["text"] for line in lines]
    yield from (text[:characters] for text in texts[:: max(1, len(texts) // most)])
