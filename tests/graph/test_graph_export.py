"""Export of the graph to networkx and GraphML."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from monograph.errors import InputError, MissingExtra
from monograph.graph.export import SEPARATOR, to_graphml, to_networkx
from monograph.values import Chunk, Entity, Link, Neighbourhood

networkx = pytest.importorskip("networkx", reason="the extra graph is not installed")

HOSTILE = "a\0b\x07c\x1b[31m</data>&\ufffe\uffff\ud800 d\r\ne\rf"
CLEANED = "abc[31m</data>& d\ne\nf"


def entity(key: str, name: str, *names: str, documents: tuple[str, ...] = ()) -> Entity:
    return Entity(key, name, "person", (name, *names), 2, documents)


NEIGHBOURHOOD = Neighbourhood(
    centre=("e1",),
    entities=(
        entity("e1", "Ines Calder", "Miss Calder", documents=("d1",)),
        entity("e2", "Tobias Renk"),
        entity("e3", "Вена"),
    ),
    links=(
        Link("e1", "e2", 2.5, ("c1", "c2"), "They keep the house.", ("house", "mule")),
        Link("e1", "e3", 0.75, ("c2",)),
    ),
    chunks=(Chunk("c1", "d1", "Ines and Tobias.", 10, 26, 0), Chunk("c2", "d2", "来自南京的信 🪐", 0, 8, 1)),
    mentions=(("e1", "c1"), ("e2", "c1"), ("e1", "c2"), ("e2", "c2"), ("e3", "c2")),
    cut=3,
)


def test_a_graph_holds_every_node_and_edge_with_what_is_known_of_it() -> None:
    graph = to_networkx(NEIGHBOURHOOD)
    assert list(graph) == ["e1", "e2", "e3", "c1", "c2"]
    assert graph.nodes["e1"] == {
        "kind": "entity",
        "name": "Ines Calder",
        "type": "person",
        "names": ("Ines Calder", "Miss Calder"),
        "documents": ("d1",),
        "count": 2,
        "centre": True,
    }
    assert graph.nodes["c1"] == {"kind": "chunk", "document": "d1", "start": 10, "end": 26, "text": "Ines and Tobias."}
    assert graph.edges["e2", "e1"] == {
        "kind": "link",
        "weight": 2.5,
        "chunks": ("c1", "c2"),
        "description": "They keep the house.",
        "keywords": ("house", "mule"),
    }
    mentions = {frozenset((a, b)) for a, b, kind in graph.edges(data="kind") if kind == "mention"}
    assert mentions == {frozenset(pair) for pair in NEIGHBOURHOOD.mentions}
    assert graph.number_of_edges() == len(NEIGHBOURHOOD.links) + len(NEIGHBOURHOOD.mentions)


def test_networkx_algorithms_run_on_an_exported_graph() -> None:
    ranks = networkx.degree_centrality(to_networkx(NEIGHBOURHOOD))
    assert max(ranks, key=ranks.__getitem__) == "e1"
    assert networkx.shortest_path(to_networkx(NEIGHBOURHOOD), "e3", "c1") == ["e3", "e1", "c1"]


def test_links_in_both_directions_become_one_edge_that_loses_nothing() -> None:
    links = (
        Link("a", "b", 1.0, ("c1",), "found it", ("x",)),
        Link("b", "a", 0.5, ("c1", "c2"), "was found", ("y", "x")),
    )
    both = Neighbourhood(("a",), (entity("a", "A"), entity("b", "B")), links)
    assert to_networkx(both).edges["a", "b"] == {
        "kind": "link",
        "weight": 1.5,
        "chunks": ("c1", "c2"),
        "description": "found it\nwas found",
        "keywords": ("x", "y"),
    }


def test_graphml_read_again_is_the_same_graph(tmp_path: Path) -> None:
    path = tmp_path / "calder.graphml"
    to_graphml(NEIGHBOURHOOD, path)
    wanted = to_networkx(NEIGHBOURHOOD)
    for _, attributes in (*wanted.nodes(data=True), *((0, data) for *_, data in wanted.edges(data=True))):
        for key, value in attributes.items():
            attributes[key] = SEPARATOR.join(value) if isinstance(value, tuple) else value
    read = networkx.read_graphml(path)
    assert dict(read.nodes(data=True)) == dict(wanted.nodes(data=True))
    assert networkx.to_dict_of_dicts(read) == networkx.to_dict_of_dicts(wanted)
    assert [one.name for one in tmp_path.iterdir()] == ["calder.graphml"]


def test_an_empty_neighbourhood_is_an_empty_graph(tmp_path: Path) -> None:
    to_graphml(Neighbourhood((), (), ()), tmp_path / "empty.graphml")
    assert len(networkx.read_graphml(tmp_path / "empty.graphml")) == 0


def test_graphml_holds_hostile_text_without_what_xml_forbids(tmp_path: Path) -> None:
    links = (Link("e\x00", "f", 1.0, (HOSTILE,), HOSTILE, (HOSTILE, "<!--")),)
    hostile = Neighbourhood(
        ("f",),
        (Entity("e\x00", HOSTILE, HOSTILE, (HOSTILE,), 1), entity("f", "]]><script>")),
        links,
        (Chunk("c", HOSTILE, HOSTILE, 0, 0, 0),),
        (("e\x00", "c"),),
    )
    to_graphml(hostile, tmp_path / "hostile.graphml")
    read = networkx.read_graphml(tmp_path / "hostile.graphml")
    assert read.nodes["e"]["name"] == read.nodes["c"]["text"] == read.edges["e", "f"]["description"] == CLEANED
    assert read.edges["e", "f"]["keywords"] == f"{CLEANED}{SEPARATOR}<!--"
    assert read.nodes["f"]["name"] == "]]><script>"


def test_ids_that_xml_would_make_one_are_refused(tmp_path: Path) -> None:
    twins = Neighbourhood((), (entity("e", "E"), entity("e\x01", "E")), ())
    with pytest.raises(InputError, match="ids differ only"):
        to_graphml(twins, tmp_path / "twins.graphml")
    assert list(tmp_path.iterdir()) == []


def test_exported_graph_replaces_a_file_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "graph.graphml"
    path.write_text("older")
    unwritable = Neighbourhood((), (Entity("e", object(), "", (), 0),), ())  # type: ignore[arg-type]
    with pytest.raises(networkx.NetworkXError):
        to_graphml(unwritable, path)
    assert path.read_text() == "older"
    to_graphml(NEIGHBOURHOOD, path)
    assert len(networkx.read_graphml(path)) == 5
    assert list(tmp_path.iterdir()) == [path]


def test_export_of_a_graph_names_a_missing_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nowhere") as caught:
        to_graphml(NEIGHBOURHOOD, tmp_path / "nowhere" / "graph.graphml")
    assert "folder" in caught.value.hint


def test_without_networkx_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(MissingExtra) as caught:
        to_networkx(NEIGHBOURHOOD)
    assert caught.value.hint == 'pip install "monograph[graph]"'
