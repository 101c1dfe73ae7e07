"""Neighbourhoods, homonyms, merges, undone merges and exports."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator, Sequence
from itertools import combinations
from math import log1p
from pathlib import Path

import numpy as np
import pytest

from monograph import Document, Monograph
from monograph.errors import InputError, MonographError, NotFound
from monograph.explore.nodes import MOST_READ
from monograph.graph.names import key_of, lookup_keys
from monograph.store.graph import graphs
from monograph.values import Chunk, Entity, Extraction, Mention, Neighbourhood, Relation
from support.contents import graph_of
from support.models import CapitalExtractor, HashEmbedder
from support.paths import EXAMPLES
from support.people import NAMES, open_people

TEXTS = EXAMPLES / "texts"
HOSTILE = [
    "\x00", "\ud800", "%", "_", "'", '"; DROP TABLE names; --', "a" * 100_000, "*" * 50, "(", ")", "() ()", "x (", "\u202e",
    "🦉", "NULL", " ", "\n", "the", "-1", "{}", "[[1]]", "é" * 500, "\\", "a\x00b",
]  # fmt: skip


@pytest.fixture
def people(tmp_path: Path) -> Iterator[Monograph]:
    """Yield a file with several spellings of persons, an organization and a town."""
    with open_people(tmp_path / "a.mono") as monograph:
        monograph.add(NAMES)
        yield monograph


@pytest.fixture(scope="module")
def station(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Monograph]:
    """Yield a file of the example texts."""
    with Monograph.open(tmp_path_factory.mktemp("station") / "station.mono") as monograph:
        monograph.sync(TEXTS)
        yield monograph


def named(monograph: Monograph) -> dict[str, list[tuple[str, set[int]]]]:
    """Return (key of the entity, sentences) of each name in a chunk, by chunk id, read directly from the tables."""
    with monograph._file.database.read() as connection:
        ids = dict(connection.execute("SELECT chunk, id FROM chunks"))
        heads = dict(
            connection.execute(
                """SELECT n.name, COALESCE(hh.key, h.key, n.key) FROM names AS n LEFT JOIN names AS h ON h.name = n.head
                LEFT JOIN names AS hh ON hh.name = h.head"""
            )
        )
        rows = connection.execute("SELECT chunk, names FROM chunk_graphs").fetchall()
    return {
        ids[chunk]: [
            (heads[name], {first, second} - {255})
            for name, first, second, _ in np.frombuffer(packed, dtype=graphs.NAMED).tolist()
        ]
        for chunk, packed in rows
    }


def key(entity: Entity) -> str:
    return key_of(entity.name)


def test_links_are_what_one_sentence_names(station: Monograph) -> None:
    """Weights and chunks of links equal brute force. These texts have no crowded sentence and no homonym."""
    held = named(station)
    count = {
        name: sum(name in {one for one, _ in some} for some in held.values())
        for some in held.values()
        for name, _ in some
    }
    together: dict[tuple[str, str], set[str]] = {}
    for chunk, some in held.items():
        for (one, where), (other, there) in combinations(sorted(some, key=lambda pair: pair[0]), 2):
            if where & there and one != other and f" {one} " not in f" {other} " and f" {other} " not in f" {one} ":
                together.setdefault((one, other), set()).add(chunk)
    for name in ("Renk", "Obermatt", "Ines Calder", "Saddle"):
        found = station.graph.neighbourhood(name, hops=1, limit=500)
        keys = {
            one.id: next(k for form in one.names for k in lookup_keys(form) if k in count) for one in found.entities
        }
        heads = {identifier: head_of(station, some) for identifier, some in keys.items()}
        links = {tuple(sorted((heads[one.source], heads[one.target]))): one for one in found.links}
        shown = set(heads.values())
        expected = {pair: some for pair, some in together.items() if set(pair) <= shown}
        assert {pair: set(link.chunks) for pair, link in links.items()} == expected
        for (one, other), link in links.items():
            lift = len(link.chunks) * len(held) / (count[one] * count[other])
            assert link.weight == pytest.approx(len(link.chunks) * log1p(lift))
        centre = heads[found.centre[0]]
        assert shown - {centre} == {one for pair in together if centre in pair for one in pair} - {centre}
        assert found.cut == 0


def head_of(monograph: Monograph, name: str) -> str:
    with monograph._file.database.read() as connection:
        (head,) = connection.execute(
            "SELECT COALESCE(h.key, n.key) FROM names AS n LEFT JOIN names AS h ON h.name = n.head WHERE n.key = ?",
            (name,),
        ).fetchone()
    assert isinstance(head, str)
    return head


def test_documents_are_those_of_chunks_and_subjects(station: Monograph) -> None:
    for name in ("Renk", "Ines Calder", "1968-lightning"):
        found = station.graph.neighbourhood(name, hops=2)
        wanted = {chunk.document_id for chunk in found.chunks} | {
            one for each in found.entities for one in each.documents
        }
        assert {document.id for document in found.documents} == wanted
        for document in found.documents:
            stored = station.document(document.id)
            assert (document.title, document.uri, document.text) == (stored.title, stored.uri, "")


def test_entities_on_paths_are_those_of_the_graph(station: Monograph) -> None:
    questions = ("What did Emmanuel Okafor photograph in Draco?", "Why was plate 4417 lost?", "Who is Ines Calder?")
    paths = [hit.path for question in questions for hit in station.search(question, 5) if hit.path is not None]
    stations = dict.fromkeys(node.id for path in paths for node in path.nodes if node.kind == "entity")
    every = {one.id: one for one in station.graph.entities(10_000)}
    found = station.graph.on_paths(paths)
    assert [one.id for one in found] == list(stations)
    assert len(found) > 1
    assert all(one == every[one.id] for one in found)
    assert station.graph.on_paths([]) == []


def check_shape(found: Neighbourhood, most: int) -> None:
    """Check the invariants of a neighbourhood of at most ``most`` entities and chunks."""
    ids = [one.id for one in found.entities]
    assert len(set(ids)) == len(ids) <= most + len(found.centre)
    assert tuple(ids[: len(found.centre)]) == found.centre
    assert len({one.id for one in found.chunks}) == len(found.chunks) <= most
    weights = [one.weight for one in found.links]
    assert weights == sorted(weights, reverse=True)
    assert all(weight > 0 for weight in weights)
    assert len({frozenset((one.source, one.target)) for one in found.links}) == len(found.links)
    for one in found.links:
        assert {one.source, one.target} <= set(ids) and one.source != one.target
        assert one.chunks and len(set(one.chunks)) == len(one.chunks)
    edges = set(found.mentions)
    assert len(edges) == len(found.mentions)
    assert {entity for entity, _ in edges} <= set(ids)
    assert {chunk for _, chunk in edges} == {one.id for one in found.chunks}
    for one in found.links:
        for chunk in set(one.chunks) & {shown.id for shown in found.chunks}:
            assert {(one.source, chunk), (one.target, chunk)} <= edges


def test_hops_share_the_room(capitals: Monograph) -> None:
    capitals.add(Document(f"Centre met Near{n}. Near{n} met Far{n}. Far{n} met Remote{n}.") for n in range(20))
    one, two = (capitals.graph.neighbourhood("Centre", hops=hops, limit=12) for hops in (1, 2))
    for found, counts in ((one, {"Near": 12}), (two, {"Near": 6, "Far": 6})):
        check_shape(found, 12)
        names = [entity.name for entity in found.entities[1:]]
        assert {kind: sum(name.startswith(kind) for name in names) for kind in counts} == counts
    assert (one.cut, two.cut) == (8, 14)
    everything = capitals.graph.neighbourhood("Centre", hops=5, limit=400)
    assert (len(everything.entities), len(everything.links), everything.cut) == (61, 60, 0)
    alone = capitals.graph.neighbourhood("Centre", hops=0)
    assert [entity.name for entity in alone.entities] == ["Centre"]
    assert alone.chunks and not alone.links


def test_chunks_say_where_they_come_from_and_the_most_telling_come_first(station: Monograph) -> None:
    found = station.graph.neighbourhood("Ines Calder")
    for chunk in found.chunks:
        assert station.fetch([chunk.id])[0].chunk == chunk
    centre = {chunk for entity, chunk in found.mentions if entity == found.centre[0]}
    shown = [chunk.id in centre for chunk in found.chunks]
    assert shown == sorted(shown, reverse=True)
    assert found.entities[0].chunks == len(centre) > 1


def views(monograph: Monograph, names: Sequence[str]) -> list[object]:
    """Return entities, merges and the neighbourhoods of names, with a message for each unknown name."""
    seen: list[object] = [monograph.graph.entities(30), monograph.graph.merges()]
    for name in names:
        try:
            seen += [monograph.graph.neighbourhood(name, 2, 20), monograph.graph.merges(name)]
        except NotFound as error:
            seen.append(error.message.replace(str(monograph.path), ""))
    return seen


@pytest.mark.long
def test_neighbourhoods_do_not_depend_on_the_order_of_documents(shared: Path, tmp_path: Path) -> None:
    documents = encyclopaedia(shared)[:260]
    names = ["American", "United States", "2010", "gimme shelter", documents[3].title, documents[7].title]
    with Monograph.open(tmp_path / "a.mono") as one, Monograph.open(tmp_path / "b.mono") as other:
        one.add(documents)
        mixed = list(documents)
        random.Random(1).shuffle(mixed)
        other.add([Document("Green Day met Johnny Depp and Ed Wood in Vienna.", id="gone", title="United States")])
        for first in range(0, len(mixed), 100):
            other.add(mixed[first : first + 100])
        other.remove(["gone"])
        assert graph_of(one) == graph_of(other)
        assert views(one, names) == views(other, names)
        for name in names[:3]:
            check_shape(one.graph.neighbourhood(name, 2), 60)


def encyclopaedia(shared: Path) -> list[Document]:
    """Return 600 short articles. Those about Gimme Shelter and Ed Wood come first."""
    from monograph.evaluate.datasets import load_dataset

    documents = list(load_dataset(shared / "data/hotpotqa").documents)
    wanted = ("Gimme Shelter", "Ed Wood")
    return sorted(documents, key=lambda one: not one.title.startswith(wanted))[:600]


def test_homonyms_of_real_articles_are_kept_apart(shared: Path, tmp_path: Path) -> None:
    with Monograph.open(tmp_path / "a.mono") as monograph:
        monograph.add(encyclopaedia(shared))
        found = monograph.graph.neighbourhood("Gimme Shelter")
        centre = [one for one in found.entities if one.id in found.centre]
        assert [one.name for one in centre] == [
            "Gimme Shelter", "Gimme Shelter (1970 film)", "Gimme Shelter (album)", "Gimme Shelter (disambiguation)",
        ]  # fmt: skip
        assert all(len(one.documents) == 1 for one in centre)
        (film,) = monograph.graph.neighbourhood("Gimme Shelter (1970 film)").centre
        assert film == centre[1].id
        for entity in centre:
            own = {chunk.id for one in entity.documents for chunk in monograph.chunks(one)}
            assert own & {chunk for one, chunk in found.mentions if one == entity.id}


GREEN = [
    Document("Green is an album by Rem. Warner released Green in Athens.", id="album", title="Green (album)"),
    Document("Green is a band from Chicago. Lescher sings in Green.", id="band", title="Green (band)"),
    Document("Stipe sang on Green for Warner with Rem.", id="of the album"),
    Document("Yesterday Lescher met Green in Chicago.", id="of the band"),
    Document("Green met Nobody at Home.", id="of neither"),
    Document("Green met Lescher and Rem.", id="of both"),
]


def test_homonyms_are_told_apart(capitals: Monograph) -> None:
    capitals.add(GREEN)
    found = capitals.graph.neighbourhood("green")
    names = {one.id: one for one in found.entities if one.id in found.centre}
    documents: dict[str, set[str]] = {}
    for entity, chunk in found.mentions:
        if entity in names:
            documents.setdefault(names[entity].name, set()).add(capitals.fetch([chunk])[0].chunk.document_id)
    assert documents == {
        "Green (album)": {"album", "of the album"},
        "Green (band)": {"band", "of the band"},
        "Green": {"of neither", "of both"},
    }
    assert {one.name: one.chunks for one in names.values()} == {"Green (album)": 2, "Green (band)": 2, "Green": 2}
    linked = {
        one.name
        for link in found.links
        for one in found.entities
        if ids_of("Green (band)", found) in (link.source, link.target) and one.id in (link.source, link.target)
    }
    assert linked == {"Green (band)", "Lescher", "Chicago", "Yesterday"}
    assert [one.name for one in capitals.graph.neighbourhood("Green (band)", 0).entities] == ["Green (band)"]
    assert {one.name for one in capitals.graph.entities(50, "green")} == {"Green", "Green (album)", "Green (band)"}
    capitals.remove(["band"])
    again = capitals.graph.neighbourhood("Green")
    assert [one.name for one in again.entities if one.id in again.centre] == ["Green"]
    assert again.entities[0].documents == ("album",)


def ids_of(name: str, found: Neighbourhood) -> str:
    (one,) = [one.id for one in found.entities if one.name == name]
    return one


def open_capitals(path: Path) -> Monograph:
    return Monograph.open(path, HashEmbedder(), CapitalExtractor())


@pytest.fixture
def capitals(tmp_path: Path) -> Iterator[Monograph]:
    """Yield an empty file whose extractor takes capitalised words as names."""
    with open_capitals(tmp_path / "a.mono") as monograph:
        yield monograph


@pytest.mark.long
def test_a_hub_in_every_chunk_is_bounded(tmp_path: Path) -> None:
    count = 3 * MOST_READ
    documents = [
        Document(f"Hub met Friend{n % 40} in Town{n}. Then Hub left with Shadow{n % 700}.", id=f"d{n}")
        for n in range(count)
    ]
    shown = []
    for name, order in (("a", documents), ("b", documents[::-1])):
        with open_capitals(tmp_path / f"{name}.mono") as monograph:
            monograph.add(order)
            found = monograph.graph.neighbourhood("Hub", 2, 30)
            check_shape(found, 30)
            assert found.entities[0].chunks == count
            assert found.cut > 100
            friends = [one for one in found.links if ids_of("Hub", found) in (one.source, one.target)]
            assert friends and {len(one.chunks) for one in friends if "Friend" in str(one)} <= {
                count // 40 + 1,
                count // 40,
            }
            shown.append((found, monograph.graph.entities(20)))
    assert shown[0] == shown[1]


def test_a_hub_has_neighbours_and_knows_all_their_chunks(capitals: Monograph) -> None:
    count = MOST_READ + 300
    capitals.add(Document(f"Hub met Friend{n % 4} again.", id=f"d{n}") for n in range(count))
    found = capitals.graph.neighbourhood("Hub")
    assert [one.name for one in found.entities] == ["Hub", "Friend0", "Friend1", "Friend2", "Friend3"]
    assert sum(len(one.chunks) for one in found.links) == count


def test_one_chunk_makes_a_neighbourhood(capitals: Monograph) -> None:
    capitals.add([Document("Anna met Berta.")])
    (link,) = capitals.graph.neighbourhood("Anna").links
    assert link.weight == pytest.approx(log1p(1))


def test_a_list_of_names_links_only_those_near_each_other(capitals: Monograph) -> None:
    capitals.add([Document("Those were " + ", ".join(f"Person{n}" for n in range(100)) + ".")])
    found = capitals.graph.neighbourhood("Person50", limit=200)
    assert {one.name for one in found.entities} == {f"Person{n}" for n in range(42, 59)} | {"Those"} - {"Those"}


def test_entities_that_only_titles_name_have_a_neighbourhood(capitals: Monograph) -> None:
    capitals.add([Document("Mrs Grubb repairs it in October. Then Renk comes.", id="b", title="boiler")])
    found = capitals.graph.neighbourhood("Boiler")
    assert found.entities[0].name == "boiler"
    assert found.entities[0].documents == ("b",)
    assert found.entities[0].chunks == 0
    assert {one.name for one in found.entities[1:]} == {"Mrs", "Grubb", "October"}
    assert [one.document_id for one in found.chunks] == ["b"]


def test_unknown_names_are_refused_with_suggestions(station: Monograph) -> None:
    with pytest.raises(NotFound, match="no name like 'Ines Caldar'") as unknown:
        station.graph.neighbourhood("Ines Caldar")
    assert "'Ines Calder'" in unknown.value.hint
    with pytest.raises(NotFound, match="matches several names") as several:
        station.graph.neighbourhood("o")
    assert several.value.hint.startswith("give the whole name: '")
    with pytest.raises(NotFound, match="no word"):
        station.graph.neighbourhood("!!!")
    assert station.graph.neighbourhood("ines CALDER").centre == station.graph.neighbourhood("Ines Calder").centre
    for hops, most in ((-1, 5), (1, 0)):
        with pytest.raises(InputError, match=f"hops is {hops} and most is {most}"):
            station.graph.neighbourhood("Renk", hops, most)
    with pytest.raises(InputError, match="k is -1"):
        station.graph.entities(-1)
    assert station.graph.entities(0) == station.graph.entities(5, "!!!") == station.graph.entities(5, "qqqq") == []


def test_a_part_of_a_name_is_enough_where_it_is_the_only_one(capitals: Monograph) -> None:
    capitals.add([Document("Wolfgang met X and Wolf.", title="A Long Way Home")])
    for asked, name in (("Way", "A Long Way Home"), ("wolfg", "Wolfgang"), ("fgan", "Wolfgang"), ("wolf", "Wolf")):
        assert capitals.graph.neighbourhood(asked).entities[0].name == name
    with pytest.raises(NotFound):
        capitals.graph.neighbourhood("x")  # A single letter is no name.


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_names_are_looked_up_safely(station: Monograph, name: str) -> None:
    for act in (station.graph.neighbourhood, station.graph.merges, lambda one: station.graph.keep_apart(one, "Renk")):
        try:
            act(name)
        except MonographError as error:
            assert error.message
    assert isinstance(station.graph.entities(5, name), list)
    assert station.check() == []


def test_empty_file_has_no_entities(monograph: Monograph) -> None:
    assert monograph.graph.entities() == []
    assert monograph.graph.merges() == []
    with pytest.raises(NotFound, match="no name like 'Renk'") as caught:
        monograph.graph.neighbourhood("Renk")
    assert "no graph yet" in caught.value.hint
    assert len(monograph.graph.to_networkx()) == 0


class Relating:
    """An extractor that reads a relation from each line ``A | verb | B``, with strength (length of the verb) / 10."""

    key = "tests/relating"
    spec = "tests:relating"

    def extract(self, chunks: Sequence[Chunk]) -> Iterator[Extraction]:
        for chunk in chunks:
            mentions, relations, at = [], [], 0
            for line in chunk.text.split("\n"):
                source, verb, target = line.split(" | ")
                mentions.append(Mention(source, "person", at, at + len(source)))
                mentions.append(Mention(target, "person", at + len(line) - len(target), at + len(line)))
                relations.append(Relation(source, target, f"{source} {verb} {target}", (verb,), len(verb) / 10))
                at += len(line) + 1
            yield Extraction(tuple(mentions), tuple(relations))


def test_links_carry_relations_of_present_chunks_only(tmp_path: Path) -> None:
    with Monograph.open(tmp_path / "a.mono", HashEmbedder(), Relating()) as monograph:
        monograph.add([
            Document("Zoe | teaches | Abel", id="1"),
            Document("Abel | asks | Zoe", id="2"),
            Document("Zoe | meets | Bert\nAbel | sees | Carl", id="3"),
        ])  # fmt: skip
        found = monograph.graph.neighbourhood("Abel")
        (link,) = [one for one in found.links if "teaches" in one.keywords]
        assert (link.source, link.target) == (ids_of("Zoe", found), ids_of("Abel", found))  # The stronger direction.
        assert link.description == "Zoe teaches Abel\nAbel asks Zoe"
        assert link.keywords == ("teaches", "asks")
        assert link.weight == pytest.approx((2 + 0.7 + 0.4) * log1p(2 * 3 / (3 * 3)), rel=1e-3)
        monograph.remove(["1"])
        (link,) = [one for one in monograph.graph.neighbourhood("Abel").links if "asks" in one.keywords]
        assert link.description == "Abel asks Zoe"
        assert (link.source, link.target) == (ids_of("Abel", found), ids_of("Zoe", found))
        assert len(link.chunks) == 1


def test_every_merge_says_why(people: Monograph) -> None:
    found = {(one.other, one.name): one for one in people.graph.merges()}
    nato = found["NATO", "North Atlantic Treaty Organization"]
    assert (nato.reason, nato.detail) == ("abbreviation", "stated in 2")
    assert all(one.reason and one.detail and not one.undone for one in found.values())
    assert len({one.id for one in found.values()}) == len(found)
    smith = people.graph.merges("John Paul Smith")
    assert ("Smith", "short form", "the only person of that name in Smith at home") in {
        (one.other, one.reason, one.detail) for one in smith
    }
    assert {one.other for one in smith if one.reason in ("initials", "middle name")} >= {"J. Smith"}
    (bergen,) = people.graph.merges("Bergen")
    assert (bergen.name, bergen.other, bergen.reason) == ("Bergen", "BERGEN", "spelling variant")
    entity = next(one for one in people.graph.entities(50, "smith") if "John Paul Smith" in one.names)
    assert {"Smith", "J. Smith", "John P. Smith"} <= set(entity.names)


def head(monograph: Monograph, name: str) -> str:
    return monograph.graph.neighbourhood(name, 0).centre[0]


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("North Atlantic Treaty Organization", "NATO"),
        ("John Paul Smith", "J. Smith"),
        ("John P. Smith", "J. Smith"),
        ("John Paul Smith", "Smith"),
        ("Smith", "John Paul Smith"),
        ("solar panel", "Solar panels"),
        ("John P. Smith", "Bergen"),
    ],
)
def test_names_set_apart_are_joined_again_on_request(tmp_path: Path, name: str, other: str) -> None:
    with open_people(tmp_path / "a.mono") as monograph:
        monograph.add(NAMES)
        before = graph_of(monograph)
        monograph.graph.keep_apart(name, other)
        assert head(monograph, name) != head(monograph, other)
        assert [one.undone for one in monograph.graph.merges(name) if {one.name, one.other} == {name, other}] == [True]
        apart = graph_of(monograph)
        assert monograph.check() == []
        monograph.add([Document("J. Smith met Smith, and NATO bought solar panels.", id="5")])
        assert head(monograph, name) != head(monograph, other)
        monograph.remove(["5"])
        assert graph_of(monograph) == apart
        monograph.graph.rebuild()
        assert graph_of(monograph) == apart
        monograph.graph.keep_apart(other, name)  # The same pair in reverse order.
        assert graph_of(monograph) == apart
    with open_people(tmp_path / "a.mono") as monograph, open_people(tmp_path / "b.mono") as fresh:
        assert head(monograph, name) != head(monograph, other)
        fresh.add(NAMES[2:])
        fresh.add(NAMES[:2])
        fresh.graph.keep_apart(name, other)
        fresh.add([Document("J. Smith met Smith.", id="5")])
        fresh.remove(["5"])
        assert graph_of(fresh) == apart
        monograph.graph.unite(name, other)
        assert graph_of(monograph) == before
        with pytest.raises(NotFound, match="were not kept apart"):
            monograph.graph.unite(name, other)


def test_names_that_are_one_by_way_of_another_are_parted(tmp_path: Path) -> None:
    """B. Lane shortens Bert Lane, which shortens Bert Francis Lane. Each pair can be kept apart, and stays apart."""
    documents = [Document(f"{one} wrote a letter.", id=one) for one in ("B. Lane", "Bert Lane", "Bert Francis Lane")]
    pairs = list(combinations((one.id for one in documents), 2))
    for place, (name, other) in enumerate(pairs):
        with open_people(tmp_path / f"{place}.mono") as monograph:
            monograph.add(documents)
            assert len({head(monograph, one.id) for one in documents}) == 1
            before = graph_of(monograph)
            monograph.graph.keep_apart(name, other)
            assert head(monograph, name) != head(monograph, other)
            apart = graph_of(monograph)
            third = next(one.id for one in documents if one.id not in (name, other))
            monograph.remove([third])
            assert head(monograph, name) != head(monograph, other)
            monograph.add(one for one in documents if one.id == third)
            assert graph_of(monograph) == apart
            monograph.graph.unite(other, name)
            assert graph_of(monograph) == before


@pytest.mark.parametrize("order", [1, -1])
def test_a_short_form_that_is_not_stored_can_be_kept_apart(tmp_path: Path, order: int) -> None:
    with open_people(tmp_path / "a.mono") as monograph:
        monograph.add([Document("Ada Lovelace wrote notes.", id="1")])
        monograph.graph.keep_apart(*("Ada Lovelace", "Lovelace")[::order])
        monograph.add([Document("Lovelace wrote again.", id="2")])
        assert head(monograph, "Lovelace") != head(monograph, "Ada Lovelace")


def test_impossible_separations_are_refused(people: Monograph) -> None:
    before = graph_of(people)
    for name, other in (("Bergen", "the BERGEN"), ("", "Bergen"), ("!", "?")):
        with pytest.raises(InputError, match="are the same name"):
            people.graph.keep_apart(name, other)
    for name, other in (("Bergen", "Zanzibar"), ("Zanzibar", "Bergen")):
        with pytest.raises(NotFound, match="no name like 'Zanzibar'"):
            people.graph.keep_apart(name, other)
    with pytest.raises(NotFound, match="not kept apart"):
        people.graph.unite("Bergen", "Oslo")
    assert graph_of(people) == before


def test_neighbourhoods_are_exported(station: Monograph, tmp_path: Path) -> None:
    networkx = pytest.importorskip("networkx", reason="the extra graph is not installed")
    whole = station.graph.to_networkx()
    stats = station.stats()
    kinds = [kind for _, kind in whole.nodes(data="kind")]
    assert (kinds.count("entity"), kinds.count("chunk")) == (stats.entities, stats.chunks)
    part = station.graph.to_networkx("Renk", hops=1)
    assert set(part.nodes) <= set(whole.nodes)
    for one, other, data in part.edges(data=True):
        assert whole.edges[one, other]["kind"] == data["kind"]
        if data["kind"] == "link":
            assert whole.edges[one, other]["weight"] == pytest.approx(data["weight"])
            assert whole.edges[one, other]["chunks"] == data["chunks"]
    station.graph.to_graphml(tmp_path / "part.graphml", "Renk")
    read = networkx.read_graphml(tmp_path / "part.graphml")
    assert set(read.nodes) == set(station.graph.to_networkx("Renk").nodes)
    station.graph.to_graphml(tmp_path / "whole.graphml")
    assert len(networkx.read_graphml(tmp_path / "whole.graphml")) == len(whole)
    with pytest.raises(NotFound):
        station.graph.to_networkx("Nobody Anywhere")


def test_stats_count_the_graph(station: Monograph) -> None:
    stats = station.stats()
    held = named(station)
    assert stats.mentions >= sum(len({one for one, _ in some}) for some in held.values())
    assert stats.entities >= len({one for some in held.values() for one, _ in some})
    assert stats.merged == sum(
        one.reason in ("plural", "initials", "middle name", "spelling", "abbreviation")
        for one in station.graph.merges()
    )
    assert stats.extractor_spec == "pattern"
    sizes = dict(stats.tables)
    if sizes:
        assert {"graph", "memo (vectors)", "memo (extractions)"} <= set(sizes)
        assert sum(sizes.values()) == pytest.approx(stats.file_bytes, rel=0.02)


def test_graph_of_a_read_only_file_is_explored(station: Monograph, tmp_path: Path) -> None:
    station.check()
    copy = tmp_path / "copy.mono"
    with station._file.database.read() as connection:
        connection.execute("SELECT 1")
    shutil.copy(station.path, copy)
    for tail in ("-wal", "-shm"):
        beside = station.path.with_name(station.path.name + tail)
        if beside.exists():
            shutil.copy(beside, copy.with_name(copy.name + tail))
    with Monograph.open(copy, read_only=True) as monograph:
        assert monograph.graph.neighbourhood("Renk") == station.graph.neighbourhood("Renk")
        assert monograph.graph.merges() == station.graph.merges()
        with pytest.raises(MonographError, match="reading only"):
            monograph.graph.keep_apart("Renk", "Linz")
