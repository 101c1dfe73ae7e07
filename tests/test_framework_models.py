"""Models of the frameworks under Monograph.ask."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from monograph import Answer, Document, Monograph
from monograph.errors import ModelUnavailable
from monograph.models import Completion, StreamingModel

pytest.importorskip("langchain_core", reason="the extra langchain is not installed")
pytest.importorskip("llama_index.core", reason="the extra llama-index is not installed")

from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata
from llama_index.core.llms.callbacks import llm_completion_callback

from langchain_monograph import ChatModel
from llama_index.llms.monograph import Model


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


def chat(said: str) -> GenericFakeChatModel:
    def answers() -> Iterator[AIMessage]:
        while said:
            yield AIMessage(said)
        raise ConnectionError("no route to the model")

    return GenericFakeChatModel(messages=answers())


def models(said: str) -> list[StreamingModel]:
    return [ChatModel(chat(said), "fake"), Model(Scripted(said=said), "fake")]


@pytest.mark.parametrize("place", [0, 1], ids=["langchain", "llama_index"])
def test_it_answers_whole_and_in_pieces(place: int, tmp_path: Path) -> None:
    model = models("Ines Okafor [1].")[place]
    assert isinstance(model, StreamingModel)
    assert model.complete("x", 50).text == "Ines Okafor [1]."
    with Monograph.open(tmp_path / "x.mono", model=model) as monograph:
        monograph.add([Document("Ines Okafor found the comet.", id="log")])
        *pieces, answer = monograph.stream("Who found the comet?", remember=False)
        assert isinstance(answer, Answer)
        assert "".join(map(str, pieces)) == answer.text == "Ines Okafor [1]."
        assert len(pieces) > 2
        assert answer.citations[0].spans[0].document_id == "log"
        assert answer.model.endswith("/fake")


@pytest.mark.parametrize("place", [0, 1], ids=["langchain", "llama_index"])
def test_what_fails_in_it_is_one_error_of_ours(place: int) -> None:
    with pytest.raises(ModelUnavailable, match="no route"):
        models("")[place].complete("x", 5)
    with pytest.raises(ModelUnavailable, match="no route"):
        list(models("")[place].stream("x", 5))


def test_tokens_are_the_models() -> None:
    assert Model(Scripted(), "fake").complete("x", 5) == Completion("Ines Okafor [1].", 9, 4)
