"""Looking round in a shelf shows what looking round in one file shows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monograph import Document
from monograph.errors import InputError, MonographError, NotFound, NotOnShelf
from monograph.explore import nodes
from monograph.library.graph import GraphReader
from monograph.shelf import Shelf, build
from monograph.values import Assertions
from support.corpora import corpora
from support.properties import examples
from support.shelves import drawn_shards, marked, shelf_beside_file

NAMES = ("Green", "Anna Calder", "calder", "John Smith", "J. Smith", "Vienna", "NST", "Green (album)", "Zzyzx", "a")


def outcome(work: Any, *arguments: Any) -> Any:
    """What a method gives; of an error its kind, as what it says names the file or the shelf."""
    try:
        return work(*arguments)
    except MonographError as error:
        return type(error)


def exported(graph: GraphReader, name: str = "") -> Any:
    """Nodes and edges as other programs have them, in their order."""
    made = graph.to_networkx(name)
    return list(made.nodes(data=True)), list(made.edges(data=True))


def same(mine: GraphReader, its: GraphReader, documents: list[str]) -> None:
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


@pytest.mark.long
@settings(max_examples=examples(5))
@given(
    corpus=corpora(),
    shards=st.integers(1, 4),
    most=st.sampled_from([1, 3, 512]),
    data=st.data(),
)
def test_shelf_graph_equals_the_graph_of_one_file(
    empty: Path,
    tmp_path_factory: pytest.TempPathFactory,
    corpus: tuple[list[Document], object],
    shards: int,
    most: int,
    data: st.DataObject,
) -> None:
    documents, folder = marked(corpus[0]), tmp_path_factory.mktemp("shelf")
    dealt = drawn_shards(documents, shards, data)
    with (
        shelf_beside_file(folder, documents, dealt, shards, empty) as (shelf, one),
        pytest.MonkeyPatch.context() as patched,
    ):
        patched.setattr(nodes, "MOST_READ", most)
        same(GraphReader(shelf._file), one.graph, [document.id for document in documents])


def test_shelf_graph_refuses_operations_of_a_single_file(tmp_path: Path) -> None:
    build(tmp_path / "there", [Document("Anna Calder met Peter Okafor in Oslo.")], home=tmp_path / "here")
    with Shelf.open(tmp_path / "there", home=tmp_path / "here") as shelf:
        assert shelf.graph.assertions(["Oslo"]) == Assertions({}, ())
        assert shelf.graph.nearest_assertions([1.0, 2.0], 5) == []
        with pytest.raises(NotFound, match=r"there.* contains no name like 'Qqqq'"):
            shelf.graph.neighbourhood("Qqqq")
        with pytest.raises(InputError, match="give 1 or more"):
            shelf.graph.routes("Oslo", "Turin", 0)
        for name in ("add", "remove", "keep_apart", "unite", "rebuild"):
            with pytest.raises(NotOnShelf, match=rf"graph of .*there, a shelf, has no {name} .*\.graph\.{name}"):
                getattr(shelf.graph, name)
