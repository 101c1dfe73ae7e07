"""A shelf of many files answers as one file of the same documents does."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monograph import Budget, Document, Monograph, Settings
from monograph.derive.openai_compatible import OpenAICompatible
from monograph.errors import InputError, NotFound, NotOnShelf
from monograph.explore import nodes
from monograph.library.graph import GraphReader
from monograph.shelf import Shelf, build, pools, remove
from monograph.values import Assertions
from support.corpora import QUERIES, SENTENCES, TITLES, Formulas, bounds, clustered_archive
from support.model_server import ModelServer
from support.models import HashEmbedder
from support.properties import examples
from support.shelves import HAN, HAN_QUERIES, WAYS, drawn_shelf, hits_of, shelf_of
from support.vector_server import VectorServer

FILTERS = (None, {"kind": "a"}, {"kind": {"in": ["a", "b"]}}, {"$title": "Green"}, {"number": {">=": 3}})


@settings(max_examples=examples(12))
@given(
    query=st.sampled_from(QUERIES),
    k=st.sampled_from([1, 2, 3, 20]),
    most=st.sampled_from([1, 2, 4, 100]),
    where=st.sampled_from(FILTERS),
    data=st.data(),
)
def test_a_shelf_finds_what_one_file_finds(
    empty: Path,
    tmp_path_factory: pytest.TempPathFactory,
    query: str,
    k: int,
    most: int,
    where: dict[str, object] | None,
    data: st.DataObject,
) -> None:
    with drawn_shelf(tmp_path_factory.mktemp("shelf"), data, empty) as (shelf, one):
        with bounds(most), pytest.MonkeyPatch.context() as patch:
            # No more than its share of the best is asked of a shard at first: often it has to be asked again.
            patch.setattr(pools, "SPREAD", 0.0)
            patch.setattr(pools, "MORE", 0)
            for how in (*WAYS, Formulas(most)):
                assert hits_of(shelf, query, how, k, where) == hits_of(one, query, how, k, where), how
        assert shelf.context(query).text == one.context(query).text
        assert shelf.ask(query).text == one.ask(query).text


NAMES = ("Green", "Anna Calder", "calder", "John Smith", "J. Smith", "Vienna", "NST", "Green (album)", "Zzyzx", "a")


def outcome(work: Any, *arguments: Any) -> Any:
    """The result of a method; NotFound for an unknown or ambiguous name."""
    try:
        return work(*arguments)
    except NotFound as error:
        return type(error)


def exported(graph: GraphReader, name: str = "") -> Any:
    """Nodes and edges as other programs have them, in their order."""
    made = graph.to_networkx(name)
    return list(made.nodes(data=True)), list(made.edges(data=True))


@pytest.mark.long
@settings(max_examples=examples(5))
@given(most=st.sampled_from([1, 3, 512]), data=st.data())
def test_shelf_graph_equals_the_graph_of_one_file(
    empty: Path, tmp_path_factory: pytest.TempPathFactory, most: int, data: st.DataObject
) -> None:
    with (
        drawn_shelf(tmp_path_factory.mktemp("shelf"), data, empty) as (shelf, one),
        pytest.MonkeyPatch.context() as patched,
    ):
        patched.setattr(nodes, "MOST_READ", most)
        graph, expected = GraphReader(shelf._file), one.graph
        names = [*NAMES, *(entity.name for entity in expected.entities(4))]
        calls: tuple[tuple[Any, ...], ...] = (
            ("entities", 100),
            ("entities", 3, "an"),
            *(("neighbourhood", name, hops, limit) for name in names for hops, limit in ((1, 60), (2, 3), (0, 1))),
            ("merges",),
            *(("merges", name) for name in names),
            *(("routes", names[-1], name) for name in names[-3:]),
            *(("of_document", document.id) for document in one.documents()[:5]),
        )
        for method, *arguments in calls:
            results = [outcome(getattr(each, method), *arguments) for each in (graph, expected)]
            assert results[0] == results[1], (method, arguments)
        for name in ("", names[-1]):
            assert outcome(exported, graph, name) == outcome(exported, expected, name)


def test_shelf_search_equals_one_file_for_text_without_spaces(tmp_path: Path) -> None:
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


DOCUMENTS = [
    Document(f"{SENTENCES[number % len(SENTENCES)]} It was note {number}.", id=f"d{number}", title=TITLES[number % 9])
    for number in range(40)
]


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Shelf]:
    build(tmp_path / "there", DOCUMENTS, shards=3, home=tmp_path / "here")
    with Shelf.open(tmp_path / "there", home=tmp_path / "here") as shelf:
        yield shelf


def test_shelf_reads_one_version_until_refreshed(made: Shelf, tmp_path: Path) -> None:
    with Shelf.open(made.url, home=tmp_path / "other") as reader, Monograph.open(tmp_path / "one.mono") as one:
        news = [Document("Anna Calder sold the lamp oil.", id="d3"), Document("The NST was lost.", id="new")]
        build(made.url, news, home=tmp_path / "here")
        remove(made.url, ["d5", "d6"], home=tmp_path / "here")
        assert reader.version == 1
        assert {hit.chunk.document_id for hit in reader.search("note", 50, "lexical")} == {one.id for one in DOCUMENTS}
        assert reader.refresh() == made.refresh() == 3
        one.add(document for document in DOCUMENTS if document.id not in ("d3", "d5", "d6"))
        one.add(news)
        for query in QUERIES:
            for how in ("lexical", "hybrid", "graph"):
                expected = hits_of(one, query, how, 5)
                assert hits_of(reader, query, how, 5) == hits_of(made, query, how, 5) == expected, (query, how)
        stats, told = one.stats(), reader.stats()
        assert (told.documents, told.chunks, told.entities, told.merged) == (
            stats.documents, stats.chunks, stats.entities, stats.merged,
        )  # fmt: skip
        assert sum(told.documents_by_shard) == 39
        assert min(told.documents_by_shard) > 0
        assert reader.check() == []
        assert reader.document("new").text == "The NST was lost."
        with pytest.raises(NotFound, match="no document 'd5'"):
            reader.document("d5")
    with Shelf.open(made.url, version=2, home=tmp_path / "here") as before:
        assert before.document("d5").text == DOCUMENTS[5].text


def test_shards_stop_at_the_given_condition(tmp_path: Path) -> None:
    with shelf_of([clustered_archive(tmp_path / "a.mono")], tmp_path) as shelf:

        def loads(**options: Any) -> set[int]:
            hits = shelf.search("which comet of 1850?", 3, "dense", **options)
            return {origin.effort.loads for hit in hits for origin in hit.origins if origin.effort}

        assert loads(stop="budget:loads=1") == loads(stop=Budget(1)) == {1}
        assert loads(stop="never") == loads(ranked_recall=0.9) == {2}
        with pytest.raises(InputError, match="searches no vectors"):
            shelf.search("Anna Calder", how="lexical", ranked_recall=0.9)


def test_catalogue_with_other_names_is_detected(made: Shelf) -> None:
    with made._file.database.read() as connection:
        path = connection.execute("PRAGMA database_list").fetchone()[2]
    made.close()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE names SET uses = uses + 1 WHERE key = 'anna calder'")
    with Shelf.open(made.url, home=Path(path).parents[1]) as again:
        (found,) = again.check()
    assert found.table == "catalogue"
    assert "its names" in found.fault
    assert "--replace" in found.hint


def test_shelf_refuses_operations_of_a_single_file(made: Shelf, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no tree of summaries"):
        made.search("comet", 3, "tree")
    for name in ("tree", "within", "as_of", "versions", "vectors", "files", "compact"):
        with pytest.raises(NotOnShelf, match=rf"is a shelf, which has no {name} .*Monograph\.open\(path\)\.{name}"):
            getattr(made, name)
        assert not hasattr(made, name)
    for name in ("add", "put", "remove", "sync"):
        with pytest.raises(NotOnShelf, match=r"monograph\.shelf\.build"):
            getattr(made, name)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        made.nothing  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(NotOnShelf, match="monograph sync FILE FOLDER --history"):
        build(tmp_path / "other", DOCUMENTS, settings=Settings(history=True))


def test_shelf_graph_refuses_operations_of_a_single_file(made: Shelf) -> None:
    assert made.graph.assertions(["Anna Calder"]) == Assertions({}, ())
    assert made.graph.nearest_assertions([1.0, 2.0], 5) == []
    with pytest.raises(NotFound, match=r"there.* contains no name like 'Qqqq'"):
        made.graph.neighbourhood("Qqqq")
    with pytest.raises(InputError, match="give 1 or more"):
        made.graph.routes("Anna Calder", "Turin", 0)
    for name in ("add", "remove", "keep_apart", "unite", "rebuild"):
        with pytest.raises(NotOnShelf, match=rf"graph of .*there, a shelf, has no {name} .*\.graph\.{name}"):
            getattr(made.graph, name)


def test_shelf_stores_no_replies_of_models(tmp_path: Path) -> None:
    url, home = str(tmp_path / "shelf"), tmp_path / "home"
    towns = ("London", "Turin", "Vienna", "Lisbon", "Oslo")
    letters = [Document(f"Ada Lovelace wrote to Charles Babbage from {town}.", id=town) for town in towns]
    build(url, letters, shards=3, embedder=HashEmbedder(), home=home)
    with Monograph.open(tmp_path / "one.mono", HashEmbedder()) as one:
        one.add(letters)
    with ModelServer() as server, VectorServer() as vectors:
        model = OpenAICompatible(server.url, "scripted", retries=0)
        given = {"embedder": HashEmbedder(), "model": model, "reranker": f"rerank:{vectors.url}#scorer"}
        question = "Who wrote to Charles Babbage from Turin?"
        with Monograph.open(tmp_path / "one.mono", read_only=True, **given) as one:  # type: ignore[arg-type]
            expected = one.ask(question).text
        before = set(home.rglob("*.mono"))
        for count in (2, 3):
            with Shelf.open(url, home=home, **given) as shelf:  # type: ignore[arg-type]
                assert shelf.ask(question).text == expected
            assert (server.calls, len(vectors.asked)) == (count, count)
        assert {path.parent for path in home.rglob("*.mono") if path not in before} == {home / "objects"}
