"""Monograph's language model as a LlamaIndex LLM."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from llama_index.core.base.llms.generic_utils import (
    astream_completion_response_to_chat_response,
    completion_response_to_chat_response,
)
from llama_index.core.base.llms.types import (
    ChatMessage,
    ChatResponse,
    ChatResponseAsyncGen,
    CompletionResponse,
    CompletionResponseAsyncGen,
    CompletionResponseGen,
)
from llama_index.core.bridge.pydantic import Field, PrivateAttr
from llama_index.core.constants import DEFAULT_CONTEXT_WINDOW, DEFAULT_NUM_OUTPUTS
from llama_index.core.llms import CustomLLM, LLMMetadata
from llama_index.core.llms.callbacks import llm_chat_callback, llm_completion_callback

from monograph.models import Completion, LanguageModel
from monograph_tools import in_pieces, in_threads


class MonographLLM(CustomLLM):
    """A language model of Monograph in LlamaIndex: ``Settings.llm = MonographLLM(load_model("openai:…"))``.

    Asynchronous calls wait in threads. What the model read and wrote stands in ``additional_kwargs`` as
    ``prompt_tokens`` and ``completion_tokens``.

    Parameters
    ----------
    model:
        Any model of Monograph's; one that cannot stream gives its answer as one piece.
    max_tokens:
        Most tokens of an answer; ``max_tokens`` of a single call goes before it.
    context_window:
        Tokens that the model can read and write together: LlamaIndex packs its prompts by it.
    """

    max_tokens: int = Field(default=DEFAULT_NUM_OUTPUTS, description="Most tokens of an answer.", gt=0)
    context_window: int = Field(default=DEFAULT_CONTEXT_WINDOW, description="Tokens read and written together.", gt=0)
    _model: LanguageModel = PrivateAttr()

    def __init__(self, model: LanguageModel, **options: Any) -> None:
        super().__init__(**options)
        self._model = model

    @classmethod
    def class_name(cls) -> str:
        """Its name in stored settings."""
        return "MonographLLM"

    @property
    def metadata(self) -> LLMMetadata:
        """What LlamaIndex asks of a model."""
        return LLMMetadata(context_window=self.context_window, num_output=self.max_tokens, model_name=self._model.key)

    @llm_completion_callback()
    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        """Answer a prompt.

        Raises
        ------
        ModelUnavailable
            If the model does not answer.
        """
        return _response(self._model.complete(prompt, self._limit(kwargs)))

    @llm_completion_callback()
    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponseGen:
        """Answer a prompt piece by piece; the last piece is empty and has the tokens."""

        def pieces() -> CompletionResponseGen:
            text = ""
            for piece in in_pieces(self._model, prompt, self._limit(kwargs)):
                if isinstance(piece, Completion):
                    yield _response(piece)
                else:
                    text += piece
                    yield CompletionResponse(text=text, delta=piece)

        return pieces()

    @llm_completion_callback()
    async def acomplete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        """As :meth:`complete`, in a thread."""
        return _response(await asyncio.to_thread(self._model.complete, prompt, self._limit(kwargs)))

    @llm_completion_callback()
    async def astream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponseAsyncGen:
        """As :meth:`stream_complete`, each piece awaited in a thread."""
        return in_threads(self.stream_complete(prompt, formatted, **kwargs))

    @llm_chat_callback()
    async def achat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        """As ``chat``, in a thread."""
        assert self.messages_to_prompt is not None  # noqa: S101 - it is never left unset; the framework says so alike
        prompt = self.messages_to_prompt(messages)
        return completion_response_to_chat_response(await self.acomplete(prompt, formatted=True, **kwargs))

    @llm_chat_callback()
    async def astream_chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponseAsyncGen:
        """As ``stream_chat``, each piece awaited in a thread."""
        assert self.messages_to_prompt is not None  # noqa: S101 - it is never left unset; the framework says so alike
        prompt = self.messages_to_prompt(messages)
        return astream_completion_response_to_chat_response(
            await self.astream_complete(prompt, formatted=True, **kwargs)
        )

    def _limit(self, kwargs: dict[str, Any]) -> int:
        return int(kwargs.get("max_tokens") or self.max_tokens)


def _response(done: Completion) -> CompletionResponse:
    counted = {"prompt_tokens": done.tokens_in, "completion_tokens": done.tokens_out}
    return CompletionResponse(text=done.text, delta="", additional_kwargs=counted)
