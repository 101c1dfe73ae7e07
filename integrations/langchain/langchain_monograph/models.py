"""Language models across the border: LangChain's answering from a file, and Monograph's in LangChain."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LangSmithParams
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, get_buffer_string
from langchain_core.messages.ai import UsageMetadata
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from pydantic import ConfigDict, Field

from monograph.errors import InputError
from monograph.models import Completion, LanguageModel
from monograph_tools import BorrowedModel, in_pieces


class ChatModel(BorrowedModel):
    """Lets a LangChain chat model answer :meth:`monograph.Monograph.ask`.

    Parameters
    ----------
    model:
        Any chat model.
    key:
        Names the model and every setting that changes its answers: these are remembered under it.
    limit:
        What the model calls the most tokens of an answer; empty to hand it none.
    """

    called = "the chat model"

    def __init__(self, model: BaseChatModel, key: str, limit: str = "max_tokens") -> None:
        super().__init__(f"langchain/{key}", limit)
        self._model = model

    def _whole(self, prompt: str, limits: dict[str, Any]) -> Completion:
        message = self._model.invoke(prompt, **limits)
        return Completion(str(message.text), *_usage(message))

    def _pieces(self, prompt: str, limits: dict[str, Any]) -> Iterator[Completion]:
        written = 0
        for chunk in self._model.stream(prompt, **limits):
            read, more = _usage(chunk)
            written += more
            yield Completion(str(chunk.text), read, written)


class MonographChatModel(BaseChatModel):
    """A language model of Monograph in LangChain: ``MonographChatModel(model=load_model("openai:…"))``.

    Messages are handed to it as one prompt. Asynchronous calls wait in threads. Tokens stand in ``usage_metadata``.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, protected_namespaces=())

    model: LanguageModel
    """Any model of Monograph's; one that cannot stream gives its answer as one piece."""
    max_tokens: int = Field(default=400, gt=0)
    """Most tokens of an answer; ``max_tokens`` of a single call goes before it."""

    @property
    def _llm_type(self) -> str:
        return "monograph"

    @property
    def _identifying_params(self) -> Mapping[str, Any]:
        return {"model": self.model.key, "max_tokens": self.max_tokens}

    def _get_ls_params(self, stop: list[str] | None = None, **kwargs: Any) -> LangSmithParams:
        known = super()._get_ls_params(stop=stop, **kwargs)
        known["ls_model_name"] = str(kwargs.get("model") or self.model.key)
        return known

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        done = self.model.complete(_prompt(messages), self._limit(kwargs))
        message = AIMessage(_until(done.text, stop), usage_metadata=_counted(done), response_metadata=self._named)
        return ChatResult(generations=[ChatGeneration(message=message)])

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        for piece in self._pieces(_prompt(messages), stop, self._limit(kwargs)):
            chunk = ChatGenerationChunk(message=piece)
            if run_manager is not None:
                run_manager.on_llm_new_token(str(piece.text), chunk=chunk)
            yield chunk

    def _pieces(self, prompt: str, stop: list[str] | None, limit: int) -> Iterator[AIMessageChunk]:
        # Where to stop is known only of the whole: a stop word may begin in one piece and end in the next.
        if stop:
            done = self.model.complete(prompt, limit)
            yield self._last(_until(done.text, stop), done)
            return
        for piece in in_pieces(self.model, prompt, limit):
            if isinstance(piece, Completion):
                yield self._last("", piece)
            else:
                yield AIMessageChunk(content=piece)

    def _last(self, text: str, done: Completion) -> AIMessageChunk:
        return AIMessageChunk(content=text, usage_metadata=_counted(done), response_metadata=self._named)

    @property
    def _named(self) -> dict[str, str]:
        return {"model_name": self.model.key}

    def _limit(self, kwargs: dict[str, Any]) -> int:
        if kwargs.get("model") not in (None, self.model.key):
            raise InputError(f"this is {self.model.key!r}, not {kwargs['model']!r}", "make a chat model of that one")
        return int(kwargs.get("max_tokens") or self.max_tokens)


def _prompt(messages: list[BaseMessage]) -> str:
    if len(messages) == 1 and isinstance(messages[0], HumanMessage):
        return str(messages[0].text)
    return get_buffer_string(messages) + "\nAI:"


def _until(text: str, stop: list[str] | None) -> str:
    """A text up to the first of the words that end it."""
    for word in stop or []:
        text = text.partition(word)[0]
    return text


def _counted(done: Completion) -> UsageMetadata:
    return UsageMetadata(
        input_tokens=done.tokens_in, output_tokens=done.tokens_out, total_tokens=done.tokens_in + done.tokens_out
    )


def _usage(message: BaseMessage) -> tuple[int, int]:
    usage: Mapping[str, int] = getattr(message, "usage_metadata", None) or {}
    return usage.get("input_tokens", 0), usage.get("output_tokens", 0)
