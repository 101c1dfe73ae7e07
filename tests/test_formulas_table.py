"""What MiniRAG's formulas find, as when tests/data/formulas.json was written: nothing changes it by chance.

Where it is to change, ``python tests/test_formulas_table.py`` writes the table anew; the commit says why.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest

from excerpts import excerpts
from monograph import Document, Graph, Monograph

SETS = ("hotpotqa", "2wikimultihopqa", "musique")
QUESTIONS = 15
"""Of each set, the first ones."""
TABLE = Path(__file__).parent / "data" / "formulas.json"
HOW = Graph(faithful=True)

Found = list[tuple[str, list[str], float, float]]
"""The document of each hit, the names on the way to it, its score and its path's."""


def found(archive: Monograph, question: str) -> Found:
    return [
        (
            hit.chunk.document_id,
            [node.name for node in hit.path.nodes] if hit.path else [],
            float(f"{hit.score:.9g}"),
            float(f"{hit.path.score:.9g}") if hit.path else 0.0,
        )
        for hit in archive.search(question, 10, HOW)
    ]


def corpus(shared: Path) -> tuple[list[str], list[Document]]:
    return excerpts(shared, SETS, lambda _, asked: asked[:QUESTIONS])


def table_of(shared: Path, place: Path) -> dict[str, Found]:
    """What the formulas find, by question."""
    questions, documents = corpus(shared)
    with Monograph.open(place / "formulas.mono") as archive:
        archive.add(documents)
        return {question: found(archive, question) for question in questions}


def test_hits_are_those_of_the_table(shared: Path, tmp_path: Path) -> None:
    table: dict[str, Found] = json.loads(TABLE.read_text(encoding="utf-8"))
    made = table_of(shared, tmp_path)
    assert len(made) == len(SETS) * QUESTIONS
    assert made.keys() == table.keys()
    for question, wanted in table.items():
        assert [(one, way) for one, way, _, _ in made[question]] == [(one, way) for one, way, _, _ in wanted], question
        # Products of float32 vectors differ between processors in their last bits.
        for at in (2, 3):
            assert [one[at] for one in made[question]] == pytest.approx([one[at] for one in wanted], rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("remembered", [0, 131_072])
def test_what_is_known_of_names_is_of_the_state_of_the_file(
    shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, remembered: int
) -> None:
    monkeypatch.setattr("monograph.search.one_file.known_names.REMEMBERED", remembered)
    questions, documents = corpus(shared)
    questions = questions[::5]
    with Monograph.open(tmp_path / "formulas.mono") as archive:
        archive.add(documents[::2])
        before = [found(archive, question) for question in questions]
        assert before == [found(archive, question) for question in questions]
        archive.add(documents[1::2])
        archive.remove([document.id for document in documents[::2]])
        after = [found(archive, question) for question in questions]
    with Monograph.open(tmp_path / "formulas.mono") as archive:
        assert after == [found(archive, question) for question in questions]
    assert any(one != other for one, other in zip(before, after, strict=True))


if __name__ == "__main__":
    from conftest import SHARED

    with tempfile.TemporaryDirectory() as folder:
        made = table_of(SHARED, Path(folder))
    lines = (f"{json.dumps(question)}: {json.dumps(some)}" for question, some in made.items())
    TABLE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
