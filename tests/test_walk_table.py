"""The ten hits of questions along the graph, as they were when tests/data/walk.json was written: nothing changes them by chance.

Where they are to change, ``python tests/test_walk_table.py`` writes the table anew; the commit says why.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from zlib import crc32

import pytest

from excerpts import excerpts
from monograph import Hit, Monograph
from monograph.search import walked
from support.oracles.reckoning import PlainReckoning

SETS = {
    "hotpotqa": 80,
    "2wikimultihopqa": 80,
    "musique": 60,
    "multihop-rag": 20,
    "lihuaworld": 60,
    "popqa-rebuilt": 50,
    "squad": 50,
    "xquad-zh-de-es": 100,
}
"""Questions of each, at even distances."""
TABLE = Path(__file__).parent / "data" / "walk.json"

Hits = list[tuple[str, float, int]]


@contextmanager
def asked(shared: Path, place: Path) -> Iterator[tuple[Monograph, list[str]]]:
    """A file of the passages around some questions of each set, and these."""
    questions, documents = excerpts(shared, SETS, lambda name, asked: asked[:: len(asked) // SETS[name]][: SETS[name]])
    with Monograph.open(place / "walk.mono") as archive:
        archive.add(documents)
        yield archive, list(questions)


def hits(archive: Monograph, question: str) -> Hits:
    """(id of the document, score to nine digits, what is on the path) of ten hits."""
    return [
        (hit.chunk.document_id, float(f"{hit.score:.9g}"), way(hit)) for hit in archive.search(question, 10, "graph")
    ]


def way(hit: Hit) -> int:
    """What is on the path to a hit, as a checksum; 0 where there is none."""
    return 0 if hit.path is None else crc32(repr([(node.kind, node.id, node.name) for node in hit.path.nodes]).encode())


def test_hits_are_those_of_the_table(shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table: dict[str, Hits] = json.loads(TABLE.read_text(encoding="utf-8"))
    with asked(shared, tmp_path) as (archive, questions):
        found = {question: hits(archive, question) for question in questions}
        monkeypatch.setattr(walked, "Reckoning", PlainReckoning)
        for question in questions[::7]:
            assert hits(archive, question) == found[question], question
    assert len(found) >= 500
    assert found.keys() == table.keys()
    for question, wanted in table.items():
        assert [(name, path) for name, _, path in found[question]] == [(name, path) for name, _, path in wanted], (
            question
        )
        # Products of float32 vectors differ between processors in their last bits.
        scores = [score for _, score, _ in wanted]
        assert [score for _, score, _ in found[question]] == pytest.approx(scores, abs=1e-6)


if __name__ == "__main__":
    from conftest import SHARED

    with tempfile.TemporaryDirectory() as folder, asked(SHARED, Path(folder)) as (archive, questions):
        made = {question: hits(archive, question) for question in questions}
    lines = (f"{json.dumps(question)}: {json.dumps(some)}" for question, some in made.items())
    TABLE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
