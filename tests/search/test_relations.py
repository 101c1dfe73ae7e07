"""Relations that a model found: the graph search follows their ends and weighs their words and strength."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from monograph import Document, Monograph
from monograph.graph.text import word_hashes
from monograph.library.questions import Questions, allowed
from monograph.search.minirag import type_pool
from monograph.search.names import stated_relations
from monograph.store.documents.filters import EVERYTHING
from monograph.values import Chunk, Extraction, Relation
from support.models import CapitalExtractor, HashEmbedder
from support.shelves import shelf_beside_file

QUESTION = "Where was the composer of Transit born?"
TEXTS = {
    "Transit": "Transit is a film. Arvid and Bruno and Clara worked together.",
    "Arvid": "Arvid came from a village in the north.",
    "Bruno": "Bruno came from a village in the north.",
    "Clara": "Clara came from a village in the north.",
    "Museum": "A composer once slept here.",
}
DOCUMENTS = [Document(text, id=title, title=title) for title, text in TEXTS.items()]
PEOPLE = {"Arvid", "Bruno", "Clara"}
WROTE = "wrote the music as its composer"


class RelatingExtractor(CapitalExtractor):
    """Names capitalised words, and states relations in the chunks that contain both of their names."""

    def __init__(self, *relations: Relation) -> None:
        super().__init__()
        self.relations = relations
        self.key = self.spec = f"tests:relating/{relations!r}"

    def extract(self, chunks: Sequence[Chunk]) -> Iterator[Extraction]:
        for found in super().extract(chunks):
            named = {mention.name for mention in found.mentions}
            yield replace(found, relations=tuple(one for one in self.relations if {one.source, one.target} <= named))


def people(archive: Questions) -> dict[str, float]:
    """Return the probability of each page about a person."""
    hits = archive.search(QUESTION, 4, "graph")
    return {hit.title: one.score for hit in hits for one in hit.origins if one.retriever == "graph"}


def searched(path: Path, *relations: Relation) -> dict[str, float]:
    with Monograph.open(path, HashEmbedder(), RelatingExtractor(*relations)) as archive:
        archive.add(DOCUMENTS)
        return people(archive)


@pytest.mark.parametrize("name", ["Arvid", "Bruno", "Clara"])
@pytest.mark.parametrize("ends", [("Transit", "{}"), ("{}", "Transit")])
@pytest.mark.parametrize("told", [{"description": WROTE}, {"keywords": ("music", "composer")}])
def test_a_relation_with_words_of_the_question_leads_to_its_end(
    tmp_path: Path, name: str, ends: tuple[str, str], told: Mapping[str, Any]
) -> None:
    source, target = (end.format(name) for end in ends)
    without, related = (
        searched(tmp_path / "without.mono"),
        searched(tmp_path / "x.mono", Relation(source, target, **told)),
    )
    assert related[name] > without[name] + 0.01
    assert {other: related[other] for other in PEOPLE - {name}} == {other: without[other] for other in PEOPLE - {name}}


def test_a_stronger_relation_leads_further(tmp_path: Path) -> None:
    strengths = (0.2, 0.6, 1.0)
    found = [
        searched(tmp_path / f"{strength}.mono", Relation("Transit", "Bruno", WROTE, (), strength))["Bruno"]
        for strength in strengths
    ]
    assert found == sorted(set(found))


def test_a_relation_without_words_of_the_question_changes_nothing(tmp_path: Path) -> None:
    without = searched(tmp_path / "without.mono")
    for number, told in enumerate(("", "financed it for years", "Transit by Bruno")):
        assert searched(tmp_path / f"{number}.mono", Relation("Transit", "Bruno", told)) == without


def test_relations_vanish_with_the_text_that_states_them(tmp_path: Path) -> None:
    relation = Relation("Transit", "Bruno", WROTE)
    with Monograph.open(tmp_path / "x.mono", HashEmbedder(), RelatingExtractor(relation)) as archive:
        archive.add(DOCUMENTS)
        stated = people(archive)
        archive.add([replace(DOCUMENTS[0], text=TEXTS["Transit"].replace("Transit is", "This is"))])
        edited = people(archive)
        with archive._file.reading() as reader:
            assert not any(text.relations for text in reader.starts(reader.sample(9, EVERYTHING)))
        archive.add([DOCUMENTS[0]])
        assert people(archive) == stated
    assert edited["Bruno"] < stated["Bruno"]


def test_a_shelf_follows_relations_as_a_file_does(tmp_path: Path) -> None:
    extractor = RelatingExtractor(Relation("Transit", "Clara", WROTE, (), 0.8))
    with shelf_beside_file(tmp_path, DOCUMENTS, [0, 1, 2, 0, 1], extractor=extractor) as (shelf, file):
        assert people(shelf) == people(file)
        for condition in (None, {"$document": {"in": ["Bruno", "Clara"]}}):
            with shelf._file.reading() as shards, file._file.reading() as reader:
                pool = type_pool(reader, allowed(condition))
                assert type_pool(shards, allowed(condition)) == pool
        assert pool == {"name": ["bruno", "clara"]}
        assert people(file) != searched(tmp_path / "without.mono")


def test_words_of_the_ends_and_the_title_tell_nothing() -> None:
    relation = Relation("Dr. Falk", "Mira Holm", "Mira Holm composed Transit for Dr. Falk", ("music",), 0.5)
    (stated,) = stated_relations([relation], "Transit (film)", ["transit", "mira holm", "anna falk"])
    assert stated.ends == (1,)
    assert stated.strength == 0.5
    assert stated.words.tolist() == word_hashes(["composed for music"])[0].tolist()
    (stated,) = stated_relations([replace(relation, source="Falk")], "", ["anna falk", "mira holm"])
    assert stated.ends == (0, 1)
    assert stated_relations([relation], "", ["transit"]) == ()
    assert stated_relations([Relation("Falk", "Holm", "Holm, Falk")], "", ["falk", "holm"]) == ()
