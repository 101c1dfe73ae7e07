"""Serving a file or shelf over MCP: on standard input and output, or over HTTP on the loopback interface."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import anyio

from monograph.loopback import Credentials, Guarded, address_of, listen
from monograph_mcp.server import make_server

if TYPE_CHECKING:
    from monograph.shelf import Archive


def serve_stdio(monograph: Archive, *, notes: bool = False) -> None:
    """Serve until standard input ends and the calls in progress have returned."""
    anyio.run(make_server(monograph, notes=notes).run_stdio_async)


def serve_http(
    monograph: Archive,
    token: str,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    notes: bool = False,
    ready: Callable[[str], None] | None = None,
) -> None:
    """Serve streamable HTTP at ``/mcp`` until interrupted, to clients that send the token.

    Parameters
    ----------
    monograph:
        The open file or shelf.
    token:
        Required in the header ``Authorization: Bearer``; at least 16 characters.
    host:
        A loopback address.
    port:
        0 takes a free port.
    notes:
        Offer the tools that write notes.
    ready:
        Called with the server's address as soon as clients can connect.

    Raises
    ------
    InputError
        If the token is too short, the host is not a loopback address, or the port is taken.
    """
    import uvicorn

    Credentials(token, port)  # Refuses a bad token before a port is taken.
    with listen(host, port) as bound:
        credentials = Credentials(token, bound.getsockname()[1])
        app = Guarded(make_server(monograph, notes=notes).streamable_http_app(host="127.0.0.1"), credentials)
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="on"))
        if ready is not None:
            ready(f"{address_of(bound)}/mcp")
        server.run(sockets=[bound])
