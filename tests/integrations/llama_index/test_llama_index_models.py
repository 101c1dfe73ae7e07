"""LlamaIndex's language models under Monograph.ask, and answers of a file in LlamaIndex."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("llama_index.core", reason="the extra llama-index is not installed")
pytest.importorskip("urllib3", reason="the extra llm is not installed")

from llama_index.core import Settings, VectorStoreIndex
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ToolCallBlock
from llama_index.core.base.response.schema import AsyncStreamingResponse, StreamingResponse
from llama_index.core.llms import ChatMessage, CompletionResponse, CustomLLM, LLMMetadata, MessageRole
from llama_index.core.llms.callbacks import llm_completion_callback
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.core.schema import TextNode

from llama_index.embeddings.monograph import MonographEmbedding
from llama_index.llms.monograph import LlamaIndexModel
from llama_index.query_engine.monograph import CitingQueryEngine
from llama_index.tools.monograph import MonographToolSpec
from llama_index.vector_stores.monograph import EcoVectorStore
from monograph import Document, Monograph
from monograph.derive.openai_compatible import OpenAICompatible
from monograph.errors import ModelUnavailable
from monograph.models import Completion
from support.answering import COMET, QUESTION, answers_in_pieces
from support.model_server import ModelServer
from support.served_llm import ServedLLM


@pytest.fixture
def ours(server: ModelServer) -> OpenAICompatible:
    return OpenAICompatible(server.url, "scripted")


class Scripted(CustomLLM):
    """Says one thing; fails when that is nothing."""

    said: str = "Ines Okafor [1]."

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata()

    @llm_completion_callback()
    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        if not self.said:
            raise ConnectionError("no route to the model")
        return CompletionResponse(text=self.said, additional_kwargs={"prompt_tokens": 9, "completion_tokens": 4})

    @llm_completion_callback()
    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Iterator[CompletionResponse]:
        whole = self.complete(prompt).text
        for end in range(1, len(whole) + 1):
            yield CompletionResponse(text=whole[:end], delta=whole[end - 1 : end])


def test_llama_index_model_answers_whole_and_streamed(tmp_path: Path) -> None:
    model = LlamaIndexModel(Scripted(), "fake")
    assert model.complete("x", 50) == Completion("Ines Okafor [1].", 9, 4)
    assert model.key == "llama_index/fake"
    answers_in_pieces(model, tmp_path / "x.mono")


def test_citing_query_engine_asks_its_own_llm(tmp_path: Path) -> None:
    with Monograph.open(tmp_path / "x.mono") as monograph:
        monograph.add([Document(COMET, id="log")])
        assert str(CitingQueryEngine(monograph, llm=Scripted()).query(QUESTION)) == "Ines Okafor [1]."
        later = CitingQueryEngine(monograph, llm=Scripted(said="It was Ines Okafor [1]."))
        assert str(later.query(QUESTION)) == "It was Ines Okafor [1]."
        with CitingQueryEngine(monograph.path, llm=LlamaIndexModel(Scripted(), "scripted")) as named:
            response = named.query(QUESTION)
        assert response.metadata is not None
        assert response.metadata["model"] == "llama_index/scripted"


def test_llama_index_model_failure_raises_one_error() -> None:
    model = LlamaIndexModel(Scripted(said=""), "fake")
    for ask in (model.complete, lambda *asked: list(model.stream(*asked))):
        with pytest.raises(ModelUnavailable, match="the LLM failed: no route"):
            ask("x", 5)


def test_an_agent_searches_a_file(tmp_path: Path) -> None:
    def reply(messages: Sequence[ChatMessage], **_: Any) -> ChatMessage:
        if messages[-1].role == MessageRole.TOOL:
            return ChatMessage(messages[-1].content, role="assistant")
        call = ToolCallBlock(tool_call_id="1", tool_name="search", tool_kwargs={"query": QUESTION})
        return ChatMessage(role="assistant", blocks=[call])

    async def asked(agent: FunctionAgent) -> str:
        return str(await agent.run(QUESTION))

    with Monograph.open(tmp_path / "agent.mono") as monograph:
        monograph.add([Document(COMET, id="log"), Document("The boiler is warm.", id="boiler")])
        tools = MonographToolSpec(monograph).to_tool_list()
        for streaming in (True, False):
            llm = MockFunctionCallingLLM(response_generator=reply)
            agent = FunctionAgent(tools=list(tools), llm=llm, streaming=streaming)
            assert COMET in asyncio.run(asked(agent))


def test_index_over_a_file_answers_with_the_global_models(tmp_path: Path, server: ModelServer) -> None:
    server.say("Ines Okafor did.", containing=COMET)
    kept = Settings._llm, Settings._embed_model
    with Monograph.open(tmp_path / "settings.mono") as monograph:
        Settings.llm = ServedLLM(model="scripted", api_base=server.url)
        Settings.embed_model = MonographEmbedding(monograph.embedder)
        try:
            index = VectorStoreIndex.from_vector_store(EcoVectorStore(monograph))
            index.insert_nodes([TextNode(text=COMET, id_="log"), TextNode(text="The boiler is warm.", id_="boiler")])
            response = index.as_query_engine(similarity_top_k=1).query(QUESTION)
            streamed = index.as_query_engine(similarity_top_k=1, streaming=True).query(QUESTION)
            assert isinstance(streamed, StreamingResponse)
            pieces = list(streamed.response_gen)
        finally:
            Settings._llm, Settings._embed_model = kept
    assert [one.node_id for one in response.source_nodes] == ["log"]
    assert "".join(pieces) == str(response) == "Ines Okafor did."
    assert server.calls == 2


@pytest.fixture
def asked(tmp_path: Path, ours: OpenAICompatible) -> Iterator[Monograph]:
    with Monograph.open(tmp_path / "asked.mono", model=ours) as monograph:
        monograph.add([Document(COMET, id="log"), Document("The boiler is serviced by Mrs Grubb.", id="boiler")])
        yield monograph


def test_citing_engine_streams_the_same_answer(asked: Monograph) -> None:
    whole = CitingQueryEngine(asked).query(QUESTION)
    asked.compact()  # nothing is remembered: the model is asked anew
    response = CitingQueryEngine(asked, streaming=True).query(QUESTION)
    assert isinstance(response, StreamingResponse)
    assert response.source_nodes == []
    pieces = list(response.response_gen)
    assert len(pieces) > 1
    assert "".join(pieces) == str(whole)
    assert [one.node_id for one in response.source_nodes] == [one.node_id for one in whole.source_nodes]
    assert response.source_nodes[0].node.ref_doc_id == "log"
    assert response.metadata is not None
    assert response.metadata["model"] == "openai/scripted/0.0"
    assert response.metadata["tokens_in"] > 0


def test_citation_scores_fall_from_one(asked: Monograph) -> None:
    asked.add(Document(f"On day {n} Ines Okafor looked for the comet of {1960 + n}.", id=f"day/{n}") for n in range(9))
    with Monograph.open(asked.path) as without_a_model:
        found = CitingQueryEngine(without_a_model).query("Which comet did Ines Okafor find?")
        context = without_a_model.context("Which comet did Ines Okafor find?", 1_000)
    scores = [one.score or 0.0 for one in found.source_nodes]
    assert len(scores) > 1
    assert scores[0] == 1.0
    assert scores == sorted(scores, reverse=True)
    assert all(0 < score <= 1 for score in scores)
    worth = [one.value for one in context.citations][: len(scores)]
    assert scores == pytest.approx([math.exp(one - worth[0]) for one in worth])


def test_citing_engine_streams_asynchronously(asked: Monograph) -> None:
    async def work() -> tuple[list[str], AsyncStreamingResponse]:
        response = await CitingQueryEngine(asked, streaming=True).aquery(QUESTION)
        assert isinstance(response, AsyncStreamingResponse)
        return [piece async for piece in response.async_response_gen()], response

    pieces, response = asyncio.run(work())
    assert len(pieces) > 1
    assert "Okafor" in "".join(pieces)
    assert [one.node.ref_doc_id for one in response.source_nodes] == ["log"]


def test_broken_stream_raises_and_cites_nothing(
    asked: Monograph, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("monograph.derive.server.FIRST_WAIT", 0.01)
    server.fail("cut", times=9)
    response = CitingQueryEngine(asked, streaming=True).query(QUESTION)
    assert isinstance(response, StreamingResponse)
    with pytest.raises(ModelUnavailable):
        list(response.response_gen)
    assert response.source_nodes == []
