"""Graph printed in a terminal."""

from __future__ import annotations

import re

import pytest

from monograph.app.graph_commands import print_entities, print_neighbourhood
from monograph.values import Chunk, Document, Entity, Link, Merge, Neighbourhood

INES = Entity("e1", "Ines Calder", "person", ("Ines Calder", "Miss Calder"), 4, ("comet.md",))
COMET = Entity("e2", "comet", "event", ("comet", "1963c"), 3)
VIENNA = Entity("e3", "Vienna", "place", ("Vienna",), 2)
GRAZ = Entity("e4", "Graz", "place", ("Graz",), 1)
NEIGHBOURHOOD = Neighbourhood(
    centre=("e1",),
    entities=(INES, VIENNA, COMET, GRAZ),
    links=(
        Link("e1", "e2", 2.5, ("c1", "c2"), "She found it.", ("discovery",)),
        Link("e2", "e3", 1.25, ("c1",)),
        Link("e1", "e2", 0.5, ("c2",)),
    ),
    chunks=tuple(Chunk(f"c{n}", "comet.md", f"Chunk {n} of the comet.", 20 * n, 20 * n + 18, n) for n in range(7)),
    cut=2,
)


def said(capsys: pytest.CaptureFixture[str]) -> str:
    return "\n".join(line.rstrip() for line in capsys.readouterr().out.splitlines())


def test_neighbourhood_is_printed_by_hops(capsys: pytest.CaptureFixture[str]) -> None:
    print_neighbourhood(NEIGHBOURHOOD)
    out = said(capsys)
    lines = [line.split() for line in out.splitlines()]
    assert out.startswith("Ines Calder\nperson, named in 4 chunks\nalso Miss Calder\nthe subject of comet.md\n")
    assert ["1", "comet", "event", "2.50", "2"] in lines
    assert ["2", "Vienna", "place", "1.25", "1", "comet"] in lines
    assert lines.index(["1", "comet", "event", "2.50", "2"]) < lines.index(
        ["2", "Vienna", "place", "1.25", "1", "comet"]
    )
    assert "not linked to these: Graz" in out
    assert "2 neighbours left out" in out
    assert "Ines Calder — comet: She found it. (discovery)" in out
    assert "comet.md:0-18\n   Chunk 0 of the comet." in out
    assert "Chunk 4 of" in out and "Chunk 5 of" not in out
    assert "and 2 chunks more" in out


def test_titles_and_places_are_printed_for_ids(capsys: pytest.CaptureFixture[str]) -> None:
    ids = ("0f" * 16, "1e" * 16)
    chunk = Chunk("2d" * 16, ids[0], "She found it.", 100, 113, 4, {"section": "The comet > April", "page": 7})
    documents = (
        Document(id=ids[0], title="The comet", uri="/notes/comet.pdf"),
        Document(id=ids[1], title="Ines Calder", uri="/notes/calder.md"),
    )
    entity = Entity("3c" * 16, "Ines Calder", "person", ("Ines Calder",), 1, (ids[1],))
    print_neighbourhood(Neighbourhood((entity.id,), (entity,), (), (chunk,), documents=documents))
    out = said(capsys)
    assert "the subject of Ines Calder\n" in out
    assert "The comet › April\npage 7 of /notes/comet.pdf:100-113\n   She found it." in out
    assert not re.search(r"[0-9a-f]{32}", out)


def test_empty_results_print_nothing_found(capsys: pytest.CaptureFixture[str]) -> None:
    print_neighbourhood(Neighbourhood((), (), ()))
    print_entities([])
    assert said(capsys) == "nothing found\nnothing found"


def test_entities_and_merges_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    merges = [
        Merge("m1", "Ines Calder", "Miss Calder", "family name", "in 3 documents"),
        Merge("m2", "Vienna", "Wien", "by hand", "", undone=True),
    ]
    print_entities([INES, VIENNA], merges)
    rows = [" ".join(line.split()) for line in said(capsys).splitlines()]
    assert "Ines Calder person 4 Miss Calder e1" in rows
    assert "Miss Calder Ines Calder family name: in 3 documents m1" in rows
    assert "Wien Vienna by hand (undone) m2" in rows


def test_hostile_names_are_printed_on_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    hostile = "\x1b[2J\x07[red]x\ny\u202e" + "z" * 10_000
    centre = Entity("e1", hostile, hostile, (hostile, f"{hostile}2"), 1, (hostile,))
    link = Link("e1", "e2", 1.0, ("c1",), hostile, (hostile,))
    chunk = Chunk("c1", hostile, hostile, 0, 9, 0)
    print_neighbourhood(Neighbourhood(("e1",), (centre, Entity("e2", hostile, "x")), (link,), (chunk,)))
    print_entities([centre], [Merge("m", hostile, hostile, hostile, hostile)])
    out = capsys.readouterr().out
    assert all(one.isprintable() or one == "\n" for one in out)
    assert "\\x1b[2J\\x07[red]x" in out
    assert out.count("z") < 11_500  # Only the id of a document is printed in full.
