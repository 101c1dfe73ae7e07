"""Web application: the HTTP API, the page, and the guard that checks the credentials of each request."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import mimetypes
import os
from collections.abc import AsyncIterator, Sequence
from itertools import chain
from typing import Any

from fastapi import Depends, FastAPI, Security
from fastapi.exceptions import RequestValidationError
from fastapi.security import APIKeyCookie, HTTPBearer
from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from monograph import __version__
from monograph.app import picture
from monograph.app.serve import changing, graph, questions, reading, state
from monograph.app.serve.operations import BASE, ERRORS, only_known
from monograph.app.serve.replies import NoSuchAddress, TooLarge, TooSlow, failed
from monograph.app.serve.served import Served
from monograph.errors import InputError, MonographError
from monograph.loopback import Application, Credentials, GuardedApp
from monograph.values.arguments import shown

ROUTERS = tuple(module.router for module in (state, questions, reading, graph, changing))

VIEWS = ("/", "/search", "/ask", "/document", "/entity", "/outline", "/sources", "/state")
"""Addresses of views. Each address returns the same page, whose script shows the view of the address."""

PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; frame-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
)
_KINDS = (".html", ".js", ".css", ".svg", ".png", ".json")

MOST_BODY = 1_000_000
"""Maximum number of bytes of a JSON body."""
SILENCE_SECONDS = 30.0
"""Maximum number of seconds between two parts of a body."""
BODY_SECONDS = 600.0
"""Maximum number of seconds for a whole body."""
_HANDLED = (MonographError, RequestValidationError, HTTPException, ClientDisconnect, Exception)
_CLIENT_GONE_STATUS = 499
"""Status of a response to a client that has disconnected."""
_LOG = logging.getLogger(__name__)

HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}
DATA_POLICY = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'; sandbox"
"""Content security policy of responses that are not pages: a browser that shows such a response runs nothing."""
_HINTS = {
    "int": "give a number",
    "float": "give a number",
    "finite": "give a number",
    "bool": "give true or false",
    "string": "give a text",
    "list": "give a list",
    "tuple": "give a list",
    "greater_than_equal": "give {ge} or more",
    "less_than_equal": "give {le} or less",
    "greater_than": "give more than {gt}",
    "less_than": "give less than {lt}",
}
"""Hint for each error of pydantic, by its type or the first word of its type."""


class _Files(StaticFiles):
    """Static files of a package. Only kinds of files for browsers (``_KINDS``) are served, and no Python modules."""

    def lookup_path(self, path: str) -> tuple[str, os.stat_result | None]:
        return super().lookup_path(path) if path.endswith(_KINDS) else ("", None)


def is_open(method: str, path: str) -> bool:
    """Return whether an address needs no token, because it returns no content of any file."""
    return method in ("GET", "HEAD") and path != BASE and not path.startswith((f"{BASE}/", "/mcp"))


class Api(FastAPI):
    """The API, with an OpenAPI description that is corrected to match the requests and responses of the API."""

    def openapi(self) -> dict[str, Any]:
        """Return the OpenAPI 3.1 description."""
        if self.openapi_schema is None:
            description = super().openapi()
            # FastAPI describes a body of optional fields as optional, but only_known refuses a request without a body.
            for operation in chain.from_iterable(path.values() for path in description["paths"].values()):
                if "requestBody" in operation:
                    operation["requestBody"]["required"] = True
            schemas = description["components"]["schemas"]
            for name, schema in schemas.items():
                if name.startswith("Body_"):
                    schema |= {"additionalProperties": False, "description": "Parameters."}
                elif schema["type"] == "object":
                    schema["required"] = list(schema["properties"])
            # Times are returned as text, contexts without hits, and an answer's best sentence next to its context.
            schemas["Dated"]["properties"]["when"] = {"type": "string"}
            del schemas["TimeSpan"]
            context, answer = schemas["Context"], schemas["Answer"]
            del context["properties"]["hits"]
            context["required"] = [name for name in context["required"] if name not in ("hits", "best")]
            answer["properties"] |= {"confidence": {"type": "number"}, "best": context["properties"]["best"]}
            answer["required"] += ["confidence", "best"]
        return self.openapi_schema  # type: ignore[return-value]


def application(served: Served, credentials: Credentials, agent_apps: Sequence[Starlette] = ()) -> Application:
    """Return the API and the page behind a guard, which refuses requests without valid credentials.

    The guard is :class:`monograph.loopback.GuardedApp`. Addresses for which :func:`is_open` is true need no
    credentials. ``agent_apps`` are MCP servers for agents. Their routes, such as ``/mcp``, are added to the API.
    """
    api = build_api(served, credentials, agent_apps)
    return GuardedApp(_Bounded(api), credentials, cookies=True, is_open=is_open)


def build_api(served: Served, credentials: Credentials, agent_apps: Sequence[Starlette] = ()) -> Api:
    """Return the API and the page without the guard, which :func:`application` adds."""

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with contextlib.AsyncExitStack() as stack:
            for app in agent_apps:
                await stack.enter_async_context(app.router.lifespan_context(app))
            yield
        served.close()

    # The guard below checks the token and the cookie; this only describes them in OpenAPI.
    secured = [
        Security(HTTPBearer(auto_error=False)),
        Security(APIKeyCookie(name=credentials.cookie_name, auto_error=False)),
    ]
    api = Api(
        title="Monograph",
        version=__version__,
        openapi_url=f"{BASE}/openapi.json",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        telemetry={  # No telemetry is sent, whatever the environment variables say.
            "tracing": False,
            "metrics": False,
            "logs": False,
            "operation_spans": False,
            "auto_configure": False,
        },
        responses=ERRORS,
        dependencies=[Depends(only_known), *secured],
        lifespan=lifespan,
        exception_handlers=dict.fromkeys(_HANDLED, _answer_error),
    )
    api.state.served = served
    for router in ROUTERS:
        api.include_router(router, prefix=BASE)

    @api.post(
        f"{BASE}/session", status_code=204, summary="Exchange the token for a cookie.", operation_id="begin_session"
    )
    async def begin_session(request: Request) -> Response:
        response = Response(None, 204)
        if credentials.in_header(request.scope["headers"]):
            response.set_cookie(credentials.cookie_name, credentials.cookie_value, httponly=True, samesite="strict")
        return response

    @api.delete(f"{BASE}/session", status_code=204, summary="Delete the cookie.", operation_id="end_session")
    async def end_session() -> Response:
        response = Response(None, 204)
        response.delete_cookie(credentials.cookie_name, httponly=True, samesite="strict")
        return response

    mimetypes.add_type("text/javascript", ".js")  # Before 3.12 Python used another media type.
    page = _Files(packages=[(__package__ or "", "page")])

    async def view(request: Request) -> Response:
        return await page.get_response("index.html", request.scope)

    api.routes.extend(route for app in agent_apps for route in app.routes)
    api.routes.extend(Route(path, view, methods=["GET"]) for path in VIEWS)
    api.routes.append(Mount("/page", page))
    api.routes.append(Mount("/picture", _Files(packages=[(picture.__name__, "")])))
    return api


class _Bounded:
    """Middleware that adds security headers to every response, and refuses bodies that are too large or too slow.

    The limits are MOST_BODY (for JSON only), SILENCE_SECONDS and BODY_SECONDS.
    """

    def __init__(self, inner: ASGIApp) -> None:
        self._inner = inner

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._inner(scope, receive, send)
            return
        is_page = is_open(scope["method"], scope["path"])
        extra = {
            **HEADERS,
            "Content-Security-Policy": PAGE_POLICY if is_page else DATA_POLICY,
            "Cache-Control": "no-cache" if is_page else "no-store",
        }
        is_json = scope["path"].startswith(f"{BASE}/") and scope["path"] != f"{BASE}/upload"
        clock = asyncio.get_running_loop().time
        size, has_more, end = 0, True, clock() + BODY_SECONDS

        async def receive_bounded() -> Message:
            nonlocal size, has_more
            if not has_more:
                return await receive()
            try:
                async with asyncio.timeout(max(0.0, min(SILENCE_SECONDS, end - clock()))):
                    message = await receive()
            except TimeoutError:
                raise TooSlow("the body did not arrive in time", "send it without pauses") from None
            size, has_more = size + len(message.get("body", b"")), message.get("more_body", False)
            if is_json and size > MOST_BODY:
                raise TooLarge(f"the body has more than {MOST_BODY:,} bytes", "send less")
            return message

        async def send_secured(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in extra.items():
                    headers.setdefault(name, value)
            await send(message)

        await self._inner(scope, receive_bounded, send_secured)


async def _answer_error(request: Request, error: Exception) -> Response:
    """Return the response for an error. Errors of FastAPI and Starlette are first converted to Monograph errors."""
    cause = error.__cause__
    match error:
        case MonographError():
            return failed(error)
        case ClientDisconnect():
            return Response(None, _CLIENT_GONE_STATUS)
        case RequestValidationError():
            return failed(_parameter_error(error.errors()[0]))
        case HTTPException() if isinstance(cause, MonographError):
            return failed(cause)
        case HTTPException() if cause is not None:
            return failed(InputError(f"the body is not JSON: {cause}", "send a JSON object"))
        case HTTPException():
            address = f"{request.method} {request.url.path}"
            return failed(NoSuchAddress(f"no such address: {address}", f"see {BASE}/openapi.json"))
    _LOG.error("a bug in Monograph at %s %s", request.method, request.url.path)
    return failed(MonographError(f"a bug in Monograph: {type(error).__name__}", "see the terminal, and report it"))


def _parameter_error(first: dict[str, Any]) -> InputError:
    """Return the InputError for ``first``, an error of pydantic about a parameter."""
    kind, name = first["type"], [part for part in first["loc"] if isinstance(part, str)][-1]
    if kind == "json_invalid":
        return InputError(f"the body is not JSON: {first['ctx']['error']}", "send a JSON object")
    if kind == "missing":
        return InputError(f"{name} is not given", f"give {name}")
    if kind == "extra_forbidden":
        return InputError(f"unknown parameter {shown(name)}", "leave it out")
    other = first["msg"].replace("Input should be", "give").replace("'", "")
    hint = _HINTS.get(kind) or _HINTS.get(kind.partition("_")[0], other)
    return InputError(f"{name} is {shown(first['input'])}", hint.format(**first.get("ctx", {})))
