"""LlamaIndex's chat messages in the OpenAI form, and a model's replies as LlamaIndex's responses."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from llama_index.core.base.llms.types import (
    AudioBlock,
    CachePoint,
    ChatMessage,
    ChatResponse,
    ContentBlock,
    DocumentBlock,
    ImageBlock,
    MessageRole,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
)

from monograph.errors import InputError
from monograph.models import Reply, ToolCall

_ROLES = {MessageRole.CHATBOT: "assistant", MessageRole.MODEL: "assistant", MessageRole.FUNCTION: "tool"}
_NOT_TOLD = (ToolCallBlock, ThinkingBlock, CachePoint)
"""Calls stand beside the content; its own thoughts a model is not told again."""


def only_text(messages: Sequence[ChatMessage]) -> Sequence[ChatMessage]:
    """The messages themselves.

    Raises
    ------
    InputError
        If there are images or the like in them, which a prompt cannot hold.
    """
    for message in messages:
        for block in message.blocks:
            if not isinstance(block, (TextBlock, *_NOT_TOLD)):
                raise InputError(
                    f"this model is handed one text, and a message holds a block of the type {block.block_type!r}",
                    "take a model behind a server of the OpenAI form, or describe it in words",
                )
    return messages


def in_openai_form(messages: Sequence[ChatMessage]) -> list[dict[str, Any]]:
    """Messages with their roles, images, calls of tools and what these replied.

    Raises
    ------
    InputError
        If a message holds what that form does not know.
    """
    return [_sent(message) for message in messages]


def _sent(message: ChatMessage) -> dict[str, Any]:
    role = _ROLES.get(message.role, message.role.value)
    parts = [_part(block) for block in message.blocks if not isinstance(block, _NOT_TOLD)]
    texts = [part["text"] for part in parts if part["type"] == "text"]
    content: Any = parts if len(texts) < len(parts) else "\n".join(texts)
    sent: dict[str, Any] = {"role": role}
    if role == "tool":
        sent["tool_call_id"] = str(message.additional_kwargs.get("tool_call_id") or "")
    elif calls := _calls(message):
        sent["tool_calls"] = calls
    return sent | {"content": content or (None if "tool_calls" in sent else "")}


def _calls(message: ChatMessage) -> list[dict[str, Any]]:
    blocks = [block for block in message.blocks if isinstance(block, ToolCallBlock)]
    if not blocks:  # as some LLMs of LlamaIndex's keep them
        return [one for one in message.additional_kwargs.get("tool_calls") or [] if isinstance(one, dict)]
    return [_call(block) for block in blocks]


def _call(block: ToolCallBlock) -> dict[str, Any]:
    function = {"name": block.tool_name, "arguments": _as_json(block.tool_kwargs)}
    return {"id": block.tool_call_id or "", "type": "function", "function": function}


def _as_json(arguments: dict[str, Any] | str) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)


def _part(block: ContentBlock) -> dict[str, Any]:
    if isinstance(block, TextBlock):
        return {"type": "text", "text": block.text}
    try:
        if isinstance(block, ImageBlock):
            url = str(block.url) if block.url and not block.image else block.inline_url()
            return {"type": "image_url", "image_url": {"url": url} | ({"detail": block.detail} if block.detail else {})}
        if isinstance(block, AudioBlock):
            data = block.resolve_audio(as_base64=True).read().decode()
            return {"type": "input_audio", "input_audio": {"data": data, "format": block.format or "wav"}}
        if isinstance(block, DocumentBlock):
            file = {"filename": block.title or "document", "file_data": block.inline_url()}
            return {"type": "file", "file": file}
    except (OSError, ValueError) as error:
        raise InputError(
            f"a block of the type {block.block_type!r} cannot be read: {error}", "give its bytes"
        ) from error
    raise InputError(
        f"a message holds a block of the type {block.block_type!r}", "give texts, images, audio or documents"
    )


def as_response(reply: Reply, delta: str | None = None) -> ChatResponse:
    """A whole reply, with its tokens in ``additional_kwargs``."""
    counted = {"prompt_tokens": reply.tokens_in, "completion_tokens": reply.tokens_out}
    response = so_far(reply.text, reply.calls, delta)
    response.additional_kwargs = counted | ({"finish_reason": reply.finish} if reply.finish else {})
    return response


def so_far(text: str, calls: Sequence[ToolCall], delta: str | None = None) -> ChatResponse:
    """What there is of a reply; calls with their arguments as the model has written them until now."""
    asked = [
        ToolCallBlock(tool_call_id=call.id, tool_name=call.name, tool_kwargs=call.arguments)
        for call in calls
        if call.name
    ]
    message = ChatMessage(role=MessageRole.ASSISTANT, blocks=[TextBlock(text=text)] if text or not calls else [])
    set_calls(message, asked)
    return ChatResponse(message=message, delta=delta)


def set_calls(message: ChatMessage, calls: Sequence[ToolCallBlock]) -> None:
    """Let a message ask for these calls; what LlamaIndex streams looks for them beside the blocks as well."""
    message.blocks = [*(block for block in message.blocks if not isinstance(block, ToolCallBlock)), *calls]
    if calls:
        message.additional_kwargs["tool_calls"] = [_call(block) for block in calls]
