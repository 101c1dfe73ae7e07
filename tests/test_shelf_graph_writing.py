"""What is written of a shelf's graph, and published, is what is written of that of one file of the same documents."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from killing import killed
from monograph import Document, Monograph, Settings
from monograph.errors import InputError, MonographError, NotFound, OutsideView
from monograph.shelf import Shelf
from monograph.values import ToldNode, ToldRelation
from test_order import QUERIES, SENTENCES, TITLES, BagEmbedder
from test_shelf import hits_of
from test_shelf_graph import exported, in_order, outcome

PAIRS = (
    ("J. Smith", "John Smith"), ("John Smith", "John Paul Smith"), ("NST", "North Sea Treaty"), ("Calder", "Anna Calder"),
    ("Anna Calder", "Genoa"),
)  # fmt: skip
NAMES = ("Anna Calder", "John Smith", "J. Smith", "Vienna", "Green")
SHORT = Settings(chunk_tokens=16, chunk_overlap=0)


@dataclass(frozen=True, slots=True)
class Step:
    """What is done to a file, or a shelf."""

    what: str
    number: int
    text: str = ""
    title: str = ""
    origins: tuple[int, ...] = ()

    def do(self, archive: Any) -> Any:
        """Do it; the outcome, as far as it is the same for both."""
        name, pair = f"d{self.number}", PAIRS[self.number % len(PAIRS)]
        origins = tuple(f"d{one}" for one in self.origins)
        nodes = [ToldNode(pair[0], properties={self.text: self.title, "by": origins}, origins=origins)]
        relations = [ToldRelation(pair[0], "knows", PAIRS[len(self.text) % len(PAIRS)][1], {"so": self.title}, origins)]
        if self.what == "add":
            archive.add([Document(self.text, id=name, title=self.title)])
        elif self.what in ("remove", "forget"):
            return outcome(lambda: archive.remove([name], forget=self.what == "forget").removed)
        elif self.what == "tell":
            return outcome(lambda: archive.graph.tell(nodes, relations, missing_ok=len(origins) == 1))
        elif self.what == "untell":
            ends = [(pair[0], "knows", PAIRS[(self.number + 1) % len(PAIRS)][1])]
            return outcome(lambda: archive.graph.untell(pair[:1] if origins else [], ends, forget=len(origins) > 1))
        elif self.what == "publish" and isinstance(archive, Shelf):
            archive.publish()
        elif self.what in ("set_apart", "unite"):
            return outcome(getattr(archive.graph, self.what), *pair)
        return None


ADDED = st.builds(
    Step,
    st.just("add"),
    st.integers(0, 5),
    st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=3).map(" ".join),
    st.sampled_from(TITLES),
)
DONE = st.builds(
    Step,
    st.sampled_from(["remove", "forget", "tell", "tell", "tell", "untell", "set_apart", "set_apart", "unite", "publish"]),
    st.integers(0, 5),
    st.sampled_from(SENTENCES),
    st.sampled_from(TITLES),
    st.lists(st.integers(0, 6), max_size=2).map(tuple),
)


def alike(mine: Any, its: Any) -> None:
    """Both show and find the same, to the bit."""
    assert mine.graph.entities(100) == its.graph.entities(100)
    assert mine.graph.merges() == its.graph.merges()
    assert in_order(mine.graph.told()) == in_order(its.graph.told())
    assert exported(mine.graph) == exported(its.graph)
    for name in NAMES:
        assert outcome(mine.graph.neighbourhood, name, 2) == outcome(its.graph.neighbourhood, name, 2)
        assert in_order(mine.graph.told([name])) == in_order(its.graph.told([name]))
    for query in QUERIES[:3]:
        assert hits_of(mine, query, "graph", 5) == hits_of(its, query, "graph", 5)


BOTH = "John Smith met Anna Calder in Vienna. J. Smith gave the comet plate to Anna Calder."


@settings(max_examples=8, deadline=None)
@example(
    steps=[
        Step("add", 0, SENTENCES[0]), Step("add", 1, SENTENCES[2]), Step("set_apart", 0), Step("add", 2, BOTH),
        Step("forget", 0), Step("add", 0, BOTH), Step("forget", 1), Step("unite", 0), Step("set_apart", 0),
        Step("forget", 0), Step("forget", 2), Step("add", 3, BOTH),
    ],
    shards=3,
    then=2,
)  # fmt: skip
@example(
    steps=[
        *(Step("add", place, SENTENCES[place]) for place in range(5)),
        Step("tell", 0, SENTENCES[0], "one", (4, 1)), Step("tell", 0, SENTENCES[0], "two", (0,)), Step("publish", 0),
        Step("tell", 0, SENTENCES[0], "three"), Step("tell", 0, SENTENCES[0], "four", (4, 1)), Step("tell", 3),
        Step("untell", 3), Step("set_apart", 3), Step("publish", 0), Step("add", 5, BOTH), Step("forget", 4),
    ],
    shards=4,
    then=1,
)  # fmt: skip
@given(
    steps=st.lists(ADDED, min_size=2, max_size=4).flatmap(
        lambda first: st.lists(ADDED | DONE | DONE, min_size=3, max_size=9).map(lambda rest: [*first, *rest])
    ),
    shards=st.integers(1, 4),
    then=st.integers(1, 4),
)
def test_it_is_that_of_one_file(
    tmp_path_factory: pytest.TempPathFactory, steps: list[Step], shards: int, then: int
) -> None:
    folder = tmp_path_factory.mktemp("written")
    with (
        Monograph.open(folder / "one.mono", BagEmbedder(8), settings=SHORT) as one,
        Shelf.create(
            folder / "there", shards, embedder=BagEmbedder(8), settings=SHORT, home=folder / "here"
        ) as shelf,
    ):
        for step in steps:
            assert step.do(shelf) == step.do(one), step
        shelf.publish()
        alike(shelf, one)
        assert shelf.check() == []
        shelf.reshard(then)
        alike(shelf, one)
        shelf.join(folder / "joined.mono")
        with Monograph.open(folder / "joined.mono", BagEmbedder(8)) as joined:
            alike(joined, one)
