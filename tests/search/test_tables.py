"""Golden tables of hits and contexts.

``PYTHONPATH=tests python tests/search/test_tables.py walk`` (or ``formulas``, or ``contexts``) writes a table in
tests/data anew. A commit that changes a table says why.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest

from monograph import Graph, Hit, Monograph
from monograph.search import walk as search_walk
from support.evaluation_data import excerpts
from support.oracles.scoring import PlainWalkScores
from support.paths import DATA

SETS = ("hotpotqa", "2wikimultihopqa", "musique")
FORMULAS = 15
"""Questions that are asked by MiniRAG's formulas, the first ones of each set."""
CONTEXTS = 10
"""Questions whose contexts are packed, the first ones of each set."""
BUDGETS = (60, 200, 1_000, 3_000)
WALKED = {
    "hotpotqa": 80,
    "2wikimultihopqa": 80,
    "musique": 60,
    "multihop-rag": 20,
    "lihuaworld": 60,
    "popqa-rebuilt": 50,
    "squad": 50,
    "xquad-zh-de-es": 100,
}
"""Questions of each set that are asked along the graph, at even distances."""

Table = dict[str, Any]


def nine_digits(value: float) -> float:
    return float(f"{value:.9g}")


def by_formulas(archive: Monograph, question: str) -> list[list[Any]]:
    """The document of each hit, the names on the way to it, its score and its path's."""
    return [
        [
            hit.chunk.document_id,
            [node.name for node in hit.path.nodes] if hit.path else [],
            nine_digits(hit.score),
            nine_digits(hit.path.score) if hit.path else 0.0,
        ]
        for hit in archive.search(question, 10, Graph(faithful=True))
    ]


def along_the_graph(archive: Monograph, question: str) -> list[list[Any]]:
    """The document of each hit, its score and its way."""
    return [[hit.chunk.document_id, nine_digits(hit.score), way(hit)] for hit in archive.search(question, 10, "graph")]


def way(hit: Hit) -> int:
    """What is on the path to a hit, as a checksum; 0 where there is none."""
    return 0 if hit.path is None else crc32(repr([(node.kind, node.id, node.name) for node in hit.path.nodes]).encode())


def context_of(archive: Monograph, question: str, budget: int) -> list[list[Any]]:
    """What is decided of a context, and what it is worth."""
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
    return [decided, list(map(nine_digits, worth))]


def formulas(shared: Path, place: Path) -> Table:
    questions, documents = excerpts(shared, SETS, lambda _, asked: asked[:FORMULAS])
    with Monograph.open(place / "formulas.mono") as archive:
        archive.add(documents)
        return {question: by_formulas(archive, question) for question in questions}


def walk(shared: Path, place: Path) -> Table:
    """What is found along the graph; the oracle of its scores must find the same."""
    questions, documents = excerpts(
        shared, WALKED, lambda name, asked: asked[:: len(asked) // WALKED[name]][: WALKED[name]]
    )
    with Monograph.open(place / "walk.mono") as archive, pytest.MonkeyPatch.context() as patched:
        archive.add(documents)
        found = {question: along_the_graph(archive, question) for question in questions}
        patched.setattr(search_walk, "WalkScores", PlainWalkScores)
        for question in questions[::7]:
            assert along_the_graph(archive, question) == found[question], question
        return found


def contexts(shared: Path, place: Path) -> Table:
    questions, documents = excerpts(shared, (*SETS, "lihuaworld", "squad"), lambda _, asked: asked[:CONTEXTS])
    with Monograph.open(place / "contexts.mono") as archive:
        archive.add(documents)
        asked = ((question, budget) for question in questions for budget in BUDGETS)
        return {f"{question} {budget}": context_of(archive, question, budget) for question, budget in asked}


TABLES: dict[str, tuple[Callable[[Path, Path], Table], int]] = {
    "formulas": (formulas, 45),
    "walk": (walk, 500),
    "contexts": (contexts, 200),
}
"""What makes each table, and the least rows that it has."""


def parts(value: Any) -> tuple[Any, list[float]]:
    """A value without its real numbers, and these: products of float32 vectors differ between processors."""
    if isinstance(value, float):
        return None, [value]
    if not isinstance(value, list):
        return value, []
    some = [parts(one) for one in value]
    return [one for one, _ in some], [number for _, numbers in some for number in numbers]


@pytest.mark.long
@pytest.mark.parametrize("name", TABLES)
def test_hits_and_contexts_equal_the_golden_tables(shared: Path, tmp_path: Path, name: str) -> None:
    make, least = TABLES[name]
    table: Table = json.loads((DATA / f"{name}.json").read_text(encoding="utf-8"))
    made = make(shared, tmp_path)
    assert len(made) >= least
    assert made.keys() == table.keys()
    for asked, wanted in table.items():
        (decided, numbers), (to_decide, expected) = parts(made[asked]), parts(wanted)
        assert decided == to_decide, asked
        assert numbers == pytest.approx(expected, rel=1e-6, abs=1e-6), asked


def test_formulas_follow_changes_of_the_file(shared: Path, tmp_path: Path) -> None:
    questions, documents = excerpts(shared, SETS[:1], lambda _, asked: asked[:FORMULAS:3])
    with Monograph.open(tmp_path / "formulas.mono") as archive:
        archive.add(documents[::2])
        before = [by_formulas(archive, question) for question in questions]
        assert before == [by_formulas(archive, question) for question in questions]
        archive.add(documents[1::2])
        archive.remove([document.id for document in documents[::2]])
        after = [by_formulas(archive, question) for question in questions]
    with Monograph.open(tmp_path / "formulas.mono") as archive:
        assert after == [by_formulas(archive, question) for question in questions]
    assert any(one != other for one, other in zip(before, after, strict=True))


if __name__ == "__main__":
    from support.paths import SHARED

    with tempfile.TemporaryDirectory() as folder:
        made = TABLES[sys.argv[1]][0](SHARED, Path(folder))
    lines = (f"{json.dumps(asked)}: {json.dumps(some, separators=(',', ':'))}" for asked, some in made.items())
    (DATA / f"{sys.argv[1]}.json").write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
