"""Readers of replies and stream events of OpenAI-compatible servers: the text, whether it has ended, token counts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from monograph.regex import regex

_THOUGHT = regex(r"<(think|thinking|reasoning)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_THOUGHT_END = regex(r"^.*</(?:think|thinking|reasoning)>", re.DOTALL | re.IGNORECASE)


def text_in(reply: Mapping[str, Any]) -> str | None:
    """Return the text of the first choice in a reply or stream event; None if there is no choice.

    A choice without a text gives its refusal, and without a refusal an empty text.
    """
    try:
        choice = reply["choices"][0]
        message = choice["delta"] if "delta" in choice else choice["message"]
    except (IndexError, KeyError, TypeError):
        return None
    if not isinstance(message, Mapping):
        return None
    # Some servers write the text in parts.
    content = message.get("content")
    if isinstance(content, list):
        content = "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return _as_text(content) or _as_text(message.get("refusal"))


def has_ended(event: Mapping[str, Any]) -> bool:
    """Return whether a stream event states why the reply ended."""
    try:
        return event["choices"][0].get("finish_reason") is not None
    except (AttributeError, IndexError, KeyError, TypeError):
        return False


def usage(reply: Mapping[str, Any]) -> tuple[int, int] | None:
    """Return the numbers of tokens (read, written) that the server states; None unless it states both."""
    before, after = tokens_read(reply), _read_count(reply, "completion_tokens")
    return None if before is None or after is None else (before, after)


def tokens_read(reply: Mapping[str, Any]) -> int | None:
    """Return the number of tokens read that the server states; None if it states none."""
    return _read_count(reply, "prompt_tokens")


def _read_count(reply: Mapping[str, Any], field: str) -> int | None:
    counts = reply.get("usage")
    number = counts.get(field) if isinstance(counts, dict) else None
    return number if isinstance(number, int) and number >= 0 else None


def _as_text(value: object) -> str:
    """Return a text with each lone surrogate replaced by a question mark; an empty text if the value is not a text."""
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else ""


def remove_thoughts(answer: str) -> str:
    """Return an answer without its thoughts (``<think>…</think>``), even if their first or last tag is missing.

    Each lone surrogate is replaced by a question mark.
    """
    return _THOUGHT_END.sub("", _THOUGHT.sub("", _as_text(answer)))
