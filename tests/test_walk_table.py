"""The ten hits of questions along the graph, as they were when tests/data/walk.json was written: nothing changes them by chance.

Where they are to change, ``python tests/test_walk_table.py`` writes the table anew; the commit says why.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest

from monograph import Document, Monograph
from monograph.evaluate.datasets import load_dataset

SETS = ("hotpotqa", "2wikimultihopqa", "musique")
QUESTIONS = 40
"""Of each set, the first ones."""
OTHERS = 20
"""One in so many documents that are no evidence is there too."""
TABLE = Path(__file__).parent / "data" / "walk.json"

Hits = list[tuple[str, float]]


def hits(shared: Path, place: Path) -> dict[str, Hits]:
    """(id of the document, score to nine digits) of ten hits, by question."""
    questions: list[str] = []
    documents: dict[str, Document] = {}
    for name in SETS:
        one = load_dataset(shared / "data" / name)
        asked = one.questions[:QUESTIONS]
        evidence = {identifier for question in asked for identifier in question.evidence_ids}
        chosen = [d for at, d in enumerate(one.documents) if d.id in evidence or at % OTHERS == 0]
        documents.update((document.id, document) for document in chosen)
        questions += [question.question for question in asked]
    with Monograph.open(place / "walk.mono") as archive:
        archive.add(list(documents.values()))
        return {
            question: [
                (hit.chunk.document_id, float(f"{hit.score:.9g}")) for hit in archive.search(question, 10, "graph")
            ]
            for question in questions
        }


def test_hits_are_those_of_the_table(shared: Path, tmp_path: Path) -> None:
    table: dict[str, Hits] = json.loads(TABLE.read_text(encoding="utf-8"))
    found = hits(shared, tmp_path)
    assert len(found) > 100
    assert found.keys() == table.keys()
    for question, wanted in table.items():
        assert [name for name, _ in found[question]] == [name for name, _ in wanted], question
        # Products of float32 vectors differ between processors in their last bits.
        assert [score for _, score in found[question]] == pytest.approx([score for _, score in wanted], abs=1e-6)


if __name__ == "__main__":
    from conftest import SHARED

    with tempfile.TemporaryDirectory() as folder:
        made = hits(SHARED, Path(folder))
    lines = (f"{json.dumps(question)}: {json.dumps(some)}" for question, some in made.items())
    TABLE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
