"""The tree over a shelf is the tree of one file of the same documents, and is searched as that is."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dealing import dealt_files, empty_file, marked
from monograph import Document, Monograph, Settings
from monograph.derive.summarize.extractive import ExtractiveSummarizer
from monograph.errors import InputError, ModelMismatch, ModelUnavailable, OutsideView
from monograph.library.given import Given
from monograph.library.questions import Questions
from monograph.models import Embedder, Summarizer
from monograph.shelf import Shelf, catalogue
from monograph.shelf.gather.asking import Asking
from monograph.shelf.gather.rows import Rows
from monograph.shelf.hold.engine import Local
from monograph.shelf.opened import OpenShelf
from monograph.shelf.tree import grow
from monograph.store import tree as store
from monograph.store.catalogue import share
from monograph.store.database import Connection
from test_order import QUERIES, SENTENCES, BagEmbedder, corpora
from test_shelf import FILTERS, hits_of
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


def test_a_tree_is_made_where_it_is_asked_for(tmp_path: Path) -> None:
    with (
        Monograph.open(tmp_path / "one.mono", settings=CHOSEN) as one,
        Shelf.create(tmp_path / "there", 3, home=tmp_path / "here", settings=CHOSEN) as shelf,
    ):
        one.add(NOTES)
        shelf.add(NOTES)
        with pytest.raises(InputError, match="not published"):
            shelf.tree.rebuild()
        shelf.publish()
        with pytest.raises(InputError, match="no tree of summaries"):
            shelf.search("comet", how="tree")
        assert shelf.tree.rebuild().summarized == one.tree.rebuild().summarized
        assert shelf.version == 3
        same_as_one(shelf, one)
        assert (
            shelf.search("comet", 3, "tree:detail=0")[0].summary == one.search("comet", 3, "tree:detail=0")[0].summary
        )
        other = Counting("another")
        shelf.tree.rebuild(other)
        one.tree.rebuild(Counting("another"))
        same_as_one(shelf, one)
        asked = len(other.asked)
        shelf.tree.rebuild()
        assert len(other.asked) == asked
    with pytest.raises(ModelMismatch, match="is made with 'another'"):
        Shelf.open(tmp_path / "there", home=tmp_path / "here", summarizer=Counting())


def test_a_view_of_a_shelf_has_no_tree(tmp_path: Path) -> None:
    documents = [Document(" ".join(SENTENCES), id=f"d{number}", metadata={"number": number}) for number in range(6)]
    chosen = Settings(chunk_tokens=16, chunk_overlap=0, segment_least=2, segment_most=4)
    models = {"embedder": BagEmbedder(8), "summarizer": ExtractiveSummarizer()}
    with Shelf.create(tmp_path / "shelf", 2, settings=chosen, home=tmp_path / "home", **models) as shelf:  # type: ignore[arg-type]
        shelf.add(documents)
        shelf.publish()
        view = shelf.within({"number": {"<": 3}})
        assert shelf.stats().summaries_by_layer
        assert shelf.search(QUERIES[0], how="tree:detail=0")
        assert view.stats().summaries_by_layer == ()
        for asked in (lambda: view.search(QUERIES[0], how="tree"), view.tree.outline, lambda: view.tree.summary("x")):
            with pytest.raises(InputError, match="a view of a shelf has no tree"):
                asked()
        with pytest.raises(OutsideView):
            view.tree.rebuild()
        found = view.context(QUERIES[0], budget=2_000)
        assert found.hits
        assert all(hit.summary is None for hit in found.hits)
        assert {hit.chunk.document_id for hit in found.hits} <= {"d0", "d1", "d2"}


def test_damage_to_the_tree_is_found(tmp_path: Path) -> None:
    with Shelf.create(tmp_path / "there", 2, home=tmp_path / "here", settings=CHOSEN, summarizer=Counting()) as shelf:
        shelf.add(NOTES)
        shelf.publish()
        catalogue = shelf._file.database.path
        with closing(sqlite3.connect(catalogue)) as connection, connection:
            connection.execute("DELETE FROM nodes WHERE node = (SELECT min(node) FROM nodes WHERE layer = 0)")
        assert [one.table for one in shelf.check()] == ["catalogue"]
