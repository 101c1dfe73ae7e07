"""Relevance from 0 to 1 of every search mode."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from monograph import Chunk, Document, Hit, Hybrid, Monograph
from monograph.search import fusion, words
from monograph.search.fusion import POOL, cap_relevances, shares_of
from monograph.search.query import Query
from monograph.search.reader import Reader
from support.letter_corpus import PEOPLE, PLACES, THINGS
from support.properties import examples

TEXTS = [
    f"{PEOPLE[n % 5]} wrote to {PEOPLE[(n + 1 + n // 7) % 5]} in {PLACES[n % 4]} about the {THINGS[n % 7]}. "
    f"The {THINGS[(n + 3) % 7]} has the number AB-{1000 + n}."
    for n in range(60)
]
WAYS = (
    "lexical", "tfidf", "dense", "hybrid", "hybrid:alpha=0.2", "hybrid:alpha=0", "hybrid:alpha=1", "graph",
    "graph:faithful=true", "tree", "tree:detail=0.5", "tree:detail=0", "tree:budget=90", "auto",
)  # fmt: skip
ASKED = ("who wrote about the boiler in Vienna?", "AB-1007 boiler", '"the dome" of Anna Calder')
QUERIES = st.one_of(
    st.lists(
        st.sampled_from([*PEOPLE, *THINGS, *PLACES, "who", "about", "number", '"the dome"', "AB-1007"]), max_size=6
    ).map(" ".join),
    st.sampled_from(
        ["AB-1007 AB-1020", '"wrote to Anna Calder in Berlin"', '"the comet" AB-1019', "zebra", "", '""', "天文台"]
    ),
    st.text(max_size=20),
)


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Monograph]:
    with Monograph.open(tmp_path_factory.mktemp("relevance") / "x.mono") as monograph:
        monograph.add(Document(text, id=f"{n}") for n, text in enumerate(TEXTS))
        monograph.tree.rebuild()
        yield monograph


@given(QUERIES, st.sampled_from(WAYS), st.integers(1, 12))
@example("who wrote about the boiler?", "auto", 5)
@example('"the comet" AB-1019', "graph", 9)
@settings(max_examples=examples(400))
def test_relevance_lies_in_0_to_1_and_never_rises(archive: Monograph, query: str, how: str, k: int) -> None:
    hits = archive.search(query, k, how)
    told = [hit.relevance for hit in hits]
    assert all(isinstance(one, float) and 0 <= one <= 1 for one in told)
    assert told == sorted(told, reverse=True)
    assert archive.search(query, k, how) == hits
    if not how.startswith("tree"):  # There a share of k, or a budget, decides what is found at all.
        assert [hit.relevance for hit in archive.search(query, k + 7, how)[: len(hits)]] == told


@pytest.mark.parametrize("query", ASKED)
def test_relevance_of_dense_search_is_the_cosine(archive: Monograph, query: str) -> None:
    for how in ("dense", "tree", "tree:detail=0.3"):
        hits = archive.search(query, 60, how)
        assert hits
        assert [hit.relevance for hit in hits] == [max(0.0, hit.score) for hit in hits]


def test_relevance_of_negative_cosines_is_0(archive: Monograph) -> None:
    vectors = np.stack([one.vector for one in archive.fetch(vectors=True) if one.vector is not None])
    hits = archive.search("", 3, "dense", vector=-vectors.mean(axis=0))
    assert [hit.score < 0 for hit in hits] == [True] * 3
    assert [hit.relevance for hit in hits] == [0.0] * 3


@pytest.mark.parametrize("query", ASKED)
@pytest.mark.parametrize("how", ["lexical", "tfidf"])
def test_relevance_of_lexical_search_is_a_share_of_the_best(archive: Monograph, how: str, query: str) -> None:
    hits = archive.search(query, 20, how)
    assert hits[0].relevance == 1
    assert [hit.relevance for hit in hits] == pytest.approx([max(0.0, hit.score) / hits[0].score for hit in hits])


@pytest.mark.parametrize("query", ASKED)
def test_relevance_of_hybrid_search_is_counted_from_the_floor(archive: Monograph, query: str) -> None:
    """The floor by hand: a chunk that has no word of the question, and that the dense search ranks with its last."""
    with archive._file.reading() as snapshot:
        asked = Query(query, 60, Hybrid())
        vector = archive.embedder.embed([query], "query")[0]
        _, rankings = words.pool(snapshot, asked, words.count(snapshot, asked), POOL, vector)
    floor = 0.0
    for one in rankings:
        # The dense search ranks all there are.
        scores = np.array([*one.scores, *[0.0] * (len(rankings[1].rows) - len(one.rows))])
        floor += fusion.WEIGHTS[one.retriever] * float((scores.min() - scores.mean()) / scores.std())
    hits = archive.search(query, 60, "hybrid")
    best = hits[0].score
    assert [hit.relevance for hit in hits] == pytest.approx([(hit.score - floor) / (best - floor) for hit in hits])
    assert hits[-1].relevance < 0.1


def test_relevance_of_graph_search_is_a_share_of_the_probability(archive: Monograph) -> None:
    disordered = 0
    for query in (*ASKED, "lathe AB-1007"):
        hits = archive.search(query, 20, "graph")
        known = [{one.retriever: one.score for one in hit.origins} for hit in hits]
        worth = [max(one["graph"], one.get("exact", 0.0), one.get("phrase", 0.0)) for one in known]
        assert [hit.relevance for hit in hits] == pytest.approx(
            [min(1.0, *worth[: place + 1]) / worth[0] for place in range(len(hits))]
        )
        probabilities = [one["graph"] for one in known]
        disordered += probabilities != sorted(probabilities, reverse=True)
    # Hits come in the order of what each adds to those before it, which is not that of the probabilities.
    assert disordered


class Backwards:
    """What words find, the worst first."""

    def search(self, reader: Reader, query: Query) -> list[Hit]:
        found = Hybrid(alpha=0.2).search(reader, query)[::-1]
        return [replace(hit, rank=rank) for rank, hit in enumerate(found)]


class Silent:
    """Says nothing of relevance."""

    def search(self, reader: Reader, query: Query) -> list[Hit]:
        chunk = Chunk("c", "d", "text", 0, 4, 0)
        return [Hit(chunk, score, rank, "", "", {}, ()) for rank, score in enumerate((8.0, 4.0, 6.0, -1.0))]


def test_relevance_of_own_strategies_follows_their_order(archive: Monograph) -> None:
    worst_first = [hit.relevance for hit in archive.search("the boiler in Vienna", 4, Backwards())]
    assert worst_first == [worst_first[0]] * 4
    assert worst_first[0] < 1
    assert [hit.relevance for hit in archive.search("x", 4, Silent())] == [1.0, 0.5, 0.5, 0.0]


@given(st.lists(st.floats(allow_nan=True, allow_infinity=True), max_size=8))
def test_relevance_of_a_strategy_is_clipped_and_never_rises(told: list[float]) -> None:
    chunk = Chunk("c", "d", "text", 0, 4, 0)
    hits = [Hit(chunk, 1.0, rank, "", "", {}, (), relevance=one) for rank, one in enumerate(told)]
    made = [hit.relevance for hit in cap_relevances(hits)]
    assert all(0 <= one <= 1 for one in made)
    assert made == sorted(made, reverse=True)
    clipped = [0.0 if math.isnan(one) else min(1.0, max(0.0, one)) for one in told]
    if any(told):
        assert made == [min(clipped[: place + 1]) for place in range(len(told))]


def test_share_is_relative_to_the_floor() -> None:
    assert shares_of([4.0, 3.0, -1.0]) == [1.0, 0.75, 0.0]
    assert shares_of([3.0, -1.0], -2.0) == [1.0, 0.2]
    assert shares_of([0.0]) == shares_of([2.0], 2.0) == [1.0]
    assert shares_of([]) == []
