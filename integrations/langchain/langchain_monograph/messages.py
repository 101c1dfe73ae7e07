"""LangChain's messages in the OpenAI form, and a model's replies as LangChain's messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.exceptions import OutputParserException
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
    convert_to_openai_messages,
    get_buffer_string,
)
from langchain_core.messages.ai import UsageMetadata
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.output_parsers.openai_tools import make_invalid_tool_call, parse_tool_call

from monograph.errors import InputError
from monograph.models import Completion, Reply, ReplyPiece, ToolCall

_PARTS = {"text", "image_url", "input_audio", "file"}
_KNOWN = {"assistant": {"text", "refusal"}}
"""Of what else a message of the model's own holds its calls stand beside, and its thoughts are not told it again."""


def as_prompt(messages: Sequence[BaseMessage]) -> str:
    """Messages as one text.

    Raises
    ------
    InputError
        If there are images or the like in them, which a text cannot hold.
    """
    for message in messages:
        for part in message.content if isinstance(message.content, list) else ():
            kind = part.get("type") if isinstance(part, dict) else "text"
            if kind not in ("text", "tool_use", "tool_call", "thinking", "reasoning"):
                raise InputError(
                    f"this model is handed one text, and a message holds a part of the type {kind!r}",
                    "take a model behind a server of the OpenAI form, or describe it in words",
                )
    if len(messages) == 1 and isinstance(messages[0], HumanMessage):
        return str(messages[0].text)
    return get_buffer_string(messages) + "\nAI:"


def in_openai_form(messages: Sequence[BaseMessage]) -> list[dict[str, Any]]:
    """Messages with their roles, images, calls of tools and what these replied.

    Raises
    ------
    InputError
        If a message holds what that form does not know.
    """
    try:
        made = convert_to_openai_messages(list(messages))
    except ValueError as error:
        raise InputError(f"a message cannot be sent: {error}", "write its content as the OpenAI form does") from error
    return [_sendable(message) for message in made]


def _sendable(message: dict[str, Any]) -> dict[str, Any]:
    role, content = message["role"], message.get("content")
    if role == "tool":
        message.pop("name", None)
    if isinstance(content, list):
        kept = [part for part in content if part.get("type") in _KNOWN.get(role, _PARTS)]
        if role != "assistant" and len(kept) < len(content):
            kind = next(part.get("type") for part in content if part not in kept)
            raise InputError(
                f"a message holds a part of the type {kind!r}", "give texts, images, audio or files in base64"
            )
        texts = [part["text"] for part in kept if part["type"] == "text"]
        content = kept if len(texts) < len(kept) else "\n".join(texts)
    return message | {"content": content or (None if message.get("tool_calls") else "")}


def as_message(reply: Reply) -> AIMessage:
    """A reply; calls whose arguments are no JSON stand in ``invalid_tool_calls``."""
    calls: list[Any] = []
    invalid: list[Any] = []
    for call in reply.calls:
        raw = _raw(call)
        try:
            calls.append(parse_tool_call(raw, return_id=True))
        except OutputParserException as error:
            invalid.append(make_invalid_tool_call(raw, str(error)))
    return AIMessage(
        reply.text,
        tool_calls=calls,
        invalid_tool_calls=invalid,
        usage_metadata=counted(reply),
        response_metadata=told(reply),
    )


def as_chunk(piece: ReplyPiece) -> AIMessageChunk:
    """A piece of a reply."""
    chunks = [
        tool_call_chunk(name=call.name or None, args=call.arguments, id=call.id or None, index=call.index)
        for call in piece.calls
    ]
    return AIMessageChunk(content=piece.text, tool_call_chunks=chunks)


def as_last_chunk(reply: Reply, text: str = "") -> AIMessageChunk:
    """The end of a reply that was streamed: its tokens, and who replied."""
    return AIMessageChunk(content=text, usage_metadata=counted(reply), response_metadata=told(reply))


def counted(done: Completion | Reply) -> UsageMetadata:
    """Tokens read and written."""
    return UsageMetadata(
        input_tokens=done.tokens_in, output_tokens=done.tokens_out, total_tokens=done.tokens_in + done.tokens_out
    )


def told(reply: Reply) -> dict[str, str]:
    """Which model replied, and why its reply ends."""
    return {"model_name": reply.model} | ({"finish_reason": reply.finish} if reply.finish else {})


def until(text: str, stop: Sequence[str] | None) -> str:
    """A text up to the first of the words that end it."""
    for word in stop or []:
        text = text.partition(word)[0]
    return text


def _raw(call: ToolCall) -> dict[str, Any]:
    return {"id": call.id, "function": {"name": call.name, "arguments": call.arguments}}
