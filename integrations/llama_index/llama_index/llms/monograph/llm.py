"""Monograph's language model as a LlamaIndex LLM."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from llama_index.core.base.llms.generic_utils import (
    completion_response_to_chat_response,
    stream_completion_response_to_chat_response,
)
from llama_index.core.base.llms.types import (
    ChatMessage,
    ChatResponse,
    ChatResponseAsyncGen,
    ChatResponseGen,
    CompletionResponse,
    CompletionResponseAsyncGen,
    CompletionResponseGen,
    MessageRole,
    ToolCallBlock,
)
from llama_index.core.bridge.pydantic import Field, PrivateAttr
from llama_index.core.constants import DEFAULT_CONTEXT_WINDOW, DEFAULT_NUM_OUTPUTS
from llama_index.core.llms import LLMMetadata
from llama_index.core.llms.callbacks import llm_chat_callback, llm_completion_callback
from llama_index.core.llms.function_calling import FunctionCallingLLM
from llama_index.core.llms.llm import ToolSelection
from llama_index.core.llms.utils import parse_partial_json

from llama_index.llms.monograph.messages import as_response, in_openai_form, only_text, set_calls, so_far
from monograph.errors import InputError, ModelUnavailable
from monograph.models import Completion, Conversation, ConversingModel, LanguageModel, Reply, ReplyPiece, ToolCall
from monograph_tools import in_pieces, in_threads

if TYPE_CHECKING:
    from llama_index.core.tools.types import BaseTool

_CHOICES = {"any": "required", "required": "required", "auto": "auto", "none": "none"}
_OWN = ("max_tokens", "formatted")


class MonographLLM(FunctionCallingLLM):
    """A language model of Monograph in LlamaIndex: ``Settings.llm = MonographLLM(load_model("openai:…"))``.

    One behind a server gets chat messages with their roles, images and tools, and what else is given with a chat
    (``temperature``, ``response_format``, …); another model is handed them as one prompt, and takes neither tools nor
    images. Asynchronous calls wait in threads. What the model read and wrote stands in ``additional_kwargs`` as
    ``prompt_tokens`` and ``completion_tokens``.

    Parameters
    ----------
    model:
        Any model of Monograph's; one that cannot stream gives its answer as one piece.
    max_tokens:
        Most tokens of an answer; ``max_tokens`` of a single call goes before it.
    context_window:
        Tokens that the model can read and write together: LlamaIndex packs its prompts by it.
    calls_tools:
        Whether LlamaIndex is told that a model behind a server calls tools; False for one that does not.
    """

    max_tokens: int = Field(default=DEFAULT_NUM_OUTPUTS, description="Most tokens of an answer.", gt=0)
    context_window: int = Field(default=DEFAULT_CONTEXT_WINDOW, description="Tokens read and written together.", gt=0)
    calls_tools: bool = Field(default=True, description="Whether a model behind a server calls tools.")
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
        converses = isinstance(self._model, ConversingModel)
        return LLMMetadata(
            context_window=self.context_window,
            num_output=self.max_tokens,
            model_name=self._model.key,
            is_chat_model=converses,
            is_function_calling_model=converses and self.calls_tools,
        )

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
    def chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        """Reply to messages.

        Raises
        ------
        ModelUnavailable
            If the model does not answer.
        InputError
            If the model takes no such messages, or no tools.
        """
        return self._replied(messages, kwargs)

    @llm_chat_callback()
    def stream_chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponseGen:
        """Reply to messages piece by piece; the last piece is empty and has the tokens."""
        return self._streamed(messages, kwargs)

    @llm_chat_callback()
    async def achat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        """As :meth:`chat`, in a thread."""
        return await asyncio.to_thread(self._replied, messages, kwargs)

    @llm_chat_callback()
    async def astream_chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponseAsyncGen:
        """As :meth:`stream_chat`, each piece awaited in a thread."""
        return in_threads(self._streamed(messages, kwargs))

    def get_tool_calls_from_response(
        self, response: ChatResponse, error_on_no_tool_call: bool = True, **kwargs: Any
    ) -> list[ToolSelection]:
        """The calls of a reply; of one that is still written, with the arguments that are there.

        Raises
        ------
        ModelUnavailable
            If there is none, and that is an error.
        """
        blocks = [block for block in response.message.blocks if isinstance(block, ToolCallBlock)]
        if not blocks and error_on_no_tool_call:
            raise ModelUnavailable(
                f"the model {self._model.key!r} called no tool: {response.message.content!r}",
                "ask for one by tool_required=True, or take a model that calls tools",
            )
        return [
            ToolSelection(
                tool_id=block.tool_call_id or "",
                tool_name=block.tool_name,
                tool_kwargs=_arguments(block.tool_kwargs),
            )
            for block in blocks
        ]

    def _prepare_chat_with_tools(
        self,
        tools: Sequence[BaseTool],
        user_msg: str | ChatMessage | None = None,
        chat_history: list[ChatMessage] | None = None,
        verbose: bool = False,
        allow_parallel_tool_calls: bool = False,
        tool_required: bool = False,
        **kwargs: Any,
    ) -> dict[str, Any]:
        messages = list(chat_history or [])
        if user_msg is not None:
            said = user_msg if isinstance(user_msg, ChatMessage) else ChatMessage(user_msg, role=MessageRole.USER)
            messages.append(said)
        made = {"messages": messages, **kwargs}
        if tools:
            made["tools"] = [tool.metadata.to_openai_tool() for tool in tools]
            made["tool_choice"] = _choice(kwargs.get("tool_choice") or ("required" if tool_required else "auto"))
            made |= {} if allow_parallel_tool_calls else {"parallel_tool_calls": False}
        return made

    def _validate_chat_with_tools_response(
        self,
        response: ChatResponse,
        tools: Sequence[BaseTool],
        allow_parallel_tool_calls: bool = False,
        **kwargs: Any,
    ) -> ChatResponse:
        if not allow_parallel_tool_calls:  # not all servers hold their model to it
            calls = [block for block in response.message.blocks if isinstance(block, ToolCallBlock)]
            set_calls(response.message, calls[:1])
        return response

    def _replied(self, messages: Sequence[ChatMessage], kwargs: dict[str, Any]) -> ChatResponse:
        if isinstance(self._model, ConversingModel):
            return as_response(self._model.converse(self._conversation(messages, kwargs)))
        prompt, limit = self._as_prompt(messages, kwargs), self._limit(kwargs)
        return _counted(completion_response_to_chat_response(_response(self._model.complete(prompt, limit))))

    def _streamed(self, messages: Sequence[ChatMessage], kwargs: dict[str, Any]) -> ChatResponseGen:
        if isinstance(self._model, ConversingModel):
            return _pieces(self._model, self._conversation(messages, kwargs))
        prompt = self._as_prompt(messages, kwargs)
        return stream_completion_response_to_chat_response(
            self.stream_complete(prompt, formatted=True, max_tokens=self._limit(kwargs))
        )

    def _conversation(self, messages: Sequence[ChatMessage], kwargs: dict[str, Any]) -> Conversation:
        options = {name: value for name, value in kwargs.items() if name not in _OWN and value is not None}
        return Conversation(in_openai_form(messages), self._limit(kwargs), options)

    def _as_prompt(self, messages: Sequence[ChatMessage], kwargs: dict[str, Any]) -> str:
        for name in ("tools", "response_format"):
            if kwargs.get(name):
                raise InputError(
                    f"the model {self._model.key!r} takes no {name}", "take one behind a server of the OpenAI form"
                )
        assert self.messages_to_prompt is not None  # noqa: S101 - it is never left unset; the framework says so alike
        return str(self.messages_to_prompt(only_text(messages)))

    def _limit(self, kwargs: dict[str, Any]) -> int:
        return int(kwargs.get("max_tokens") or self.max_tokens)


def _pieces(model: ConversingModel, asked: Conversation) -> ChatResponseGen:
    text = ""
    calls: dict[int, ToolCall] = {}
    for piece in model.stream_reply(asked):
        if isinstance(piece, Reply):
            yield as_response(piece, delta="")
            continue
        text += piece.text
        _add(calls, piece)
        yield so_far(text, list(calls.values()), piece.text)


def _add(calls: dict[int, ToolCall], piece: ReplyPiece) -> None:
    for one in piece.calls:
        old = calls.get(one.index, ToolCall(one.index, "", "", ""))
        calls[one.index] = ToolCall(one.index, old.id + one.id, old.name + one.name, old.arguments + one.arguments)


def _choice(wanted: str | dict[str, Any]) -> str | dict[str, Any]:
    if isinstance(wanted, dict):
        return wanted
    return _CHOICES.get(wanted) or {"type": "function", "function": {"name": wanted}}


def _arguments(written: dict[str, Any] | str) -> dict[str, Any]:
    if not isinstance(written, str):
        return written
    try:
        made = parse_partial_json(written)
    except ValueError:
        return {}
    return made if isinstance(made, dict) else {}


def _response(done: Completion) -> CompletionResponse:
    counted = {"prompt_tokens": done.tokens_in, "completion_tokens": done.tokens_out}
    return CompletionResponse(text=done.text, delta="", additional_kwargs=counted)


def _counted(response: ChatResponse) -> ChatResponse:
    response.additional_kwargs = dict(response.message.additional_kwargs)
    return response
