"""Monograph's language models as a LangChain chat model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from operator import itemgetter
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LangSmithParams
from langchain_core.language_models.base import LanguageModelInput
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.output_parsers import BaseOutputParser, JsonOutputParser, PydanticOutputParser
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable, RunnableMap, RunnablePassthrough
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_function, convert_to_openai_tool
from langchain_core.utils.pydantic import is_basemodel_subclass
from pydantic import ConfigDict, Field

from langchain_monograph import messages as forms
from monograph.errors import InputError
from monograph.models import Completion, Conversation, ConversingModel, LanguageModel, Reply
from monograph_tools import in_pieces

_CHOICES = {"any": "required", True: "required", "required": "required", "auto": "auto", "none": "none", False: "none"}
_METHODS = ("json_schema", "function_calling", "json_mode")
_TAKE_ANOTHER = "take one behind a server of the OpenAI form"


class MonographChatModel(BaseChatModel):
    """A language model of Monograph in LangChain: ``MonographChatModel(model=load_model("openai:…"))``.

    One behind a server gets messages with their roles, images and tools, and what else is given with a call
    (``temperature``, ``seed``, …); another model is handed them as one prompt, and takes neither tools nor images.
    Asynchronous calls wait in threads. Tokens stand in ``usage_metadata``.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, protected_namespaces=())

    model: LanguageModel
    """Any model of Monograph's; one that cannot stream gives its answer as one piece."""
    max_tokens: int = Field(default=400, gt=0)
    """Most tokens of an answer; ``max_tokens`` of a single call goes before it."""

    @property
    def model_name(self) -> str:
        """The model's key, by which agents look up what it can do."""
        return self.model.key

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

    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],
        *,
        tool_choice: str | dict[str, Any] | bool | None = None,
        strict: bool | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """The model with tools that it may call.

        Parameters
        ----------
        tools:
            As LangChain takes them: tools, functions, models, schemas.
        tool_choice:
            ``auto``, ``none``, ``any`` (or True) for one of them at least, or the name of the one to call.
        strict:
            Whether arguments must meet their schema, where the server knows that.
        kwargs:
            What else is sent: ``parallel_tool_calls``, …

        Raises
        ------
        InputError
            If the model takes no tools, or none is called as ``tool_choice`` says.
        """
        self._conversing("calls no tools")
        made = [convert_to_openai_tool(tool, strict=strict) for tool in tools]
        given = {"tools": made} | ({} if tool_choice is None else {"tool_choice": _choice(tool_choice, made)})
        return self.bind(**given, **kwargs)

    def with_structured_output(
        self,
        schema: dict[str, Any] | type,
        *,
        include_raw: bool = False,
        method: str = "json_schema",
        strict: bool | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, Any]:
        """The model with answers in a form.

        Parameters
        ----------
        schema:
            A pydantic model, whose instances come back; or a typed dict or a JSON schema, for dicts.
        include_raw:
            Also give the message, and the error if the answer is of another form.
        method:
            ``json_schema``: the server keeps the model to the form. ``function_calling``: it must call a tool of
            that form. ``json_mode``: any JSON; the prompt says which.
        strict:
            Whether the schema must be met to the letter, where the server knows that.
        kwargs:
            What else is sent.

        Raises
        ------
        InputError
            If the model knows no forms, or ``method`` is another.
        """
        self._conversing("keeps to no form")
        if method not in _METHODS:
            raise InputError(f"{method!r} is no way to a form", f"take one of {', '.join(_METHODS)}")
        if method == "function_calling":
            return super().with_structured_output(schema, include_raw=include_raw, **kwargs)
        told = {"ls_structured_output_format": {"kwargs": {"method": method}, "schema": schema}}
        wanted = {"type": "json_object"} if method == "json_mode" else _in_schema(schema, strict)
        bound = self.bind(response_format=wanted, **told, **kwargs)
        return _parsed(bound, schema, include_raw)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        if isinstance(self.model, ConversingModel):
            reply = self.model.converse(self._conversation(messages, stop, kwargs))
            message = forms.as_message(replace(reply, text=forms.until(reply.text, stop)))
        else:
            prompt, limit = forms.as_prompt(messages), self._limit(kwargs)
            message = forms.as_message(self._told(self.model.complete(prompt, limit), stop))
        return ChatResult(generations=[ChatGeneration(message=message)])

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        pieces = (
            _pieces(self.model, self._conversation(messages, stop, kwargs))
            if isinstance(self.model, ConversingModel)
            else self._pieces(forms.as_prompt(messages), stop, self._limit(kwargs))
        )
        for piece in pieces:
            chunk = ChatGenerationChunk(message=piece)
            if run_manager is not None:
                run_manager.on_llm_new_token(str(piece.text), chunk=chunk)
            yield chunk

    def _pieces(self, prompt: str, stop: list[str] | None, limit: int) -> Iterator[AIMessageChunk]:
        # Where to stop is known only of the whole: a stop word may begin in one piece and end in the next.
        if stop:
            reply = self._told(self.model.complete(prompt, limit), stop)
            yield forms.as_last_chunk(reply, reply.text)
            return
        for piece in in_pieces(self.model, prompt, limit):
            if isinstance(piece, Completion):
                yield forms.as_last_chunk(self._told(piece, None))
            else:
                yield AIMessageChunk(content=piece)

    def _told(self, done: Completion, stop: list[str] | None) -> Reply:
        return Reply(
            forms.until(done.text, stop), tokens_in=done.tokens_in, tokens_out=done.tokens_out, model=self.model.key
        )

    def _conversation(
        self, messages: list[BaseMessage], stop: list[str] | None, kwargs: dict[str, Any]
    ) -> Conversation:
        options = {name: value for name, value in kwargs.items() if name != "max_tokens" and value is not None}
        if options.get("model") == self.model.key:
            del options["model"]
        return Conversation(
            forms.in_openai_form(messages),
            int(kwargs.get("max_tokens") or self.max_tokens),
            options | ({"stop": stop} if stop else {}),
        )

    def _conversing(self, lacks: str) -> None:
        if not isinstance(self.model, ConversingModel):
            raise InputError(f"the model {self.model.key!r} {lacks}", _TAKE_ANOTHER)

    def _limit(self, kwargs: dict[str, Any]) -> int:
        if kwargs.get("model") not in (None, self.model.key):
            raise InputError(f"this is {self.model.key!r}, not {kwargs['model']!r}", "make a chat model of that one")
        for name in ("tools", "response_format"):
            if kwargs.get(name):
                raise InputError(f"the model {self.model.key!r} takes no {name}", _TAKE_ANOTHER)
        return int(kwargs.get("max_tokens") or self.max_tokens)


def _pieces(model: ConversingModel, asked: Conversation) -> Iterator[AIMessageChunk]:
    """A reply as it comes. Servers stop at stop words themselves, but not all: then it is known only of the whole."""
    stop = asked.options.get("stop")
    if stop and not asked.options.get("tools"):
        reply = model.converse(asked)
        yield forms.as_last_chunk(reply, forms.until(reply.text, stop))
        return
    for piece in model.stream_reply(asked):
        yield forms.as_last_chunk(piece) if isinstance(piece, Reply) else forms.as_chunk(piece)


def _choice(wanted: str | dict[str, Any] | bool, tools: Sequence[Mapping[str, Any]]) -> str | dict[str, Any]:
    if isinstance(wanted, dict):
        return wanted
    if wanted in _CHOICES:
        return _CHOICES[wanted]
    names = [str(tool["function"]["name"]) for tool in tools if "function" in tool]
    if wanted not in names:
        raise InputError(f"there is no tool {wanted!r}", f"name one of {', '.join(names)}, or any, auto or none")
    return {"type": "function", "function": {"name": wanted}}


def _in_schema(schema: dict[str, Any] | type, strict: bool | None) -> dict[str, Any]:
    function = convert_to_openai_function(schema, strict=strict)
    named: dict[str, Any] = {"name": function["name"], "schema": function.get("parameters", {})}
    if strict is not None:
        named["strict"] = strict
    return {"type": "json_schema", "json_schema": named}


def _parsed(bound: Runnable[Any, AIMessage], schema: dict[str, Any] | type, include_raw: bool) -> Runnable[Any, Any]:
    """What a bound model says, as the schema's own values; with the message beside them if that is wanted."""
    parser: BaseOutputParser[Any] = JsonOutputParser()
    if isinstance(schema, type) and is_basemodel_subclass(schema):
        parser = PydanticOutputParser(pydantic_object=schema)
    if not include_raw:
        return bound | parser
    parsed = RunnablePassthrough.assign(parsed=itemgetter("raw") | parser, parsing_error=lambda _: None)
    failed = RunnablePassthrough.assign(parsed=lambda _: None)
    return RunnableMap(raw=bound) | parsed.with_fallbacks([failed], exception_key="parsing_error")
