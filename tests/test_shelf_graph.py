"""Looking round in a shelf, or in a view of one, shows what looking round in one file shows."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dealing import dealt_files, empty_file, marked
from monograph import Document, Monograph
from monograph.errors import InputError, MonographError, NotFound
from monograph.explore import nodes
from monograph.library.graph_reading import GraphReading
from monograph.shelf import Shelf
from monograph.values import Told, ToldNode, ToldRelation
from test_order import BagEmbedder, corpora
from test_shelf import shelf_of
from test_shelf_views import VIEWS, view_of
from test_views import ANN, people, told_by

NAMES = ("Green", "Anna Calder", "calder", "John Smith", "J. Smith", "Vienna", "NST", "Green (album)", "Zzyzx", "a")


def outcome(work: Any, *arguments: Any) -> Any:
    """What a method gives; of an error its kind, as what it says names the file or the shelf."""
    try:
        return work(*arguments)
    except MonographError as error:
        return type(error)


def exported(graph: GraphReading, name: str = "") -> Any:
    """Nodes and edges as other programs have them, in their order."""
    made = graph.to_networkx(name)
    return list(made.nodes(data=True)), list(made.edges(data=True))


def in_order(told: Told) -> object:
    """What was told, with the order in which it was, as plain values."""
    return [
        (one.id, one.name, one.label, sorted(one.properties.items(), key=str), one.origins)
        for one in told.nodes.values()
    ], [(one.source, one.label, one.target, sorted(one.properties.items()), one.origins) for one in told.relations]


def same(mine: GraphReading, its: GraphReading, documents: list[str]) -> None:
    shown = its.entities(100)
    assert mine.entities(100) == shown
    assert mine.entities(3, "an") == its.entities(3, "an")
    assert mine.merges() == its.merges()
    assert exported(mine) == exported(its)
    names = [*NAMES, *(one.name for one in shown[:4])]
    for name in names:
        for hops, limit in ((1, 60), (2, 3), (0, 1)):
            wanted = outcome(its.neighbourhood, name, hops, limit)
            assert outcome(mine.neighbourhood, name, hops, limit) == wanted, name
        assert outcome(mine.merges, name) == outcome(its.merges, name), name
    assert outcome(exported, mine, names[-1]) == outcome(exported, its, names[-1])
    for other in names[-3:]:
        assert outcome(mine.routes, names[-1], other) == outcome(its.routes, names[-1], other)
    for one in documents[:5]:
        assert outcome(mine.of_document, one) == outcome(its.of_document, one)


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return empty_file(tmp_path_factory.mktemp("empty"))


@settings(max_examples=5, deadline=None)
@given(
    corpus=corpora(),
    shards=st.integers(1, 4),
    view=st.sampled_from(VIEWS),
    most=st.sampled_from([1, 3, 512]),
    data=st.data(),
)
def test_it_shows_what_one_file_shows(
    empty: Path,
    tmp_path_factory: pytest.TempPathFactory,
    corpus: tuple[list[Document], object],
    shards: int,
    view: dict[str, object],
    most: int,
    data: st.DataObject,
) -> None:
    documents, folder = marked(corpus[0]), tmp_path_factory.mktemp("shelf")
    files = dealt_files(empty, folder, documents, shards, data)
    with (
        Monograph.open(shutil.copy(empty, folder / "one.mono"), BagEmbedder(8)) as one,
        shelf_of(files, folder, BagEmbedder(8)) as shelf,
        pytest.MonkeyPatch.context() as patched,
    ):
        one.add(documents)
        patched.setattr(nodes, "MOST_READ", most)
        ids = [document.id for document in documents]
        same(GraphReading(shelf._file), one.graph, ids)
        same(GraphReading(view_of(shelf, view)._file), one.within(view).graph, ids)


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Monograph, Shelf]]:
    """A file and a shelf, of which callers told."""
    folder = tmp_path_factory.mktemp("graph")
    with Monograph.open(folder / "one.mono") as one:
        one.add(people())
        for origin, name in (("ann-1", "Ada Lovelace"), ("bob-1", "Zorblax"), ("", "Qwertium")):
            one.graph.tell(*told_by(origin, name))
        one.graph.tell(
            [ToldNode("v", "Vienna", origins=("ann-2",)), ToldNode("b", "Charles Babbage", origins=("ann-3",))],
            [
                ToldRelation("v", "pleased", "b", origins=("ann-3", "bob-2", one.chunks("ann-4")[0].id)),
                ToldRelation("v", "bored", "z", origins=("bob-2",)),
            ],
        )
        one.graph.set_apart("Ada Lovelace", "Charles Babbage")
        with Shelf.split(folder / "one.mono", folder / "there", 3, home=folder / "here") as shelf:
            yield one, shelf


def test_what_callers_told_is_shown(both: tuple[Monograph, Shelf], tmp_path: Path) -> None:
    one, shelf = both
    for mine, its in ((shelf, one), (shelf.within(ANN), one.within(ANN))):
        for ids in (None, ["v"], ["Oslo", "Zorblax"], ["nothing"], []):
            assert in_order(mine.graph.told(ids)) == in_order(its.graph.told(ids))
        for k, where in ((1, None), (5, None), (5, {"of": {"!=": "Qwertium"}})):
            mine_like, its_like = (one.graph.told_like([1.0, 2.0, 0.5], k, where=where) for one in (mine, its))
            assert [(node.id, cosine) for node, cosine in mine_like] == [(node.id, cosine) for node, cosine in its_like]
            assert mine_like
        assert mine.graph.told_like([1.0, 2.0], 5) == []
        for name in ("", "Oslo"):
            mine.graph.to_graphml(tmp_path / "mine.graphml", name)
            its.graph.to_graphml(tmp_path / "its.graphml", name)
            assert (tmp_path / "mine.graphml").read_bytes() == (tmp_path / "its.graphml").read_bytes()
    for mine, its in ((shelf, one), (shelf.within(ANN), one.within(ANN))):
        same(mine.graph, its.graph, ["ann-1", "letters/3", "bob-1", "nothing"])
        for name in ("Charles Babbage", "Oslo", "Ada Lovelace", "Zorblax"):
            assert outcome(mine.graph.neighbourhood, name, 2) == outcome(its.graph.neighbourhood, name, 2)
        assert mine.documents() == its.documents()
        for listing in (("letter", 1, 3), ("", 4, 5), ("nothing", 0, 9)):
            assert mine.listed(*listing) == its.listed(*listing)
        for name in ("ann-3", "letters/4", "bob-2", "nothing"):
            assert outcome(mine.chunks, name) == outcome(its.chunks, name)
        ids = [chunk.id for name in ("ann-5", "bob-1") for chunk in one.chunks(name)]
        assert list(map(repr, mine.fetch([*ids, "nothing"]))) == list(map(repr, its.fetch([*ids, "nothing"]))) != []
        assert list(map(repr, mine.fetch(ids, where={"day": 5}))) == list(map(repr, its.fetch(ids, where={"day": 5})))
        hits = mine.search("Charles Babbage in Oslo", 20, "graph")
        assert mine.graph.on_paths(hit.path for hit in hits if hit.path) == its.graph.on_paths(
            hit.path for hit in hits if hit.path
        )
    with pytest.raises(NotFound, match=r"there.* names nothing like 'Qqqq'"):
        shelf.graph.neighbourhood("Qqqq")
    with pytest.raises(InputError, match="at least 1"):
        shelf.graph.routes("Oslo", "Turin", 0)
