"""The tree over a shelf is the tree of one file of the same documents, and is searched as that is."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dealing import dealt_files, empty_file, marked
from monograph import Document, Monograph, Settings
from monograph.derive.summarize.extractive import ExtractiveSummarizer
from monograph.errors import InputError, ModelMismatch, ModelUnavailable, NotFound, OutsideView
from monograph.library.given import Given
from monograph.library.questions import Questions
from monograph.models import Embedder, Summarizer
from monograph.shelf import Shelf, catalogue
from monograph.shelf.gather.asking import Asking
from monograph.shelf.gather.rows import Rows
from monograph.shelf.hold.engine import Local, Written
from monograph.shelf.opened import OpenShelf
from monograph.shelf.shard.shard import Asked
from monograph.shelf.tree import grow
from monograph.shelf.tree.part import ShelfTree
from monograph.shelf.write import working
from monograph.store import tree as store
from monograph.store import tree_leaves
from monograph.store.catalogue import share
from monograph.store.database import Connection, Database
from monograph.values import Cost, OutlineNode
from monograph.write.tree import TreeUpdate
from test_order import QUERIES, SENTENCES, BagEmbedder, corpora
from test_shelf import FILTERS, hits_of
from test_shelf_views import VIEWS, view_of
from test_tree import Counting

WAYS = ("tree", "tree:detail=0", "tree:detail=0.5", "tree:budget=40")


@contextmanager
def shelf_of(
    files: Sequence[Path], folder: Path, embedder: Embedder, summarizer: Summarizer | None
) -> Iterator[Questions]:
    """Files as shards, with their catalogue and a tree in it, asked by threads."""
    shares = []
    for path in files:
        with Monograph.open(path, embedder, read_only=True) as archive, archive._file.database.read() as connection:
            shares.append(share(connection))
            made_with = catalogue.origin(connection)
    names = folder / "catalogue.mono"
    catalogue.make(names, made_with, shares, len(files))
    engine = Local([Given(path) for path in files])
    models = Given(names, embedder=embedder, summarizer=summarizer)
    grow.follow(names, Asking(engine, Rows(len(files))), models, None)
    held = OpenShelf.open(Given(names, embedder=embedder, read_only=True))
    held.begin(engine, len(files), folder / "home")
    asked = Questions()
    asked._file = held
    try:
        yield asked
    finally:
        held.close()


def nodes_of(connection: Connection) -> list[tuple[object, ...]]:
    """All of a tree but row numbers: layers, ranks, keys and parents' keys."""
    rows = store.load(connection, store.above(connection, -1))
    return sorted(
        (row.layer, row.rank, row.key, rows[row.parent].key if row.parent is not None else b"") for row in rows.values()
    )


def tree_of(shelf: Questions) -> ShelfTree:
    """The tree of what is asked as a shelf is; what would make one is refused."""
    assert isinstance(shelf._file, OpenShelf)
    return ShelfTree(shelf._file, lambda _, __: shelf._file.only_whole("resummarize") or TreeUpdate())


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return empty_file(tmp_path_factory.mktemp("empty"), segment_least=2, segment_most=4)


@settings(max_examples=10, deadline=None)
@given(
    corpus=corpora(),
    shards=st.integers(1, 4),
    query=st.sampled_from(QUERIES),
    k=st.sampled_from([1, 3, 20]),
    where=st.sampled_from(FILTERS),
    view=st.sampled_from(VIEWS),
    quoting=st.booleans(),
    data=st.data(),
)
def test_a_shelf_has_the_tree_of_one_file(
    empty: Path,
    tmp_path_factory: pytest.TempPathFactory,
    corpus: tuple[list[Document], object],
    shards: int,
    query: str,
    k: int,
    where: dict[str, object] | None,
    view: dict[str, object],
    quoting: bool,
    data: st.DataObject,
) -> None:
    documents, folder = marked(corpus[0]), tmp_path_factory.mktemp("shelf")
    files = dealt_files(empty, folder, documents, shards, data)
    one_path = shutil.copy(empty, folder / "one.mono")
    summarizer = None if quoting else Counting()
    with Monograph.open(one_path, BagEmbedder(8)) as one:
        one.add(documents)
        one.tree.rebuild(summarizer)
        chosen = one.tree.summarizer
        with shelf_of(files, folder, BagEmbedder(8), chosen) as shelf:
            with one._file.database.read() as mine, shelf._file.database.read() as held:
                assert nodes_of(held) == nodes_of(mine)
                assert store.planes(held) == store.planes(mine)
            for how in WAYS:
                assert hits_of(shelf, query, how, k, where) == hits_of(one, query, how, k, where), how
            for document in documents:
                assert tree_of(shelf).over(document.id) == one.tree.over(document.id)
            assert tree_of(shelf).price(Counting("dearer")) == one.tree.price(Counting("dearer"))
            ours, its = view_of(shelf, view), one.within(view)
            for how in WAYS:
                assert hits_of(ours, query, how, k, where) == hits_of(its, query, how, k, where), how
            for question in (query, *WHOLES):
                mine, theirs = ours.context(question, 300), its.context(question, 300)
                assert (mine.text, mine.citations) == (theirs.text, theirs.citations), question
            assert tree_of(ours).outline("", 9) == its.tree.outline("", 9)
            inside = {document.id for document in its.documents()}
            for document in documents:
                if document.id in inside:
                    assert tree_of(ours).over(document.id) == its.tree.over(document.id)
                else:
                    with pytest.raises(NotFound):
                        tree_of(ours).over(document.id)


CHOSEN = Settings(segment_least=2, segment_most=4)
NOTES = [
    Document(
        f"{SENTENCES[number % len(SENTENCES)]} It was note {number}.",
        id=f"d{number}",
        title=f"Note {number}" if number < 30 else f"Watch log: week {number}",
    )
    for number in range(36)
]
WHOLES = ("What is this about?", "What is Note 3 about?", "Summarise Note 7.", "Summarise the Watch log.")


def same_as_one(shelf: Shelf, one: Monograph) -> None:
    with one._file.database.read() as mine, shelf._file.database.read() as held:
        assert nodes_of(held) == nodes_of(mine)
    for query in (QUERIES[0], *WHOLES):
        assert hits_of(shelf, query, "tree", 5) == hits_of(one, query, "tree", 5), query
        for where in (None, {"$document": "d7"}):
            ours, its = shelf.context(query, 300, where=where), one.context(query, 300, where=where)
            assert (ours.text, ours.citations) == (its.text, its.citations), (query, where)
    assert shelf.tree.outline("", 2) == one.tree.outline("", 2)
    for document in one.documents():
        assert shelf.tree.over(document.id) == one.tree.over(document.id)
    assert shelf.check() == []


def test_a_tree_goes_from_version_to_version(tmp_path: Path) -> None:
    counting = Counting()
    with (
        Monograph.open(tmp_path / "one.mono", settings=CHOSEN, summarizer=Counting()) as one,
        Shelf.create(tmp_path / "there", 3, home=tmp_path / "here", settings=CHOSEN, summarizer=counting) as shelf,
    ):
        for archive in (one, shelf):
            archive.add(NOTES)
        shelf.publish()
        same_as_one(shelf, one)
        assert any(citation.summary for citation in shelf.context(WHOLES[0], 300).citations)
        made = len(counting.asked)
        for archive in (one, shelf):
            archive.remove(["d5"])
            archive.add([Document("Anna Calder sold the lamp oil.", id="d3")])
        shelf.publish()
        same_as_one(shelf, one)
        assert 0 < len(counting.asked) - made < made
        assert not any("note 5." in text for text in texts_in(shelf))
        made = len(counting.asked)
        shelf.reshard(5)
        same_as_one(shelf, one)
        shelf.publish()
        same_as_one(shelf, one)
        assert len(counting.asked) == made
        one.tree.rebuild(ExtractiveSummarizer())
        with Shelf.split(tmp_path / "one.mono", tmp_path / "split", 2, home=tmp_path / "else") as split:
            same_as_one(split, one)
            with Monograph.open(split.join(tmp_path / "joined.mono")) as joined:
                same_as_one(split, joined)
                assert joined.check() == []
                assert joined.tree.rebuild().summarized == 0
            assert split.stats().summarizer == one.stats().summarizer


PLACES = st.dictionaries(st.integers(0, 30), st.integers(0, 3), max_size=8)
"""What stands where in the tree, and in which of four files: each has a row of its own there."""


@settings(max_examples=25, deadline=None)
@given(before=PLACES, after=PLACES, of=st.sets(st.integers(0, 3)), shuffled=st.randoms())
def test_leaves_of_some_files_are_laid_as_those_of_all(
    tmp_path_factory: pytest.TempPathFactory, before: dict[int, int], after: dict[int, int], of: set[int], shuffled: Any
) -> None:
    def leaves(places: dict[int, int]) -> list[tuple[int, bytes, int]]:
        rows = shuffled.sample(range(100), len(places))
        return [
            (place // 2, bytes([place]), 4 * row + file)
            for row, (place, file) in zip(rows, places.items(), strict=True)
        ]

    here = {place: file for place, file in before.items() if file not in of}
    wanted = here | {place: file for place, file in after.items() if file in of and place not in here}
    kept, coming = leaves(before), leaves({place: file for place, file in wanted.items() if file in of})
    with closing(Database(tmp_path_factory.mktemp("leaves") / "tree.mono")) as database, database.write() as connection:
        tree_leaves.lay(connection, kept)
        tree_leaves.lay(connection, coming, 4, of)
        assert tree_leaves.count(connection, 4, of) == len(coming)
        others = [one for one in kept if one[2] % 4 not in of]
        assert list(tree_leaves.leaves(connection)) == sorted([*others, *coming])


@dataclass
class Noting:
    """Asks shards, and notes which of them is asked what."""

    engine: Written
    asked: list[tuple[int, str]]

    def ask(self, wanted: Mapping[int, Sequence[Asked]]) -> dict[int, list[Any]]:
        self.asked += [(shard, method) for shard, some in wanted.items() for method, _ in some]
        return self.engine.ask(wanted)

    def close(self) -> None:
        self.engine.close()


def test_what_nobody_changed_is_neither_asked_nor_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, str]] = []
    monkeypatch.setattr(working, "Written", lambda paths: Noting(Written(paths), asked))
    models: dict[str, Any] = {"home": tmp_path / "here", "settings": CHOSEN, "summarizer": Counting()}
    with (
        Monograph.open(tmp_path / "one.mono", settings=CHOSEN, summarizer=Counting()) as one,
        Shelf.create(tmp_path / "there", 3, **models) as shelf,
    ):
        for archive in (one, shelf):
            archive.add(NOTES)
        shelf.publish()
        before = shelf._version
        asked.clear()
        assert shelf.publish() == before.version + 1
        assert (asked, shelf._version.shards, shelf._version.catalogue) == ([], before.shards, before.catalogue)
        for archive in (one, shelf):
            archive.remove(["d5"])
        shelf.publish()
        now = shelf._version
        (changed,) = [number for number in range(3) if now.shards[number] != before.shards[number]]
        assert [shard for shard, method in asked if method == "leaves"] == [changed]
        assert now.catalogue != before.catalogue
        same_as_one(shelf, one)


def texts_in(shelf: Shelf) -> list[str]:
    """What the summaries of the newest version's catalogue say, used or not."""
    with shelf._file.database.read() as connection:
        return [str(value) for (value,) in connection.execute("SELECT value FROM memo WHERE kind = 'summary'")]


def test_forgotten_text_is_in_no_byte_of_the_catalogue(tmp_path: Path) -> None:
    with Shelf.create(tmp_path / "there", 2, home=tmp_path / "here", settings=CHOSEN, summarizer=Counting()) as shelf:
        shelf.add([*NOTES, Document("Xylophone. It was a secret.", id="secret")])
        shelf.publish()
        catalogue = tmp_path / "there" / shelf._version.catalogue.name
        assert b"Xylophone" in catalogue.read_bytes()
        shelf.remove(["secret"], forget=True)
        shelf.publish()
        shelf.forget()
        assert not [path for path in tmp_path.rglob("*") if path.is_file() and b"Xylophone" in path.read_bytes()]


def test_a_failed_summary_leaves_the_shelf_as_it_was(tmp_path: Path) -> None:
    counting = Counting()
    with Shelf.create(tmp_path / "there", 2, home=tmp_path / "here", settings=CHOSEN, summarizer=counting) as shelf:
        shelf.add(NOTES)
        counting.fail_at = 5
        with pytest.raises(ModelUnavailable, match="the model is down"):
            shelf.publish()
        assert shelf.version == 1
    with Shelf.open(tmp_path / "there", home=tmp_path / "here", summarizer=counting) as shelf:
        counting.fail_at = float("inf")
        assert shelf.publish() == 2
        assert len(counting.asked) == len(set(counting.asked)) == sum(shelf.stats().summaries_by_layer)


def test_a_tree_is_made_and_priced_where_it_is_asked_for(tmp_path: Path) -> None:
    notes = [*NOTES, *(replace(one, text=f"{one.text} Twice.", id=f"{one.id}x") for one in NOTES)]
    with (
        Monograph.open(tmp_path / "one.mono", settings=CHOSEN) as one,
        Shelf.create(tmp_path / "there", 3, home=tmp_path / "here", settings=CHOSEN) as shelf,
    ):
        assert shelf.tree.price() == Cost()
        one.add(notes)
        shelf.add(notes)
        with pytest.raises(InputError, match="not published"):
            shelf.tree.rebuild()
        shelf.publish()
        for ask in (lambda: shelf.search("comet", how="tree"), shelf.tree.outline, lambda: shelf.tree.summary("x")):
            with pytest.raises(InputError, match="no tree of summaries"):
                ask()
        assert shelf.tree.over("d1") == one.tree.over("d1") == []
        with pytest.raises(NotFound, match="has no document 'nobody'"):
            shelf.tree.over("nobody")
        cost = shelf.tree.price()
        assert cost == one.tree.price()
        made = shelf.tree.rebuild().summarized
        assert made == one.tree.rebuild().summarized
        assert 0 < made <= cost.summaries
        assert shelf.version == 3
        same_as_one(shelf, one)
        assert (
            shelf.search("comet", 3, "tree:detail=0")[0].summary == one.search("comet", 3, "tree:detail=0")[0].summary
        )
        other = Counting("another")
        assert shelf.tree.price() == Cost()
        assert shelf.tree.price(other) == one.tree.price(other)
        assert shelf.tree.price(other).summaries > 0
        shelf.tree.rebuild(other)
        one.tree.rebuild(Counting("another"))
        same_as_one(shelf, one)
        asked = len(other.asked)
        shelf.tree.rebuild()
        assert len(other.asked) == asked
        with pytest.raises(OutsideView):
            shelf.within({"$document": "d1"}).tree.price()
    with pytest.raises(ModelMismatch, match="is made with 'another'"):
        Shelf.open(tmp_path / "there", home=tmp_path / "here", summarizer=Counting())


def test_a_view_sees_the_summaries_of_what_is_in_it(tmp_path: Path) -> None:
    documents = [Document(" ".join(SENTENCES), id=f"d{number}", metadata={"number": number}) for number in range(6)]
    chosen = Settings(chunk_tokens=16, chunk_overlap=0, segment_least=2, segment_most=4)
    models = {"embedder": BagEmbedder(8), "summarizer": ExtractiveSummarizer()}
    with (
        Monograph.open(tmp_path / "one.mono", settings=chosen, **models) as one,  # type: ignore[arg-type]
        Shelf.create(tmp_path / "shelf", 2, settings=chosen, home=tmp_path / "home", **models) as shelf,  # type: ignore[arg-type]
    ):
        for archive in (one, shelf):
            archive.add(documents)
        shelf.publish()
        for where in ({"number": {"<": 5}}, {"number": {"<": 3}}, {"number": 9}):
            view, its = shelf.within(where), one.within(where)
            tree = its.stats().tree
            assert tree is not None
            assert view.stats().summaries_by_layer == tree.layers
            for how in WAYS:
                assert hits_of(view, QUERIES[0], how, 20) == hits_of(its, QUERIES[0], how, 20), (where, how)
            mine, theirs = view.context(WHOLES[0], 500), its.context(WHOLES[0], 500)
            assert (mine.text, mine.citations) == (theirs.text, theirs.citations)
            found = view.tree.outline(layers=9)
            assert found == its.tree.outline(layers=9)
            inside = summaries_in(found)
            assert inside < summaries_in(shelf.tree.outline(layers=9))
            for name in summaries_in(shelf.tree.outline(layers=9)):
                if name in inside:
                    assert view.tree.summary(name) == its.tree.summary(name)
                else:
                    with pytest.raises(NotFound):
                        view.tree.summary(name)
            with pytest.raises(OutsideView):
                view.tree.rebuild()
            with view._file.database.read() as connection, pytest.raises(sqlite3.DatabaseError, match="prohibited"):
                connection.execute("SELECT key FROM main.nodes")
        assert summaries_in(shelf.within({"number": {"<": 5}}).tree.outline(layers=9))


def summaries_in(branches: Sequence[OutlineNode]) -> set[str]:
    """Ids of the summaries of an outline."""
    return {one.id for one in branches if one.layer}.union(*(summaries_in(one.children) for one in branches))


def test_damage_to_the_tree_is_found(tmp_path: Path) -> None:
    with Shelf.create(tmp_path / "there", 2, home=tmp_path / "here", settings=CHOSEN, summarizer=Counting()) as shelf:
        shelf.add(NOTES)
        shelf.publish()
        catalogue = shelf._file.database.path
        with closing(sqlite3.connect(catalogue)) as connection, connection:
            connection.execute("DELETE FROM nodes WHERE node = (SELECT min(node) FROM nodes WHERE layer = 0)")
        assert [one.table for one in shelf.check()] == ["catalogue"]
