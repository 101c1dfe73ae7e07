"""LlamaIndex: its rerankers in a file, and a file's reranker in its retrievers and answers."""

from __future__ import annotations

import pytest

pytest.importorskip("llama_index.core", reason="the extra llama-index is not installed")

from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import NodeWithScore, QueryBundle

from llama_index.postprocessor.monograph import LlamaIndexReranker
from llama_index.query_engine.monograph import CitingQueryEngine
from llama_index.retrievers.monograph import HybridRetriever, MiniRAGRetriever, TreeRetriever
from monograph import Monograph, Reranker
from monograph.errors import ModelUnavailable
from support.letter_corpus import of_different_lengths

QUESTION = "who got the plates from the woman that Tobias Renk met?"


class Shortest(BaseNodePostprocessor):
    """Likes what is short, keeps so many, and tells scores or not."""

    keeps: int = 30
    tells: bool = True

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        assert query_bundle is not None and query_bundle.query_str == QUESTION
        ordered = sorted(nodes, key=lambda one: len(one.text))[: self.keeps]
        return [NodeWithScore(node=one.node, score=-float(len(one.text)) if self.tells else None) for one in ordered]


@pytest.fixture
def filled(monograph: Monograph) -> Monograph:
    return of_different_lengths(monograph)


def test_llama_index_reranker_ranks_a_files_hits(filled: Monograph) -> None:
    reranker = LlamaIndexReranker(Shortest(), "shortest", 1e7)
    assert isinstance(reranker, Reranker)
    found = filled.search(QUESTION, 5, "lexical", reranker=reranker)
    scores = [next(one.score for one in hit.origins if one.retriever == "rerank") for hit in found]
    assert scores == sorted(scores, reverse=True) and scores[0] > scores[-1]


@pytest.mark.parametrize("model", [Shortest(keeps=2), Shortest(tells=False)])
def test_llama_index_reranker_that_drops_hits_is_refused(filled: Monograph, model: Shortest) -> None:
    with pytest.raises(ModelUnavailable, match="llama-index/some") as caught:
        filled.search(QUESTION, 5, reranker=LlamaIndexReranker(model, "some"))
    assert "top_n=30" in caught.value.hint


@pytest.mark.parametrize(
    ("kind", "how"), [(HybridRetriever, "auto"), (MiniRAGRetriever, "graph"), (TreeRetriever, "tree")]
)
def test_llama_index_retrievers_accept_a_reranker(filled: Monograph, kind: type, how: str) -> None:
    reranker = LlamaIndexReranker(Shortest(), "shortest")
    found = kind(filled, similarity_top_k=3, reranker=reranker).retrieve(QUESTION)
    assert [one.text for one in found] == [hit.text for hit in filled.search(QUESTION, 3, how, reranker=reranker)]
    assert all("rerank #" in one.explanation for one in found)
    assert all("rerank" not in one.explanation for one in kind(filled).retrieve(QUESTION))


def test_citing_engine_uses_its_reranker(filled: Monograph) -> None:
    reranker = LlamaIndexReranker(Shortest(), "shortest")
    answer = CitingQueryEngine(filled, reranker=reranker).query(QUESTION)
    assert str(answer) == filled.ask(QUESTION, reranker=reranker).text
