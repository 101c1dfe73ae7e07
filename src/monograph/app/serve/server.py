"""The server: the application on a socket of this machine, ready to be run."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from types import FrameType

import uvicorn
from starlette.applications import Starlette

from monograph.app.serve.application import application
from monograph.app.serve.patience import PatientProtocol
from monograph.app.serve.served import LAST_SECONDS, Served
from monograph.loopback import Credentials

CONNECTIONS = 400
"""At one time; more are told to come back."""
IDLE_SECONDS = 30
"""After which a connection is closed on which nothing is asked."""


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
