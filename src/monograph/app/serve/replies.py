"""HTTP responses: values as JSON, errors as JSON with their status, and streams of events."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.responses import Response

from monograph import errors
from monograph.app import output
from monograph.errors import InputError, MonographError, NotFound

SILENT_SECONDS = 15
"""Seconds without an event after which a stream of events sends a ping."""


@dataclass(frozen=True, slots=True)
class Fault:
    """An error as JSON: its message, the hint and its kind."""

    error: str
    hint: str
    kind: str


class NoSuchAddress(NotFound):
    """A request for an address that no operation or page has."""


class TooLarge(InputError):
    """A request with more bytes than the limit."""


class TooSlow(InputError):
    """A request whose body does not arrive in time."""


class TooMany(InputError):
    """More concurrent requests, jobs or uploads than the limit."""


class NotWritable(InputError):
    """A request to change a shelf, or to change any file of a server that was started without ``--write``."""


_STATUS: dict[type, int] = {
    TooLarge: 413,
    TooSlow: 408,
    TooMany: 429,
    NotWritable: 403,
    NotFound: 404,
    InputError: 400,
    errors.NameTaken: 409,
    errors.ReadOnlyFile: 403,
    errors.BusyFile: 503,
    errors.ClosedFile: 503,
    errors.StorageFull: 507,
    errors.OutOfMemory: 503,
    errors.ModelUntrusted: 403,
    errors.UnknownModel: 400,
    errors.ModelError: 502,
    errors.ShelfConflict: 409,
    errors.ShelfUnreachable: 503,
    errors.SourceMissing: 404,
    errors.SourceTooLarge: 413,
    errors.SourceError: 409,
    MonographError: 500,
}
"""HTTP status code of each error class. Other classes have the code of their nearest listed base class."""


def fault_of(error: MonographError) -> Fault:
    """Return an error as it is sent to clients."""
    return Fault(error.message, output.shell_hint(error.hint), type(error).__name__)


def _as_text(value: Any) -> str:
    """Return a value as JSON on one line, with the field names that the command line prints."""
    text = json.dumps(output.as_json(value), ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "replace").decode()


class Json(Response):
    """Response with a value as JSON."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """Return the value as JSON bytes."""
        return _as_text(content).encode()


def failed(error: MonographError) -> Response:
    """Return an error as a response. The response closes the connection if a request body was too large or too slow."""
    headers = {"Connection": "close"} if isinstance(error, TooLarge | TooSlow) else None
    status = next(_STATUS[kind] for kind in type(error).__mro__ if kind in _STATUS)
    return Json(fault_of(error), status, headers)


def event(name: str, data: Any) -> ServerSentEvent:
    """Return an event of a stream."""
    return ServerSentEvent(_as_text(data), event=name, sep="\n")


async def streamed(events: AsyncGenerator[ServerSentEvent]) -> EventSourceResponse:
    """Return events as a streaming response, after the first event has arrived.

    If ``events`` raises an error before its first event, this function raises it. A later MonographError is sent
    to the client as the event ``error``, and ends the stream.
    """
    first = await anext(events, None)

    async def all_events() -> AsyncGenerator[ServerSentEvent]:
        async with aclosing(events):
            if first is not None:
                yield first
            try:
                async for item in events:
                    yield item
            except MonographError as error:
                yield event("error", fault_of(error))

    return EventSourceResponse(all_events(), ping=SILENT_SECONDS, sep="\n")
