"""Requests to models, told of as OpenTelemetry's conventions for models have it."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

from monograph import telemetry
from monograph.telemetry import Span, Value


@dataclass(frozen=True, slots=True)
class Request:
    """One request: its span, when it began by ``time.perf_counter``, and what its counts are sorted by."""

    span: Span
    since: float
    kinds: dict[str, Value]

    def answered(self, read: int, written: int | None = None) -> None:
        """Tell the tokens it took: read, and written where it writes."""
        for kind, tokens in (("input", read), ("output", written)):
            if tokens is not None:
                self.span.set({f"gen_ai.usage.{kind}_tokens": tokens})
                telemetry.used("gen_ai.client.token.usage", tokens, self.kinds | {"gen_ai.token.type": kind})

    def said(self, role: str, text: str) -> None:
        """Tell what a ``user`` asked or an ``assistant`` answered, where that is to be told."""
        whole = json.dumps([{"role": role, "parts": [{"type": "text", "content": text}]}], ensure_ascii=False)
        self.span.text("gen_ai.input.messages" if role == "user" else "gen_ai.output.messages", whole)


@contextmanager
def request(operation: str, model: str, url: str, *, pieces: bool = False) -> Iterator[Request]:
    """A request to a model behind an API of the OpenAI form.

    Parameters
    ----------
    operation:
        ``chat``, ``embeddings``, as the conventions call it, or ``rerank``.
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
    name = f"{operation} {model}"
    failed: dict[str, Value] = {}
    try:
        if pieces:
            span = telemetry.begun(name, kinds)
            try:
                yield Request(span, since, kinds)
            except Exception as error:
                span.fail(error)
                raise
            finally:
                span.end()
        else:
            with telemetry.span(name, kinds) as span:
                yield Request(span, since, kinds)
    except Exception as error:
        failed = {"error.type": type(error).__qualname__}
        raise
    finally:
        telemetry.took("gen_ai.client.operation.duration", since, kinds | failed)
