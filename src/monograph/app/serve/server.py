"""The server: the application on a listening socket of the loopback interface."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence
from types import FrameType

import uvicorn
from starlette.applications import Starlette
from uvicorn.protocols.http.h11_impl import H11Protocol

from monograph.app.serve.application import application
from monograph.app.serve.served import LAST_SECONDS, Served
from monograph.loopback import Credentials

CONNECTIONS = 400
"""Maximum number of connections; further requests are refused with status 503."""
IDLE_SECONDS = 30
"""Seconds after which an idle connection is closed."""

HEAD_SECONDS = 10.0
"""Seconds from the connection to the end of the headers of its first request."""
TAKING_SECONDS = 30.0
"""Seconds that a client may leave pending data unread."""


def server(
    served: Served, token: str, listening: socket.socket, *, agent_apps: Sequence[Starlette] = ()
) -> uvicorn.Server:
    """Return a server of files that is ready to run on a listening socket.

    The socket ``listening`` has a loopback address, and the caller closes it. Every request must contain the token,
    except requests for the files of the web page. The server also has the routes of the MCP applications
    ``agent_apps``.

    Raises
    ------
    InputError
        If the token has fewer than 16 characters.
    """
    credentials = Credentials(token, listening.getsockname()[1])
    config = uvicorn.Config(
        application(served, credentials, agent_apps),
        http=PatientProtocol,
        ws="none",
        log_level="warning",
        lifespan="on",
        server_header=False,
        limit_concurrency=CONNECTIONS,
        timeout_keep_alive=IDLE_SECONDS,
        timeout_graceful_shutdown=int(LAST_SECONDS),
    )
    return _Server(config, served)


class _Server(uvicorn.Server):
    """Server that stops jobs and streams of events when it is asked to exit, so that they do not delay its end."""

    def __init__(self, config: uvicorn.Config, served: Served) -> None:
        super().__init__(config)
        self._served = served

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop jobs and streams, then the server."""
        self._served.end()
        super().handle_exit(sig, frame)


class PatientProtocol(H11Protocol):
    """HTTP/1.1 protocol of uvicorn with time limits for the headers of a request, and for unread responses."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the time limit for the headers of the first request."""
        super().connection_made(transport)
        self._taking: asyncio.TimerHandle | None = None
        self._head = self.loop.call_later(HEAD_SECONDS, self._require_head)

    def _require_head(self) -> None:
        if self.cycle is None:
            self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the time limits."""
        self._head.cancel()
        self.resume_writing()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Start the time limit for a client that does not read pending data."""
        super().pause_writing()
        self._taking = self.loop.call_later(TAKING_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        """Stop the time limit for unread data."""
        if self._taking is not None:
            self._taking.cancel()
        super().resume_writing()
