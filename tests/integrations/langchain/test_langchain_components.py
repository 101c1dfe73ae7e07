"""LangChain: retrievers along the graph and through the tree, reduction, tools, a loader."""

from __future__ import annotations

import asyncio
import importlib
import sys
from typing import Any

import pytest

pytest.importorskip("langchain_core", reason="the extra langchain is not installed")
integration = pytest.importorskip("langchain_tests.integration_tests", reason="langchain-tests is not installed")
unit = pytest.importorskip("langchain_tests.unit_tests", reason="langchain-tests is not installed")

from langchain_core.documents import Document
from langchain_core.tools import BaseTool

from langchain_monograph import (
    EraRAGRetriever,
    HybridRetriever,
    MiniRAGRetriever,
    MonographLoader,
    MonographToolkit,
    SCRCompressor,
    TreeRetriever,
)
from monograph import Graph, Monograph, Tree
from monograph.errors import InputError, MissingExtra, NotFound
from support.letter_corpus import with_filler


@pytest.fixture
def filled(monograph: Monograph) -> Monograph:
    with_filler(monograph).tree.rebuild()
    return monograph


class Standard(integration.RetrieversIntegrationTests):  # type: ignore[misc,name-defined]
    """LangChain's own suite for retrievers, for each of ours."""

    kind: type
    opened: Monograph

    @pytest.fixture(autouse=True)
    def _open(self, filled: Monograph) -> None:
        type(self).opened = filled

    @property
    def retriever_constructor(self) -> type:
        return self.kind

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"monograph": self.opened}

    @property
    def retriever_query_example(self) -> str:
        return "who met Anna Calder in Vienna, and who got the plates?"


class TestHybrid(Standard):
    kind = HybridRetriever


class TestMiniRAG(Standard):
    kind = MiniRAGRetriever


class TestTree(Standard):
    kind = TreeRetriever


class TestEraRAG(Standard):
    kind = EraRAGRetriever


del Standard


@pytest.fixture
def search_tool(filled: Monograph) -> BaseTool:
    return MonographToolkit(monograph=filled).get_tools()[0]


class ToolParams:
    given: BaseTool

    @pytest.fixture(autouse=True)
    def _give(self, search_tool: BaseTool) -> None:
        type(self).given = search_tool

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
    question = "who got the plates from the woman that Tobias Renk met?"
    found = MiniRAGRetriever(monograph=filled, k=2).invoke(question)
    hits = filled.search(question, 2, how="graph")
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
