"""The server: the application on a socket of this machine, ready to be run."""

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
"""At one time; more are told to come back."""
IDLE_SECONDS = 30
"""After which a connection is closed on which nothing is asked."""

HEAD_SECONDS = 10.0
"""From the connection to the end of the headers of its first request."""
TAKING_SECONDS = 30.0
"""Until some of what waits to be sent is taken."""


def server(served: Served, token: str, listening: socket.socket, *, beside: Sequence[Starlette] = ()) -> uvicorn.Server:
    """Return the server on a listening socket, ready to be run.

    Parameters
    ----------
    served:
        The files.
    token:
        What those who ask must know, at least 16 characters.
    listening:
        On a loopback address; it stays the caller's to close.
    beside:
        Other applications, as those for agents, which are asked at addresses of their own.

    Raises
    ------
    InputError
        If the token is too short.
    """
    credentials = Credentials(token, listening.getsockname()[1])
    config = uvicorn.Config(
        application(served, credentials, beside),
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
    """A server that tells what works by itself that the end has come, so that no stream waits for it."""

    def __init__(self, config: uvicorn.Config, served: Served) -> None:
        super().__init__(config)
        self._served = served

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin to end."""
        self._served.end()
        super().handle_exit(sig, frame)


class PatientProtocol(H11Protocol):
    """HTTP as uvicorn speaks it, to clients that send a head and take what they asked for."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Give a new connection so long for the head of its first request."""
        super().connection_made(transport)
        self._taking: asyncio.TimerHandle | None = None
        self._head = self.loop.call_later(HEAD_SECONDS, self._require_head)

    def _require_head(self) -> None:
        if self.cycle is None:
            self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timers."""
        self._head.cancel()
        self.resume_writing()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Give a client that does not take what waits for it so long to take some."""
        super().pause_writing()
        self._taking = self.loop.call_later(TAKING_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        """Go on."""
        if self._taking is not None:
            self._taking.cancel()
        super().resume_writing()
