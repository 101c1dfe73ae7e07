"""A shelf of many files answers as one file of the same documents does."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dealing import dealt_files, empty_file, marked
from monograph import Document, Hit, Monograph, Settings
from monograph.errors import InputError, NotFound, NotOnShelf, ShelfConflict
from monograph.library.given import Given
from monograph.library.questions import Questions
from monograph.models import Embedder
from monograph.shelf import Shelf, catalogue, pools
from monograph.shelf.engines import Local
from monograph.shelf.opened import OpenShelf
from monograph.shelf.versions.writer import release
from monograph.store.catalogue import share
from test_order import QUERIES, SENTENCES, TITLES, BagEmbedder, Formulas, bounds, corpora

WAYS = ("lexical", "tfidf", "dense", "hybrid", "graph", "graph:faithful=true", "auto")
HAN = (
    "北京是中国的首都。故宫在北京。", "故宫博物院建于1925年，在北京。", "東京は日本の首都です。", "서울은 대한민국의 수도이다.",
    "서울 타워는 남산에 있다.", "บางกอกเป็นเมืองหลวงของไทย", "京都有很多寺。", "Anna Calder visited 北京 in 1925.",
)  # fmt: skip
HAN_QUERIES = ("北京", "故宫在哪里？", "京", "서울 타워", "首都", "Who visited 北京 in 1925?", "首", "เมืองหลวง")
FILTERS = (None, {"kind": "a"}, {"kind": {"in": ["a", "b"]}}, {"$title": "Green"}, {"number": {">=": 3}})


@contextmanager
def shelf_of(files: Sequence[Path], folder: Path, embedder: Embedder | None = None) -> Iterator[Questions]:
    """Files as shards, with their catalogue, asked by threads."""
    shares = []
    for path in files:
        with Monograph.open(path, embedder, read_only=True) as archive, archive._file.database.read() as connection:
            shares.append(share(connection))
            made_with = catalogue.origin(connection)
    names = folder / "catalogue.mono"
    catalogue.make(names, made_with, shares, len(files))
    held = OpenShelf.open(Given(names, embedder=embedder, read_only=True))
    held.begin(Local([Given(path) for path in files]), len(files), folder)
    asked = Questions()
    asked._file = held
    try:
        yield asked
    finally:
        held.close()


def hits_of(asked: Questions, query: str, how: object, k: int, where: object = None) -> list[Hit]:
    hits = asked.search(query, k, how, where)  # type: ignore[arg-type]
    return [replace(hit, origins=tuple(replace(one, effort=None) for one in hit.origins)) for hit in hits]


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return empty_file(tmp_path_factory.mktemp("empty"))


@settings(max_examples=12, deadline=None)
@given(
    corpus=corpora(),
    shards=st.integers(1, 4),
    query=st.sampled_from(QUERIES),
    k=st.sampled_from([1, 2, 3, 20]),
    most=st.sampled_from([1, 2, 4, 100]),
    where=st.sampled_from(FILTERS),
    data=st.data(),
)
def test_a_shelf_finds_what_one_file_finds(
    empty: Path,
    tmp_path_factory: pytest.TempPathFactory,
    corpus: tuple[list[Document], object],
    shards: int,
    query: str,
    k: int,
    most: int,
    where: dict[str, object] | None,
    data: st.DataObject,
) -> None:
    documents, folder = marked(corpus[0]), tmp_path_factory.mktemp("shelf")
    files = dealt_files(empty, folder, documents, shards, data)
    one_path = shutil.copy(empty, folder / "one.mono")
    with Monograph.open(one_path, BagEmbedder(8)) as one, shelf_of(files, folder, BagEmbedder(8)) as shelf:
        one.add(documents)
        with bounds(most), pytest.MonkeyPatch.context() as patch:
            # No more than its share of the best is asked of a shard at first: often it has to be asked again.
            patch.setattr(pools, "SPREAD", 0.0)
            patch.setattr(pools, "MORE", 0)
            for how in (*WAYS, Formulas(most)):
                assert hits_of(shelf, query, how, k, where) == hits_of(one, query, how, k, where), how
        assert shelf.context(query).text == one.context(query).text
        assert shelf.ask(query).text == one.ask(query).text


def test_writing_without_blanks(tmp_path: Path) -> None:
    files = [tmp_path / f"{number}.mono" for number in range(3)]
    documents = [Document(text, id=f"d{place}", title=text[:3]) for place, text in enumerate(HAN)]
    for number, path in enumerate(files):
        with Monograph.open(path) as archive:
            archive.add(documents[number::3])
    with Monograph.open(tmp_path / "one.mono") as one, shelf_of(files, tmp_path) as shelf:
        one.add(documents)
        for query in HAN_QUERIES:
            assert one.search(query, 3, "lexical"), query
            for how in WAYS:
                assert hits_of(shelf, query, how, 3) == hits_of(one, query, how, 3), (query, how)


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Shelf]:
    with Shelf.create(tmp_path / "there", shards=3, home=tmp_path / "here") as shelf:
        yield shelf


DOCUMENTS = [
    Document(f"{SENTENCES[number % len(SENTENCES)]} It was note {number}.", id=f"d{number}", title=TITLES[number % 9])
    for number in range(40)
]


def same_as_one(shelf: Questions, one: Monograph) -> None:
    for query in QUERIES:
        for how in ("lexical", "hybrid", "graph"):
            assert hits_of(shelf, query, how, 5) == hits_of(one, query, how, 5), (query, how)


def test_what_is_written_is_searched_once_it_is_published(made: Shelf, tmp_path: Path) -> None:
    assert made.version == 1
    assert made.search("comet") == []
    made.add(DOCUMENTS)
    assert made.search("comet") == []
    assert made.publish() == 2
    made.add([Document("Anna Calder sold the lamp oil.", id="d3"), Document("The NST was lost.", id="new")])
    made.remove(["d5", "d6"])
    with pytest.raises(NotFound, match="'d5'"):
        made.remove(["d7", "d5"])
    with Shelf.open(tmp_path / "there", home=tmp_path / "other") as reader:
        assert made.publish() == 3
        assert reader.version == 2
        assert {hit.chunk.document_id for hit in reader.search("note", 50, "lexical")} == {one.id for one in DOCUMENTS}
        assert reader.refresh() == 3
        with Monograph.open(tmp_path / "fresh.mono") as one:
            one.add(document for document in DOCUMENTS if document.id not in ("d3", "d5", "d6"))
            one.add([Document("Anna Calder sold the lamp oil.", id="d3"), Document("The NST was lost.", id="new")])
            same_as_one(reader, one)
            same_as_one(made, one)
            stats = one.stats()
        told = reader.stats()
        assert (told.documents, told.chunks, told.entities, told.merged) == (
            stats.documents, stats.chunks, stats.entities, stats.merged,
        )  # fmt: skip
        assert sum(told.documents_by_shard) == 39
        assert min(told.documents_by_shard) > 0
        assert reader.check() == []
        assert reader.document("new").text == "The NST was lost."
        with pytest.raises(NotFound, match="no document 'd5'"):
            reader.document("d5")


def test_folders_are_followed(made: Shelf, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    for number in range(12):
        (notes / f"{number}.md").write_text(f"# Note {number}\n{SENTENCES[number]}")
    assert made.sync(notes).added == 12
    again = made.sync(notes)
    assert (again.added, again.same, again.embedded) == (0, 12, 0)
    (notes / "3.md").unlink()
    (notes / "4.md").write_text("# Note 4\nPeter Okafor sold the yard.")
    report = made.sync(notes)
    assert (report.changed, report.removed, report.same) == (1, 1, 10)
    made.publish()
    with Monograph.open(tmp_path / "one.mono") as one:
        one.sync(notes)
        same_as_one(made, one)
        assert [hit.chunk.id for hit in made.search("Peter yard", 1)] == [one.search("Peter yard", 1)[0].chunk.id]


def test_a_file_becomes_a_shelf_and_a_shelf_a_file(tmp_path: Path) -> None:
    path, home = tmp_path / "one.mono", tmp_path / "here"
    with Monograph.open(path) as one:
        one.add(DOCUMENTS)
        with Shelf.split(path, tmp_path / "there", 3, home=home) as shelf:
            same_as_one(shelf, one)
            assert shelf.stats().merged == one.stats().merged
            assert shelf.reshard(5) == 2
            assert shelf.stats().shards == 5
            same_as_one(shelf, one)
            assert shelf.reshard(1) == 3
            same_as_one(shelf, one)
            assert shelf.reshard(4) == 4
            joined = shelf.join(tmp_path / "joined.mono")
            with Monograph.open(joined) as again:
                same_as_one(shelf, again)
                assert again.check() == []
                assert [chunk.id for chunk in again.chunks("d1")] == [chunk.id for chunk in one.chunks("d1")]
            assert shelf.check() == []
            with pytest.raises(InputError, match="is there already"):
                shelf.join(joined)


def test_what_is_not_published_stays_here(tmp_path: Path) -> None:
    there, home = tmp_path / "there", tmp_path / "here"
    with Shelf.create(there, shards=2, home=home) as shelf:
        shelf.add(DOCUMENTS[:5])
        with (
            Shelf.open(there, home=tmp_path / "second") as second,
            pytest.raises(ShelfConflict, match="is being written by"),
        ):
            second.add(DOCUMENTS[5:6])
    with Shelf.open(there, home=home) as shelf:
        with pytest.raises(InputError, match="not published"):
            shelf.reshard(3)
        assert shelf.publish() == 2
        assert shelf.stats().documents == 5
        shelf.add(DOCUMENTS[5:6])
    with Shelf.open(there, home=tmp_path / "second") as second:
        second.add(DOCUMENTS[7:9])
        assert second.publish() == 3
    with Shelf.open(there, home=home) as shelf, pytest.raises(ShelfConflict, match="monograph shelf discard"):
        shelf.publish()


def test_whoever_comes_too_late_is_told_so_each_time(made: Shelf, tmp_path: Path) -> None:
    made.add(DOCUMENTS[:3])
    release(made._place.objects)
    with Shelf.open(made.url, home=tmp_path / "other") as other:
        other.add(DOCUMENTS[3:6])
        other.publish()
    for document in DOCUMENTS[6:8]:
        with pytest.raises(ShelfConflict, match="published by another writer"):
            made.publish()
        assert made.add([document]).added == 1


def test_nothing_of_what_is_forgotten_is_left(made: Shelf, tmp_path: Path) -> None:
    made.add([*DOCUMENTS, Document("The password is xylophone.", id="secret")])
    made.publish()
    made.remove(["secret"], forget=True)
    with pytest.raises(InputError, match="not published"):
        made.forget()
    made.publish()
    made.forget()
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and b"xylophone" in path.read_bytes()]
    assert made.search("xylophone", 1, "lexical") == []


def test_a_catalogue_of_other_names_is_found_out(made: Shelf) -> None:
    made.add(DOCUMENTS)
    made.publish()
    with made._file.database.read() as connection:
        path = connection.execute("PRAGMA database_list").fetchone()[2]
    made.close()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE names SET uses = uses + 1 WHERE key = 'anna calder'")
    with Shelf.open(made.url, home=Path(path).parents[1]) as again:
        (found,) = again.check()
    assert found.table == "catalogue"
    assert "its names" in found.fault
    assert "monograph shelf reshard" in found.mend


def test_what_only_a_file_does_is_refused(made: Shelf, tmp_path: Path) -> None:
    made.add(DOCUMENTS)
    made.publish()
    with pytest.raises(InputError, match="no tree of summaries"):
        made.search("comet", 3, "tree")
    for name in ("tree", "within", "as_of", "versions", "vectors", "files", "compact"):
        with pytest.raises(NotOnShelf, match=rf"is a shelf, which has no {name} .*Monograph\.open\(path\)\.{name}"):
            getattr(made, name)
        assert not hasattr(made, name)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        made.nothing  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(NotOnShelf, match="monograph sync --history"):
        Shelf.create(tmp_path / "other", settings=Settings(history=True))
