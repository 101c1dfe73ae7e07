"""Language models across the border: LangChain's under Monograph.ask, and Monograph's in LangChain's chains."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from threading import get_ident
from typing import Any

import pytest

pytest.importorskip("langchain_core", reason="the extra langchain is not installed")
pytest.importorskip("urllib3", reason="the extra llm is not installed")

from langchain_core.callbacks import BaseCallbackHandler, get_usage_metadata_callback
from langchain_core.documents import Document as Page
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnablePassthrough
from tests.embedders import HashEmbedder

from answering import COMET, QUESTION, Whole
from langchain_monograph import ChatModel, HybridRetriever, MonographChatModel, MonographEmbeddings
from model_server import ModelServer
from monograph import Answer, Document, Monograph
from monograph.derive.openai_compatible import OpenAICompatible
from monograph.errors import InputError, ModelUnavailable
from monograph.models import StreamingModel

standard = pytest.importorskip("langchain_tests.integration_tests", reason="langchain-tests is not installed")
unit = pytest.importorskip("langchain_tests.unit_tests", reason="langchain-tests is not installed")


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
    def served(self) -> Iterator[None]:
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
    def supports_model_override(self) -> bool:
        return False  # It is one model of Monograph's.


class TestChatModelUnit(ChatParams, unit.ChatModelUnitTests):  # type: ignore[misc,name-defined]
    """LangChain's own suite for chat models that are not asked."""


class TestChatModelIntegration(ChatParams, standard.ChatModelIntegrationTests):  # type: ignore[misc,name-defined]
    """LangChain's own suite for chat models that are."""


def test_a_chat_model_is_one_model(ours: OpenAICompatible, server: ModelServer) -> None:
    model = MonographChatModel(model=ours)
    assert model._get_ls_params()["ls_model_name"] == ours.key
    assert model.invoke("Hello", model=ours.key).content
    calls = server.calls
    for work in (lambda: model.invoke("Hello", model="another"), lambda: list(model.stream("Hello", model="another"))):
        with pytest.raises(InputError, match="another"):
            work()
    assert server.calls == calls


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
