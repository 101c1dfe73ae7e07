"""Language models across the border: LangChain's under Monograph.ask, and Monograph's in LangChain's chains."""

from __future__ import annotations

import asyncio
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from threading import get_ident
from typing import Any

import httpx
import pytest

pytest.importorskip("langchain_core", reason="the extra langchain is not installed")
pytest.importorskip("urllib3", reason="the extra llm is not installed")

from langchain_core.callbacks import BaseCallbackHandler, get_usage_metadata_callback
from langchain_core.documents import Document as Page
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnablePassthrough
from pydantic import BaseModel
from tests.embedders import HashEmbedder

from answering import COMET, QUESTION, Whole
from langchain_monograph import ChatModel, HybridRetriever, MonographChatModel, MonographEmbeddings, MonographToolkit
from model_server import ModelServer
from monograph import Answer, Document, Monograph
from monograph.derive.openai_compatible import OpenAICompatible
from monograph.errors import InputError, ModelUnavailable
from monograph.models import StreamingModel

FETCHED = {"png": b"\x89PNG", "pdf": b"%PDF-1.4", "wav": b"RIFF"}
standard = pytest.importorskip("langchain_tests.integration_tests", reason="langchain-tests is not installed")
unit = pytest.importorskip("langchain_tests.unit_tests", reason="langchain-tests is not installed")

from langchain_tests.unit_tests.chat_models import ChatModelTests


@pytest.fixture
def ours(server: ModelServer) -> OpenAICompatible:
    return OpenAICompatible(server.url, "scripted")


def chat(said: str) -> GenericFakeChatModel:
    def answers() -> Iterator[AIMessage]:
        while said:
            yield AIMessage(said)
        raise ConnectionError("no route to the model")

    return GenericFakeChatModel(messages=answers())


def test_theirs_answers_whole_and_in_pieces(tmp_path: Path) -> None:
    model = ChatModel(chat("Ines Okafor [1]."), "fake")
    assert isinstance(model, StreamingModel)
    assert model.complete("x", 50).text == "Ines Okafor [1]."
    with Monograph.open(tmp_path / "x.mono", model=model) as monograph:
        monograph.add([Document(COMET, id="log")])
        *pieces, answer = monograph.stream(QUESTION, remember=False)
        assert isinstance(answer, Answer)
        assert "".join(map(str, pieces)) == answer.text == "Ines Okafor [1]."
        assert len(pieces) > 2
        assert answer.citations[0].spans[0].document_id == "log"
        assert answer.model == "langchain/fake"


def test_what_fails_in_theirs_is_one_error_of_ours() -> None:
    with pytest.raises(ModelUnavailable, match="the chat model failed: no route"):
        ChatModel(chat(""), "fake").complete("x", 5)
    with pytest.raises(ModelUnavailable, match="the chat model failed: no route"):
        list(ChatModel(chat(""), "fake").stream("x", 5))


class TestEmbeddings(standard.EmbeddingsIntegrationTests):  # type: ignore[misc,name-defined]
    """LangChain's own suite for embeddings."""

    @property
    def embeddings_class(self) -> type[MonographEmbeddings]:
        return MonographEmbeddings

    @property
    def embedding_model_params(self) -> dict[str, Any]:
        return {"embedder": HashEmbedder(16)}


class ChatParams:
    """How LangChain's own suites for chat models make ours."""

    @pytest.fixture(autouse=True)
    def served(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
        def fetched(url: str, **_: Any) -> httpx.Response:
            return httpx.Response(200, content=FETCHED[url.rpartition(".")[2]])

        # The suite would fetch what it shows a model from elsewhere: a picture, a document, a sound.
        monkeypatch.setattr(httpx, "get", fetched)
        with ModelServer(script=lambda prompt: "Hello there. How are you today?") as running:
            self.url = running.url
            yield

    @property
    def chat_model_class(self) -> type[MonographChatModel]:
        return MonographChatModel

    @property
    def chat_model_params(self) -> dict[str, Any]:
        return {"model": OpenAICompatible(self.url, "scripted")}

    @property
    def model_override_value(self) -> str:
        return "another"

    @property
    def supports_json_mode(self) -> bool:
        return True

    @property
    def supports_image_inputs(self) -> bool:
        return True

    @property
    def supports_image_urls(self) -> bool:
        return True

    @property
    def supports_image_tool_message(self) -> bool:
        return True

    @property
    def supports_pdf_inputs(self) -> bool:
        return True

    @property
    def supports_pdf_tool_message(self) -> bool:
        return True

    @property
    def supports_audio_inputs(self) -> bool:
        return True

    @property
    def supports_anthropic_inputs(self) -> bool:
        return True


class TestChatModelUnit(ChatParams, unit.ChatModelUnitTests):  # type: ignore[misc,name-defined]
    """LangChain's own suite for chat models that are not asked."""

    @property
    def init_from_env_params(self) -> tuple[dict[str, str], dict[str, Any], dict[str, Any]]:
        return {"MAX_TOKENS": "7", "OPENAI_API_KEY": "none"}, self.chat_model_params, {"max_tokens": 400}


class TestChatModelIntegration(ChatParams, standard.ChatModelIntegrationTests):  # type: ignore[misc,name-defined]
    """LangChain's own suite for chat models that are."""


class TestStructuredByATool(ChatParams, ChatModelTests):
    """What of that suite is about answers in a form, the form being a tool's."""

    test_structured_output = standard.ChatModelIntegrationTests.test_structured_output
    test_structured_output_async = standard.ChatModelIntegrationTests.test_structured_output_async
    test_structured_output_pydantic_2_v1 = standard.ChatModelIntegrationTests.test_structured_output_pydantic_2_v1
    test_structured_output_optional_param = standard.ChatModelIntegrationTests.test_structured_output_optional_param

    @property
    def structured_output_kwargs(self) -> dict[str, Any]:
        return {"method": "function_calling"}


def test_a_model_that_takes_no_messages_is_one_model_without_tools() -> None:
    whole = Whole("Hello.", 2)
    model = MonographChatModel(model=whole)
    assert model._get_ls_params()["ls_model_name"] == whole.key
    assert model.invoke("Hello", model=whole.key).content
    asked = len(whole.asked)
    picture = HumanMessage([{"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}])
    for refused in (
        lambda: model.invoke("Hello", model="another"),
        lambda: list(model.stream("Hello", model="another")),
        lambda: model.invoke("Hello", tools=[{"type": "function", "function": {"name": "x"}}]),
        lambda: model.invoke([picture]),
        lambda: model.bind_tools([add]),
        lambda: model.with_structured_output(Found),
    ):
        with pytest.raises(InputError):
            refused()
    assert len(whole.asked) == asked


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


class Found(BaseModel):
    """Who found what."""

    finder: str
    year: int


def test_calls_of_tools_come_whole_and_in_pieces(server: ModelServer, ours: OpenAICompatible) -> None:
    model = MonographChatModel(model=ours).bind_tools([add], parallel_tool_calls=False)
    message = model.invoke("add 3 and 4")
    (call,) = message.tool_calls
    assert (call["name"], call["args"], message.content) == ("add", {"a": 3, "b": 4}, "")
    assert message.response_metadata == {"model_name": ours.key, "finish_reason": "tool_calls"}
    assert server.asked[0].body["parallel_tool_calls"] is False
    pieces = list(model.stream("add 3 and 4"))
    assert sum(bool(piece.tool_call_chunks) for piece in pieces) > 2
    whole = pieces[0]
    for piece in pieces[1:]:
        whole += piece
    assert whole.tool_calls == message.tool_calls
    assert whole.usage_metadata == message.usage_metadata
    assert message.usage_metadata["output_tokens"] > 0
    reply = model.invoke([HumanMessage("add 3 and 4"), message, ToolMessage("7", tool_call_id=call["id"], name="add")])
    assert (reply.content, reply.tool_calls) == ("7", [])
    sent = server.asked[-1].body["messages"]
    assert [one["role"] for one in sent] == ["user", "assistant", "tool"]
    assert sent[1]["content"] is None
    assert sent[1]["tool_calls"][0]["id"] == sent[2]["tool_call_id"] == call["id"]
    assert set(sent[2]) == {"role", "content", "tool_call_id"}


def test_arguments_that_are_no_json(server: ModelServer, ours: OpenAICompatible) -> None:
    server.call("add", '{"a": 3, "b"')
    message = MonographChatModel(model=ours).bind_tools([add]).invoke("add 3 and 4")
    assert message.tool_calls == []
    assert [one["args"] for one in message.invalid_tool_calls] == ['{"a": 3, "b"']


@pytest.mark.parametrize(
    ("choice", "sent"),
    [
        ("any", "required"),
        (True, "required"),
        ("auto", "auto"),
        ("none", "none"),
        ("add", {"type": "function", "function": {"name": "add"}}),
        ({"type": "allowed"}, {"type": "allowed"}),
    ],
)
def test_which_tool_is_called(ours: OpenAICompatible, choice: Any, sent: Any) -> None:
    bound = MonographChatModel(model=ours).bind_tools([add], tool_choice=choice)
    assert bound.kwargs["tool_choice"] == sent  # type: ignore[attr-defined]
    with pytest.raises(InputError, match="there is no tool 'subtract'"):
        MonographChatModel(model=ours).bind_tools([add], tool_choice="subtract")


@pytest.mark.parametrize("method", ["json_schema", "function_calling"])
def test_answers_in_a_form(server: ModelServer, ours: OpenAICompatible, method: str) -> None:
    model = MonographChatModel(model=ours)
    found = model.with_structured_output(Found, method=method, include_raw=True).invoke("'Ines' found it in 1963")
    assert found["parsed"] == Found(finder="Ines", year=1963)
    assert found["raw"].usage_metadata["output_tokens"] > 0
    server.say("I would rather not.")
    server.call("Found", '{"finder": "Ines"}')
    failed = model.with_structured_output(Found, include_raw=True).invoke("'Ines' found it in 1963")
    assert failed["parsed"] is None
    assert failed["parsing_error"] is not None
    with pytest.raises(InputError, match="no way to a form"):
        model.with_structured_output(Found, method="guessing")


def test_a_schema_and_what_else_is_given_is_sent(server: ModelServer, ours: OpenAICompatible) -> None:
    MonographChatModel(model=ours).with_structured_output(Found, strict=True, seed=7).invoke("'Ines' found it in 1963")
    body = server.asked[0].body
    assert body["response_format"]["json_schema"]["name"] == "Found"
    assert body["response_format"]["json_schema"]["strict"] is True
    assert body["seed"] == 7
    assert "ls_structured_output_format" not in body


def test_images_and_thoughts(server: ModelServer, ours: OpenAICompatible) -> None:
    model = MonographChatModel(model=ours)
    image = {"type": "image", "base64": "iVBO", "mime_type": "image/png"}
    thought = AIMessage([{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "Which one?"}])
    model.invoke([HumanMessage([{"type": "text", "text": "What is this?"}, image]), thought, HumanMessage("That one.")])
    assert server.asked[0].body["messages"] == [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "What is this?"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBO"}},
            ],
        },
        {"role": "assistant", "content": "Which one?"},
        {"role": "user", "content": "That one."},
    ]
    for part in ({"type": "hologram"}, {"type": "file", "url": "https://example.org/a.pdf"}, {"type": "image"}):
        with pytest.raises(InputError):
            model.invoke([HumanMessage([part])])
    assert server.calls == 1


def test_stop_words_are_sent_and_kept_to(server: ModelServer, ours: OpenAICompatible) -> None:
    server.say("one two three")
    model = MonographChatModel(model=ours)
    assert model.invoke("count", stop=["two"]).content == "one "
    assert "".join(str(one.content) for one in model.stream("count", stop=["two"])) == "one "
    assert [one.body["stop"] for one in server.asked] == [["two"], ["two"]]


def test_an_agent_searches_a_file(tmp_path: Path, ours: OpenAICompatible) -> None:
    agents = pytest.importorskip("langchain.agents", reason="langchain is not installed")
    with Monograph.open(tmp_path / "agent.mono") as monograph:
        monograph.add([Document(COMET, id="log"), Document("The boiler is warm.", id="boiler")])
        tools = MonographToolkit(monograph=monograph).get_tools()
        agent = agents.create_agent(MonographChatModel(model=ours), tools, system_prompt="Search before you answer.")
        said = agent.invoke({"messages": [HumanMessage(f"search: {QUESTION}")]})["messages"]
        streamed = [piece for piece, _ in agent.stream({"messages": [HumanMessage(QUESTION)]}, stream_mode="messages")]
        formed = agents.create_agent(MonographChatModel(model=ours), response_format=Found)
        answer = formed.invoke({"messages": [HumanMessage("'Ines' found it in 1963")]})["structured_response"]
    assert [one.type for one in said] == ["human", "ai", "tool", "ai"]
    assert COMET in said[2].content
    assert "Okafor" in said[3].content
    assert streamed
    assert answer == Found(finder="Ines", year=1963)


def test_the_agent_of_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: ModelServer) -> None:
    pytest.importorskip("langchain.agents", reason="langchain is not installed")
    root = Path(__file__).resolve().parents[1]
    (code,) = re.findall(
        r"^```py\n(.*?)^```", (root / "docs/langchain/models.md").read_text(), re.MULTILINE | re.DOTALL
    )
    shutil.copytree(root / "examples" / "texts", tmp_path / "examples" / "texts")
    monkeypatch.chdir(tmp_path)
    exec(code.replace("http://localhost:11434/v1", server.url), {})
    assert [len(one.body["messages"]) for one in server.asked] == [2, 4]


def test_ours_as_a_chat_model(server: ModelServer, ours: OpenAICompatible) -> None:
    model = MonographChatModel(model=ours, max_tokens=64)
    prompt = f"{COMET}\n\nQuestion: {QUESTION}"
    plain = ours.complete(prompt, 64)
    message = model.invoke(prompt)
    counted = {"input_tokens": plain.tokens_in, "output_tokens": plain.tokens_out}
    assert message.content == plain.text
    assert message.usage_metadata == {**counted, "total_tokens": sum(counted.values())}
    pieces = list(model.stream(prompt))
    assert len(pieces) > 2
    together = pieces[0]
    for piece in pieces[1:]:
        together += piece
    assert (together.content, together.usage_metadata) == (plain.text, message.usage_metadata)
    assert together.response_metadata["model_name"] == message.response_metadata["model_name"] == ours.key
    with get_usage_metadata_callback() as used:
        model.invoke(prompt)
        list(model.stream(prompt))
    assert used.usage_metadata[ours.key]["input_tokens"] == 2 * plain.tokens_in
    server.fail(400, times=1)
    with pytest.raises(ModelUnavailable):
        model.invoke(prompt)


def test_ours_asynchronously_waits_in_threads() -> None:
    whole = Whole("Ines Okafor. STOP And more.", 5)
    model = MonographChatModel(model=whole, max_tokens=50)
    messages = [SystemMessage("Be brief."), HumanMessage(QUESTION)]

    async def work() -> list[str]:
        said = [str((await model.ainvoke(messages, stop=["STOP", "Nowhere"])).content)]
        said.append("".join([str(one.content) async for one in model.astream(messages, stop=[" STOP"], max_tokens=9)]))
        return said

    assert asyncio.run(work()) == ["Ines Okafor. ", "Ines Okafor."]
    assert get_ident() not in {thread for _, _, thread in whole.asked}
    assert [limit for _, limit, _ in whole.asked] == [50, 9]
    assert whole.asked[0][0] == f"System: Be brief.\nHuman: {QUESTION}\nAI:"
    assert "".join(str(one.content) for one in model.stream(QUESTION)) == "Ines Okafor. STOP And more."


def test_a_chain_that_streams_from_the_file_to_the_answer(tmp_path: Path, ours: OpenAICompatible) -> None:
    class Seen(BaseCallbackHandler):
        tokens = 0
        found = 0

        def on_llm_new_token(self, token: str, **_: Any) -> None:
            self.tokens += bool(token)

        def on_retriever_end(self, documents: Any, **_: Any) -> None:
            self.found += len(documents)

    def joined(found: list[Page]) -> str:
        return "\n\n".join(one.page_content for one in found)

    seen = Seen()
    with Monograph.open(tmp_path / "chain.mono") as monograph:
        monograph.add([Document(COMET, id="log"), Document("The boiler is warm.", id="boiler")])
        prompt = ChatPromptTemplate.from_template("{passages}\n\nQuestion: {question}")
        retriever = HybridRetriever(monograph=monograph, k=1)
        asked = {"passages": retriever | joined, "question": RunnablePassthrough()}
        chain = asked | prompt | MonographChatModel(model=ours) | StrOutputParser()
        pieces = list(chain.stream(QUESTION, config={"callbacks": [seen]}))

        async def work() -> list[str]:
            return [piece async for piece in chain.astream(QUESTION)]

        again = asyncio.run(work())
    assert "Okafor" in "".join(pieces)
    assert len([piece for piece in pieces if piece]) == seen.tokens > 2
    assert seen.found == 1
    assert "".join(again) == "".join(pieces)
