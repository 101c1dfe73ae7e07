"""Requests to models, told of as OpenTelemetry's conventions for models have it."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

from monograph import telemetry
from monograph.models import Completion
from monograph.telemetry import Span, Value


@dataclass(frozen=True, slots=True)
class TracedRequest:
    """One request: its span, and what its counts are sorted by."""

    span: Span
    kinds: dict[str, Value]

    def answered(self, made: Completion) -> None:
        """Tell what was answered, and the tokens it took."""
        self.read(made.tokens_in)
        self._used("output", made.tokens_out)
        self._say("gen_ai.output.messages", "assistant", made.text)

    def read(self, tokens: int | None) -> None:
        """Tell how many tokens the model read; None where nobody counted them."""
        if tokens is not None:
            self._used("input", tokens)

    def asked(self, prompt: str) -> None:
        """Tell what was asked."""
        self._say("gen_ai.input.messages", "user", prompt)

    def _used(self, kind: str, tokens: int) -> None:
        self.span.set({f"gen_ai.usage.{kind}_tokens": tokens})
        telemetry.used("gen_ai.client.token.usage", tokens, self.kinds | {"gen_ai.token.type": kind})

    def _say(self, name: str, role: str, text: str) -> None:
        if telemetry.captures():
            parts = [{"type": "text", "content": text}] if text else []
            self.span.text(name, json.dumps([{"role": role, "parts": parts}], ensure_ascii=False))


@contextmanager
def request(operation: str, model: str, url: str, *, pieces: bool = False) -> Iterator[TracedRequest]:
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
            yield TracedRequest(span, kinds)
    except Exception as error:
        failed = {"error.type": type(error).__qualname__}
        raise
    finally:
        telemetry.took("gen_ai.client.operation.duration", since, kinds | failed)
