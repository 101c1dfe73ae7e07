"""Routes between two entities."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import networkx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monograph import Document, Monograph
from monograph.errors import InputError, NotFound
from monograph.explore.routes import routes
from monograph.values import Entity, Link, Neighbourhood
from support.properties import examples

pairs = st.tuples(st.integers(0, 7), st.integers(0, 7)).filter(lambda pair: pair[0] < pair[1])
webs = st.dictionaries(pairs, st.integers(1, 5), max_size=16)


def part(web: dict[tuple[int, int], int]) -> Neighbourhood:
    links = tuple(Link(str(one), str(other), weight, ("c",)) for (one, other), weight in web.items())
    return Neighbourhood(("0",), tuple(Entity(str(n), f"name {n}", "name") for n in range(8)), links)


@settings(max_examples=examples(150))
@given(web=webs, start=st.integers(0, 7), end=st.integers(0, 7), hops=st.integers(1, 5), most=st.integers(1, 4))
def test_routes_are_the_shortest_by_their_lightest_link(
    web: dict[tuple[int, int], int], start: int, end: int, hops: int, most: int
) -> None:
    graph = networkx.Graph()
    graph.add_nodes_from(range(8))
    graph.add_edges_from(web)
    expected: list[float] = []
    if start != end and networkx.single_source_shortest_path_length(graph, start, hops).get(end):
        for way in networkx.all_shortest_paths(graph, start, end):
            expected.append(min(web[min(a, b), max(a, b)] for a, b in pairwise(way)))
    some, rest = (dict(list(web.items())[half::2]) for half in (0, 1))
    found = routes((part(some), part(rest)), {str(start)}, {str(end)}, hops, most)
    assert [min(link.weight for link in one.links) for one in found] == sorted(expected, reverse=True)[:most]
    for one in found:
        assert (one.entities[0].id, one.entities[-1].id) == (str(start), str(end))
        for link, a, b in zip(one.links, one.entities, one.entities[1:], strict=False):
            assert {link.source, link.target} == {a.id, b.id}


def test_routes_over_many_equal_ways_are_found_at_once() -> None:
    """All links except the last are heavy, so that 20 to the power of 9 routes have the same lightest link."""
    layers = [["start"], *([f"{layer}-{n}" for n in range(20)] for layer in range(9)), ["end"]]
    links = tuple(
        Link(min(one, other), max(one, other), 1 if other == "end" else 9, ("c",))
        for layer, further in pairwise(layers)
        for one in layer
        for other in further
    )
    entities = tuple(Entity(name, name, "name") for layer in layers for name in layer)
    found = routes([Neighbourhood(("start",), entities, links)], {"start"}, {"end"}, 12, 3)
    assert [len(one.links) for one in found] == [10, 10, 10]
    assert len({one.entities for one in found}) == 3


@settings(max_examples=examples(3))
@given(pairs=st.sets(pairs, min_size=4, max_size=12))
def test_more_hops_or_a_higher_limit_never_find_fewer_routes(pairs: set[tuple[int, int]]) -> None:
    names = [f"{first} Calder" for first in ("Anna", "Tobias", "Peter", "Mary", "Ida", "Otto", "Vera", "Max")]
    with TemporaryDirectory() as folder, Monograph.open(Path(folder) / "x.mono") as monograph:
        monograph.add(
            [Document(f"{names[one]} met {names[other]}.", id=f"{one}-{other}") for one, other in sorted(pairs)]
        )
        first, *_, last = sorted({name for pair in pairs for name in pair})
        found = [monograph.graph.routes(names[first], names[last], hops, 100) for hops in (1, 2, 3, 4, 12, 2**63)]
        shortest = next((one for one in found if one), [])
        assert all(one in ([], shortest) for one in found)
        assert [bool(one) for one in found] == sorted(bool(one) for one in found)
        for limit in (1, 2):
            assert monograph.graph.routes(names[first], names[last], 12, limit) == shortest[:limit]


def test_routes_are_found_in_a_file(monograph: Monograph) -> None:
    facts = ("Mrs Grubb wrote to Tobias Renk.", "Tobias Renk met Anna Calder. Anna Calder lives in Vienna.")
    monograph.add(Document(fact) for fact in (*facts, "Anna Calder gave the plates to Peter Okafor."))
    (way,) = monograph.graph.routes("Mrs Grubb", "Peter Okafor")
    assert [one.name for one in way.entities] == ["Mrs Grubb", "Tobias Renk", "Anna Calder", "Peter Okafor"]
    assert all(len(monograph.fetch(link.chunks)) == len(link.chunks) > 0 for link in way.links)
    assert monograph.graph.routes("Mrs Grubb", "Peter Okafor", hops=2) == []
    assert len(monograph.graph.routes("Mrs Grubb", "Tobias Renk", hops=1)) == 1
    assert monograph.graph.routes("Renk", "Tobias Renk") == []
    with pytest.raises(NotFound):
        monograph.graph.routes("Mrs Grubb", "Nobody")
    for wrong in ({"hops": 0}, {"limit": 0}):
        with pytest.raises(InputError, match="is 0"):
            monograph.graph.routes("Mrs Grubb", "Renk", **wrong)
