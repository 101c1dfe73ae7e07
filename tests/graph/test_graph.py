"""Graph of entities and chunks: changes, resolution of names and search."""

from __future__ import annotations

import tempfile
from collections.abc import Collection
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from monograph import Document, Monograph
from monograph.derive.extract.pattern import mentions as pattern_mentions
from monograph.errors import ModelMismatch
from monograph.graph.build import document_part
from monograph.graph.chunk_names import MOST_NAMES
from monograph.graph.resolve import LARGEST_GROUP
from monograph.search.names import title_phrases
from monograph.values import Extraction, Mention, Relation
from support.contents import graph_of
from support.models import CapitalExtractor, HashEmbedder
from support.properties import examples
from support.raw_sql import connected

SENTENCES = (
    "Arthur Francis Lane (11 June 1910 – April 1987) was a British actor.",
    "Lane joined the North Atlantic Treaty Organization (NATO) in 1949.",
    "Arthur Lane starred in Payment on Demand.",
    "Payment on Demand is a film directed by Curtis Bernhardt.",
    "Curtis Bernhardt was a German film director born in Worms.",
    "NATO met Curtis Bernhard in Paris on 3 May 1950.",
    "J. Smith wrote to John Smith about solar panels.",
    "John Smith (born 1950) is an engineer who sold a solar panel in Worms.",
    "the owner of the boiler spoke: nothing is named here",
)
TITLES = ("", "Payment on Demand", "Green (album)", "Green (band)", "Worms", "Arthur Lane (actor)")


texts = st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=5).map(" ".join)
changes = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.integers(0, 5), st.sampled_from(TITLES), texts),
        st.tuples(st.just("remove"), st.integers(0, 5)),
        st.tuples(st.just("compact")),
    ),
    min_size=1,
    max_size=10,
)


@settings(max_examples=examples(40), suppress_health_check=[HealthCheck.too_slow])
@given(changes)
def test_after_any_changes_the_graph_is_that_of_a_fresh_build(steps: list[tuple[Any, ...]]) -> None:
    held: dict[str, Document] = {}
    with tempfile.TemporaryDirectory() as folder:
        with Monograph.open(Path(folder) / "a.mono", HashEmbedder()) as monograph:
            for kind, *rest in steps:
                if kind == "put":
                    number, title, text = rest
                    document = Document(text, f"d{number}", title)
                    held[document.id] = document
                    monograph.add([document])
                elif kind == "compact":
                    monograph.compact()
                elif f"d{rest[0]}" in held:
                    del held[f"d{rest[0]}"]
                    monograph.remove([f"d{rest[0]}"])
            assert monograph.check() == []
            changed = graph_of(monograph)
        with Monograph.open(Path(folder) / "b.mono", HashEmbedder()) as fresh:
            fresh.add(sorted(held.values(), key=lambda one: one.id, reverse=True))
            assert changed == graph_of(fresh)


@pytest.mark.long
def test_a_group_that_grows_too_large_and_shrinks_again_is_that_of_a_fresh_build(tmp_path: Path) -> None:
    letters = [f"{'abcdefgh'[n // 64]}{'abcdefgh'[n // 8 % 8]}{'abcdefgh'[n % 8]}" for n in range(LARGEST_GROUP)]
    documents = [
        Document("Wolfgang Schultz wrote to Wolfgang Schulz.", "alike"),
        Document("Wolfram Schulman wrote to the W. Schulman.", "short"),
        *(Document(f"Then W{some}{some} Schul{some} wept.", some) for some in letters),
    ]
    held = [documents[:2], documents[: LARGEST_GROUP // 2], documents, documents[:1] + documents[9:], documents[:20]]

    def merges(monograph: Monograph) -> list[Any]:
        assert monograph.check() == []
        found: list[Any] = graph_of(monograph)["names"]
        return found

    with Monograph.open(tmp_path / "a.mono", HashEmbedder()) as changed:
        ids: set[str] = set()
        for number, some in enumerate(held):
            changed.remove(ids - {one.id for one in some})
            changed.add(some)
            ids = {one.id for one in some}
            with Monograph.open(tmp_path / f"{number}.mono", HashEmbedder()) as fresh:
                fresh.add(some)
                assert merges(changed) == merges(fresh)
            spelt = [key for key, *_, reason in merges(changed) if reason == "spelling"]
            assert spelt == ["wolfgang schulz"] * (len(some) < LARGEST_GROUP)


def test_pending_resolution_survives_forgetting_a_name(tmp_path: Path) -> None:
    path = tmp_path / "a.mono"
    with Monograph.open(path) as monograph:
        monograph.add([Document("J. Smith wrote.", "short"), Document("John Smith is an engineer.", "long")])
        before = graph_of(monograph)["names"]
        monograph.remove(["long"])
        after = graph_of(monograph)["names"]
    # State after a writer was killed: the name is removed, but its forms are not resolved yet.
    with closing(connected(path)) as connection:
        connection.execute("INSERT INTO unresolved SELECT name FROM names WHERE key = 'john smith'")
        connection.execute(
            """UPDATE names SET reason = 'initials', head = (SELECT name FROM names WHERE key = 'john smith')
            WHERE key = 'j smith'"""
        )
    with Monograph.open(path) as monograph:
        monograph.compact()
        monograph.add([Document("it burst", "other")])
        assert graph_of(monograph)["names"] == after != before


def test_removing_everything_leaves_nothing(monograph: Monograph) -> None:
    monograph.add([Document(" ".join(SENTENCES), "one", "Worms")])
    monograph.remove(["one"])
    assert not any(graph_of(monograph).values())
    monograph.compact()
    with monograph._file.database.read() as connection:
        assert connection.execute("SELECT count(*) FROM names").fetchone() == (0,)
        assert connection.execute("SELECT count(*) FROM memo").fetchone() == (0,)


def test_forms_of_one_name_become_one_entity(monograph: Monograph) -> None:
    monograph.add([Document(text, f"d{at}") for at, text in enumerate(SENTENCES)])
    names = {key: (head, reason) for key, _, _, head, reason in graph_of(monograph)["names"]}
    assert names["arthur lane"] == ("arthur francis lane", "middle name")
    assert names["j smith"] == ("john smith", "initials")
    assert names["nato"] == ("north atlantic treaty organization", "abbreviation")
    assert names["curtis bernhard"] == ("curtis bernhardt", "spelling")
    assert names["solar panels"] == ("solar panel", "plural")
    assert names["worms"] == (None, None)
    # A form that is left alone is its own head again.
    monograph.remove(["d4", "d3"])
    assert {key: head for key, _, _, head, _ in graph_of(monograph)["names"]}["curtis bernhard"] is None


def test_two_persons_of_one_short_name_are_kept_apart(monograph: Monograph) -> None:
    monograph.add(
        [
            Document("John Paul Smith (born 1950) is a poet.", "a"),
            Document("John Adam Smith (born 1960) is a judge.", "b"),
            Document("A letter came from John Smith.", "c"),
        ]
    )
    assert {key: head for key, _, _, head, _ in graph_of(monograph)["names"]}["john smith"] is None


def test_graph_search_reaches_the_second_hop(monograph: Monograph) -> None:
    monograph.add(
        [
            Document("Payment on Demand is a film directed by Curtis Bernhardt.", "film", "Payment on Demand"),
            Document("Curtis Bernhardt was born in Worms to Jewish parents.", "director", "Curtis Bernhardt"),
            *(Document(f"Director {n} was born in town {n}, on demand.", f"x{n}", f"Director {n}") for n in range(60)),
        ]
    )
    hits = monograph.search("Where was the director of Payment on Demand born?", 2)
    assert [hit.chunk.document_id for hit in hits] == ["film", "director"]
    assert hits[1].path is not None
    assert [node.name for node in hits[1].path.nodes][:2] == ["question", "Payment on Demand"]
    assert hits[1].path.nodes[-1].id == hits[1].chunk.id
    assert "Payment on Demand → " in hits[1].explain()
    assert {origin.retriever for origin in hits[1].origins} >= {"graph"}


def test_graph_search_never_passes_forbidden_chunks(monograph: Monograph) -> None:
    ours, theirs = {"team": "a"}, {"team": "b"}
    film = "Payment on Demand is a film directed by Curtis Bernhardt."
    monograph.add([Document(film, "film", "Payment on Demand", metadata=theirs)])
    monograph.add([Document("Curtis Bernhardt was born in Worms.", "director", "Curtis Bernhardt", metadata=ours)])
    monograph.add(Document(f"Note {n} says little.", f"x{n}", metadata=ours) for n in range(5))
    hits = monograph.search("Who directed Payment on Demand?", 9, where=ours)
    assert {hit.chunk.document_id for hit in hits} <= {"director", *(f"x{n}" for n in range(5))}
    forbidden = {chunk.id for chunk in monograph.chunks("film")}
    assert not any(node.id in forbidden for hit in hits if hit.path for node in hit.path.nodes)


@pytest.mark.parametrize(
    "text",
    [
        ", ".join(f"Person{n} Name{n}" for n in range(10_000)),
        "A. B. C. D. E.",
        "the the the",
        "\0 \u200b \ufeff 🎉",
        "Zoë Müller-Lüdenscheidt met zoe muller ludenscheidt and ZOË MÜLLER-LÜDENSCHEIDT.",
    ],
    ids=["ten thousand names", "letters", "a hub", "marks", "one name in three spellings"],
)
def test_odd_texts_make_a_graph_and_are_found(monograph: Monograph, text: str) -> None:
    monograph.add([Document(text, "odd"), Document("The keeper of the lighthouse.", "plain")])
    assert monograph.check() == []
    for question in ("", "?", "the", "Zoë Müller-Lüdenscheidt", "Person1 Name1", "a b c", "x" * 5_000):
        assert {hit.chunk.document_id for hit in monograph.search(question, 50)} <= {"odd", "plain"}
    monograph.remove(["odd"])
    assert [name[0] for name in graph_of(monograph)["names"] if "muller" in name[0]] == []


def test_a_name_in_every_chunk_is_not_followed(monograph: Monograph) -> None:
    monograph.add(
        Document(f"LiHua: Hello number {n}, how is {['Ann', 'Bob', 'Eve'][n % 3]} today?", f"d{n}") for n in range(200)
    )
    hits = monograph.search("What did LiHua ask about Bob?", 5)
    assert len(hits) == 5
    assert all("Bob" in hit.chunk.text for hit in hits)


def test_names_beyond_the_limit_and_without_a_word_are_dropped() -> None:
    mentions = [Mention("!", "person", 0, 1), *(Mention(f"N{n}", "name", n, n + 1) for n in range(1, MOST_NAMES + 50))]
    part = document_part("", ["x" * 1_000], [Extraction(tuple(mentions))], ())
    assert [name.key for name in part.chunks[0].names] == [f"n{n}" for n in range(1, MOST_NAMES + 1)]


def test_relations_whose_end_is_not_named_are_dropped() -> None:
    mentions = (Mention("Ann", "person", 0, 3), Mention("Bob", "person", 8, 11))
    relations = (
        Relation("Ann", "Bob", strength=0.5),
        Relation("Ann", "Eve"),
        Relation("Bob", "Bob"),
        Relation("ann", "BOB", strength=0.9),
    )
    part = document_part("", ["Ann met Bob"], [Extraction(mentions, relations)], ())
    assert [(one.source, one.target, one.strength) for one in part.chunks[0].links] == [(0, 1, 0.9)]


def short_forms(text: str, cannot_link: Collection[tuple[str, str]] = ()) -> set[str]:
    """Return the keys of the names and persons in the graph of a text."""
    part = document_part("", [text], [Extraction(tuple(pattern_mentions(text)))], cannot_link)
    return {one.key for one in part.chunks[0].names if one.kind in ("name", "person")}


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("They met T. Renk, and the cat. Then Renk will put up a rod.", {"t renk"}),
        ("They met J. R. R. Tolkien. Then Tolkien spoke to Mr. Tolkien.", {"j r r tolkien"}),
        ("They met T. Renk. Then Tobias Renk spoke. They saw Renk, then Tobias.", {"t renk", "tobias renk"}),
        ("They met T. Renk. Then Anna Renk spoke, and Renk left.", {"t renk", "anna renk", "renk"}),
        ("They met T. Renk, B. Renk. Then Renk spoke.", {"t renk", "b renk", "renk"}),
        (
            "They left Saddle by Tobias Renk. We saw T. Renk, then Renk.",
            {"t renk", "tobias renk", "saddle", "saddle by tobias renk"},
        ),
        ("He won B. Prize. The Prize is large.", {"b prize", "prize"}),
        ("We saw T. Renk. The Rank is not Renkum.", {"t renk", "rank", "renkum"}),
    ],
)
def test_a_name_with_initials_and_its_last_name_are_one_in_a_text(text: str, keys: set[str]) -> None:
    assert short_forms(text) == keys


def test_names_set_apart_are_not_joined_by_initials() -> None:
    assert short_forms("They met T. Renk. Then Renk spoke.", [("renk", "t renk")]) == {"t renk", "renk"}


def test_an_unchanged_chunk_is_not_extracted_twice(tmp_path: Path) -> None:
    extractor = CapitalExtractor()
    with Monograph.open(tmp_path / "x.mono", HashEmbedder(), extractor) as monograph:
        assert monograph.add([Document("Something remarkable happened.", "a")]).extracted == 1
        monograph.remove(["a"])
        assert monograph.add([Document("Something remarkable happened.", "b")]).extracted == 0
        assert [chunk.text for chunk in extractor.chunks] == ["Something remarkable happened."]
    with pytest.raises(ModelMismatch):
        Monograph.open(tmp_path / "x.mono", HashEmbedder(), type("Other", (CapitalExtractor,), {"key": "other"})())


def test_another_extractor_rebuilds_the_graph(tmp_path: Path) -> None:
    documents = [Document(" ".join(SENTENCES[:4]), "a", "Worms"), Document(SENTENCES[5], "b")]
    with Monograph.open(tmp_path / "x.mono", HashEmbedder()) as monograph:
        monograph.add(documents)
        before = graph_of(monograph)
        patterns = monograph.graph.extractor
        assert monograph.graph.rebuild(CapitalExtractor()).extracted == 2
        assert graph_of(monograph)["mentions"] != before["mentions"]
        assert monograph.check() == []
        assert monograph.graph.rebuild(patterns).extracted == 0
        assert graph_of(monograph) == before


def test_another_embedder_gives_names_other_codes(tmp_path: Path) -> None:
    with Monograph.open(tmp_path / "x.mono", HashEmbedder(32)) as monograph:
        monograph.add([Document(SENTENCES[4], "a")])
        monograph.vectors.rebuild(HashEmbedder(64))
        assert {len(code) for _, code in graph_of(monograph)["codes"] if code} == {8}


def test_titles_are_looked_for_where_they_may_stand() -> None:
    text = "He read The Lord of the Rings there. Bern (and In the heat of this long night) was far; 1984 too"
    (found,) = title_phrases([text])
    assert {"lord of the rings", "1984", "bern", "in the heat of", "1984 too"} <= found.keys()
    assert not {"rings there bern", "in the heat of this", "he", "night"} & found.keys()
    assert all(text[at].isupper() or text[at].isdigit() for at in found.values())
