"""LangChain's language models under Monograph.ask, Monograph's embedders in LangChain, and a chain over a file."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("langchain_core", reason="the extra langchain is not installed")
pytest.importorskip("urllib3", reason="the extra llm is not installed")

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document as Page
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnablePassthrough

from langchain_monograph import HybridRetriever, LangChainModel, MonographEmbeddings
from monograph import Document, Monograph
from monograph.errors import ModelUnavailable
from support.answering import COMET, QUESTION, answers_in_pieces
from support.models import HashEmbedder

standard = pytest.importorskip("langchain_tests.integration_tests", reason="langchain-tests is not installed")


def chat(said: str) -> GenericFakeChatModel:
    def answers() -> Iterator[AIMessage]:
        while said:
            yield AIMessage(said)
        raise ConnectionError("no route to the model")

    return GenericFakeChatModel(messages=answers())


def test_langchain_model_answers_whole_and_streamed(tmp_path: Path) -> None:
    model = LangChainModel(chat("Ines Okafor [1]."), "fake")
    assert model.complete("x", 50).text == "Ines Okafor [1]."
    assert model.key == "langchain/fake"
    answers_in_pieces(model, tmp_path / "x.mono")


def test_langchain_model_failure_raises_one_error() -> None:
    with pytest.raises(ModelUnavailable, match="the chat model failed: no route"):
        LangChainModel(chat(""), "fake").complete("x", 5)
    with pytest.raises(ModelUnavailable, match="the chat model failed: no route"):
        list(LangChainModel(chat(""), "fake").stream("x", 5))


class TestEmbeddings(standard.EmbeddingsIntegrationTests):  # type: ignore[misc,name-defined]
    """LangChain's own suite for embeddings."""

    @property
    def embeddings_class(self) -> type[MonographEmbeddings]:
        return MonographEmbeddings

    @property
    def embedding_model_params(self) -> dict[str, Any]:
        return {"embedder": HashEmbedder(16)}


def test_langchain_chain_streams_an_answer_from_the_file(tmp_path: Path) -> None:
    class Seen(BaseCallbackHandler):
        tokens = 0

        def on_llm_new_token(self, token: Any, **_: Any) -> None:
            self.tokens += bool(token)

    def joined(found: list[Page]) -> str:
        return "\n\n".join(one.page_content for one in found)

    seen = Seen()
    with Monograph.open(tmp_path / "chain.mono") as monograph:
        monograph.add([Document(COMET, id="log"), Document("The boiler is warm.", id="boiler")])
        prompt = ChatPromptTemplate.from_template("{passages}\n\nQuestion: {question}")
        retriever = HybridRetriever(monograph=monograph, k=1)
        asked = {"passages": retriever | joined, "question": RunnablePassthrough()}
        chain = asked | prompt | chat("Ines Okafor found it.") | StrOutputParser()
        pieces = list(chain.stream(QUESTION, config={"callbacks": [seen]}))

        async def work() -> list[str]:
            return [piece async for piece in chain.astream(QUESTION)]

        again = asyncio.run(work())
    assert "Okafor" in "".join(pieces)
    assert len([piece for piece in pieces if piece]) == seen.tokens > 2
    assert "".join(again) == "".join(pieces)
