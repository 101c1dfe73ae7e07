"""What is written of a shelf's graph, and published, is what is written of that of one file of the same documents."""

from __future__ import annotations

import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from forks import Forks
from killing import TESTS
from monograph import Document, Monograph, Settings
from monograph.errors import InputError, InvalidDocument, NotFound, OutsideView
from monograph.shelf import Shelf
from monograph.shelf.write.working import discard
from monograph.values import ToldNode, ToldRelation
from test_order import QUERIES, SENTENCES, TITLES, BagEmbedder
from test_shelf import hits_of
from test_shelf_graph import exported, in_order, outcome
from test_shelf_publish import MEMORY

PAIRS = (
    ("J. Smith", "John Smith"), ("John Smith", "John Paul Smith"), ("NST", "North Sea Treaty"), ("Renk", "Tobias Renk"),
    ("Anna Calder", "Genoa"),
)  # fmt: skip
NAMES = ("Anna Calder", "John Smith", "J. Smith", "Tobias Renk", "Vienna", "Green")
BOTH = "John Smith met Anna Calder in Vienna. J. Smith gave the comet plate to Anna Calder."
SHORT_FORM = "Anna Calder met Tobias Renk in Genoa. Mr Renk sold the comet plate."
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
    st.lists(st.sampled_from((*SENTENCES, BOTH, SHORT_FORM)), min_size=1, max_size=3).map(" ".join),
    st.sampled_from(TITLES),
)
DONE = st.builds(
    Step,
    st.sampled_from(
        ["remove", "forget", "tell", "tell", "tell", "untell", "set_apart", "set_apart", "unite", "publish"]
    ),
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


@contextmanager
def in_memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder whose files need not wait for a disk, where there is one."""
    with tempfile.TemporaryDirectory(dir=MEMORY or tmp_path_factory.getbasetemp()) as made:
        yield Path(made)


@settings(max_examples=3, deadline=None)
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
    steps=[Step("add", 0, SENTENCES[3]), Step("set_apart", 3), Step("add", 1, SHORT_FORM), Step("unite", 1)],
    shards=3,
    then=2,
)
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
    with (
        in_memory(tmp_path_factory) as folder,
        Monograph.open(folder / "one.mono", BagEmbedder(8), settings=SHORT) as one,
        Shelf.create(folder / "there", shards, embedder=BagEmbedder(8), settings=SHORT, home=folder / "here") as shelf,
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


TEXTS = (
    "Elizabeth Hammersmith sold a lamp.", "Elisabeth Hammersmith bought a lamp.", "Anna Calder met Tobias Renk in Genoa.",
    "A lamp stood in Vienna.", "The yard was wet.",
)  # fmt: skip
IDS = ("d0", "d1", "d2", "d3", "d9")
ONE, TWO = {"Elisabeth Hammersmith"}, {"Elisabeth Hammersmith", "Elizabeth Hammersmith"}


@pytest.fixture
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shelf]:
    """Three shards: d0 and d9 lie in one, d1 and d3 in another, and d2 in one that names neither."""
    with (
        in_memory(tmp_path_factory) as folder,
        Shelf.create(folder / "there", 3, embedder=BagEmbedder(8), settings=SHORT, home=folder / "here") as shelf,
    ):
        shelf.add(Document(text, id=name) for name, text in zip(IDS, TEXTS, strict=True))
        shelf.publish()
        yield shelf


def smiths(shelf: Shelf) -> set[str]:
    return {one.name for one in shelf.graph.entities(like="hammersmith")}


def reopened(shelf: Shelf) -> Shelf:
    return Shelf.open(shelf.url, embedder=BagEmbedder(8), home=shelf._place.home)


def test_it_is_seen_when_it_is_published(made: Shelf) -> None:
    objects = made._version.shards
    made.graph.set_apart(*TWO)
    made.graph.tell([ToldNode("Anna Calder", label="person", origins=("d0",))])
    assert (smiths(made), made.graph.told().nodes) == (ONE, {})
    made.publish()
    assert smiths(made) == TWO
    assert made.graph.told().nodes["Anna Calder"].origins == ("d0",)
    # The shard that names neither, and holds nothing that says so, is neither read nor sent.
    assert len(set(made._version.shards) & set(objects)) == 1
    assert made.graph.untell(["Anna Calder", "nobody"]) == 1
    made.graph.unite(*TWO)
    made.close()
    with reopened(made) as again:
        assert smiths(again) == TWO
        again.publish()
        assert (smiths(again), again.graph.told().nodes) == (ONE, {})


def test_what_cannot_be_written_is_not(made: Shelf) -> None:
    graph = made.graph
    with pytest.raises(NotFound, match=r"there names nothing like 'Qqqq'"):
        graph.set_apart("Anna Calder", "Qqqq")
    with pytest.raises(NotFound, match="were not set apart"):
        graph.unite("Tobias Renk", "Anna Calder")
    with pytest.raises(InputError, match="are one name but for case"):
        graph.set_apart("Anna Calder", "the anna calder")
    with pytest.raises(NotFound, match="the origin 'd99' is neither a chunk nor a document"):
        graph.tell([ToldNode("a", origins=("d0",)), ToldNode("b", origins=("d99",))])
    with pytest.raises(InvalidDocument):
        graph.tell([ToldNode("a", properties={"a": {1}})])
    assert graph.untell(["nobody"], [("a", "b", "c")]) == 0
    view = made.within({"$title": "Green"}).graph
    for work in (lambda: view.set_apart("a", "b"), lambda: view.tell([ToldNode("a")]), lambda: view.untell(["a"])):
        with pytest.raises(OutsideView):
            work()
    # Nothing was written: else this would be refused.
    made.reshard(2)


PROGRAMS = Forks(
    f"import sys; sys.path.insert(0, {str(TESTS)!r})\nimport test_order, killing\nfrom monograph.shelf import Shelf",
    """
url, home, does, commit, moment = sys.argv
killing.die_at(int(commit), moment)
with Shelf.open(url, embedder=test_order.BagEmbedder(8), home=home) as shelf:
    exec(does)
""",
)


def killed_over(shelf: Shelf, does: str, commit: int, moment: str) -> bool:
    done = PROGRAMS.run(shelf.url, shelf._place.home, does, commit, moment)
    assert done.returncode in (0, -signal.SIGKILL), done.stderr
    return done.returncode != 0


def test_killed_over_it_names_are_apart_or_not(made: Shelf) -> None:
    made.close()
    for commit, moment, wanted in ((1, "before", ONE), (1, "after", TWO)):
        assert killed_over(made, f"shelf.graph.set_apart(*{sorted(TWO)})", commit, moment)
        with reopened(made) as shelf:
            shelf.publish()
            assert smiths(shelf) == wanted
            assert shelf.check() == []
            shelf.add([Document(TEXTS[0] + " " + TEXTS[1], id="d2")])
            shelf.publish()
            assert smiths(shelf) == wanted


def test_what_shards_forget_is_apart_where_others_name_it(made: Shelf) -> None:
    made.graph.set_apart(*TWO)
    made.publish()
    made.close()
    # Both shards that hold the pair are made to forget, and killed over it: neither knows both names.
    for commit in range(1, 20):
        over = not killed_over(made, 'shelf.remove(["d3", "d9"], forget=True)', commit, "after")
        with reopened(made) as shelf:
            shelf.add([Document(TEXTS[3], id="d3"), Document(TEXTS[4], id="d9")])
            shelf.publish()
            assert smiths(shelf) == TWO
        if over:
            break
    assert 8 < commit < 19
    with reopened(made) as shelf:
        shelf.remove(["d0"], forget=True)
        shelf.publish()
        for path in map(shelf._place.file_of, (*shelf._version.shards, shelf._version.catalogue)):
            assert b"elizabeth" not in path.read_bytes().lower()
        shelf.add([Document(TEXTS[0], id="d0")])
        shelf.publish()
        assert smiths(shelf) == ONE


def test_what_is_discarded_was_never_written(made: Shelf) -> None:
    made.graph.set_apart(*TWO)
    made.graph.tell([ToldNode("Anna Calder")])
    made.close()
    discard(made._place.work)
    with reopened(made) as shelf:
        shelf.publish()
        assert (smiths(shelf), shelf.graph.told().nodes) == (ONE, {})
