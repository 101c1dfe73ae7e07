"""MiniRAG's formulas against their brute-force reading, and a search by them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import combinations, pairwise
from math import log, pi, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monograph import Document, Graph, Hit, Monograph
from monograph.answer.ask import AnswerCache, answer_types
from monograph.derive.extract import kinds as kinds_of
from monograph.derive.openai_compatible import OpenAICompatible
from monograph.errors import InputError
from monograph.search import entity_graph
from monograph.search.entity_graph import PathGraph, around, graph_of
from monograph.search.fusion import WEIGHTS
from monograph.search.minirag import EXAMPLES, PATH_WEIGHT, Beam, best_paths, edge_relevance, key_edges, type_pool
from monograph.store.documents.filters import EVERYTHING
from monograph.store.graph import names
from monograph.values import ENTITY_KINDS, Chunk, Extraction, Mention, Relation
from support.model_server import ModelServer
from support.models import CapitalExtractor, HashEmbedder
from support.properties import examples

networkx = pytest.importorskip("networkx", reason="the extra graph is not installed")

NODES = range(9)
EDGES = list(combinations(NODES, 2))
WIDE = 1_000_000


@st.composite
def questions(draw: st.DrawFn) -> tuple[PathGraph, set[int], set[int]]:
    """A graph, its starting nodes and its answer nodes."""
    size = draw(st.integers(1, len(NODES)))
    possible = [edge for edge in EDGES if max(edge) < size]
    pairs = draw(st.sets(st.sampled_from(possible), max_size=16)) if possible else set()
    some = st.sets(st.integers(0, size - 1))
    return graph_of(range(size), pairs), draw(some), draw(some)


def as_networkx(graph: PathGraph) -> Any:
    return networkx.Graph({node: list(some) for node, some in graph.neighbours.items()})


@settings(max_examples=examples(200))
@given(asked=questions(), radius=st.integers(0, 4))
def test_edge_relevance_is_equation_2(asked: tuple[PathGraph, set[int], set[int]], radius: int) -> None:
    graph, starts, answers = asked
    whole = as_networkx(graph)
    expected = {}
    for one, other in whole.edges:
        ball = set(networkx.ego_graph(whole, one, radius)) | set(networkx.ego_graph(whole, other, radius))
        expected[min(one, other), max(one, other)] = sum(node in ball for node in starts | answers)
    relevance = edge_relevance(graph, starts | answers, radius)
    assert relevance == expected
    key = key_edges(relevance, 3)
    ordered = sorted((edge for edge in expected if expected[edge] > 0), key=lambda edge: (-expected[edge], edge))
    assert list(key) == ordered[:3]
    assert key == {edge: expected[edge] for edge in ordered[:3]}


def every_path(graph: PathGraph, start: int, length: int) -> list[tuple[int, ...]]:
    whole = as_networkx(graph)
    longer = (
        path for other in whole if other != start for path in networkx.all_simple_paths(whole, start, other, length)
    )
    return [(start,), *map(tuple, longer)]


def by_equation_3(
    path: tuple[int, ...], similarity: float, key: dict[tuple[int, int], int], answers: set[int]
) -> float:
    on_path = {tuple(sorted(ends)) for ends in pairwise(path)}
    edges = sum(value for edge, value in key.items() if edge in on_path)
    return similarity * (1 + edges + sum(answer in path for answer in answers))


@settings(max_examples=examples(150))
@given(
    asked=questions(),
    radius=st.integers(0, 3),
    most=st.integers(0, 12),
    beam=st.builds(Beam, st.integers(0, 4), st.integers(1, 4), st.integers(1, 20)),
    similarity=st.sampled_from((1.0, 0.625, 0.0)),
)
def test_paths_are_equation_3(
    asked: tuple[PathGraph, set[int], set[int]], radius: int, most: int, beam: Beam, similarity: float
) -> None:
    graph, starts, answers = asked
    key = key_edges(edge_relevance(graph, starts | answers, radius), most)
    for start in graph.neighbours:
        scored = {
            path: by_equation_3(path, similarity or 1.0, key, answers) for path in every_path(graph, start, beam.length)
        }
        best = sorted(scored, key=lambda path: (-scored[path], len(path), path))[: beam.kept]
        wide = best_paths(graph, (start, similarity), key, answers, Beam(beam.length, WIDE, beam.kept))
        assert [path.nodes for path in wide] == best
        assert [path.score for path in wide] == [by_equation_3(path, similarity, key, answers) for path in best]
        narrow = best_paths(graph, (start, similarity), key, answers, beam)
        assert len({path.nodes for path in narrow}) == len(narrow) <= beam.kept
        for found, limit in zip(narrow, wide, strict=False):
            assert found.score == by_equation_3(found.nodes, similarity, key, answers)
            assert found.nodes in scored
            assert found.score <= limit.score


@pytest.mark.parametrize("dimension", [16, 21])
@pytest.mark.parametrize("k", [0, 1, 4, 100])
def test_nearest_names_equal_brute_force(tmp_path: Path, dimension: int, k: int) -> None:
    embedder = HashEmbedder(dimension)
    with Monograph.open(tmp_path / "x.mono", embedder, CapitalExtractor()) as monograph:
        words = [f"Name{chr(97 + n)}{chr(97 + 3 * n % 26)}" for n in range(20)]
        monograph.add([Document(f"{one} met {other}.", id=one) for one, other in pairwise(words)])
        size = -(-dimension // 8)
        with monograph._file.database.write() as connection:
            unknown = names.rows(connection, [words[3].lower(), words[4].lower()])
            names.set_codes(connection, [(bytes(size), words[3].lower()), (b"\xff", words[4].lower())])
        vectors = np.stack([*embedder.embed(words[7:9]), np.zeros(dimension, dtype=np.float32)])
        with monograph._file.reading() as snapshot:
            found = snapshot.names.like(vectors, k)
        with monograph._file.database.read() as connection:
            codes = dict(names.codes(connection))
        expected: list[dict[int, float]] = [{}, {}, {}]
        for row, code in codes.items():
            if row not in unknown.values():
                signs = np.unpackbits(np.frombuffer(code, dtype=np.uint8))[:dimension] * 2.0 - 1
                for place in (0, 1):
                    cosine = float(signs @ vectors[place]) / (sqrt(dimension) * float(np.linalg.norm(vectors[place])))
                    expected[place][row] = min(1.0, max(-1.0, cosine * sqrt(pi / 2)))
    assert len(codes) == len(words)
    for near, cosines in zip(found, expected, strict=True):
        told = [cosine for _, cosine in near]
        assert told == pytest.approx(sorted(cosines.values(), reverse=True)[:k], abs=1e-5)
        assert [cosines[name] for name, _ in near] == pytest.approx(told, abs=1e-5)
        assert len(dict(near)) == len(near)


def test_the_nearest_name_is_the_name_itself(monograph: Monograph) -> None:
    monograph.add([Document("Anna Seghers wrote to Walter Benjamin, and Hannah Arendt to Gershom Scholem.")])
    vector = monograph.embedder.embed(["walter benjamin"])
    with monograph._file.reading() as snapshot:
        (((first, nearest), *others),) = snapshot.names.like(vector, 3)
        assert snapshot.names.load([first])[first].key == "walter benjamin"
    assert nearest > 0.9 > max(cosine for _, cosine in others)


@pytest.mark.parametrize(
    ("question", "types", "kinds"),
    [
        ("Who directed Payment on Demand?", (), {"person", "name"}),
        ("Joe Walker played for which team that plays where?", (), {"organisation", "name"}),
        ("When was the pianist born?", (), {"date", "time"}),
        ("The hotel has how many rooms?", (), {"quantity"}),
        ("How did he die?", (), set()),
        ("What city is it in?", (), {"place", "name"}),
        ("In what year did it end?", (), {"date", "time"}),
        ("What is it like?", (), set()),
        ("Wo liegt das?", (), {"place", "name"}),
        ("Wie viele Zimmer hat es?", (), {"quantity"}),
        ("Welche Stadt ist das, und wer baute sie?", (), {"place", "name"}),
        ("¿Quién dirigió la película?", (), {"person", "name"}),
        ("¿Qué libro escribió?", (), {"work", "name"}),
        ("Who was it?", ("Location", "nonsense"), {"place", "name"}),
        ("Who was it?", ("nonsense",), {"person", "name"}),
        ("", (), set()),
    ],
)
def test_answer_types_are_read_from_the_question(question: str, types: Sequence[str], kinds: set[str]) -> None:
    assert kinds_of.answer_kinds(question, types) == kinds


def test_answer_types_are_the_nearest_kind(monograph: Monograph) -> None:
    embedder = monograph.embedder
    (vector,) = embedder.embed(["the name of a person"], "query")
    pool = {"person": ["anna seghers"], "place": ["worms"], "quote": ["to be"]}
    assert kinds_of.nearest_kind(embedder, vector, pool) == {"person", "name"}
    assert kinds_of.nearest_kind(embedder, vector, {"place": ["worms"]}) == {"place", "name"}
    assert kinds_of.nearest_kind(embedder, vector, {"quote": ["to be"]}) == frozenset()


def test_type_pool_has_the_most_frequent_names_of_each_kind(films: Monograph) -> None:
    with films._file.reading() as reader:
        pool = type_pool(reader, EVERYTHING)
    assert list(pool) == [kind for kind in ENTITY_KINDS if kind in pool]
    assert pool["date"] == ["1940", "1951"]
    assert pool["name"][:2] == ["bette davis", "curtis bernhardt"]
    assert all(0 < len(some) <= EXAMPLES for some in pool.values())


def test_names_outside_of_a_filter_are_not_sent_to_the_model(films: Monograph) -> None:
    with ModelServer() as server:
        model = OpenAICompatible(server.url, "tiny")

        def ask(title: str) -> None:
            films.ask(QUESTION, how="graph:faithful=true", where={"title": title}, model=model)

        ask("Payment on Demand")
        types = server.asked[0].prompt
        assert "What kind of thing" in types and "bette davis" in types
        assert "worms" not in types and "rhine" not in types
        asked = server.calls
        ask("Nowhere")
        assert not any("What kind of thing" in one.prompt for one in server.asked[asked:])


FILMS = {
    "Payment on Demand": "Payment on Demand is a 1951 drama film directed by Curtis Bernhardt. It stars Bette Davis.",
    "Curtis Bernhardt": "Curtis Bernhardt was born in Worms. He left for Hollywood in 1940.",
    "Film directors": "The director was born in the town where the film on payment was demanded of a director.",
    "Worms": "Worms lies on the Rhine.",
    "Bette Davis": "Bette Davis was born in Lowell.",
}
QUESTION = "Where was the director of Payment on Demand born?"


@pytest.fixture
def films(monograph: Monograph) -> Monograph:
    monograph.add([Document(text, id=title, title=title, metadata={"title": title}) for title, text in FILMS.items()])
    return monograph


def ids(hits: Iterable[Hit]) -> list[str]:
    return [hit.chunk.document_id for hit in hits]


def test_formulas_find_and_show_a_known_path(films: Monograph) -> None:
    hits = films.search(QUESTION, 10, how=Graph(faithful=True))
    assert "Film directors" in ids(films.search(QUESTION, 2, how="dense"))
    reached = [hit for hit in hits if hit.path]
    assert set(ids(reached)) == {"Payment on Demand", "Curtis Bernhardt", "Worms"}
    assert set(ids(hits)) == set(FILMS)
    assert [hit.rank for hit in hits] == list(range(len(hits)))
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert {hit.chunk.id for hit in hits if "minirag" in {one.retriever for one in hit.origins}} == {
        hit.chunk.id for hit in reached
    }
    ways = {hit.chunk.document_id: hit.path for hit in hits}
    way = ways["Curtis Bernhardt"]
    assert way is not None
    assert str(way) == "question → Payment on Demand → Curtis Bernhardt"
    assert [node.kind for node in way.nodes] == ["question", "entity", "entity", "chunk"]
    assert str(ways["Worms"]) == "question → Payment on Demand → Curtis Bernhardt → Worms"
    assert str(ways["Payment on Demand"]) == "question → Payment on Demand"
    assert way.nodes[-1].id == next(hit.chunk.id for hit in hits if hit.chunk.document_id == "Curtis Bernhardt")
    assert films.search(QUESTION, 10, how=Graph(faithful=True)) == hits


def test_scores_are_lexical_dense_and_path_scores_standardised(films: Monograph) -> None:
    hits = films.search(QUESTION, 10, how=Graph(faithful=True))
    fused = np.zeros(len(hits))
    for retriever, weight in {**WEIGHTS, "minirag": PATH_WEIGHT}.items():
        scores = np.array([sum(one.score for one in hit.origins if one.retriever == retriever) for hit in hits])
        fused += weight * (scores - scores.mean()) / scores.std()
    assert [hit.score for hit in hits] == pytest.approx(fused.tolist())


def test_path_scores_are_damped_by_the_uses_of_a_name(tmp_path: Path) -> None:
    texts = ["Hub met Rare today.", *(f"Hub met Guest{n:03} today." for n in range(30)), "Rare left."]
    with Monograph.open(tmp_path / "x.mono", HashEmbedder(64), CapitalExtractor()) as monograph:
        monograph.add([Document(text, id=str(n)) for n, text in enumerate(texts)])
        hits = monograph.search("did Hub meet Rare", len(texts), how=Graph(faithful=True))
        by_path = {
            hit.chunk.document_id: one.score for hit in hits for one in hit.origins if one.retriever == "minirag"
        }
        ways = {hit.chunk.document_id: hit.path for hit in hits}
    for name in ("0", "31"):
        assert by_path[name] > 5 * by_path["7"]
    way, uses = ways["31"], 3  # Two chunks, and a document that begins with the name.
    assert way is not None
    assert by_path["31"] == pytest.approx(way.score * log((len(texts) + 1) / (uses + 0.5)))


def test_a_forbidden_chunk_is_no_bridge(films: Monograph) -> None:
    where = {"title": {"!=": "Payment on Demand"}}
    hits = films.search(QUESTION, 10, how=Graph(faithful=True), where=where)
    assert sorted(ids(hits)) == sorted(set(FILMS) - {"Payment on Demand"})
    assert [hit.path for hit in hits] == [None] * len(hits)
    assert "minirag" not in {one.retriever for hit in hits for one in hit.origins}
    hits = films.search(
        QUESTION, 10, how=Graph(faithful=True), where={"title": {"in": ["Payment on Demand", "Film directors"]}}
    )
    assert {hit.chunk.document_id: hit.path is None for hit in hits} == {
        "Payment on Demand": False,
        "Film directors": True,
    }


@pytest.mark.parametrize("question", ["where was the director born?", "", "?!", "12", "\x00", "where is Zzyzx?"])
def test_formulas_without_entities_equal_hybrid_search(films: Monograph, question: str) -> None:
    hits = films.search(question, 3, how=Graph(faithful=True))
    assert hits == films.search(question, 3, how="hybrid")


def test_formulas_answer_in_tiny_files_for_any_k(monograph: Monograph) -> None:
    assert monograph.search("Who met Anna Seghers?", how=Graph(faithful=True)) == []
    monograph.add([Document("Anna Seghers slept.", id="only")])
    (hit,) = monograph.search("Who met Anna Seghers?", 100, how=Graph(faithful=True))
    assert str(hit.path) == "question → Anna Seghers → Anna Seghers slept."
    assert monograph.search("Who met Anna Seghers?", 0, how=Graph(faithful=True)) == []


@pytest.mark.parametrize("how", ["lexical", "tfidf", "dense", "hybrid", "auto"])
def test_formulas_are_refused_by_other_search_modes(films: Monograph, how: str) -> None:
    with pytest.raises(InputError, match=f"'{how}' has no parameter 'faithful'"):
        films.search(QUESTION, how=f"{how}:faithful=true")


PEOPLE = ("Alfa", "Bravo", "Carol", "Delta", "Echo", "Fox", "Golf", "Hotel")
SENTENCES = st.lists(st.sampled_from(PEOPLE), min_size=1, max_size=3, unique=True)
CORPORA = st.lists(st.lists(SENTENCES, min_size=1, max_size=2), min_size=1, max_size=8)
"""Texts of two sentences at most: of more, a chunk knows the first two that have a name."""


def texts_of(corpus: list[list[list[str]]]) -> list[str]:
    return [" ".join(f"{' met '.join(some)} today." for some in document) for document in corpus]


def together(corpus: list[list[list[str]]]) -> Any:
    """Who stands in a sentence with whom."""
    graph = networkx.Graph()
    for document in corpus:
        for some in document:
            graph.add_nodes_from(name.lower() for name in some)
            graph.add_edges_from(combinations([name.lower() for name in some], 2))
    return graph


@contextmanager
def bounds(entities: int, neighbours: int, chunks: int) -> Iterator[None]:
    """Read so much of the graph."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(entity_graph, "ENTITIES", entities)
        patch.setattr(entity_graph, "NEIGHBOURS", neighbours)
        patch.setattr(entity_graph, "CHUNKS", chunks)
        yield


@settings(max_examples=examples(30))
@given(corpus=CORPORA, starts=st.sets(st.sampled_from(PEOPLE), min_size=1, max_size=2), hops=st.integers(0, 3))
def test_entity_graph_links_names_of_one_sentence(
    tmp_path_factory: pytest.TempPathFactory, corpus: list[list[list[str]]], starts: set[str], hops: int
) -> None:
    whole = together(corpus)
    path = tmp_path_factory.mktemp("m") / "x.mono"
    with Monograph.open(path, HashEmbedder(), CapitalExtractor()) as monograph:
        monograph.add([Document(text, id=str(n)) for n, text in enumerate(texts_of(corpus))])
        with monograph._file.database.read() as connection:
            rows = names.rows(connection, [one.lower() for one in PEOPLE])
            asked = [rows[one.lower()] for one in starts if one.lower() in rows]
        with monograph._file.reading() as snapshot:
            with bounds(100, 100, 100):
                part = around(snapshot, asked, hops, (), EVERYTHING)
            with bounds(3, 1, 1):
                small = around(snapshot, asked, hops, (), EVERYTHING)
    name_of_row = {row: name for name, row in rows.items()}
    key, small_key = (
        {entity: name_of_row[row] for entity, (row, _) in surroundings.written.items()}
        for surroundings in (part, small)
    )
    distance: dict[str, int] = {}
    for one in starts:
        steps = networkx.single_source_shortest_path_length(whole, one.lower(), hops) if one.lower() in whole else {}
        distance |= {node: min(far, distance.get(node, far)) for node, far in steps.items()}
    expected = {frozenset(edge) for edge in whole.edges if min(distance.get(node, hops) for node in edge) < hops}
    assert {frozenset(key[row] for row in edge) for edge in part.graph.edges()} == expected
    assert {key[row] for row in part.graph.neighbours} == (set(distance) if hops else set())
    found = {frozenset(small_key[row] for row in edge) for edge in small.graph.edges()}
    assert found <= expected
    assert len(small.graph.neighbours) <= 3


@settings(max_examples=examples(40))
@given(corpus=CORPORA, asked=SENTENCES, data=st.data())
def test_filters_hold_for_hits_and_for_what_is_passed(
    tmp_path_factory: pytest.TempPathFactory, corpus: list[list[list[str]]], asked: list[str], data: st.DataObject
) -> None:
    allowed = data.draw(st.sets(st.sampled_from(range(len(corpus)))))
    path = tmp_path_factory.mktemp("m") / "x.mono"
    with Monograph.open(path, HashEmbedder(), CapitalExtractor()) as monograph:
        monograph.add([Document(text, id=str(n), metadata={"n": n}) for n, text in enumerate(texts_of(corpus))])
        where = {"n": {"in": sorted(allowed)}} if allowed else {"n": -1}
        hits = monograph.search(f"did {' and '.join(asked)} meet", 20, how=Graph(faithful=True), where=where)
    assert set(ids(hits)) <= set(map(str, allowed))
    visible = together([corpus[n] for n in allowed])
    for hit in hits:
        if hit.path is None:
            continue
        passed = [node.name.lower() for node in hit.path.nodes if node.kind == "entity"]
        assert len(set(passed)) == len(passed) >= 1
        assert all(visible.has_edge(one, other) for one, other in pairwise(passed))
        assert passed[-1] in {name.lower() for some in corpus[int(hit.chunk.document_id)] for name in some}
    naming = {str(n) for n in allowed if {name for some in corpus[n] for name in some} & set(asked)}
    assert naming <= {hit.chunk.document_id for hit in hits if hit.path is not None}


def test_formulas_follow_an_entity_in_every_chunk(tmp_path: Path) -> None:
    with Monograph.open(tmp_path / "x.mono", HashEmbedder(256), CapitalExtractor()) as monograph:
        monograph.add([Document(f"Hub met Guest{n:03} today.", id=str(n)) for n in range(300)])
        hits = monograph.search("did Hub meet Guest007", 5, how=Graph(faithful=True))
        assert ids(hits)[0] == "7"
        assert len(hits) == 5
        with monograph._file.database.read() as connection:
            rows = names.rows(connection, ["hub"])
        with monograph._file.reading() as snapshot, bounds(entities=9, neighbours=5, chunks=50):
            part = around(snapshot, [rows["hub"]], 3, (), EVERYTHING)
        assert len(part.graph.neighbours) == 6


class TellingExtractor:
    """Names capitalised words, says of each that it is special, and links the first of a chunk with the last."""

    key = "tests/telling"
    spec = "tests:telling"

    def extract(self, given: Sequence[Chunk]) -> Iterator[Extraction]:
        for chunk in given:
            words = list(re.finditer(r"\b[A-Z]\w+", chunk.text))
            mentions = tuple(
                Mention(word[0], "name", word.start(), word.end(), f"special {word[0].lower()} thing") for word in words
            )
            ends = (words[0][0], words[-1][0]) if words else ()
            yield Extraction(mentions, (Relation(*ends),) if len(set(ends)) == 2 else ())


def test_descriptions_count_and_relations_link(tmp_path: Path) -> None:
    embedder = HashEmbedder(64)
    with Monograph.open(tmp_path / "x.mono", embedder, TellingExtractor()) as monograph:
        texts = {"bridge": "Alfa slept. nobody spoke. later came Bravo.", "end": "Bravo woke.", "aside": "Carol left."}
        monograph.add([Document(text, id=name, title=f"on {name}") for name, text in texts.items()])
        hits = monograph.search("did Alfa see a special thing", 5, how=Graph(faithful=True))
        expected = {
            "bridge": f"on bridge\n{texts['bridge']}\nspecial alfa thing\nspecial bravo thing",
            "end": f"on end\n{texts['end']}\nspecial bravo thing",
        }
        cosines = embedder.embed(list(expected.values())) @ embedder.embed(["did Alfa see a special thing"], "query")[0]
        scores = dict(zip(expected, cosines.tolist(), strict=True))
        dense = {hit.chunk.document_id: one.score for hit in hits for one in hit.origins if one.retriever == "dense"}
        assert {name: dense[name] for name in expected} == pytest.approx(scores, abs=1e-6)
        assert set(ids(hit for hit in hits if hit.path)) == set(expected)
        ways = {hit.chunk.document_id: str(hit.path) for hit in hits}
        assert ways["end"] == "question → Alfa → Bravo → on end"


def test_answer_type_of_a_model_is_asked_once(tmp_path: Path) -> None:
    with ModelServer() as server:
        server.say("Kinds: Person, work")
        model = OpenAICompatible(server.url, "scripted")
        with Monograph.open(tmp_path / "x.mono", model=model) as monograph:
            monograph.add([Document("Anna Seghers wrote Transit in Marseille.", title="Transit")])
            assert server.calls == 0
            for _ in range(2):
                assert monograph.search("Transit was written by?", how=Graph(faithful=True))
            monograph.search("Transit was written by?")
            assert server.calls == 1
            assert "Transit was written by?" in server.asked[-1].prompt
            assert "\nname: anna seghers, marseille" in server.asked[-1].prompt
            with pytest.raises(InputError, match="no parameter 'faithful'"):
                monograph.search("Who wrote it?", how="hybrid:faithful=true")
            assert server.calls == 1
            memory = AnswerCache(monograph._file.database)
            with monograph._file.reading() as reader:
                pool = type_pool(reader, EVERYTHING)
            assert answer_types(model, memory, "Transit was written by?", pool) == ("Person", "work")
            assert server.calls == 1
    assert kinds_of.answer_kinds("Transit was written by?", ("Person", "work")) == {"person", "work", "name"}
