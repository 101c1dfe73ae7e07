"""Memory of graph search: current after every write, and bounded."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from monograph import Document, Hit, Monograph
from monograph.search.one_file.file_reader import RowCache, SearchCache
from monograph.store.file import settings

QUESTIONS = (
    "Who directed the film Blue Harbour?",
    "Where was the director of Blue Harbour born?",
    "Which river flows through the town where Mara Lindqvist was born?",
    "Which film did Otto Brandt direct?",
)
FILMS = [
    Document("Blue Harbour is a film of 1962. It was directed by Mara Lindqvist.", id="a", title="Blue Harbour"),
    Document("Mara Lindqvist was born in Vellinge. She wrote Blue Harbour.", id="b", title="Mara Lindqvist"),
    Document("Vellinge is a town. The river Skiva flows through Vellinge.", id="c", title="Vellinge"),
    Document("Otto Brandt met Mara Lindqvist in Vellinge.", id="d", title="Otto Brandt"),
]
LATER = [
    Document("Blue Harbour is a film that was directed by Otto Brandt.", id="a", title="Blue Harbour"),
    Document("Skiva is a river. Otto Brandt swam in the Skiva near Vellinge.", id="e", title="Skiva"),
]


def hits(monograph: Monograph) -> list[list[Hit]]:
    return [monograph.search(question, 10, "graph") for question in QUESTIONS]


def anew(path: Path) -> list[list[Hit]]:
    with Monograph.open(path) as monograph:
        return hits(monograph)


def test_a_search_sees_what_was_written_since_the_last_one(tmp_path: Path) -> None:
    path = tmp_path / "x.mono"
    with Monograph.open(path) as monograph:
        monograph.add(FILMS)
        first = hits(monograph)
        assert hits(monograph) == first == anew(path)
        monograph.add(LATER)
        second = hits(monograph)
        assert second == anew(path) != first
        monograph.remove(["b", "e"])
        third = hits(monograph)
        assert third == anew(path) != second
        assert not {"b", "e"} & {hit.chunk.document_id for some in third for hit in some}


def test_a_search_sees_what_another_process_wrote(tmp_path: Path) -> None:
    path = tmp_path / "x.mono"
    with Monograph.open(path) as monograph:
        monograph.add(FILMS)
        first = hits(monograph)
        script = "import sys; from monograph import Monograph\nwith Monograph.open(sys.argv[1]) as m: m.remove(['b'])"
        subprocess.run([sys.executable, "-c", script, str(path)], check=True)
        assert hits(monograph) == anew(path) != first


def test_a_filtered_search_leaves_nothing_that_another_one_sees(tmp_path: Path) -> None:
    path = tmp_path / "x.mono"
    some = {"id": {"in": ["a", "c"]}}
    tagged = [Document(one.text, id=one.id, title=one.title, metadata={"id": one.id}) for one in FILMS]
    with Monograph.open(path) as monograph:
        monograph.add(tagged)
        narrow = [monograph.search(question, 10, "graph", where=some) for question in QUESTIONS]
        whole = hits(monograph)
        assert [monograph.search(question, 10, "graph", where=some) for question in QUESTIONS] == narrow
    assert whole == anew(path)
    assert {hit.chunk.document_id for one in narrow for hit in one} == {"a", "c"}


def test_values_are_read_once_while_there_is_room() -> None:
    kept = RowCache[int](4)
    asked: list[list[int]] = []

    def read(rows: list[int]) -> dict[int, int]:
        asked.append(rows)
        return {row: row * row for row in rows if row != 9}

    assert kept.get([1, 2], read) == [1, 4]
    assert kept.get([2, 3, 1], read) == [4, 9, 1]
    assert kept.get([9, 1], read) == [1]  # Not there.
    assert kept.get([6, 8], read) == [36, 64]  # No room: the others are let go.
    assert kept.get([8, 1], read) == [64, 1]
    assert asked == [[1, 2], [3], [9], [6, 8], [1]]


def test_cache_is_of_one_state_of_the_file(tmp_path: Path) -> None:
    with Monograph.open(tmp_path / "x.mono") as monograph:
        monograph.add(FILMS)
        with monograph._file.database.read() as connection:
            held = SearchCache().at(settings.generation(connection))
            assert held.at(settings.generation(connection)) is held
        monograph.add(LATER)
        with monograph._file.database.read() as connection:
            assert held.at(settings.generation(connection)) is not held
