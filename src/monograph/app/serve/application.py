"""The application: requests become values, what answers is called on a thread, its values become responses."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections.abc import AsyncIterator, Callable, Generator, Sequence
from typing import Any
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import BaseRoute
from starlette.routing import Route as Address
from starlette.types import Receive, Scope, Send

from monograph.app.serve import pages
from monograph.app.serve.events import SILENCE, SILENT_SECONDS, Event, as_bytes
from monograph.app.serve.faults import NoSuchAddress, TooLarge, TooMany, fault_of, status_of
from monograph.app.serve.openapi import described
from monograph.app.serve.parameters import from_json, from_query
from monograph.app.serve.route import BASE, Bytes, Route, Streamed
from monograph.app.serve.routes import ROUTES
from monograph.app.serve.served import LAST_SECONDS, Served
from monograph.app.serve.uploads import Uploaded
from monograph.app.serve.workers import Workers
from monograph.errors import InputError, MonographError
from monograph.loopback import Application, Credentials, Guarded
from monograph.read.limits import DEFAULT_LIMITS
from monograph.read.paths import path_to_text

MOST_BODY = 1_000_000
"""Bytes of a JSON body."""
_GONE = 499
"""The status of a response that nobody is there to take."""
_PIECE = 1 << 16
_JSON = "application/json"
_EVENTS = "text/event-stream"
_LOG = logging.getLogger(__name__)

HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}
NOTHING = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'; sandbox"
"""The policy of what is no page: even where a browser is made to show it as one, it can do nothing."""


def application(served: Served, credentials: Credentials, beside: Sequence[Starlette] = ()) -> Application:
    """All that is answered, guarded.

    Parameters
    ----------
    served:
        The files.
    credentials:
        What one must know who asks.
    beside:
        Other applications, as those for agents, which are asked at addresses of their own.
    """
    workers = Workers()
    routes: list[BaseRoute] = [_address(route, served, workers) for route in ROUTES]
    routes += [
        Address(f"{BASE}/openapi.json", _described(), methods=["GET"]),
        Address(f"{BASE}/session", _Session(credentials)),
        *(route for one in beside for route in one.routes),
        *pages.addresses(),
    ]

    @contextlib.asynccontextmanager
    async def life(_: Starlette) -> AsyncIterator[None]:
        async with contextlib.AsyncExitStack() as stack:
            for one in beside:
                await stack.enter_async_context(one.router.lifespan_context(one))
            yield
        workers.close(LAST_SECONDS)
        served.close()

    made = Starlette(routes=routes, lifespan=life, exception_handlers={404: _nowhere, 405: _nowhere, 500: _broken})
    return Guarded(made, credentials, cookies=True, is_open=pages.is_open)


def _address(route: Route, served: Served, workers: Workers) -> Address:
    async def answer(request: Request) -> Response:
        try:
            asked = await _asked(route, request)
            if route.streams:
                events = _EVENTS in request.headers.get("accept", "")
                return await _streamed(route, served, asked, workers, events=events)
            if route.body:
                return await _received(route, served, asked, workers, request)
            return await workers.run(lambda: _replied(route, route.answer(served, asked)), slow=route.slow)
        except MonographError as error:
            return failed(error)
        except ClientDisconnect:
            return Response(None, _GONE)

    return Address(BASE + route.path, answer, methods=[route.method], name=route.answer.__name__)


async def _asked(route: Route, request: Request) -> Any:
    """What a request asks, as a value."""
    if route.method != "POST" or route.body:
        return from_query(route.asks, request.query_params.multi_items())
    if request.headers.get("content-type", "").partition(";")[0].strip() != _JSON:
        raise InputError("the body is no JSON", f"send it with Content-Type: {_JSON}")
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > MOST_BODY:
            raise TooLarge(f"the body has more than {MOST_BODY:,} bytes", "send less")
    try:
        return from_json(route.asks, json.loads(bytes(body) or b"{}"))
    except (ValueError, RecursionError) as error:
        raise InputError(f"the body is no JSON: {error}", "send a JSON object") from error


def _replied(route: Route, value: Any) -> Response:
    if isinstance(value, Bytes):
        return Response(value.data, 200, _headers(value.policy or NOTHING), value.kind)
    if isinstance(value, Streamed):
        # A file, piece by piece: however large it is, little of it is held.

        def pieces() -> Generator[bytes]:
            with value.file as file:
                while part := file.read(_PIECE):
                    yield part

        name = quote(value.name.encode("utf-8", "replace"), safe="")
        headers = {**_headers(), "Content-Disposition": f"attachment; filename*=UTF-8''{name}"}
        return StreamingResponse(_piecewise(pieces()), 200, headers, value.kind)
    return Response(as_bytes(value), route.status, _headers(), _JSON)


async def _piecewise(pieces: Generator[bytes]) -> AsyncIterator[bytes]:
    try:
        for piece in pieces:
            yield piece
    finally:
        pieces.close()


async def _received(route: Route, served: Served, asked: Any, workers: Workers, request: Request) -> Response:
    """Take a body into the file that the route opens for it."""
    length = request.headers.get("content-length", "")
    if length.isascii() and length.isdigit() and int(length[:20]) > DEFAULT_LIMITS.max_bytes:
        raise TooLarge(f"it has more than {DEFAULT_LIMITS.max_bytes:,} bytes", "copy it into the folder by hand")
    if workers.uploads.locked():
        raise TooMany("too many files are being taken", "send them one after the other")
    async with workers.uploads:
        with await workers.run(lambda: route.answer(served, asked)) as incoming:
            async for part in request.stream():
                incoming.write(part)
            path = await workers.run(incoming.keep, slow=True)
            made = Uploaded(path_to_text(path), incoming.uri, incoming.size)
    return Response(as_bytes(made), route.status, _headers(), _JSON)


def _headers(policy: str = NOTHING) -> dict[str, str]:
    return {**HEADERS, "Content-Security-Policy": policy, "Cache-Control": "no-store"}


def failed(error: MonographError) -> Response:
    """An error of ours as a response."""
    return Response(as_bytes(fault_of(error)), status_of(error), _headers(), _JSON)


async def _streamed(route: Route, served: Served, asked: Any, workers: Workers, *, events: bool) -> Response:
    made = route.answer(served, asked)
    stream = made if hasattr(made, "__anext__") else workers.stream(lambda: made)
    if route.last is not None and not events:
        last = [event async for event in stream][-1]
        return await workers.run(lambda: _replied(route, last.data))
    # What will not do from the beginning has a status of its own.
    first = await anext(stream, None)
    return StreamingResponse(_events(first, stream), 200, _headers(), _EVENTS)


async def _events(first: Event | None, rest: AsyncIterator[Event]) -> AsyncIterator[bytes]:
    """Events as bytes, with a sign of life where none comes for a while."""
    waiting: asyncio.Future[Event] | None = None
    try:
        if first is not None:
            yield first.encoded()
        while first is not None:
            waiting = waiting or asyncio.ensure_future(anext(rest))
            done, _ = await asyncio.wait([waiting], timeout=SILENT_SECONDS)
            if not done:
                yield SILENCE
                continue
            task, waiting = waiting, None
            try:
                yield task.result().encoded()
            except StopAsyncIteration:
                return
            except MonographError as error:
                yield Event("error", fault_of(error)).encoded()
                return
    finally:
        if waiting is not None:
            waiting.cancel()
            with contextlib.suppress(BaseException):
                await waiting
        close = getattr(rest, "aclose", None)
        if close is not None:
            await close()


class _Session:
    """Exchanges the token for a cookie, and takes the cookie back."""

    def __init__(self, credentials: Credentials) -> None:
        self._credentials = credentials

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request, mine = Request(scope, receive), self._credentials
        response = Response(None, 204, _headers())
        if request.method == "DELETE":
            response.delete_cookie(mine.cookie_name, httponly=True, samesite="strict")
        elif request.method != "POST":
            response = failed(NoSuchAddress("a session is begun with POST, and ended with DELETE"))
        elif mine.in_header(scope["headers"]):
            response.set_cookie(mine.cookie_name, mine.cookie_value, httponly=True, samesite="strict")
        await response(scope, receive, send)


def _described() -> Callable[[Request], Any]:
    made: list[bytes] = []

    async def answer(_: Request) -> Response:
        if not made:
            made.append(as_bytes(described(ROUTES)))
        return Response(made[0], 200, _headers(), _JSON)

    return answer


async def _nowhere(request: Request, _: Exception) -> Response:
    return failed(NoSuchAddress(f"nothing answers {request.method} {request.url.path}", f"see {BASE}/openapi.json"))


async def _broken(request: Request, error: Exception) -> Response:
    _LOG.error("a fault of ours at %s %s", request.method, request.url.path)
    return failed(MonographError(f"a fault of ours: {type(error).__name__}", "the terminal has more; please report it"))
