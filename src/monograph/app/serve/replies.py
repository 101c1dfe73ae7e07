"""Replies: values as JSON, errors under their status, and streams of events."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.responses import Response

from monograph.app import answer_output, output
from monograph.app.serve.faults import TooLarge, TooSlow, fault_of, status_of
from monograph.errors import MonographError
from monograph.values import Answer, Context

SILENT_SECONDS = 15
"""A stream that is silent for so long says that it is still there."""


def as_text(value: Any) -> str:
    """A value as JSON on one line, by the names that the command line prints."""
    shaped = answer_output.as_object(value) if isinstance(value, Answer | Context) else output.as_json(value)
    text = json.dumps(shaped, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "replace").decode()


class Json(Response):
    """A value as JSON."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """Write the value."""
        return as_text(content).encode()


def failed(error: MonographError) -> Response:
    """An error of ours as a response. What is left of a body that is too large, or too slow, is not read."""
    headers = {"Connection": "close"} if isinstance(error, TooLarge | TooSlow) else None
    return Json(fault_of(error), status_of(error), headers)


def event(name: str, data: Any) -> ServerSentEvent:
    """One event of a stream."""
    return ServerSentEvent(as_text(data), event=name, sep="\n")


async def streamed(events: AsyncGenerator[ServerSentEvent]) -> EventSourceResponse:
    """Events as a response. An error before the first is raised; later it becomes the last event."""
    first = await anext(events, None)

    async def all_events() -> AsyncGenerator[ServerSentEvent]:
        async with aclosing(events):
            if first is None:
                return
            yield first
            try:
                async for one in events:
                    yield one
            except MonographError as error:
                yield event("error", fault_of(error))

    return EventSourceResponse(all_events(), ping=SILENT_SECONDS, sep="\n")
