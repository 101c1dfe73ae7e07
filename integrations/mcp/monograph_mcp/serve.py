"""Serving a file: over standard input and output, or over HTTP on this machine alone."""

from __future__ import annotations

import hmac
import ipaddress
import socket
from collections.abc import Awaitable, Callable
from typing import Any

import anyio

from monograph import Monograph
from monograph.errors import InputError
from monograph_mcp.server import make_server

LEAST_TOKEN = 16
"""Fewest characters of a token."""


def serve_stdio(monograph: Monograph, *, notes: bool = False) -> None:
    """Serve until standard input ends."""
    anyio.run(make_server(monograph, notes=notes).run_stdio_async)


def serve_http(
    monograph: Monograph,
    token: str,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    notes: bool = False,
    ready: Callable[[str], None] | None = None,
) -> None:
    """Serve streamable HTTP at ``/mcp`` until interrupted, to those who know the token.

    Parameters
    ----------
    monograph:
        The open file.
    token:
        Asked for as ``Authorization: Bearer``; at least 16 characters.
    host:
        A loopback address.
    port:
        0 takes a free one.
    notes:
        Offer the tools that write notes.
    ready:
        Told the address once it answers.

    Raises
    ------
    InputError
        If the token is too short, the host is not this machine alone, or the port is taken.
    """
    import uvicorn

    if len(token) < LEAST_TOKEN or not token.isascii():
        raise InputError(f"the token has {len(token)} characters", f"give at least {LEAST_TOKEN}, of ASCII")
    bound = _bound(host, port)
    app = _Guarded(make_server(monograph, notes=notes).streamable_http_app(host="127.0.0.1"), token)
    config = uvicorn.Config(app, log_level="warning", lifespan="on")
    server = uvicorn.Server(config)
    if ready is not None:
        shown = f"[{host}]" if ":" in host else host
        ready(f"http://{shown}:{bound.getsockname()[1]}/mcp")
    with bound:
        server.run(sockets=[bound])


def _bound(host: str, port: int) -> socket.socket:
    try:
        address = ipaddress.ip_address("127.0.0.1" if host == "localhost" else host)
    except ValueError as error:
        raise InputError(f"{host!r} is not an address", "give 127.0.0.1 or ::1") from error
    if not address.is_loopback:
        raise InputError(f"{host} can be reached from other machines", "give 127.0.0.1, and a tunnel for the rest")
    made = socket.socket(socket.AF_INET6 if address.version == 6 else socket.AF_INET)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((str(address), port))
        made.listen()
    except OSError as error:
        made.close()
        raise InputError(f"port {port} of {host} cannot be used: {error.strerror}", "give another, or 0") from error
    return made


Send = Callable[[dict[str, Any]], Awaitable[None]]
Receive = Callable[[], Awaitable[dict[str, Any]]]


class _Guarded:
    """An ASGI application that answers only those who know the token."""

    def __init__(self, inner: Any, token: str) -> None:
        self._inner = inner
        self._wanted = b"bearer " + token.encode()

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not self._knows(scope):
            headers = [(b"content-type", b"text/plain"), (b"www-authenticate", b"Bearer")]
            await send({"type": "http.response.start", "status": 401, "headers": headers})
            await send({"type": "http.response.body", "body": b"give the token: Authorization: Bearer TOKEN\n"})
            return
        await self._inner(scope, receive, send)

    def _knows(self, scope: dict[str, Any]) -> bool:
        given = [value for name, value in scope["headers"] if name == b"authorization"]
        if len(given) != 1:
            return False
        kind, _, token = given[0].partition(b" ")
        return hmac.compare_digest(kind.lower() + b" " + token, self._wanted)
