"""HTTP responses: values as JSON, errors with their status, and streams of events."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.responses import Response

from monograph.app import output
from monograph.app.serve.faults import TooLarge, TooSlow, fault_of, status_of
from monograph.errors import MonographError

SILENT_SECONDS = 15
"""Seconds without an event after which a stream sends a ping."""


def as_text(value: Any) -> str:
    """Return a value as JSON on one line, with the field names that the command line prints."""
    text = json.dumps(output.as_json(value), ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "replace").decode()


class Json(Response):
    """Response with a value as JSON."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """Return the value as JSON bytes."""
        return as_text(content).encode()


def failed(error: MonographError) -> Response:
    """Return an error as a response. It closes the connection if the body was too large or too slow."""
    headers = {"Connection": "close"} if isinstance(error, TooLarge | TooSlow) else None
    return Json(fault_of(error), status_of(error), headers)


def event(name: str, data: Any) -> ServerSentEvent:
    """Return an event of a stream."""
    return ServerSentEvent(as_text(data), event=name, sep="\n")


async def streamed(events: AsyncGenerator[ServerSentEvent]) -> EventSourceResponse:
    """Return events as a streaming response. Raise an error before the first event; send a later one as an event."""
    first = await anext(events, None)

    async def all_events() -> AsyncGenerator[ServerSentEvent]:
        async with aclosing(events):
            if first is None:
                return
            yield first
            try:
                async for item in events:
                    yield item
            except MonographError as error:
                yield event("error", fault_of(error))

    return EventSourceResponse(all_events(), ping=SILENT_SECONDS, sep="\n")
