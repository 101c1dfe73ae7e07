"""OpenTelemetry spans and metrics of requests to models, after OpenTelemetry's conventions for generative AI."""

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
    """OpenTelemetry span of one request, and the attributes of the request's metrics."""

    span: Span
    kinds: dict[str, Value]

    def answered(self, made: Completion) -> None:
        """Record the model's answer, and the numbers of tokens that the model read and wrote."""
        self.read(made.tokens_in)
        self._record_tokens("output", made.tokens_out)
        self._record_message("gen_ai.output.messages", "assistant", made.text)

    def read(self, tokens: int | None) -> None:
        """Record how many tokens the model read. None records nothing: the server did not count them."""
        if tokens is not None:
            self._record_tokens("input", tokens)

    def asked(self, prompt: str) -> None:
        """Record the prompt."""
        self._record_message("gen_ai.input.messages", "user", prompt)

    def _record_tokens(self, kind: str, tokens: int) -> None:
        self.span.set({f"gen_ai.usage.{kind}_tokens": tokens})
        telemetry.used("gen_ai.client.token.usage", tokens, self.kinds | {"gen_ai.token.type": kind})

    def _record_message(self, name: str, role: str, text: str) -> None:
        if telemetry.captures():
            parts = [{"type": "text", "content": text}] if text else []
            self.span.text(name, json.dumps([{"role": role, "parts": parts}], ensure_ascii=False))


@contextmanager
def request(operation: str, model: str, url: str, *, pieces: bool = False) -> Iterator[TracedRequest]:
    """Trace a request to a model behind an OpenAI-compatible API.

    Parameters
    ----------
    operation:
        ``chat`` or ``embeddings``, which OpenTelemetry's conventions define, or ``rerank``, which only Monograph uses.
    model:
        Name of the model on the server.
    url:
        URL of the server.
    pieces:
        Whether the answer comes in pieces. If so, the caller does other work between two pieces. Spans that the caller
        opens for this work do not become children of this span.
    """
    kinds: dict[str, Value] = {
        "gen_ai.operation.name": operation,
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": model,
        "server.address": urlsplit(url).hostname or "",
    }
    since = time.perf_counter()
    error_kinds: dict[str, Value] = {}
    try:
        with telemetry.span(f"{operation} {model}", kinds, holds=not pieces) as span:
            yield TracedRequest(span, kinds)
    except Exception as error:
        error_kinds = {"error.type": type(error).__qualname__}
        raise
    finally:
        telemetry.took("gen_ai.client.operation.duration", since, kinds | error_kinds)
