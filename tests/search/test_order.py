"""Independence of hits from the order and history of documents."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monograph import Document, Hit, Monograph, Settings
from monograph.evaluate.datasets import load_dataset
from monograph.search.query import Strategy
from support.corpora import QUERIES, Formulas, History, add, bounds, corpora
from support.models import BagEmbedder
from support.properties import examples

RANKED = ("lexical", "tfidf", "dense", "hybrid")
"""Ways whose hits of one score come in order of id."""
WAYS = (*RANKED, "graph", "graph:faithful=true", "tree", "tree:detail=0.5")


def found(monograph: Monograph, query: str, how: str | Strategy, k: int) -> list[Hit]:
    """Hits without what it took to find them: that is the index's, which does hang on history."""
    hits = monograph.search(query, k, how)
    return [replace(hit, origins=tuple(replace(one, effort=None) for one in hit.origins)) for hit in hits]


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file without documents, to be copied: of short chunks, and with a tree of small segments to come."""
    path = tmp_path_factory.mktemp("empty") / "empty.mono"
    made = Settings(chunk_tokens=16, chunk_overlap=0, segment_least=2, segment_most=3)
    Monograph.open(path, settings=made).close()
    return path


@pytest.mark.long
@settings(max_examples=examples(120))
@given(
    corpus=corpora(),
    query=st.sampled_from(QUERIES),
    k=st.sampled_from([1, 2, 3, 20]),
    most=st.sampled_from([1, 2, 4, 100]),
)
def test_hits_do_not_depend_on_the_order_of_documents(
    empty: Path,
    tmp_path_factory: pytest.TempPathFactory,
    corpus: tuple[list[Document], History],
    query: str,
    k: int,
    most: int,
) -> None:
    documents, history = corpus
    folder = tmp_path_factory.mktemp("order")
    paths = [shutil.copy(empty, folder / name) for name in ("one.mono", "other.mono")]
    with Monograph.open(paths[0], BagEmbedder(8)) as one, Monograph.open(paths[1], BagEmbedder(8)) as other:
        one.add(documents)
        add(other, documents, history)
        one.tree.rebuild()
        other.tree.rebuild()
        with bounds(most):
            for how in (*WAYS, Formulas(most)):
                hits = found(one, query, how, k)
                assert found(other, query, how, k) == hits, how
                if how in RANKED:
                    assert in_order_of_id(hits), how


def in_order_of_id(hits: Sequence[Hit]) -> bool:
    """Whether hits of one score are."""
    return all(one.chunk.id < other.chunk.id for one, other in pairwise(hits) if one.score == other.score)


@pytest.fixture(scope="module")
def alike(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Monograph, Monograph]]:
    """Files of 400 documents, more than any bound, that no score tells apart; they came in different orders."""
    chosen, folder = random.Random(4), tmp_path_factory.mktemp("alike")
    about = "Invoice INV-2031 of Anna Calder was paid by John Smith for lamp oil"
    documents = [
        Document(" ".join(chosen.sample(about.split(), 13)), title="Green", id=f"d{place}") for place in range(400)
    ]
    made = Settings(segment_least=2, segment_most=3)
    with (
        Monograph.open(folder / "one.mono", BagEmbedder(8), settings=made) as one,
        Monograph.open(folder / "other.mono", BagEmbedder(8), settings=made) as other,
    ):
        one.add(documents)
        places = chosen.sample(range(400), 400)
        batches = tuple(tuple(places[first : first + 60]) for first in range(0, 400, 60))
        add(other, documents, History(batches, again=tuple(places[5:300:7])))
        one.tree.rebuild()
        other.tree.rebuild()
        yield one, other


@pytest.mark.parametrize("k", [5, 150])
@pytest.mark.parametrize("how", WAYS)
def test_ties_are_cut_by_id(alike: tuple[Monograph, Monograph], how: str, k: int) -> None:
    one, other = alike
    for query in ("Was INV-2031 of Anna Calder paid?", '"Anna" Calder', "lamp oil of Green", "paid by John"):
        hits = found(one, query, how, k)
        assert len(hits) == k
        assert found(other, query, how, k) == hits
        assert how not in RANKED or in_order_of_id(hits)


@pytest.mark.long
@pytest.mark.timeout(900)
def test_hits_in_lihuaworld_do_not_depend_on_the_order_of_documents(shared: Path, tmp_path: Path) -> None:
    dataset = load_dataset(shared / "data/lihuaworld")
    made = Settings()
    with (
        Monograph.open(tmp_path / "one.mono", settings=made) as one,
        Monograph.open(tmp_path / "other.mono", settings=made) as other,
    ):
        one.add(dataset.documents)
        places = random.Random(5).sample(range(len(dataset.documents)), len(dataset.documents))
        batches = tuple(tuple(places[first : first + 60]) for first in range(0, len(places), 60))
        add(other, dataset.documents, History(batches, drafts=tuple(places[::40]), again=tuple(places[::7])))
        one.tree.rebuild()
        other.tree.rebuild()
        differing = {
            how: [
                question.question
                for question in dataset.questions
                if found(one, question.question, how, 10) != found(other, question.question, how, 10)
            ]
            for how in WAYS
        }
    assert differing == {how: [] for how in WAYS}
