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
"""From the first byte of a request, or the connection, to the end of its headers."""
SILENCE_SECONDS = 30.0
"""Between two pieces of a body."""
BODY_SECONDS = 600.0
"""For all of a body."""
TAKING_SECONDS = 30.0
"""Until some of what waits to be sent is taken."""


def server(served: Served, token: str, listening: socket.socket, *, beside: Sequence[Starlette] = ()) -> uvicorn.Server:
    """What answers on a socket once it is run, with that socket.

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
    """HTTP as uvicorn speaks it, to those who are quick enough."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A connection has come: it is to ask for something."""
        super().connection_made(transport)
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._within("head", HEAD_SECONDS)

    def connection_lost(self, exc: Exception | None) -> None:
        """It has gone."""
        for timer in self._timers.values():
            timer.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Some of a request has come."""
        if not self._is_asked() and "head" not in self._timers:
            self._within("head", HEAD_SECONDS)
        before = self.cycle
        super().data_received(data)
        if self.transport.is_closing() or not self._is_asked():
            return
        self._done("head")
        if not self.cycle.more_body:
            self._done("silence", "body")
            return
        self._within("silence", SILENCE_SECONDS)
        if self.cycle is not before:
            self._within("body", BODY_SECONDS)

    def on_response_complete(self) -> None:
        """All was answered: the next request, if one comes, is waited for anew."""
        self._done("silence", "body")
        super().on_response_complete()

    def pause_writing(self) -> None:
        """The other end does not take what waits for it."""
        super().pause_writing()
        self._within("taking", TAKING_SECONDS)

    def resume_writing(self) -> None:
        """It has taken some."""
        self._done("taking")
        super().resume_writing()

    def _is_asked(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _within(self, what: str, seconds: float) -> None:
        self._done(what)
        self._timers[what] = self.loop.call_later(seconds, self._late, what, seconds)

    def _done(self, *what: str) -> None:
        for one in what:
            timer = self._timers.pop(one, None)
            if timer is not None:
                timer.cancel()

    def _late(self, what: str, seconds: float) -> None:
        # What we ourselves do not read is not late.
        if what == "silence" and self.flow.read_paused:
            self._within(what, seconds)
        elif what != "head" or not self._is_asked():
            self.transport.abort()
