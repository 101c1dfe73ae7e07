"""Small parts of question sets, for tables of what is found in them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from monograph import Document
from monograph.evaluate.datasets import Question, load_dataset

OTHERS = 20
"""One in so many documents that are no evidence is there too."""


def excerpts(
    shared: Path, names: Iterable[str], chosen: Callable[[str, Sequence[Question]], Sequence[Question]]
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
