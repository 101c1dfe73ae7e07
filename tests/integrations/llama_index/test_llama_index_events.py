"""What LlamaIndex's instrumentation is told: spans and events of searches, reductions and answers."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

pytest.importorskip("llama_index.core", reason="the extra llama-index is not installed")

import llama_index_instrumentation as instrument
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.instrumentation.events.query import QueryEndEvent, QueryStartEvent
from llama_index.core.instrumentation.events.rerank import ReRankEndEvent, ReRankStartEvent
from llama_index.core.instrumentation.events.retrieval import RetrievalEndEvent, RetrievalStartEvent
from llama_index.core.instrumentation.span_handlers import SimpleSpanHandler
from llama_index.core.vector_stores.types import VectorStoreQuery, VectorStoreQueryMode

from llama_index.postprocessor.monograph import SCRPostprocessor
from llama_index.query_engine.monograph import CitingQueryEngine
from llama_index.retrievers.monograph import HybridRetriever, MiniRAGRetriever, TreeRetriever
from llama_index.vector_stores.monograph import AnswerEvent, EcoVectorStore, ReductionEvent, SearchEvent
from monograph import Monograph
from support.letter_corpus import with_filler

QUESTION = "who got the comet plates?"


@dataclass
class Assertions:
    """What instrumentation was told so far."""

    events: list[Any] = field(default_factory=list)
    handler: SimpleSpanHandler = field(default_factory=SimpleSpanHandler)

    def of(self, *kinds: type) -> list[Any]:
        return [event for event in self.events if isinstance(event, kinds)]

    @property
    def spans(self) -> set[str]:
        return {span.id_.partition("-")[0] for span in self.handler.completed_spans}


@pytest.fixture
def told() -> Iterator[Assertions]:
    made = Assertions()

    class Listening(BaseEventHandler):
        def handle(self, event: Any, **_: Any) -> None:
            made.events.append(event)

    dispatcher = instrument.get_dispatcher()
    kept = list(dispatcher.span_handlers), list(dispatcher.event_handlers)
    dispatcher.add_span_handler(made.handler)
    dispatcher.add_event_handler(Listening())
    yield made
    dispatcher.span_handlers, dispatcher.event_handlers = kept


@pytest.fixture
def filled(monograph: Monograph) -> Monograph:
    return with_filler(monograph)


def test_retriever_sends_search_events_with_their_effort(filled: Monograph, told: Assertions) -> None:
    HybridRetriever(filled, how="dense", similarity_top_k=2).retrieve(QUESTION)
    (event,) = told.of(SearchEvent)
    hits = filled.search(QUESTION, 2, how="dense")
    effort = hits[0].origins[0].effort
    assert effort is not None
    assert (event.query, event.found, event.retrievers) == (QUESTION, 2, ["dense"])
    assert (event.loads, event.compared, event.stopped) == (effort.loads, effort.compared, effort.stopped)
    assert event.compared > 0
    assert event.class_name() == "MonographSearchEvent"
    assert [type(one) for one in told.events if type(one).__name__.startswith(("Retrieval", "Search"))] == [
        RetrievalStartEvent,
        SearchEvent,
        RetrievalEndEvent,
    ]
    assert event.span_id.startswith("HybridRetriever._retrieve")
    told.events.clear()
    HybridRetriever(filled, how="lexical").retrieve("nothing_of_the_kind")
    asyncio.run(MiniRAGRetriever(filled).aretrieve(QUESTION))
    nothing, along = told.of(SearchEvent)
    assert (nothing.found, nothing.retrievers, nothing.compared, nothing.stopped) == (0, [], 0, "")
    assert "graph" in along.retrievers
    assert {"HybridRetriever.retrieve", "MiniRAGRetriever.aretrieve"} <= told.spans


def test_tree_retriever_sends_a_search_event(filled: Monograph, told: Assertions) -> None:
    filled.tree.rebuild()
    TreeRetriever(filled, detail=0.0).retrieve(QUESTION)
    assert told.of(SearchEvent)[0].found > 0


def test_llama_index_store_sends_search_events(filled: Monograph, told: Assertions) -> None:
    store = EcoVectorStore(filled)
    store.query(VectorStoreQuery(query_str=QUESTION, similarity_top_k=3))
    asyncio.run(store.aquery(VectorStoreQuery(query_str=QUESTION, mode=VectorStoreQueryMode.TEXT_SEARCH)))
    near, words = told.of(SearchEvent)
    assert (near.found, near.retrievers) == (3, ["dense"])
    assert words.retrievers == ["lexical"]
    store.add([])
    store.delete("nobody")
    assert {f"EcoVectorStore.{name}" for name in ("query", "aquery", "add", "delete")} <= told.spans


def test_postprocessor_sends_a_reduction_event_with_kept_characters(filled: Monograph, told: Assertions) -> None:
    given = HybridRetriever(filled, similarity_top_k=3).retrieve(QUESTION)
    reduced = SCRPostprocessor(filled, cut=0.6).postprocess_nodes(given, query_str=QUESTION)
    (event,) = told.of(ReductionEvent)
    assert event.query == QUESTION
    assert event.characters == sum(len(one.get_content()) for one in given)
    assert event.kept == sum(len(one.get_content()) for one in reduced) < event.characters
    begun, ended = told.of(ReRankStartEvent, ReRankEndEvent)
    assert (begun.nodes, begun.query.query_str) == (given, QUESTION)
    assert ended.nodes == reduced
    assert "SCRPostprocessor._postprocess_nodes" in told.spans


@pytest.mark.parametrize("streaming", [False, True])
def test_citing_engine_sends_an_answer_event_with_its_tokens(
    filled: Monograph, told: Assertions, streaming: bool
) -> None:
    response = CitingQueryEngine(filled, budget=300, streaming=streaming).query(QUESTION)
    said = str(response)
    assert len(told.of(QueryStartEvent, QueryEndEvent)) == 2
    (event,) = told.of(AnswerEvent)
    assert said == filled.ask(QUESTION, 300).text
    assert (event.query, event.model, event.abstained, event.cached) == (QUESTION, "", False, False)
    assert 0 < event.tokens_context <= 300
    assert event.tokens_context < event.tokens_found
    assert 0 < event.relevance <= 1
    assert "CitingQueryEngine.query" in told.spans
