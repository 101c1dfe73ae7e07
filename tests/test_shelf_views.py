"""A view of a shelf answers as the same view of one file does, and nothing else is seen through it."""

from __future__ import annotations

import copy
import pickle
import shutil
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dealing import dealt_files, empty_file, marked
from monograph import Document, Monograph
from monograph.errors import ClosedFile, InputError, InvalidFilter, NotFound, OutsideView
from monograph.library.questions import Questions
from monograph.library.view import within
from monograph.shelf import Shelf
from monograph.shelf.shard import views
from monograph.shelf.view import OpenView
from monograph.values import ToldNode, ToldRelation
from test_order import QUERIES, BagEmbedder, Formulas, bounds, corpora
from test_shelf import FILTERS, WAYS, hits_of, shelf_of
from test_views import ANN, QUESTIONS, people, texts_in, told_by

VIEWS = (
    {"kind": "a"}, {"kind": {"in": ["a", "b"]}}, {"kind": {"!=": "a"}}, {"number": {">=": 3}}, {"kind": "nobody"},
    {"$title": {"in": ["Green", "Anna Calder", "John Smith"]}}, {"number": {"<": 100}},
)  # fmt: skip


def view_of(shelf: Questions, where: dict[str, object]) -> Questions:
    asked = Questions()
    asked._file = within(shelf._file, where, OpenView)
    return asked


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return empty_file(tmp_path_factory.mktemp("empty"))


@settings(max_examples=8, deadline=None)
@given(
    corpus=corpora(),
    shards=st.integers(1, 4),
    query=st.sampled_from(QUERIES),
    k=st.sampled_from([1, 2, 3, 20]),
    most=st.sampled_from([1, 2, 4, 100]),
    view=st.sampled_from(VIEWS),
    where=st.sampled_from(FILTERS),
    data=st.data(),
)
def test_a_view_finds_what_that_of_one_file_finds(
    empty: Path,
    tmp_path_factory: pytest.TempPathFactory,
    corpus: tuple[list[Document], object],
    shards: int,
    query: str,
    k: int,
    most: int,
    view: dict[str, object],
    where: dict[str, object] | None,
    data: st.DataObject,
) -> None:
    documents, folder = marked(corpus[0]), tmp_path_factory.mktemp("shelf")
    files = dealt_files(empty, folder, documents, shards, data)
    with (
        Monograph.open(shutil.copy(empty, folder / "one.mono"), BagEmbedder(8)) as one,
        shelf_of(files, folder, BagEmbedder(8)) as shelf,
    ):
        one.add(documents)
        mine, its = view_of(shelf, view), one.within(view)
        with bounds(most):
            for how in (*WAYS, Formulas(most)):
                assert hits_of(mine, query, how, k, where) == hits_of(its, query, how, k, where), how
        assert mine.context(query).text == its.context(query).text
        assert mine.ask(query).text == its.ask(query).text
        for document in documents:
            held = document.id in {one.id for one in its.documents()}
            assert held == any(
                found.id == document.id for some in mine._file.shards.all("documents", document.id) for found in some
            )


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Monograph, Shelf]]:
    """A file and a shelf of the documents of two people."""
    folder = tmp_path_factory.mktemp("views")
    with Monograph.open(folder / "one.mono") as one:
        one.add(people())
        one.graph.tell(*told_by("ann-1", "Ada Lovelace"))
        one.graph.tell(*told_by("bob-1", "Zorblax"))
        one.graph.tell(*told_by("", "Qwertium"))
        one.graph.tell(
            [ToldNode("v", "Vienna", origins=("ann-2",)), ToldNode("b", "Charles Babbage", origins=("ann-3",))],
            [
                ToldRelation("v", "pleased", "b", origins=("ann-3",)),
                ToldRelation("v", "bored", "z", origins=("bob-2",)),
            ],
        )
        with Shelf.split(folder / "one.mono", folder / "there", 3, home=folder / "here") as shelf:
            yield one, shelf


def test_a_view_counts_what_is_in_it(both: tuple[Monograph, Shelf]) -> None:
    one, shelf = both
    mine, its = shelf.within(ANN), one.within(ANN)
    told, stats = mine.stats(), its.stats()
    assert (told.documents, told.chunks, told.entities, told.merged) == (
        stats.documents, stats.chunks, stats.entities, stats.merged,
    )  # fmt: skip
    assert (sum(told.documents_by_shard), told.bytes, told.version) == (12, 0, shelf.version)
    assert shelf.stats().documents == 24
    assert mine.document("ann-3") == its.document("ann-3")
    assert mine.document("letters/4").id == "ann-4"
    for name in ("bob-3", "zorblax/1"):
        with pytest.raises(NotFound):
            mine.document(name)
    assert mine.view == its.view
    assert shelf.view == ""


def test_nothing_of_another_is_seen(both: tuple[Monograph, Shelf]) -> None:
    one, shelf = both
    mine, its = shelf.within(ANN), one.within(ANN)
    for question in QUESTIONS:
        for how in WAYS:
            hits = mine.search(question, 50, how)
            assert hits_of(mine, question, how, 50) == hits_of(its, question, how, 50)
            assert {hit.chunk.document_id[:3] for hit in hits} <= {"ann"}
            for said in ([hit.explain() for hit in hits], mine.reduce(question, hits)):
                assert not any(secret in " ".join(texts_in(said)).lower() for secret in ("zorbl", "qwert", "bob-"))
            assert mine.search(question, 50, how, {"owner": "bob"}) == []
        assert mine.context(question, k=50) == its.context(question, k=50)
        assert mine.ask(question, k=50).text == its.ask(question, k=50).text
    assert mine.search("Zorblax", 50, "lexical") == []
    # Neither can the names of others be read where those of all shards are.
    with mine._file.database.read() as connection:
        assert connection.execute("SELECT count(*) FROM names WHERE key = 'zorblax'").fetchone() == (0,)
        with pytest.raises(sqlite3.DatabaseError, match="prohibited"):
            connection.execute("SELECT key FROM main.names")


def test_what_is_done_to_the_whole_shelf_is_refused(both: tuple[Monograph, Shelf], tmp_path: Path) -> None:
    view = both[1].within(ANN)
    for method, arguments in {
        "add": ([Document("A note.")],), "sync": (tmp_path,), "remove": (["ann-1"],), "publish": (), "forget": (),
        "reshard": (2,), "join": (tmp_path / "x.mono",), "refresh": (), "check": (), "costs": (),
    }.items():  # fmt: skip
        with pytest.raises(OutsideView, match=f"a view of {both[1].url} does no"):
            getattr(view, method)(*arguments)
    with pytest.raises(InputError, match="no tree of summaries"):
        view.search("comet", 3, "tree")


def test_views_of_views_narrow(both: tuple[Monograph, Shelf]) -> None:
    one, shelf = both
    view = shelf.within(ANN).within({"day": {">": 3}})
    assert view.stats().documents == 9
    assert shelf.within(ANN).within({"owner": "bob"}).stats().documents == 0
    its = one.within(ANN).within({"day": {">": 3}})
    assert hits_of(view, "Babbage in Oslo", "graph", 20) == hits_of(its, "Babbage in Oslo", "graph", 20)
    assert copy.deepcopy(view).stats() == view.stats()
    assert pickle.loads(pickle.dumps(view)).stats() == view.stats()
    with pytest.raises(InputError, match="needs a filter"):
        shelf.within({})
    with pytest.raises(InvalidFilter):
        shelf.within({"a": {"like": 1}})
    with pytest.raises(InputError, match="keeps no former versions"):
        shelf.within({"$valid": "2026", **ANN})


def test_threads_share_a_view_and_old_views_are_made_anew(
    both: tuple[Monograph, Shelf], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, shelf = both
    monkeypatch.setattr(views, "MOST", 2)
    found: dict[int, list[object]] = {}

    def look(number: int) -> None:
        where = {"day": {">": number % 6}}
        found[number] = [hits_of(shelf.within(where), "Charles Babbage", how, 20) for how in ("hybrid", "graph")]

    threads = [threading.Thread(target=look, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number in range(12):
        its = one.within({"day": {">": number % 6}})
        assert found[number] == [hits_of(its, "Charles Babbage", how, 20) for how in ("hybrid", "graph")]


def test_a_view_turns_with_its_shelf(tmp_path: Path) -> None:
    with Shelf.create(tmp_path / "there", shards=2, home=tmp_path / "here") as shelf:
        shelf.add(people()[:6])
        shelf.publish()
        view = shelf.within(ANN)
        assert view.stats().documents == 3
        shelf.add(people()[6:])
        shelf.publish()
        assert (view.version, view.stats().documents) == (3, 12)
        assert len(view.search("Babbage", 50, "lexical")) == 12
        view.close()
        assert view.search("Babbage", 1)
    with pytest.raises(ClosedFile):
        view.search("Babbage", 1)
    with pytest.raises(ClosedFile):
        shelf.within({"owner": "bob"}).search("Babbage", 1)
