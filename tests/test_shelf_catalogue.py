"""A catalogue that follows what changes in its shards equals one that is made anew."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dealing import empty_file
from killing import killed
from monograph import Document, Monograph
from monograph.errors import InputError, NotFound
from monograph.models import TextKind
from monograph.shelf import Shelf, catalogue
from monograph.shelf.write import in_step
from monograph.store import catalogue_changes, names
from monograph.store.catalogue import share
from monograph.store.database import Database
from monograph.values import Float32, ToldNode, ToldRelation
from test_order import SENTENCES, TITLES, BagEmbedder

MORE = (
    "Solar Panels are sold by Elizabeth Hammersmith.", "A Solar Panel was bought by Elisabeth Hammersmith.",
    "The Vienna Observatory (VO) was built by Tobias Renk.", "The Virtual Ocean (VO) lies in Genoa.",
    "J. P. Smith met Arthur Lane.", "Arthur Francis Lane lives in Vienna.",
)  # fmt: skip
TEXTS = st.lists(st.sampled_from(SENTENCES + MORE), min_size=1, max_size=3).map(" ".join)
PAIRS = (("J. Smith", "John Smith"), ("John Smith", "John Paul Smith"), ("NST", "North Sea Treaty"), ("VO", "Genoa"))
SHARDS = 3


class Wavering(BagEmbedder):
    """Vectors that are others in every file, as those of a server may be."""

    def __init__(self, turn: int) -> None:
        super().__init__(8)
        self.turn = turn

    def embed(self, texts: Sequence[str], kind: TextKind = "document") -> Float32:
        return super().embed([f"{one} {self.turn if len(one) % 2 else ''}" for one in texts], kind)


Edit = Callable[[Monograph], object]


@dataclass(frozen=True, slots=True)
class Step:
    """What is done to a shard."""

    shard: int
    what: str
    number: int
    text: str
    title: str

    def do(self, archive: Monograph) -> None:
        """Do it; what cannot be done is not."""
        name, pair = f"d{self.number}", PAIRS[self.number % len(PAIRS)]
        nodes = [ToldNode("a", pair[0]), ToldNode(name, pair[1])]
        edits: dict[str, Edit] = {
            "add": lambda one: one.add([Document(self.text, id=name, title=self.title)]),
            "remove": lambda one: one.remove([name]),
            "forget": lambda one: one.remove([name], forget=True),
            "tell": lambda one: one.graph.tell(nodes, [ToldRelation("a", "knows", name)]),
            "untell": lambda one: one.graph.untell([name]),
            "apart": lambda one: one.graph.set_apart(*pair),
            "unite": lambda one: one.graph.unite(*pair),
            "compact": lambda one: one.compact(),
        }
        with suppress(NotFound, InputError):
            edits[self.what](archive)


WHAT = (
    "add",
    "add",
    "add",
    "add",
    "remove",
    "remove",
    "forget",
    "tell",
    "untell",
    "apart",
    "apart",
    "unite",
    "compact",
)
STEPS = st.builds(
    Step, st.integers(0, SHARDS - 1), st.sampled_from(WHAT), st.integers(0, 4), TEXTS, st.sampled_from(TITLES)
)


@contextmanager
def opened(files: Sequence[Path]) -> Iterator[list[Database]]:
    with ExitStack() as stack:
        yield [stack.enter_context(closing(Database(path, read_only=True))) for path in files]


def fresh(files: Sequence[Path], path: Path) -> Path:
    """The catalogue of files, made anew."""
    path.unlink(missing_ok=True)
    with opened(files) as shards, ExitStack() as stack:
        held = [stack.enter_context(one.read()) for one in shards]
        catalogue.make(path, catalogue.origin(held[0]), [share(one) for one in held], len(files))
    return path


def contents(path: Path) -> object:
    """What a catalogue says, told nodes and relations in their order."""
    with opened([path]) as (database,), database.read() as connection:
        said = share(connection)
        return catalogue.contents(connection), said.nodes, said.relations, names.is_settled(connection)


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return empty_file(tmp_path_factory.mktemp("empty"))


BOTH = "John Smith met Anna Calder in Vienna. J. Smith gave the comet plate to Anna Calder."


def smiths(what: str, *shards: int) -> list[Step]:
    """The same done to what some shards say of J. Smith and John Smith."""
    return [Step(shard, what, 0, BOTH, "") for shard in shards]


@settings(max_examples=12, deadline=None)
@example(
    [smiths("add", 0, 1), smiths("apart", 0, 1), smiths("unite", 0), smiths("unite", 1), smiths("apart", 2, 1)], False
)
@example([smiths("add", 0, 2), smiths("apart", 2), smiths("add", 1), smiths("forget", 2), smiths("tell", 0, 1)], True)
@given(publications=st.lists(st.lists(STEPS, min_size=1, max_size=6), min_size=2, max_size=4), wavering=st.booleans())
def test_what_follows_is_what_would_be_made(
    empty: Path, tmp_path_factory: pytest.TempPathFactory, publications: list[list[Step]], wavering: bool
) -> None:
    folder = tmp_path_factory.mktemp("shelf")
    files = [Path(shutil.copy(empty, folder / f"{number}.mono")) for number in range(SHARDS)]
    before = [folder / f"before{number}.mono" for number in range(SHARDS)]
    path = fresh(files, folder / "catalogue.mono")
    for steps in publications:
        for file, copy in zip(files, before, strict=True):
            shutil.copy(file, copy)
        for shard in {one.shard for one in steps}:
            embedder = Wavering(shard) if wavering else BagEmbedder(8)
            with Monograph.open(files[shard], embedder) as archive:
                for one in steps:
                    if one.shard == shard:
                        one.do(archive)
        with opened(files) as shards:
            made = {}
            for number, shard in enumerate(shards):
                found = catalogue_changes.difference(shard, before[number])
                assert found is not None
                if not found.is_none:
                    made[number] = found
            assert made.keys() <= {one.shard for one in steps}
            with shards[0].read() as connection:
                of = catalogue.origin(connection)
            assert in_step.bring(path, of, made, shards)
        assert contents(path) == contents(fresh(files, folder / "fresh.mono"))
        with opened([path]) as (held,), held.read() as connection, opened(files) as shards, ExitStack() as stack:
            shares = [share(stack.enter_context(one.read())) for one in shards]
            assert catalogue.faults(connection, shares) == []


DOCUMENTS = [
    Document(f"{SENTENCES[number % len(SENTENCES)]} It was note {number}.", id=f"d{number}", title=TITLES[number % 9])
    for number in range(40)
]


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Shelf]:
    with Shelf.create(tmp_path / "there", shards=SHARDS, home=tmp_path / "here") as shelf:
        shelf.add(DOCUMENTS)
        shelf.publish()
        yield shelf


def test_a_publication_begins_with_the_catalogue_before(made: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogue, "make", None)
    before = made._version
    made.add([])
    assert made.publish() == 3
    assert made._version.objects == before.objects
    made.add([Document("Anna Calder sold the lamp oil to Ottilie Frauenhofer.", id="d3"), Document("The NST.", id="n")])
    made.remove(["d5"])
    made.publish()
    made.remove(["d3"], forget=True)
    made.publish()
    assert b"ottilie" not in made._place.cache.path(made._place.objects, made._version.catalogue).read_bytes().lower()
    monkeypatch.undo()
    assert made.check() == []


def test_where_it_cannot_it_is_made_anew(made: Shelf, tmp_path: Path) -> None:
    held = made._place.cache.path(made._place.objects, made._version.catalogue)
    with closing(sqlite3.connect(held)) as connection, connection:
        connection.execute("UPDATE names SET uses = uses + 1")
    made.add([Document("The NST ended.", id="new")])
    made.publish()
    assert made.check() == []
    # A shard that is gone is none that can be held against what it has become.
    made.add([Document("Peter Okafor met Anna Calder.", id="new")])
    for name in made._version.shards:
        made._place.cache.path(made._place.objects, name).unlink()
        made._place.objects.remove([name.name])
    made.publish()
    assert made.check() == []
    assert made.reshard(SHARDS + 1) == 5
    assert made.check() == []


def test_a_catalogue_of_other_shards_is_of_no_use(made: Shelf, tmp_path: Path) -> None:
    files = [made._place.cache.path(made._place.objects, name) for name in made._version.shards]
    path, before = fresh(files, tmp_path / "catalogue.mono"), tmp_path / "before.mono"
    shutil.copy(files[0], before)
    with Monograph.open(files[0]) as archive:
        archive.remove([archive.documents()[0].id])
    with opened(files) as shards:
        found = catalogue_changes.difference(shards[0], before)
        assert found is not None
        with shards[0].read() as connection:
            of = catalogue.origin(connection)
        other = catalogue.Origin("0" * 32, of.settings, of.embedder, of.extractor)
        assert not in_step.bring(Path(shutil.copy(path, tmp_path / "one")), other, {0: found}, shards)
        assert not in_step.bring(Path(shutil.copy(path, tmp_path / "two")), of, {1: found}, shards)
        assert in_step.bring(path, of, {0: found}, shards)
        assert not in_step.bring(path, of, {0: found}, shards)


PROGRAM = """
from monograph.shelf import Shelf
from test_shelf_catalogue import DOCUMENTS, MORE
from monograph import Document
with Shelf.open({url!r}, home={home!r}) as shelf:
    if {adds}:
        shelf.add(Document(text, id=f"more{{number}}") for number, text in enumerate(MORE))
        shelf.remove(["d7"])
    shelf.publish()
"""


def test_killed_over_and_over_nothing_is_lost(made: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    home, before = str(made._place.home), made.version
    made.close()
    for adds, commit, moment in ((True, 1, "after"), (True, 2, "before")):
        assert killed(PROGRAM.format(url=made.url, home=home, adds=adds), commit, moment)
    with Shelf.open(made.url, home=home) as shelf:
        assert shelf.version == before
        shelf.add(Document(text, id=f"more{number}") for number, text in enumerate(MORE))
        shelf.remove(["d7"])
    # What is written first now is the catalogue.
    for moment in ("before", "after"):
        assert killed(PROGRAM.format(url=made.url, home=home, adds=False), 1, moment)
    with Shelf.open(made.url, home=home) as shelf:
        with monkeypatch.context() as patched:
            patched.setattr(catalogue, "make", None)
            assert shelf.publish() == before + 1
        assert shelf.check() == []
        assert shelf.stats().documents == len(DOCUMENTS) + len(MORE) - 1
        assert "Hammersmith" in shelf.search("Hammersmith", 1, "lexical")[0].text
