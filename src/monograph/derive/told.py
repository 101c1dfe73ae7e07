"""Requests to models, told of as OpenTelemetry's conventions for models have it."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from monograph import telemetry
from monograph.derive.replies import text_of
from monograph.models import Reply
from monograph.telemetry import Span, Value


@dataclass(frozen=True, slots=True)
class Request:
    """One request: its span, and what its counts are sorted by."""

    span: Span
    kinds: dict[str, Value]

    def answered(self, made: Reply) -> None:
        """Tell what was answered, and the tokens it took."""
        self.read(made.tokens_in)
        self._used("output", made.tokens_out)
        if telemetry.captures():
            said = [_part(made.text)] if made.text else []
            called = [
                {"type": "tool_call", "id": call.id, "name": call.name, "arguments": call.arguments}
                for call in made.calls
            ]
            self._say("gen_ai.output.messages", [{"role": "assistant", "parts": said + called}])

    def read(self, tokens: int | None) -> None:
        """Tell how many tokens the model read; None where nobody counted them."""
        if tokens is not None:
            self._used("input", tokens)

    def asked(self, messages: Sequence[Mapping[str, Any]]) -> None:
        """Tell what was asked: the texts of messages in the OpenAI form."""
        if telemetry.captures():
            asked = [{"role": one.get("role"), "parts": [_part(text_of(one.get("content")))]} for one in messages]
            self._say("gen_ai.input.messages", asked)

    def _used(self, kind: str, tokens: int) -> None:
        self.span.set({f"gen_ai.usage.{kind}_tokens": tokens})
        telemetry.used("gen_ai.client.token.usage", tokens, self.kinds | {"gen_ai.token.type": kind})

    def _say(self, name: str, messages: Sequence[Mapping[str, Any]]) -> None:
        self.span.text(name, json.dumps(messages, ensure_ascii=False))


def _part(text: str) -> dict[str, str]:
    return {"type": "text", "content": text}


@contextmanager
def request(operation: str, model: str, url: str, *, pieces: bool = False) -> Iterator[Request]:
    """A request to a model behind an API of the OpenAI form.

    Parameters
    ----------
    operation:
        ``chat`` or ``embeddings``, as the conventions call it; ``rerank``, for which they have no word.
    model:
        The name that the server knows it by.
    url:
        Where the server is.
    pieces:
        Whether its answer comes in pieces, between which its caller does other work: what that does is no part of it.
    """
    kinds: dict[str, Value] = {
        "gen_ai.operation.name": operation,
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": model,
        "server.address": urlsplit(url).hostname or "",
    }
    since = time.perf_counter()
    failed: dict[str, Value] = {}
    try:
        with telemetry.span(f"{operation} {model}", kinds, holds=not pieces) as span:
            yield Request(span, kinds)
    except Exception as error:
        failed = {"error.type": type(error).__qualname__}
        raise
    finally:
        telemetry.took("gen_ai.client.operation.duration", since, kinds | failed)
