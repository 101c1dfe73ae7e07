"""The LangChain retriever."""

from __future__ import annotations

import asyncio
from threading import get_ident
from typing import Any

import pytest

pytest.importorskip("langchain_core", reason="the extra langchain is not installed")

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document as Page
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.runnables import RunnableLambda
from pydantic import ValidationError

from langchain_monograph import (
    EcoVectorStore,
    HybridRetriever,
    MiniRAGRetriever,
    MonographToolkit,
    SCRCompressor,
    TreeRetriever,
)
from monograph import Document, Monograph
from monograph.errors import InputError, InvalidFilter
from support.event_loops import note_threads
from support.retriever_events import RetrieverEvents

WORDS = ["anvil", "bellows", "chisel", "drill", "engine", "file", "gauge"]


@pytest.fixture
def filled(monograph: Monograph) -> Monograph:
    monograph.add(
        Document(
            f"The {word} stands in hall {n}.", id=f"doc/{n}", title=f"Hall {n}", uri=f"/halls/{n}", metadata={"hall": n}
        )
        for n, word in enumerate(WORDS)
    )
    return monograph


def test_langchain_documents_equal_the_hits(filled: Monograph) -> None:
    documents = HybridRetriever(monograph=filled, k=3).invoke("where is the chisel?")
    hits = filled.search("where is the chisel?", 3)
    assert [document.id for document in documents] == [hit.chunk.id for hit in hits]
    first = documents[0]
    assert first.page_content == "The chisel stands in hall 2."
    span = {"monograph_document_id": "doc/2", "monograph_start": 0, "monograph_end": len(first.page_content)}
    assert first.metadata == {"hall": 2, "title": "Hall 2", "source": "/halls/2", **span}


@pytest.mark.parametrize("how", ["auto", "lexical", "tfidf", "dense", "hybrid"])
def test_langchain_events_have_the_scores_of_the_hits(filled: Monograph, how: str) -> None:
    query, events = "the engine in hall 4", RetrieverEvents()
    retriever = HybridRetriever(monograph=filled, how=how)
    found = retriever.invoke(query, config={"callbacks": [events]})
    assert asyncio.run(retriever.ainvoke(query, config={"callbacks": [events]})) == found
    hits = [
        {"id": hit.chunk.id, "relevance": hit.relevance, "score": hit.score, "explanation": hit.explain()}
        for hit in filled.search(query, how=how)
    ]
    assert hits
    assert events.seen == [("monograph_search", {"query": query, "hits": hits})] * 2


def test_langchain_documents_are_equal_whatever_the_query(filled: Monograph) -> None:
    filled.graph.build()
    asked = ["the engine in hall 4", "where does the engine stand?", "hall 4"]
    store = EcoVectorStore(filled)
    retrievers = [
        HybridRetriever(monograph=filled, k=7),
        MiniRAGRetriever(monograph=filled, k=7),
        store.as_retriever(search_kwargs={"k": 7}),
    ]
    found = [one for retriever in retrievers for query in asked for one in retriever.invoke(query)]
    unique = [one for n, one in enumerate(found) if one not in found[:n]]
    assert len(found) > len(unique) == len({one.id for one in found})


def test_multi_query_retriever_merges_equal_documents(filled: Monograph) -> None:
    retrievers = pytest.importorskip("langchain_classic.retrievers", reason="langchain-classic is not installed")
    model = FakeListChatModel(responses=["the engine in hall 4\nwhere does the engine stand?\nengine"])
    several = retrievers.MultiQueryRetriever.from_llm(HybridRetriever(monograph=filled, k=4), model)
    found = several.invoke("the engine")
    assert len(found) == len({one.id for one in found})


def test_langchain_document_metadata_take_precedence(monograph: Monograph) -> None:
    own = {"source": "mine", "score": "also mine", "nested": {"a": [1, None, 2.5]}, "flag": True}
    monograph.add([Document("The anvil.", id="doc", uri="/ours", metadata=own)])
    (found,) = HybridRetriever(monograph=monograph).invoke("anvil")
    assert {key: found.metadata[key] for key in own} == own
    assert found.metadata["monograph_document_id"] == "doc"


def test_call_options_override_those_of_the_retriever(filled: Monograph) -> None:
    retriever = HybridRetriever(monograph=filled)
    assert len(retriever.invoke("stands", k=2)) == 2
    assert {one.metadata["hall"] for one in retriever.invoke("the anvil stands", filter={"hall": {">": 4}})} == {5, 6}
    assert len(retriever.invoke("drill", how="lexical")) == 1
    with pytest.raises(InvalidFilter):
        retriever.invoke("x", filter={"hall": {"~": 3}})
    with pytest.raises(InputError):
        retriever.invoke("x", how="")
    with pytest.raises(TypeError):
        retriever.invoke("x", top_k=3)
    narrow = HybridRetriever(monograph=filled, filter={"hall": 1})
    assert {one.metadata["hall"] for one in narrow.invoke("stands")} == {1}
    assert len(narrow.invoke("stands", filter={}, k=7)) == 7
    assert narrow.invoke("stands", k=0) == []


def test_langchain_components_refuse_unknown_fields(filled: Monograph) -> None:
    for kind in (HybridRetriever, MiniRAGRetriever, TreeRetriever, SCRCompressor, MonographToolkit):
        for wrong in ({"where": {"hall": 1}}, {"top_k": 3}):
            with pytest.raises(ValidationError, match="Extra inputs are not permitted"):
                kind(monograph=filled, **wrong)


def test_langchain_batches_find_the_same_as_single_queries(filled: Monograph) -> None:
    retriever = HybridRetriever(monograph=filled, how="dense")
    queries = ["engine", "drill", "file"]
    alone = [[one.id for one in retriever.invoke(query)] for query in queries]
    assert [[one.id for one in found] for found in retriever.batch(queries)] == alone
    assert [[one.id for one in found] for found in asyncio.run(retriever.abatch(queries))] == alone


def test_langchain_retriever_does_not_block_the_event_loop(filled: Monograph, monkeypatch: pytest.MonkeyPatch) -> None:
    threads = note_threads(monkeypatch, HybridRetriever, "_search")
    retriever = HybridRetriever(monograph=filled)

    async def ask() -> None:
        await retriever.ainvoke("anvil", k=1)
        retriever.invoke("anvil")  # where a loop runs already, as in a notebook

    asyncio.run(ask())
    assert [thread == get_ident() for thread in threads] == [False, True]


def test_langchain_callbacks_see_each_search_of_a_chain(filled: Monograph) -> None:
    class Seen(BaseCallbackHandler):
        starts = 0
        found = 0

        def on_retriever_start(self, *_: Any, **__: Any) -> None:
            self.starts += 1

        def on_retriever_end(self, documents: Any, **_: Any) -> None:
            self.found += len(documents)

    def texts(found: list[Page]) -> list[str]:
        return [one.page_content for one in found]

    seen = Seen()
    chain = HybridRetriever(monograph=filled, k=2) | RunnableLambda(texts)
    assert chain.invoke("where is the gauge?", config={"callbacks": [seen]})[0] == "The gauge stands in hall 6."
    assert (seen.starts, seen.found) == (1, 2)
    asyncio.run(chain.ainvoke("where is the gauge?", config={"callbacks": [seen]}))
    assert (seen.starts, seen.found) == (2, 4)
