"""The contexts of questions, as they were when tests/data/contexts.json was written: nothing changes them by chance.

Where they are to change, ``python tests/test_context_table.py`` writes the table anew; the commit says why.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest

from excerpts import excerpts
from monograph import Monograph

SETS = ("hotpotqa", "2wikimultihopqa", "musique", "lihuaworld", "squad")
QUESTIONS = 10
"""Of each set, the first ones."""
BUDGETS = (60, 200, 1_000, 3_000)
TABLE = Path(__file__).parent / "data" / "contexts.json"

Made = tuple[list[object], list[float]]
"""What is decided of a context, and what it is worth."""


def made(archive: Monograph, question: str, budget: int) -> Made:
    context = archive.context(question, budget)
    best = context.best
    decided = [
        context.tokens,
        context.tokens_found,
        len(context.text),
        [[one.title, *([span.document_id, span.start, span.end] for span in one.spans)] for one in context.citations],
        list(context.relations),
        list(context.candidates),
        best and [best.span.document_id, best.span.start, best.span.end, best.within and best.within.text],
    ]
    worth = [context.relevance, best.confidence if best else 0.0, *(one.value for one in context.citations)]
    return decided, [float(f"{one:.9g}") for one in worth]


def contexts(shared: Path, place: Path) -> dict[str, Made]:
    """The contexts of questions under budgets, by both."""
    questions, documents = excerpts(shared, SETS, lambda _, asked: asked[:QUESTIONS])
    with Monograph.open(place / "contexts.mono") as archive:
        archive.add(documents)
        return {f"{question} {budget}": made(archive, question, budget) for question in questions for budget in BUDGETS}


def test_contexts_are_those_of_the_table(shared: Path, tmp_path: Path) -> None:
    table: dict[str, Made] = json.loads(TABLE.read_text(encoding="utf-8"))
    found = contexts(shared, tmp_path)
    assert len(found) == len(SETS) * QUESTIONS * len(BUDGETS)
    assert found.keys() == table.keys()
    for asked, (decided, worth) in table.items():
        assert found[asked][0] == decided, asked
        # Products of float32 vectors differ between processors in their last bits.
        assert found[asked][1] == pytest.approx(worth, abs=1e-6), asked


if __name__ == "__main__":
    from conftest import SHARED

    with tempfile.TemporaryDirectory() as folder:
        table = contexts(SHARED, Path(folder))
    lines = (f"{json.dumps(asked)}: {json.dumps(some, separators=(',', ':'))}" for asked, some in table.items())
    TABLE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
