"""Where it is asked for, a shelf answers without the shards that cannot be had, and says without which."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from embedders import HashEmbedder
from monograph import Document
from monograph.errors import ClosedFile, InputError, ObjectMissing, PartialAnswer, ShardLost
from monograph.library.given import Given
from monograph.shelf import Shelf
from monograph.shelf.fill.dealt import shard_of
from monograph.shelf.hold.engine import Engine, Engines, local
from monograph.shelf.hold.partial import Partial, partially
from monograph.shelf.place import Place
from monograph.shelf.shard.shard import Asked
from monograph.shelf.versions.manifest import Manifest

pytestmark = pytest.mark.plain("a shelf's shards are plain files")

SHARDS = 4
TOWNS = (
    "London",
    "Turin",
    "Vienna",
    "Lisbon",
    "Oslo",
    "Madrid",
    "Geneva",
    "Prague",
    "Dublin",
    "Porto",
    "Sofia",
    "Riga",
)
DOCUMENTS = [
    Document(f"Ada Lovelace wrote to Charles Babbage from {town}. The letter is kept there.", id=town) for town in TOWNS
]
QUESTION = "Who wrote to Charles Babbage from Turin?"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a shelf, and the home that it was made with."""
    folder = tmp_path_factory.mktemp("partial")
    with Shelf.create(folder / "shelf", SHARDS, embedder=HashEmbedder(), home=folder / "home") as shelf:
        shelf.add(DOCUMENTS)
        shelf.publish()
    return folder


def of(shards: set[int]) -> set[str]:
    return {town for town in TOWNS if shard_of(town, SHARDS) in shards}


def opened(folder: Path, engines: Engines = local) -> Shelf:
    return Shelf.open(folder / "shelf", embedder=HashEmbedder(), home=folder / "home", engines=engines)


class Failing:
    """Shards of which some are lost from a certain question on."""

    def __init__(self, engine: Engine, shard: int, after: dict[int, int]) -> None:
        self._engine, self._shard, self._after = engine, shard, after

    def ask(self, wanted: Mapping[int, Sequence[Asked]]) -> dict[int, list[Any]]:
        if self._shard in self._after:
            self._after[self._shard] -= 1
            if self._after[self._shard] < 0:
                raise ShardLost("it went away", "bring it back")
        return self._engine.ask(wanted)

    def close(self) -> None:
        self._engine.close()


def failing(after: dict[int, int]) -> Engines:
    """Engines of which each shard named answers so many questions and then no more."""

    def engines(place: Place, version: Manifest, given: Given) -> Engine:
        def of_shard(shard: int) -> Engine:
            alone = replace(version, shards=(version.shards[shard],))
            return Failing(local(place, alone, given), shard, after)

        return Partial(of_shard, len(version.shards))

    return engines


@pytest.mark.parametrize("how", ["lexical", "dense", "hybrid", "graph", "tfidf"])
def test_it_finds_what_is_left_and_says_what_is_lacking(made: Path, how: str) -> None:
    with opened(made, failing({1: 0, 3: 0})) as shelf:
        with pytest.warns(PartialAnswer, match=r"left out: shard 1 of 4 .* it went away .*; shard 3"):
            hits = shelf.search(QUESTION, 20, how)
        found = {hit.chunk.document_id for hit in hits}
        assert found == (of({0, 2}) if how in ("dense", "hybrid", "graph") else {"Turin"})
        assert {hit.note for hit in hits} == {"without shards 1, 3 of 4"}
        with pytest.warns(PartialAnswer):
            assert "without shards 1, 3 of 4" in shelf.context(QUESTION, how=how).hits[0].note
        with pytest.raises(ShardLost, match="shard 1 of 4"):
            shelf.stats()


@settings(max_examples=12, deadline=None)
@given(after=st.dictionaries(st.integers(0, SHARDS - 1), st.integers(0, 9), max_size=SHARDS), data=st.data())
def test_a_shard_may_go_away_in_the_middle(made: Path, after: dict[int, int], data: st.DataObject) -> None:
    how = data.draw(st.sampled_from(["dense", "hybrid", "graph", "graph:faithful=true"]))
    with (
        opened(made) as whole,
        opened(made, failing(dict(after))) as shelf,
    ):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            try:
                hits = shelf.search(QUESTION, 20, how)
            except ShardLost:
                assert after.keys() >= {shard_of(town, SHARDS) for town in TOWNS}
                return
        if not said:
            assert hits == whole.search(QUESTION, 20, how)
            return
        assert hits
        assert all("without shard" in hit.note for hit in hits)
        assert {hit.chunk.document_id for hit in hits} >= of(set(range(SHARDS)) - after.keys())


def test_nothing_found_is_no_answer_where_shards_are_lacking(made: Path) -> None:
    with opened(made, failing(dict.fromkeys(range(SHARDS), 0))) as shelf:
        with pytest.raises(ShardLost, match="shard 0 of 4 cannot be had: it went away"):
            shelf.search(QUESTION)
        with pytest.raises(ShardLost):
            shelf.context(QUESTION)


def test_a_shard_that_is_not_there_is_lacking_until_it_is(made: Path, tmp_path: Path) -> None:
    url = tmp_path / "shelf"
    shutil.copytree(made / "shelf", url)
    with opened(tmp_path) as shelf:
        name = shelf._version.shards[2].name
        whole = shelf.search(QUESTION, 20)
    (url / name).rename(tmp_path / "away")
    shutil.rmtree(tmp_path / "home")
    with pytest.raises(ObjectMissing):
        opened(tmp_path)
    with opened(tmp_path, partially(local, again=0.0)) as shelf:
        with pytest.warns(PartialAnswer, match="left out: shard 2 of 4"):
            hits = shelf.search(QUESTION, 20)
        assert {hit.chunk.document_id for hit in hits} == of({0, 1, 3})
        (tmp_path / "away").rename(url / name)
        while hits[0].note:  # Not at once: it is asked for again after some milliseconds.
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", PartialAnswer)
                hits = shelf.search(QUESTION, 20)
        assert hits == whole
    with pytest.raises(ClosedFile):
        shelf.search(QUESTION)


def test_it_is_asked_for_on_the_command_line(made: Path) -> None:
    from monograph.app.shelf_engine import engines_of

    with opened(made, engines_of("local:partial=yes")) as shelf:
        assert shelf.search(QUESTION)[0].note == ""
    for wrong in ("local:replicas=2", "ray:partial=perhaps", "partial"):
        with pytest.raises(InputError, match="is no engine"):
            engines_of(wrong)


def test_a_view_is_found_out_with_all_shards_and_searched_without_some(made: Path) -> None:
    where = {"$document": {"!=": "Oslo"}}
    with opened(made, failing({1: 0})) as shelf:
        for work in (
            lambda: shelf.within(where).search(QUESTION, 20),
            shelf.graph.entities,
            lambda: shelf.within(where).graph.neighbourhood("Ada Lovelace"),
            shelf.documents,
        ):
            with pytest.raises(ShardLost, match="shard 1 of 4"):
                work()
    after = {1: 1_000}
    with opened(made) as whole, opened(made, failing(after)) as shelf:
        view = shelf.within(where)
        wanted = [(hit.chunk.id, hit.score) for hit in whole.within(where).search(QUESTION, 20, "graph")]
        assert [(hit.chunk.id, hit.score) for hit in view.search(QUESTION, 20, "graph")] == wanted
        after[1] = 0
        with pytest.warns(PartialAnswer, match="left out: shard 1 of 4"):
            hits = view.search(QUESTION, 20, "graph")
        assert {hit.note for hit in hits} == {"without shard 1 of 4"}
        assert {hit.chunk.document_id for hit in hits} == of({0, 2, 3}) - {"Oslo"}
