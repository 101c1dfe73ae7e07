"""Shards are made of their documents alone, by whomever, and nothing is paid for twice."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from killing import killed
from monograph import Document, Monograph, Passage, Settings
from monograph.errors import InputError, InvalidDocument, ObjectMissing, SourceMissing
from monograph.read.limits import Limits
from monograph.shelf import Shelf, build
from monograph.shelf.fill.building import make_shards, make_shards_of_folders, publish_shards
from monograph.shelf.fill.dealt import dealt, shard_of
from monograph.shelf.fill.recipe import Made, Recipe
from monograph.shelf.place import Place, place_of
from monograph.shelf.versions.names import ObjectName
from monograph.values import Progress, Report
from vector_server import VectorServer

DOCUMENTS = [
    Document(f"Ada Lovelace wrote note {n} to Charles Babbage in {1800 + n}. It is about engine {n}.", id=f"note-{n}")
    for n in range(20)
]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return place_of(tmp_path / "shelf", tmp_path / "home", create=True)


@pytest.fixture
def recipe(place: Place, tmp_path: Path) -> Recipe:
    return Recipe(place.url, tmp_path / "work")


def test_to_which_shard_an_id_is_dealt_never_changes() -> None:
    assert [shard_of(name, 8) for name in ("", "a", "note-1", "北京", "/texts/x.txt")] == [4, 2, 1, 6, 7]
    assert [shard_of("note-1", shards) for shards in (1, 2, 3, 7, 1_000)] == [0, 1, 1, 3, 897]


@settings(max_examples=30, deadline=None)
@given(names=st.lists(st.text(max_size=5).filter(bool), max_size=50, unique=True), shards=st.integers(1, 9))
def test_each_document_is_dealt_once(names: list[str], shards: int) -> None:
    blocks = list(dealt((Document("x", id=name) for name in names), shards))
    held = [(shard, one.id) for block in blocks for shard, some in block.items() for one in some]
    assert Counter(held) == Counter((shard_of(name, shards), name) for name in names)


def test_a_shelf_that_was_made_is_one_that_was_written(place: Place, recipe: Recipe, tmp_path: Path) -> None:
    made = make_shards(iter(DOCUMENTS), 3, recipe)
    assert sum(one.report.added for one in made) == len(DOCUMENTS)
    assert publish_shards(place, made).version == 1
    with (
        Shelf.open(place.url, home=tmp_path / "home") as shelf,
        Shelf.create(tmp_path / "other", 3, home=tmp_path / "there") as other,
    ):
        other.add(DOCUMENTS)
        other.publish()
        assert shelf._version.settings == other._version.settings
        assert shelf.stats().documents_by_shard == other.stats().documents_by_shard
        assert shelf.check() == []
        for question in ("Who wrote about engine 7?", "Charles Babbage", "1815"):
            for way in ("lexical", "hybrid", "graph"):
                found = [(hit.chunk.id, hit.score, hit.path) for hit in shelf.search(question, 5, way)]
                assert found == [(hit.chunk.id, hit.score, hit.path) for hit in other.search(question, 5, way)]
        # It can be written to as any other.
        shelf.add([Document("Mary Somerville knew Ada Lovelace.", id="new")])
        assert shelf.publish() == 2
        assert shelf.stats().documents == len(DOCUMENTS) + 1


def test_a_folder_is_dealt_out_by_its_files(place: Place, recipe: Recipe, folder: Path, tmp_path: Path) -> None:
    for one in DOCUMENTS:
        (folder / f"{one.id}.txt").write_text(one.text)
    made = make_shards_of_folders([folder], 3, recipe)
    assert [one.report.added for one in make_shards_of_folders([folder], 3, recipe)] == [0, 0, 0]
    publish_shards(place, made)
    with Shelf.open(place.url, home=tmp_path / "home") as shelf, Monograph.open(tmp_path / "one.mono") as archive:
        archive.sync(folder)
        assert shelf.stats().documents == len(DOCUMENTS)
        expected = [hit.chunk.id for hit in archive.search("engine 7", 5)]
        assert [hit.chunk.id for hit in shelf.search("engine 7", 5)] == expected
        assert shelf.sync(folder).same == len(DOCUMENTS)
    with pytest.raises(SourceMissing):
        make_shards_of_folders([folder / "nowhere"], 3, recipe)


PROGRAM = """
from pathlib import Path
from monograph.shelf.fill.building import make_shards
from monograph.shelf.fill.recipe import Recipe
from test_shelf_building import DOCUMENTS
make_shards(DOCUMENTS, 2, Recipe({address!r}, Path({work!r}), embedder={embedder!r}))
"""


def test_killed_over_and_over_nothing_is_asked_twice(place: Place, recipe: Recipe, tmp_path: Path) -> None:
    with VectorServer() as server:
        paid = replace(recipe, embedder=f"openai:{server.url}#model")
        program = PROGRAM.format(address=place.url, work=str(recipe.work), embedder=paid.embedder)
        assert all(killed(program, commit, "after") for commit in (5, 10))
        made = make_shards(DOCUMENTS, 2, paid)
        asked = Counter(text for text in server.texts if "engine" in text)
    assert set(asked.values()) == {1}
    assert len(asked) >= len(DOCUMENTS)
    publish_shards(place, made)
    with Shelf.open(place.url, home=tmp_path / "home") as shelf:
        assert shelf.stats().documents == len(DOCUMENTS)
        assert shelf.check() == []


def test_what_was_made_and_is_gone_is_made_again(place: Place, recipe: Recipe) -> None:
    (made,) = make_shards(DOCUMENTS, 1, recipe)
    place.objects.remove([made.name.name])
    with pytest.raises(ObjectMissing):
        publish_shards(place, [made])
    (again,) = make_shards(DOCUMENTS, 1, recipe)
    assert again.report.added == len(DOCUMENTS)
    assert publish_shards(place, [again]).version == 1


def test_other_documents_or_numbers_are_another_shard(recipe: Recipe) -> None:
    (made,) = make_shards(DOCUMENTS, 1, recipe)
    for others in (DOCUMENTS[1:], [*DOCUMENTS, Document("One more.")], [replace(DOCUMENTS[0], title="A title")]):
        assert make_shards(others, 1, recipe)[0].report.added == len(others)
    (small,) = make_shards(DOCUMENTS, 1, replace(recipe, settings=Settings(chunk_tokens=16, chunk_overlap=0)))
    assert small.report.chunks_added > made.report.chunks_added


def test_what_cannot_be_made_says_so(place: Place, recipe: Recipe) -> None:
    with pytest.raises(InputError):
        make_shards(DOCUMENTS, 0, recipe)
    with pytest.raises(InvalidDocument):
        passage = Passage("Its vector is too short.", vector=np.ones(3, dtype=np.float32))
        make_shards([Document(passages=(passage,))], 1, recipe)
    with pytest.raises(ObjectMissing):
        publish_shards(place, [Made(ObjectName("0" * 64, 10), Report())])


def test_a_shelf_is_built_and_published_at_once(folder: Path, tmp_path: Path) -> None:
    url, home = tmp_path / "shelf", tmp_path / "home"
    told: list[Progress] = []
    report = build(url, iter(DOCUMENTS), shards=3, home=home, progress=told.append)
    assert report.added == len(DOCUMENTS)
    assert [(one.done, one.total) for one in told] == [(1, 3), (2, 3), (3, 3)]
    with pytest.raises(InputError, match="is a shelf already"):
        build(url, DOCUMENTS, home=home)
    (folder / "one.txt").write_text("Mary Somerville knew Ada Lovelace.")
    (folder / "long.txt").write_text("x" * 2_000)
    with Shelf.open(url, home=home) as shelf:
        assert shelf.version == 1
        assert shelf.stats().documents_by_shard
        # What was built before is put in its place as the next version.
        report = build(url, sources=[folder], shards=2, home=home, replace=True, limits=Limits(max_bytes=1_000))
        assert (report.added, [one.uri for one in report.problems]) == (1, ["texts/long.txt"])
        assert shelf.refresh() == 2
        assert [one.text for one in shelf.search("Somerville")] == ["Mary Somerville knew Ada Lovelace."]
        assert shelf.check() == []
        shelf.add(DOCUMENTS[:1])
        with pytest.raises(InputError, match="not published"):
            build(url, DOCUMENTS, home=home, replace=True)
    for wrong in ({"documents": DOCUMENTS, "sources": [folder]}, {}, {"documents": DOCUMENTS, "shards": 0}):
        with pytest.raises(InputError):
            build(tmp_path / "other", home=home, **wrong)


def test_what_a_build_left_is_dropped_where_nothing_is_to_be_left(recipe: Recipe, tmp_path: Path) -> None:
    url, home = tmp_path / "shelf", tmp_path / "home"
    build(url, DOCUMENTS, shards=2, home=home)
    left = place_of(url, home).building / "begun.mono"
    left.write_bytes(b"Ada Lovelace")
    with Shelf.open(url, home=home) as shelf:
        shelf.forget()
    assert list(left.parent.iterdir()) == []
