"""Language models across the border: LlamaIndex's under Monograph.ask, and Monograph's in LlamaIndex's Settings."""

from __future__ import annotations

import asyncio
import base64
import math
from collections.abc import Iterator
from pathlib import Path
from threading import get_ident
from typing import Any

import pytest

pytest.importorskip("llama_index.core", reason="the extra llama-index is not installed")
pytest.importorskip("urllib3", reason="the extra llm is not installed")

from llama_index.core import PromptTemplate, Settings, VectorStoreIndex
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import (
    ChatResponse,
    DocumentBlock,
    ImageBlock,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    VideoBlock,
)
from llama_index.core.base.response.schema import AsyncStreamingResponse, StreamingResponse
from llama_index.core.llms import ChatMessage, CompletionResponse, CustomLLM, LLMMetadata, MessageRole
from llama_index.core.llms.callbacks import llm_completion_callback
from llama_index.core.schema import TextNode
from llama_index.core.tools import FunctionTool
from pydantic import BaseModel

from answering import COMET, QUESTION, Whole
from llama_index.embeddings.monograph import MonographEmbedding
from llama_index.llms.monograph import Model, MonographLLM
from llama_index.query_engine.monograph import CitingQueryEngine
from llama_index.tools.monograph import MonographToolSpec
from llama_index.vector_stores.monograph import EcoVectorStore
from model_server import ModelServer
from monograph import Answer, Document, Monograph
from monograph.derive.openai_compatible import OpenAICompatible
from monograph.errors import InputError, ModelUnavailable
from monograph.models import Completion, StreamingModel


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


def test_theirs_answers_whole_and_in_pieces(tmp_path: Path) -> None:
    model = Model(Scripted(), "fake")
    assert isinstance(model, StreamingModel)
    assert model.complete("x", 50) == Completion("Ines Okafor [1].", 9, 4)
    with Monograph.open(tmp_path / "x.mono", model=model) as monograph:
        monograph.add([Document(COMET, id="log")])
        *pieces, answer = monograph.stream(QUESTION, remember=False)
        assert isinstance(answer, Answer)
        assert "".join(map(str, pieces)) == answer.text == "Ines Okafor [1]."
        assert len(pieces) > 2
        assert answer.citations[0].spans[0].document_id == "log"
        assert answer.model == "llama_index/fake"


def test_what_fails_in_theirs_is_one_error_of_ours() -> None:
    with pytest.raises(ModelUnavailable, match="the LLM failed: no route"):
        Model(Scripted(said=""), "fake").complete("x", 5)
    with pytest.raises(ModelUnavailable, match="the LLM failed: no route"):
        list(Model(Scripted(said=""), "fake").stream("x", 5))


def test_ours_as_an_llm(server: ModelServer, ours: OpenAICompatible) -> None:
    llm = MonographLLM(ours, max_tokens=64)
    prompt = f"{COMET}\n\nQuestion: {QUESTION}"
    plain = ours.complete(prompt, 64)
    told = llm.complete(prompt)
    assert told.text == plain.text
    assert told.additional_kwargs == {"prompt_tokens": plain.tokens_in, "completion_tokens": plain.tokens_out}
    *pieces, last = llm.stream_complete(prompt)
    assert len(pieces) > 1
    assert "".join(one.delta or "" for one in pieces) == pieces[-1].text == last.text == plain.text
    assert last.additional_kwargs["completion_tokens"] == plain.tokens_out
    assert (llm.metadata.model_name, llm.metadata.num_output) == (ours.key, 64)
    server.fail(400, times=1)
    with pytest.raises(ModelUnavailable):
        llm.complete(prompt)


def test_ours_asynchronously_waits_in_threads() -> None:
    model = Whole("Ines Okafor.", 3)
    llm = MonographLLM(model, max_tokens=50)
    messages = [ChatMessage(role=MessageRole.SYSTEM, content="Be brief."), ChatMessage(content=QUESTION)]

    async def work() -> list[str]:
        said = [(await llm.acomplete(QUESTION)).text, (await llm.achat(messages, max_tokens=9)).message.content or ""]
        said.append("".join([one.delta or "" async for one in await llm.astream_complete(QUESTION)]))
        said.append("".join([one.delta or "" async for one in await llm.astream_chat(messages)]))
        return said

    assert asyncio.run(work()) == ["Ines Okafor."] * 4
    assert get_ident() not in {thread for _, _, thread in model.asked}
    assert [limit for _, limit, _ in model.asked] == [50, 9, 50, 50]
    assert "Be brief." in model.asked[1][0]
    assert llm.chat(messages).message.content == "Ines Okafor."
    assert "".join(one.delta or "" for one in llm.stream_chat(messages)) == "Ines Okafor."


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


class Found(BaseModel):
    """Who found what."""

    finder: str
    year: int


ADD = FunctionTool.from_defaults(add)


def test_calls_of_tools_come_whole_and_in_pieces(server: ModelServer, ours: OpenAICompatible) -> None:
    llm = MonographLLM(ours)
    assert llm.metadata.is_function_calling_model
    assert not MonographLLM(ours, calls_tools=False).metadata.is_function_calling_model
    response = llm.chat_with_tools([ADD], "add 3 and 4", seed=7)
    (call,) = llm.get_tool_calls_from_response(response)
    assert (call.tool_name, call.tool_kwargs) == ("add", {"a": 3, "b": 4})
    assert response.additional_kwargs["finish_reason"] == "tool_calls"
    assert response.additional_kwargs["completion_tokens"] == server.tokens_out
    body = server.asked[0].body
    assert (body["tool_choice"], body["parallel_tool_calls"], body["seed"]) == ("auto", False, 7)
    pieces = list(llm.stream_chat_with_tools([ADD], "add 3 and 4", tool_required=True, allow_parallel_tool_calls=True))
    assert len(pieces) > 3
    partly = [llm.get_tool_calls_from_response(one) for one in pieces]
    assert partly[0][0].tool_kwargs == {}
    assert partly[-1] == [call]
    assert server.asked[1].body["tool_choice"] == "required"
    assert "parallel_tool_calls" not in server.asked[1].body
    said = llm.predict_and_call([ADD], "add 3 and 4", tool_choice="add")
    assert str(said) == "7"
    assert server.asked[2].body["tool_choice"] == {"type": "function", "function": {"name": "add"}}
    history = [ChatMessage("add 3 and 4"), response.message]
    history.append(ChatMessage("7", role=MessageRole.TOOL, additional_kwargs={"tool_call_id": call.tool_id}))
    assert llm.chat_with_tools([ADD], chat_history=history).message.content == "7"
    sent = server.asked[-1].body["messages"]
    assert [one["role"] for one in sent] == ["user", "assistant", "tool"]
    assert sent[1]["content"] is None
    assert sent[1]["tool_calls"][0]["id"] == sent[2]["tool_call_id"] == call.tool_id
    with pytest.raises(ModelUnavailable, match="called no tool"):
        llm.get_tool_calls_from_response(llm.chat([ChatMessage("Hello")]))


def test_of_many_calls_one_is_left_where_one_is_allowed(ours: OpenAICompatible) -> None:
    calls = [ToolCallBlock(tool_call_id=name, tool_name="add", tool_kwargs={"a": 1, "b": 2}) for name in "xy"]
    two = ChatResponse(message=ChatMessage(role="assistant", blocks=[TextBlock(text="Both."), *calls]))
    llm = MonographLLM(ours)
    assert len(llm.get_tool_calls_from_response(llm._validate_chat_with_tools_response(two, [ADD], True))) == 2
    assert len(llm.get_tool_calls_from_response(llm._validate_chat_with_tools_response(two, [ADD]))) == 1
    assert two.message.content == "Both."


def test_answers_in_a_form(server: ModelServer, ours: OpenAICompatible) -> None:
    llm = MonographLLM(ours)
    wanted = PromptTemplate("'{name}' found it in 1963")
    assert llm.structured_predict(Found, wanted, name="Ines") == Found(finder="Ines", year=1963)
    *_, last = llm.stream_structured_predict(Found, wanted, name="Ines")
    assert isinstance(last, BaseModel)
    assert last.model_dump() == {"finder": "Ines", "year": 1963}
    schema = {"type": "json_schema", "json_schema": {"name": "Found", "schema": Found.model_json_schema()}}
    said = llm.chat([ChatMessage("'Ines' found it in 1963")], response_format=schema).message.content
    assert Found.model_validate_json(said or "") == Found(finder="Ines", year=1963)
    assert server.asked[-1].body["response_format"] == schema
    as_text = MonographLLM(ours, calls_tools=False)
    server.say('{"finder": "Ines", "year": 1963}')
    assert as_text.structured_predict(Found, wanted, name="Ines") == Found(finder="Ines", year=1963)
    assert "tools" not in server.asked[-1].body


def test_images_and_thoughts(tmp_path: Path, server: ModelServer, ours: OpenAICompatible) -> None:
    picture = b"\x89PNG\r\n\x1a\n" + bytes(20)
    inline = "data:image/png;base64," + base64.b64encode(picture).decode()
    blocks = [TextBlock(text="What is this?"), ImageBlock(image=picture, detail="low")]
    (tmp_path / "gone.png").write_bytes(picture)
    gone = ImageBlock(path=tmp_path / "gone.png")
    (tmp_path / "gone.png").unlink()
    llm = MonographLLM(ours)
    thought = ChatMessage(role="assistant", blocks=[ThinkingBlock(content="Hm."), TextBlock(text="Which one?")])
    far = ImageBlock(url="https://example.org/a.png")
    llm.chat(
        [ChatMessage(blocks=blocks), thought, ChatMessage(blocks=[far, DocumentBlock(data=b"%PDF-1.4", title="a.pdf")])]
    )
    first, second, third = server.asked[0].body["messages"]
    assert first["content"][1] == {"type": "image_url", "image_url": {"url": inline, "detail": "low"}}
    assert second == {"role": "assistant", "content": "Which one?"}
    assert third["content"][0]["image_url"] == {"url": "https://example.org/a.png"}
    assert third["content"][1]["file"]["filename"] == "a.pdf"
    with pytest.raises(InputError, match="video"):
        llm.chat([ChatMessage(blocks=[VideoBlock(video=b"x")])])
    with pytest.raises(InputError, match="cannot be read"):
        llm.chat([ChatMessage(blocks=[gone])])
    whole = MonographLLM(Whole("Hello.", 2))
    assert not whole.metadata.is_function_calling_model
    for refused in (
        lambda: whole.chat([ChatMessage(blocks=blocks)]),
        lambda: list(whole.stream_chat([ChatMessage(blocks=blocks)])),
        lambda: whole.chat_with_tools([ADD], "add 3 and 4"),
    ):
        with pytest.raises(InputError):
            refused()


def test_an_agent_searches_a_file(tmp_path: Path, ours: OpenAICompatible) -> None:
    async def asked(agent: FunctionAgent) -> str:
        return str(await agent.run(f"search: {QUESTION}"))

    with Monograph.open(tmp_path / "agent.mono") as monograph:
        monograph.add([Document(COMET, id="log"), Document("The boiler is warm.", id="boiler")])
        tools = MonographToolSpec(monograph).to_tool_list()
        for streaming in (True, False):
            agent = FunctionAgent(tools=list(tools), llm=MonographLLM(ours), streaming=streaming)
            assert "Okafor" in asyncio.run(asked(agent))


def test_ours_in_the_settings(tmp_path: Path, server: ModelServer, ours: OpenAICompatible) -> None:
    server.say("Ines Okafor did.", containing=COMET)
    kept = Settings._llm, Settings._embed_model
    with Monograph.open(tmp_path / "settings.mono") as monograph:
        Settings.llm, Settings.embed_model = MonographLLM(ours), MonographEmbedding(monograph.embedder)
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


def test_answers_that_cite_come_in_pieces(asked: Monograph) -> None:
    whole = CitingQueryEngine(asked).query(QUESTION)
    asked.compact()  # nothing is remembered: the model is asked anew
    response = CitingQueryEngine(asked, streaming=True).query(QUESTION)
    assert isinstance(response, StreamingResponse)
    assert response.source_nodes == []
    pieces = list(response.response_gen)
    assert len(pieces) > 1
    assert "".join(pieces) == str(whole)
    assert [one.node_id for one in response.source_nodes] == [one.node_id for one in whole.source_nodes]
    assert response.source_nodes[0].node.ref_doc_id == "log"  # type: ignore[attr-defined]
    assert response.metadata is not None
    assert response.metadata["model"] == "openai/scripted/0.0"
    assert response.metadata["tokens_in"] > 0


def test_scores_of_what_is_cited(asked: Monograph) -> None:
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


def test_and_asynchronously(asked: Monograph) -> None:
    async def work() -> tuple[list[str], AsyncStreamingResponse]:
        response = await CitingQueryEngine(asked, streaming=True).aquery(QUESTION)
        assert isinstance(response, AsyncStreamingResponse)
        return [piece async for piece in response.async_response_gen()], response

    pieces, response = asyncio.run(work())
    assert len(pieces) > 1
    assert "Okafor" in "".join(pieces)
    assert [one.node.ref_doc_id for one in response.source_nodes] == ["log"]  # type: ignore[attr-defined]


def test_a_model_that_breaks_off(asked: Monograph, server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("monograph.derive.server.FIRST_WAIT", 0.01)
    server.fail("cut", times=9)
    response = CitingQueryEngine(asked, streaming=True).query(QUESTION)
    assert isinstance(response, StreamingResponse)
    with pytest.raises(ModelUnavailable):
        list(response.response_gen)
    assert response.source_nodes == []
