"""LangChain: its rerankers in a file, and a file's reranker in its retrievers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("langchain_core", reason="the extra langchain is not installed")

from langchain_core.cross_encoders import BaseCrossEncoder
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.load import dumps, loads

from langchain_monograph import EraRAGRetriever, HybridRetriever, LangChainReranker, MiniRAGRetriever, TreeRetriever
from monograph import Hit, Monograph, Reranker
from monograph.errors import ModelUnavailable
from support.letter_corpus import of_different_lengths
from support.retriever_events import explanations

QUESTION = "who got the plates from the woman that Tobias Renk met?"


class Shortest(BaseCrossEncoder):
    """Likes what is short."""

    def score(self, text_pairs: list[tuple[str, str]]) -> list[float]:
        assert {question for question, _ in text_pairs} == {QUESTION}
        return [-float(len(text)) for _, text in text_pairs]


class ShortestFirst(BaseDocumentCompressor):
    """The same as a compressor, which keeps so many, and tells scores or not."""

    keeps: int = 30
    tells: bool = True

    def compress_documents(self, documents: Sequence[Document], query: str, callbacks: Any = None) -> list[Document]:
        ordered = sorted(documents, key=lambda one: len(one.page_content))[: self.keeps]
        told = [{"relevance_score": -float(len(one.page_content))} if self.tells else {} for one in ordered]
        return [
            Document(page_content=one.page_content, metadata=one.metadata | more)
            for one, more in zip(ordered, told, strict=True)
        ]


@pytest.fixture
def filled(monograph: Monograph) -> Monograph:
    return of_different_lengths(monograph)


def given(hit: Hit) -> float:
    return next(one.score for one in hit.origins if one.retriever == "rerank")


def test_langchain_reranker_ranks_a_files_hits(filled: Monograph) -> None:
    encoder = LangChainReranker(Shortest(), "shortest", 1e7)
    assert isinstance(encoder, Reranker)
    found = filled.search(QUESTION, 5, "lexical", reranker=encoder)
    scores = [given(hit) for hit in found]
    assert scores == sorted(scores, reverse=True) and scores[0] > scores[-1]
    compressor = LangChainReranker(ShortestFirst(), "shortest, as a compressor", weight=1e7)
    assert [hit.chunk.id for hit in filled.search(QUESTION, 5, "lexical", reranker=compressor)] == [
        hit.chunk.id for hit in found
    ]


@pytest.mark.parametrize("model", [ShortestFirst(keeps=2), ShortestFirst(tells=False)])
def test_langchain_reranker_that_drops_hits_is_refused(filled: Monograph, model: ShortestFirst) -> None:
    """A score that hangs on what else was there must not be remembered."""
    with pytest.raises(ModelUnavailable, match="langchain/some") as caught:
        filled.search(QUESTION, 5, reranker=LangChainReranker(model, "some"))
    assert "top_n=30" in caught.value.hint


@pytest.mark.parametrize("kind", [HybridRetriever, MiniRAGRetriever, TreeRetriever, EraRAGRetriever])
def test_langchain_retrievers_accept_a_reranker(filled: Monograph, kind: type) -> None:
    encoder = LangChainReranker(Shortest(), "shortest")
    modes: dict[type, str] = {HybridRetriever: "auto", MiniRAGRetriever: "graph"}
    how = modes.get(kind, "tree")
    found = kind(monograph=filled, k=3, reranker=encoder).invoke(QUESTION)
    assert [one.page_content for one in found] == [
        hit.text for hit in filled.search(QUESTION, 3, how, reranker=encoder)
    ]
    reranked = explanations(kind(monograph=filled, k=3, reranker=encoder), QUESTION)
    assert len(reranked) == len(found)
    assert all("rerank #" in one for one in reranked)
    assert not any("rerank" in one for one in explanations(kind(monograph=filled), QUESTION))


def test_langchain_reranker_is_serialized_by_name(filled: Monograph, tmp_path: Path) -> None:
    text = dumps(HybridRetriever(monograph=filled, k=2, reranker="embedder:static"))
    again = loads(text, allowed_objects=[HybridRetriever], valid_namespaces=["langchain_monograph"])
    assert again.reranker == "embedder:static"
    assert "rerank #" in explanations(again, QUESTION)[0]
    again.close()
    assert '"reranker"' not in dumps(HybridRetriever(monograph=filled, k=2))
