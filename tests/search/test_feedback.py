"""Second step of graph search with contextual embedders, and the choice of the search mode `auto`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monograph import Document, Graph, Hybrid, Monograph
from monograph.graph import evidence
from monograph.models import TextKind
from monograph.search import graph
from monograph.search.fusion import highest
from monograph.values import Float32
from support.models import HashEmbedder
from support.properties import examples

FILMS = [
    Document("Payment on Demand is a 1951 film directed by Curtis Bernhardt.", id="film", title="Payment on Demand"),
    Document("Curtis Bernhardt was a director who was born in Worms.", id="director", title="Curtis Bernhardt"),
    Document("Worms is a city on the Rhine.", id="city", title="Worms"),
    *(Document(f"Film {n} was shown in cinema {n} for {n} weeks.", id=f"other{n}") for n in range(30)),
]
QUESTION = "Where was the director of Payment on Demand born?"


class Asked(HashEmbedder):
    """Keeps how it is asked, and says whether it reads words in their context."""

    def __init__(self, *, contextual: bool) -> None:
        super().__init__(64)
        self.contextual = contextual
        self.asked: list[list[str]] = []

    def embed(self, texts: Sequence[str], kind: TextKind = "document") -> Float32:
        if kind == "query":
            self.asked.append(list(texts))
        return super().embed(texts, kind)


@pytest.mark.parametrize("contextual", [False, True])
def test_only_contextual_embedders_are_asked_again(tmp_path: Path, contextual: bool) -> None:
    embedder = Asked(contextual=contextual)
    with Monograph.open(tmp_path / "x.mono", embedder) as monograph:
        monograph.add(FILMS)
        hits = monograph.search(QUESTION, 5)
        told = {origin.retriever for hit in hits for origin in hit.origins}
        assert ("feedback" in told) == embedder.contextual
        assert len(embedder.asked) == 1 + embedder.contextual
        for text in embedder.asked[1] if embedder.contextual else []:
            assert text.startswith(QUESTION + " ")
            assert len(text) <= len(QUESTION) + 1 + graph.EXCERPT
        assert [len(texts) for texts in embedder.asked[1:]] == [graph.READ] * embedder.contextual
        assert hits[0].chunk.document_id in ("film", "director")
        assert monograph.search(QUESTION, 5) == hits


def test_feedback_cosines_equal_brute_force(tmp_path: Path) -> None:
    embedder = Asked(contextual=True)
    with Monograph.open(tmp_path / "x.mono", embedder) as monograph:
        monograph.add(FILMS)
        with monograph._file.database.read() as connection:
            rows = dict(connection.execute("SELECT chunk, chunks.id FROM chunks"))
            chances = {row: 1 / (1 + place) for place, row in enumerate(sorted(rows))}
        with monograph._file.reading() as snapshot:
            found = graph.feedback(snapshot, QUESTION, chances, lambda texts: embedder.embed(texts, "query"))
            first = highest(snapshot, chances, graph.READ)
        texts = {hit.id: hit.text for hit in (one.chunk for one in monograph.fetch(list(rows.values())))}
        together = embedder.embed([f"{QUESTION} {texts[rows[row]][: graph.EXCERPT]}" for row in first], "query")
        titles = {one.id: one.title for one in FILMS}
        owner = {one.chunk.id: one.chunk.document_id for one in monograph.fetch(list(rows.values()))}
        for row, score in zip(found.rows, found.scores, strict=True):
            title = titles[owner[rows[row]]]
            text = texts[rows[row]]
            (own,) = embedder.embed([f"{title}\n{text}" if title else text])
            assert score == pytest.approx(float((together @ own).max()), abs=1e-6)
        assert list(found.scores) == sorted(found.scores, reverse=True)
        assert set(found.rows) == set(rows)


def test_transformers_read_in_context_and_static_embedders_do_not(shared: Path) -> None:
    pytest.importorskip("onnxruntime")
    from monograph.derive.loading import load_embedder

    assert getattr(load_embedder(f"onnx:{shared / 'models' / 'all-MiniLM-L6-v2'}"), "contextual", False) is True
    assert not hasattr(load_embedder("static"), "contextual")


def test_auto_takes_the_graph_for_questions_with_known_names(tmp_path: Path) -> None:
    with Monograph.open(tmp_path / "x.mono", HashEmbedder(64)) as monograph:
        monograph.add(FILMS)
        assert monograph.search(QUESTION, 5) == monograph.search(QUESTION, 5, how=Graph())
        for question in ("which city lies on a river?", "Who wrote Hamlet?", "weeks in the cinema", ""):
            assert monograph.search(question, 5) == monograph.search(question, 5, how=Hybrid())
            assert monograph.search(question, 5) != [] or not question


PAIRS = st.lists(st.tuples(st.floats(0.0, 1.0), st.floats(-1.0, 1.0)), min_size=1, max_size=8)


@settings(max_examples=examples(300))
@given(PAIRS)
def test_reading_in_context_keeps_the_chance_of_the_nearest(pairs: list[tuple[float, float]]) -> None:
    """The nearest keeps its chance, all others lose, and of two that were as probable the nearer is more so."""
    chances, cosines = (np.array(one) for one in zip(*pairs, strict=True))
    after = evidence.read_in_context(chances, cosines)
    assert ((after > 0) & (after < 1)).all()
    assert (after <= np.maximum(chances, 1e-9) + 1e-12).all()
    nearest = cosines == cosines.max()
    assert after[nearest] == pytest.approx(np.clip(chances[nearest], 1e-9, 1 - 1e-6))
    for one, other in zip(pairs, pairs[1:], strict=False):
        before = evidence.read_in_context(np.array([0.5, 0.5]), np.array([one[1], other[1]]))
        assert (before[0] > before[1]) == (one[1] > other[1]) or abs(one[1] - other[1]) < 1e-12


def test_reading_in_context_keeps_near_certainty() -> None:
    sure, open_ = evidence.read_in_context(np.array([0.999, 0.3]), np.array([0.2, 0.5]))
    assert sure > 0.99
    assert open_ == pytest.approx(0.3)
    doubtful, _ = evidence.read_in_context(np.array([0.3, 0.3]), np.array([0.2, 0.5]))
    assert doubtful < 0.1
