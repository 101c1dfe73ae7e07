"""Assertions of callers: storage, reading, removal and forgetting."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monograph import Document, Monograph, Passage
from monograph.errors import DamagedFile, InputError, InvalidDocument, MonographError, NotFound, SourceError
from monograph.store.file import checksums
from monograph.store.graph.assertions import TABLES
from monograph.values import AssertedNode, AssertedRelation, Assertions, Float32
from support import raw_sql
from support.models import CapitalExtractor, HashEmbedder
from support.properties import examples
from support.secrets import bytes_of

IDS = ("Ada", 'Bab"bage', "Köln", "東京")
LABELS = ("MET", "KNOWS")
ORIGINS = ("", "c1", "c2", "d2")


def library(path: Path) -> Monograph:
    archive = Monograph.open(path, HashEmbedder(), CapitalExtractor())
    archive.add(
        [
            Document(id="d1", passages=(Passage("Ada met Babbage.", "c1"), Passage("They talked.", "c2"))),
            Document("A third note.", id="d2"),
        ]
    )
    return archive


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[Monograph]:
    with library(tmp_path / "x.mono") as opened:
        yield opened


def plain(told: Assertions) -> tuple[dict[str, Any], list[Any]]:
    """Return assertions as plain values, with sorted relations."""
    nodes = {
        name: (
            one.name,
            one.label,
            one.properties,
            None if one.embedding is None else one.embedding.tolist(),
            set(one.origins),
        )
        for name, one in told.nodes.items()
    }
    return nodes, sorted(
        (one.source, one.label, one.target, one.properties, set(one.origins)) for one in told.relations
    )


def said(origin: str) -> tuple[str, ...]:
    return (origin,) if origin else ()


@dataclass
class Oracle:
    """Assertions by origin, in dicts ordered by the time of the latest assertion."""

    nodes: dict[tuple[str, str], AssertedNode | None] = field(default_factory=dict)
    relations: dict[tuple[tuple[str, str, str], str], AssertedRelation] = field(default_factory=dict)

    def tell_node(self, node: AssertedNode, origin: str) -> None:
        self.nodes.pop((node.id, origin), None)
        self.nodes[node.id, origin] = node

    def tell_relation(self, one: AssertedRelation, origin: str) -> None:
        for end in (one.source, one.target):
            self.nodes.setdefault((end, origin), None)
        ends = (one.source, one.label, one.target)
        self.relations.pop((ends, origin), None)
        self.relations[ends, origin] = one

    def remove(self, name: str) -> None:
        self.nodes = {key: one for key, one in self.nodes.items() if key[0] != name}
        self.relations = {key: one for key, one in self.relations.items() if name not in (key[0][0], key[0][2])}

    def gone(self, origins: Iterable[str]) -> None:
        lost = set(origins)
        self.nodes = {key: one for key, one in self.nodes.items() if key[1] not in lost}
        self.relations = {key: one for key, one in self.relations.items() if key[1] not in lost}

    def plain(self) -> tuple[dict[str, Any], list[Any]]:
        nodes: dict[str, Any] = {}
        for name in {key[0] for key in self.nodes}:
            some = [one for key, one in self.nodes.items() if key[0] == name and one is not None]
            embeddings = [one.embedding.tolist() for one in some if one.embedding is not None]
            properties: dict[str, Any] = {}
            for one in some:
                properties |= one.properties
            last = some[-1] if some else AssertedNode(name)
            origins = {key[1] for key in self.nodes if key[0] == name and key[1]}
            nodes[name] = (last.name or name, last.label, properties, embeddings[-1] if embeddings else None, origins)
        related: dict[tuple[str, str, str], tuple[dict[str, Any], set[str]]] = {}
        for (ends, origin), relation in self.relations.items():
            properties, origins = related.setdefault(ends, ({}, set()))
            properties.update(relation.properties)
            origins.update(said(origin))
        return nodes, sorted((*ends, *rest) for ends, rest in related.items())


def float32(numbers: Sequence[Any]) -> Float32:
    return np.array(numbers, dtype=np.float32)


PROPERTIES = st.dictionaries(st.sampled_from("abc"), st.sampled_from([1, "x", [2], None, {"y": True}]), max_size=2)
EMBEDDINGS = st.none() | st.lists(st.integers(-3, 3), min_size=2, max_size=3).map(float32)
NODES = st.builds(
    AssertedNode, st.sampled_from(IDS), st.sampled_from(("", "Ada", "A name")), st.sampled_from(("person", "entity")),
    PROPERTIES, EMBEDDINGS, st.sampled_from(ORIGINS).map(said),
)  # fmt: skip
RELATIONS = st.builds(
    AssertedRelation, st.sampled_from(IDS), st.sampled_from(LABELS), st.sampled_from(IDS), PROPERTIES,
    st.sampled_from(ORIGINS).map(said),
)  # fmt: skip
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.lists(NODES, max_size=3), st.lists(RELATIONS, max_size=3)),
        st.tuples(st.just("remove"), st.sampled_from(IDS), st.none()),
        st.tuples(st.just("unrelate"), RELATIONS, st.none()),
        st.tuples(st.just("remove"), st.sampled_from(("c1", "d2")), st.none()),
    ),
    max_size=8,
)


@pytest.fixture(scope="module")
def master(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("told") / "master.mono"
    library(path).close()
    return path


@settings(max_examples=examples(40))
@given(steps=STEPS)
def test_any_sequence_of_assertions_equals_that_on_dicts(
    master: Path, tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, Any, Any]]
) -> None:
    oracle, left = Oracle(), set(ORIGINS)
    path = Path(shutil.copy(master, tmp_path_factory.mktemp("steps")))
    with Monograph.open(path, HashEmbedder(), CapitalExtractor()) as archive:
        for kind, one, other in steps:
            if kind == "add":
                nodes = [node for node in one if set(node.origins) <= left]
                relations = [relation for relation in other if set(relation.origins) <= left]
                archive.graph.add(nodes, relations)
                for node in nodes:
                    oracle.tell_node(node, "".join(node.origins))
                for relation in relations:
                    oracle.tell_relation(relation, "".join(relation.origins))
            elif kind == "remove":
                archive.graph.remove([one])
                oracle.remove(one)
            elif kind == "unrelate":
                ends = (one.source, one.label, one.target)
                archive.graph.remove(relations=[ends])
                oracle.relations = {key: held for key, held in oracle.relations.items() if key[0] != ends}
            elif one in left:
                archive.remove(["d2"]) if one == "d2" else archive.remove_chunks(["c1"])
                oracle.gone([one])
                left.discard(one)
        assert plain(archive.graph.assertions()) == oracle.plain()
        assert archive.check() == []


def test_parts_of_assertions_are_read(archive: Monograph) -> None:
    graph = archive.graph
    graph.add(
        [AssertedNode("a", "Ada", "person"), AssertedNode("b"), AssertedNode("c")],
        [AssertedRelation("a", "MET", "b"), AssertedRelation("b", "MET", "c"), AssertedRelation("c", "MET", "c")],
    )
    part = graph.assertions(["a", "nobody"])
    assert [(one.source, one.target) for one in part.relations] == [("a", "b")]
    assert list(part.nodes) == ["a", "b"]
    assert [(one.source, one.target) for one in graph.assertions(["c"]).relations] == [("b", "c"), ("c", "c")]
    assert graph.assertions([]) == Assertions({}, ())
    assert graph.remove(["nobody"], [("a", "MET", "c")]) == 0


def test_assertions_are_found_by_embedding(archive: Monograph) -> None:
    vectors = np.random.default_rng(3).normal(size=(50, 4)).astype(np.float32)
    graph = archive.graph
    graph.add([AssertedNode(f"n{at}", properties={"at": at}, embedding=one) for at, one in enumerate(vectors)])
    graph.add([AssertedNode("short", embedding=np.ones(3, dtype=np.float32)), AssertedNode("none")])
    asked = float32([1, -2, 0.5, 3])
    cosines = vectors @ asked / np.linalg.norm(vectors, axis=1) / np.linalg.norm(asked)
    found = graph.nearest_assertions(asked.tolist(), 7)
    assert [one.id for one, _ in found] == [f"n{at}" for at in np.argsort(-cosines)[:7]]
    assert np.allclose([cosine for _, cosine in found], np.sort(cosines)[::-1][:7], atol=1e-6)
    narrowed = graph.nearest_assertions(asked.tolist(), 100, where={"at": {"<": 5}})
    assert {one.id for one, _ in narrowed} == {f"n{at}" for at in range(5)}
    assert [one.id for one, _ in graph.nearest_assertions([1, 1, 1])] == ["short"]
    assert graph.nearest_assertions([1.0]) == []
    with pytest.raises(InputError, match="not finite"):
        graph.nearest_assertions([float("nan")])


@pytest.mark.parametrize(
    ("nodes", "relations", "error"),
    [
        ([AssertedNode("a", origins=("nowhere",))], [], NotFound),
        ([AssertedNode("a", properties={"x": float("nan")})], [], InvalidDocument),
        ([AssertedNode("a", properties={"x": object()})], [], InvalidDocument),
        ([AssertedNode("a\ud800")], [], InputError),
        ([AssertedNode("a", embedding=float32([[1]]))], [], InputError),
        ([AssertedNode("a", embedding=float32([np.inf]))], [], InputError),
        ([AssertedNode("a", origins="c1")], [], InputError),  # type: ignore[arg-type]
        ([], [AssertedRelation("a", 7, "b")], InputError),  # type: ignore[arg-type]
        ([], [AssertedRelation("a", "x", "b", origins=("c1", "c9"))], NotFound),
    ],
)
def test_refused_assertions_leave_nothing(
    archive: Monograph, nodes: list[Any], relations: list[Any], error: type[MonographError]
) -> None:
    with pytest.raises(error) as raised:
        archive.graph.add([AssertedNode("fine"), *nodes], relations)
    assert raised.value.hint
    assert archive.graph.assertions() == Assertions({}, ())


def towns(path: Path) -> Monograph:
    """Return a file of chunks with one name each, so that only assertions link them."""
    archive = Monograph.open(path, HashEmbedder(), CapitalExtractor())
    archive.add([Document(f"{name} stands alone.", id=name.lower()) for name in ("Oslo", "Turin", "Lima", "Quito")])
    return archive


def test_assertions_are_in_the_neighbourhood_of_an_entity(tmp_path: Path) -> None:
    with towns(tmp_path / "x.mono") as archive:
        graph = archive.graph
        (chunk,) = archive.chunks("oslo")
        assert graph.neighbourhood("Oslo", 2).links == ()
        graph.add(
            [AssertedNode("n1", "Oslo", "city"), AssertedNode("unnamed", "Nowhere")],
            [
                AssertedRelation("n1", "TWIN", "Turin", {}, (chunk.id,)),
                AssertedRelation("Turin", "TRADES", "LIMA"),
                AssertedRelation("Lima", "SELLS", "Turin"),
                AssertedRelation("Lima", "NEAR", "unnamed"),
                AssertedRelation("Lima", "IS", "lima"),
            ],
        )
        around = graph.neighbourhood("Oslo", 2)
        name = {one.id: one.name for one in around.entities}
        assert list(name.values()) == ["Oslo", "Turin", "Lima"]
        assert {(name[one.source], one.keywords, name[one.target], one.chunks) for one in around.links} in (
            {("Oslo", ("TWIN",), "Turin", (chunk.id,)), ("Turin", ("SELLS", "TRADES"), "Lima", ())},
            {("Oslo", ("TWIN",), "Turin", (chunk.id,)), ("Lima", ("SELLS", "TRADES"), "Turin", ())},
        )
        assert all(one.weight > 0 for one in around.links)
        (route,) = graph.routes("Oslo", "Lima")
        assert [one.name for one in route.entities] == ["Oslo", "Turin", "Lima"]
        assert graph.routes("Oslo", "Quito") == []
        whole = graph.to_networkx()
        assert sum(kind == "link" for *_, kind in whole.edges(data="kind")) == 2
        graph.to_graphml(tmp_path / "out.graphml")
        assert "TWIN" in (tmp_path / "out.graphml").read_text()
        archive.remove(["oslo"])
        assert [one.keywords for one in graph.neighbourhood("Turin").links] == [("SELLS", "TRADES")]
        graph.remove(["Turin"])
        assert graph.neighbourhood("Turin").links == ()


QUESTION = "What happened to the company of the man whose firm dredged Oslo Harbour?"


def harbour(path: Path) -> Monograph:
    """Return a file in which the second passage for QUESTION shares no name with the first."""
    archive = Monograph.open(path)
    archive.add(
        [
            Document("Oslo Harbour was dredged by the firm of Bernhard Hallen in 1931.", title="Oslo Harbour"),
            Document("The Kestrel Works burnt down in 1947; the ledgers were lost.", title="Kestrel Works", id="works"),
            *(
                Document(f"Of gardens, tea and bicycles, part {n}: a fire of {1900 + n}.", title=f"F{n}")
                for n in range(40)
            ),
        ]
    )
    return archive


def test_graph_search_follows_assertions(tmp_path: Path) -> None:
    with harbour(tmp_path / "x.mono") as archive:

        def way(where: dict[str, Any] | None = None) -> str:
            found = {hit.title: hit for hit in archive.search(QUESTION, 40, "graph", where)}
            return str(found["Kestrel Works"].path) if "Kestrel Works" in found else "not found"

        before = archive.search(QUESTION, 40, "graph")
        assert way() == "None"
        archive.graph.add([AssertedNode("k", "Kestrel Works")], [AssertedRelation("Bernhard Hallen", "OWNS", "k")])
        assert way() == "question → Oslo Harbour → Bernhard Hallen → Kestrel Works"
        assert way({"$document": {"!=": "works"}}) == "not found"
        hits = archive.search(QUESTION, 40, "graph")
        assert hits[1].title == "Kestrel Works"
        assert [hit.chunk.id for hit in hits] == list(dict.fromkeys(hit.chunk.id for hit in hits))
        # A relation in the opposite direction works too. An entity with very many relations is not followed.
        archive.graph.remove(["k"])
        archive.graph.add((), [AssertedRelation("Kestrel Works", "OWNED_BY", "Bernhard Hallen", {}, ("works",))])
        assert way() == "question → Oslo Harbour → Bernhard Hallen → Kestrel Works"
        archive.graph.add((), [AssertedRelation("Bernhard Hallen", "KNOWS", f"someone {n}") for n in range(30)])
        assert way() == "None"
        archive.graph.remove(list(archive.graph.assertions().nodes))
        assert archive.search(QUESTION, 40, "graph") == before


def test_graph_search_in_a_view_follows_its_assertions(tmp_path: Path) -> None:
    with harbour(tmp_path / "x.mono") as archive:
        archive.add([Document("A secret.", id="secret", metadata={"kept": True})])
        archive.graph.add((), [AssertedRelation("Bernhard Hallen", "OWNS", "Kestrel Works", {}, ("secret",))])
        view = archive.within({"not": {"kept": True}})
        found = {hit.title: str(hit.path) for hit in archive.search(QUESTION, 40, "graph")}
        assert found["Kestrel Works"].endswith("Bernhard Hallen → Kestrel Works")
        assert "None" in {str(hit.path) for hit in view.search(QUESTION, 40, "graph") if hit.title == "Kestrel Works"}


SECRET = "xylophonia"
TRACES = (b"xylophonia", b"xylophon", b"ophonia")


def tell_secret(archive: Monograph, origin: str) -> None:
    vector = np.full(4, 0.123456, dtype=np.float32)
    archive.graph.add(
        [
            AssertedNode(
                f"{SECRET} {n}", SECRET.title(), properties={SECRET: n}, embedding=vector, origins=said(origin)
            )
            for n in range(30)
        ],
        [AssertedRelation(f"{SECRET} {n}", f"IN_{SECRET}", "Ada", {"of": SECRET}, said(origin)) for n in range(30)],
    )


def test_assertions_are_forgotten_with_their_text(tmp_path: Path) -> None:
    path = tmp_path / "x.mono"
    vector = float32([0.123456]).tobytes().lower() * 4
    with library(path) as archive:

        def remove_and_compact() -> None:
            archive.remove_chunks(["c1"])
            archive.compact()

        forgetting: list[tuple[str, Callable[[], object]]] = [
            ("c1", remove_and_compact),
            ("d2", lambda: archive.remove(["d2"], forget=True)),
            ("", lambda: archive.graph.remove([f"{SECRET} {n}" for n in range(30)], forget=True)),
        ]
        for origin, forget in forgetting:
            tell_secret(archive, origin)
            archive.graph.add([AssertedNode("Ada", origins=("c2",))])
            left = bytes_of(path)
            assert all(trace in left for trace in (*TRACES, vector))
            forget()
            left = bytes_of(path)
            assert [trace for trace in (*TRACES, vector) if trace in left] == []
            assert archive.graph.assertions(["Ada"]).nodes["Ada"].origins == ("c2",)
            assert archive.check() == []
        archive.files.always_forget = True
        tell_secret(archive, "")
        archive.graph.add([AssertedNode(f"{SECRET} 1", "another")])
        assert b"another" in bytes_of(path)
        archive.graph.remove(list(archive.graph.assertions().nodes))
        assert [trace for trace in TRACES if trace in bytes_of(path)] == []


def test_assertions_of_a_changed_chunk_are_removed(archive: Monograph) -> None:
    archive.graph.add(
        [AssertedNode("Ada", origins=("c1", "c2"))], [AssertedRelation("Ada", "MET", "Babbage", {}, ("c1",))]
    )
    archive.put([Document(id="d1", passages=(Passage("Ada met nobody.", "c1"),))])
    told = archive.graph.assertions()
    assert (list(told.nodes), told.relations) == (["Ada"], ())
    assert told.nodes["Ada"].origins == ("c2",)
    assert archive.check() == []


def test_assertions_of_two_copies_are_kept_once(archive: Monograph, tmp_path: Path) -> None:
    tell_secret(archive, "c1")
    archive.compact()
    before = plain(archive.graph.assertions())
    archive.backup(tmp_path / "copy.mono")
    with Monograph.open(tmp_path / "copy.mono") as copy:
        assert plain(copy.graph.assertions()) == before
        told = copy.graph.assertions()
        copy.graph.add(told.nodes.values(), told.relations)  # Assertions that were read can be added again.
        assert plain(copy.graph.assertions()) == before


def test_assertions_are_exported_and_imported(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with library(tmp_path / "x.mono") as archive:
        archive.export(out)
        assert not (out / "assertions.jsonl").exists()
        archive.graph.add(
            [
                AssertedNode("Ada", "A", "x", {"a": 1}, float32([0.1, -2]), ("c1", "d2")),
                AssertedNode("Ada", "B", properties={"b": []}),
            ],
            [
                AssertedRelation("Ada", "MET", "東京", {"x": None}, ("c2",)),
                AssertedRelation("Ada", "MET", "東京", {"y": 1}),
            ],
        )
        before = plain(archive.graph.assertions())
        archive.export(out, overwrite=True)
    with Monograph.open(tmp_path / "again.mono", HashEmbedder(), CapitalExtractor()) as again:
        again.files.take_over("jsonl", out)
        assert plain(again.graph.assertions()) == before
        again.files.take_over("jsonl", out)
        assert plain(again.graph.assertions()) == before
        assert again.check() == []
    # Origins that the file does not contain are dropped.
    lines = (out / "assertions.jsonl").read_text().splitlines()
    (out / "assertions.jsonl").write_text("\n".join(line.replace('"c1"', '"elsewhere"') for line in lines))
    with Monograph.open(tmp_path / "part.mono", HashEmbedder(), CapitalExtractor()) as part:
        part.files.take_over("jsonl", out)
        assert part.graph.assertions().nodes["Ada"].origins == ("d2", "c2")
    for wrong in ('{"id": "x"}', '{"id": 1, "properties": {}}', '{"id": "x", "properties": {}, "embedding": ["y"]}'):
        (out / "assertions.jsonl").write_text(wrong)
        with (
            Monograph.open(tmp_path / "wrong.mono", HashEmbedder()) as archive,
            pytest.raises(SourceError, match="line 1"),
        ):
            archive.files.take_over("jsonl", out)
    broken(tmp_path / "x.mono", "UPDATE asserted_nodes SET label = 'z'")
    with Monograph.open(tmp_path / "x.mono") as archive, pytest.raises(DamagedFile, match="nothing was exported"):
        archive.export(out, overwrite=True)


def broken(path: Path, statement: str, *parameters: object) -> None:
    with closing(raw_sql.connected(path)) as connection:
        connection.execute(statement, parameters)
        connection.commit()


@pytest.mark.parametrize(
    ("statement", "outcome"),
    [
        ("UPDATE asserted_nodes SET checksum = (checksum | 256) - (checksum & 256) WHERE id = 'Ada'", "stays"),
        ("UPDATE asserted_nodes SET document = 77 WHERE id = 'Ada'", "stays"),
        ("UPDATE asserted_relations SET chunk = 9", "stays"),
        ("UPDATE asserted_nodes SET properties = replace(properties, '1', '2') WHERE id = 'Ada'", "stays"),
        ("UPDATE asserted_nodes SET name = CAST(x'ff6461' AS TEXT) WHERE id = 'Ada'", "dropped"),
        ("UPDATE asserted_nodes SET key = 'aha' WHERE id = 'Ada'", "stays"),
        ("UPDATE asserted_nodes SET assertion = 9 WHERE id = 'Ada'", "stays"),
        ("UPDATE asserted_nodes SET embedding = x'0000803f0000803f0000804f' WHERE id = 'Ada'", "stays"),
        ("UPDATE asserted_relations SET label = 'HATES'", "stays"),
        ("UPDATE asserted_nodes SET name = 'x' WHERE id = 'Ada'", "stays"),
        ("UPDATE asserted_nodes SET name = CAST(x'ffff' AS TEXT) WHERE id = 'Ada'", "dropped"),
        ("UPDATE asserted_nodes SET properties = '[]' WHERE id = 'Ada'", "dropped"),
        ("DELETE FROM asserted_nodes WHERE id = 'Ada'", "dropped"),
        ("DELETE FROM chunks WHERE id = 'c1'", "unsaid"),
    ],
)
def test_check_finds_damaged_assertions(tmp_path: Path, statement: str, outcome: str) -> None:
    path = tmp_path / "x.mono"
    vector = np.ones(3, dtype=np.float32)
    with library(path) as archive:
        archive.graph.add(
            [AssertedNode("Ada", properties={"x": 1}, embedding=vector, origins=("c1",)), AssertedNode("Other")],
            [AssertedRelation("Ada", "MET", "Babbage", {}, ("c1",))],
        )
    broken(path, statement)
    with Monograph.open(path, HashEmbedder(), CapitalExtractor()) as archive:
        found = [one for one in archive.check() if one.table.startswith("asserted_")]
        assert found
        assert any(one.hint for one in found if not one.repairable) == (not all(one.repairable for one in found))
        try:
            archive.graph.assertions()
        except MonographError as error:
            assert str(path) in str(error)
        left = archive.check(repair=True)
        after = plain(archive.graph.assertions())
        assert "Other" in after[0]
        if outcome == "stays":
            assert {one.repairable for one in left} == {False}
            archive.graph.add([AssertedNode("Ada", properties={"x": 1}, embedding=vector, origins=("c1",))])
            archive.graph.remove(
                relations=[(one.source, one.label, one.target) for one in archive.graph.assertions().relations]
            )
            archive.graph.remove(["Ada"])
        else:
            assert after[0].get("Ada") == (None if outcome == "unsaid" else ("Ada", "entity", {}, None, {"c1"}))
        assert [one for one in archive.check() if one.table.startswith("asserted_")] == []


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE asserted_nodes SET properties = '[]'",
        "UPDATE asserted_nodes SET properties = 'x'",
        "UPDATE asserted_nodes SET embedding = x'0102030405'",
        "UPDATE asserted_nodes SET embedding = 'text'",
        "UPDATE asserted_nodes SET label = x'ff'",
        "UPDATE asserted_nodes SET name = CAST(x'ff' AS TEXT)",
        "UPDATE asserted_relations SET properties = '1'",
        "UPDATE asserted_relations SET label = x'00'",
    ],
)
def test_check_finds_assertion_rows_that_no_version_writes(tmp_path: Path, statement: str) -> None:
    path = tmp_path / "x.mono"
    with library(path) as archive:
        vector = np.ones(3, dtype=np.float32)
        archive.graph.add([AssertedNode("Ada", embedding=vector)], [AssertedRelation("Ada", "MET", "Ada")])
    with closing(raw_sql.connected(path)) as connection:
        checksums.register(connection)
        connection.execute(statement)
        for table, columns in TABLES.items():
            asked = ", ".join(
                f"CAST({one} AS BLOB)"
                if one in ("id", "label", "name", "key", "properties", "source", "target")
                else one
                for one in columns.split(", ")
            )
            connection.execute(f"UPDATE {table} SET checksum = checksum({asked})")
        connection.commit()
    with Monograph.open(path, HashEmbedder(), CapitalExtractor()) as archive:
        assert [one.table for one in archive.check()] == [statement.split()[1]]
        with suppress(DamagedFile):
            archive.graph.nearest_assertions([1, 1, 1])
        with pytest.raises(DamagedFile, match=r"x\.mono"):
            archive.graph.assertions()
        assert archive.check(repair=True) == []
        archive.graph.assertions()
