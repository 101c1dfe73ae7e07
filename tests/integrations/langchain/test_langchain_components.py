"""LangChain: retrievers along the graph and through the tree, rerankers, reduction, tools, a loader."""

from __future__ import annotations

import asyncio
import importlib
import sys
from collections.abc import Sequence
from typing import Any

import pytest

pytest.importorskip("langchain_core", reason="the extra langchain is not installed")
integration = pytest.importorskip("langchain_tests.integration_tests", reason="langchain-tests is not installed")
unit = pytest.importorskip("langchain_tests.unit_tests", reason="langchain-tests is not installed")

from langchain_core.cross_encoders import BaseCrossEncoder
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.load import dumps, loads
from langchain_core.tools import BaseTool

from langchain_monograph import (
    EraRAGRetriever,
    HybridRetriever,
    LangChainReranker,
    MiniRAGRetriever,
    MonographEmbeddings,
    MonographLoader,
    MonographToolkit,
    SCRCompressor,
    TreeRetriever,
)
from monograph import Chunk, Graph, Hit, Monograph, Reranker, Tree, Windows
from monograph.errors import InputError, MissingExtra, ModelUnavailable, NotFound
from support.letter_corpus import of_different_lengths, with_filler
from support.retriever_events import explanations

QUESTION = "who got the plates from the woman that Tobias Renk met?"


@pytest.fixture
def filled(monograph: Monograph) -> Monograph:
    with_filler(monograph).tree.rebuild()
    return monograph


RETRIEVERS = {HybridRetriever: "auto", MiniRAGRetriever: "graph", TreeRetriever: "tree", EraRAGRetriever: "tree"}
"""Retrievers and the search mode of each."""


class TestRetrievers(integration.RetrieversIntegrationTests):  # type: ignore[misc,name-defined]
    """LangChain's own suite for retrievers, for each of ours."""

    kind: type
    opened: Monograph

    @pytest.fixture(autouse=True, params=RETRIEVERS)
    def _open(self, request: pytest.FixtureRequest, filled: Monograph) -> None:
        type(self).kind, type(self).opened = request.param, filled

    @property
    def retriever_constructor(self) -> type:
        return self.kind

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"monograph": self.opened}

    @property
    def retriever_query_example(self) -> str:
        return "who met Anna Calder in Vienna, and who got the plates?"


class ToolParams:
    given: BaseTool

    @pytest.fixture(autouse=True)
    def _give(self, filled: Monograph) -> None:
        type(self).given = MonographToolkit(monograph=filled).get_tools()[0]

    @property
    def tool_constructor(self) -> BaseTool:
        return self.given

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        return {"query": "who got the comet plates?", "k": 2}


class TestToolUnit(ToolParams, unit.ToolsUnitTests):  # type: ignore[misc,name-defined]
    """LangChain's own suite for tools."""


class TestToolIntegration(ToolParams, integration.ToolsIntegrationTests):  # type: ignore[misc,name-defined]
    """LangChain's own suite for tools that are called."""


def test_langchain_retriever_follows_the_graph(filled: Monograph) -> None:
    found = MiniRAGRetriever(monograph=filled, k=2).invoke(QUESTION)
    hits = filled.search(QUESTION, 2, how="graph")
    assert [one.id for one in found] == [hit.chunk.id for hit in hits]
    faithful = MiniRAGRetriever(monograph=filled).invoke("Anna Calder", faithful=True, k=3, filter={"n": 1})
    expected = filled.search("Anna Calder", 3, how=Graph(faithful=True), where={"n": 1})
    assert [one.id for one in faithful] == [hit.chunk.id for hit in expected]


def test_langchain_retriever_searches_the_tree(filled: Monograph) -> None:
    summaries = TreeRetriever(monograph=filled, detail=0.0, k=2).invoke("the letters")
    hits = filled.search("the letters", 2, how=Tree(detail=0.0))
    assert [one.page_content for one in summaries] == [hit.text for hit in hits]
    assert summaries[0].metadata["monograph_layer"] >= 1
    assert summaries[0].metadata["monograph_chunks"]
    chunks = asyncio.run(TreeRetriever(monograph=filled).ainvoke("the lathe", detail=1.0, k=1, filter={"n": 3}))
    assert [one.metadata["n"] for one in chunks] == [3]


def test_langchain_tree_retriever_adds_and_deletes_documents(filled: Monograph) -> None:
    retriever = EraRAGRetriever(monograph=filled, detail=1.0, k=1)
    names = retriever.add_documents([Document(page_content="The steamer left Trieste.", metadata={"n": 9})], ["mine"])
    assert names == ["mine"]
    assert retriever.invoke("when did the steamer leave Trieste?")[0].id == "mine"
    assert asyncio.run(retriever.aadd_documents([Document(id="two", page_content="A lighthouse.")])) == ["two"]
    assert asyncio.run(retriever.adelete(["mine", "nobody"])) is True
    assert retriever.delete(["two"]) is True
    assert filled.fetch(["mine"]) == []
    assert retriever.add_documents([]) == []
    assert filled.check() == []
    with pytest.raises(InputError, match="give one id per document"):
        retriever.add_documents([Document(page_content="x")], ["a", "b"])


def test_compressor_reduces_copies_of_documents(filled: Monograph) -> None:
    given = [*HybridRetriever(monograph=filled, k=4).invoke("who got the comet plates?"), Document(page_content=" ")]
    before = [one.model_dump_json() for one in given]
    compressor = SCRCompressor(monograph=filled, cut=0.6)
    reduced = compressor.compress_documents(given, "who got the comet plates?")
    assert [one.model_dump_json() for one in given] == before
    assert len(reduced) == len(given)
    originals = {one.id: one for one in given}
    for one in reduced[:-1]:
        whole = originals[one.id].page_content
        kept = " … ".join(whole[start:end] for start, end in one.metadata["monograph_spans"])
        assert kept == one.page_content
        assert {**one.metadata, "monograph_spans": 0} == {**originals[one.id].metadata, "monograph_spans": 0}
    assert "Peter Okafor" in reduced[0].page_content
    assert compressor.as_runnable().invoke({"query": "who got the comet plates?", "documents": given}) == reduced
    assert asyncio.run(compressor.acompress_documents(given, "who got the comet plates?")) == reduced
    with pytest.raises(InputError, match="cut is 7"):
        SCRCompressor(monograph=filled, cut=7).compress_documents(given, "x")


def test_compressor_keeps_the_papers_windows(filled: Monograph) -> None:
    question = "who got the comet plates?"
    given = HybridRetriever(monograph=filled, k=4).invoke(question)
    hits = [Hit(Chunk("", "", one.page_content, 0, len(one.page_content), 0), 0.0, 0, "", "", {}, ()) for one in given]
    expected = filled.reduce(question, hits, windows=Windows())
    made = SCRCompressor(monograph=filled, mode="windows").compress_documents(given, question)
    assert [(one.id, one.page_content) for one in made] == [
        (one.id, reduced.text) for one, reduced in zip(given, expected, strict=True)
    ]
    ordered = SCRCompressor(monograph=filled, mode="windows", reorder=True).compress_documents(given, question)
    assert [one.page_content for one in ordered] == [one.text for one in sorted(expected, key=lambda one: -one.value)]
    refused = (
        ({"mode": "windows", "cut": 0.6}, "cut is 0.6"),
        ({"window": 4}, "the mode is sentences"),
        ({"embedding": MonographEmbeddings(filled.embedder)}, "an embedding model was given"),
    )
    for named, said in refused:
        with pytest.raises(InputError, match=said):
            SCRCompressor(monograph=filled, **named)


def test_compressor_works_in_the_contextual_compression_retriever(filled: Monograph) -> None:
    retrievers = pytest.importorskip("langchain_classic.retrievers", reason="langchain-classic is not installed")
    retriever = retrievers.ContextualCompressionRetriever(
        base_compressor=SCRCompressor(monograph=filled), base_retriever=HybridRetriever(monograph=filled, k=2)
    )
    found = retriever.invoke("who got the comet plates?")
    assert "Okafor" in found[0].page_content
    assert len(asyncio.run(retriever.ainvoke("who got the comet plates?"))) == 2


def test_langchain_loader_returns_whole_documents(filled: Monograph) -> None:
    documents = MonographLoader(filled).load()
    assert [one.id for one in documents] == ["d0", "d1", "d2", "d3"]
    assert documents[1].metadata == {"title": "Letter 1", "source": "/l/1", "n": 1}
    assert documents[2].page_content == filled.document("d2").text
    assert [one.id for one in asyncio.run(MonographLoader(filled.path, ["/l/3"]).aload())] == ["d3"]
    with pytest.raises(NotFound):
        MonographLoader(filled, ["nothing"]).load()


def test_missing_graph_retriever_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "graph_retriever", None)
    monkeypatch.delitem(sys.modules, "langchain_monograph.graph_adapter", raising=False)
    with pytest.raises(MissingExtra, match="pip install langchain-graph-retriever"):
        importlib.import_module("langchain_monograph.graph_adapter")


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
def uneven(monograph: Monograph) -> Monograph:
    return of_different_lengths(monograph)


def test_langchain_reranker_ranks_a_files_hits(uneven: Monograph) -> None:
    encoder = LangChainReranker(Shortest(), "shortest", 1e7)
    assert isinstance(encoder, Reranker)
    found = uneven.search(QUESTION, 5, "lexical", reranker=encoder)
    scores = [next(one.score for one in hit.origins if one.retriever == "rerank") for hit in found]
    assert scores == sorted(scores, reverse=True) and scores[0] > scores[-1]
    compressor = LangChainReranker(ShortestFirst(), "shortest, as a compressor", weight=1e7)
    assert [hit.chunk.id for hit in uneven.search(QUESTION, 5, "lexical", reranker=compressor)] == [
        hit.chunk.id for hit in found
    ]


@pytest.mark.parametrize("model", [ShortestFirst(keeps=2), ShortestFirst(tells=False)])
def test_langchain_reranker_that_drops_hits_is_refused(uneven: Monograph, model: ShortestFirst) -> None:
    """A score that hangs on what else was there must not be remembered."""
    with pytest.raises(ModelUnavailable, match="langchain/some") as caught:
        uneven.search(QUESTION, 5, reranker=LangChainReranker(model, "some"))
    assert "top_n=30" in caught.value.hint


@pytest.mark.parametrize(("kind", "how"), RETRIEVERS.items())
def test_langchain_retrievers_accept_a_reranker(uneven: Monograph, kind: type, how: str) -> None:
    encoder = LangChainReranker(Shortest(), "shortest")
    found = kind(monograph=uneven, k=3, reranker=encoder).invoke(QUESTION)
    assert [one.page_content for one in found] == [
        hit.text for hit in uneven.search(QUESTION, 3, how, reranker=encoder)
    ]
    reranked = explanations(kind(monograph=uneven, k=3, reranker=encoder), QUESTION)
    assert len(reranked) == len(found)
    assert all("rerank #" in one for one in reranked)
    assert not any("rerank" in one for one in explanations(kind(monograph=uneven), QUESTION))


def test_langchain_reranker_is_serialized_by_name(uneven: Monograph) -> None:
    text = dumps(HybridRetriever(monograph=uneven, k=2, reranker="embedder:static"))
    again = loads(text, allowed_objects=[HybridRetriever], valid_namespaces=["langchain_monograph"])
    assert again.reranker == "embedder:static"
    assert "rerank #" in explanations(again, QUESTION)[0]
    again.close()
    assert '"reranker"' not in dumps(HybridRetriever(monograph=uneven, k=2))
