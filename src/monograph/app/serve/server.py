"""The server: the application on a socket of this machine, until it is interrupted."""

from __future__ import annotations

import socket
from collections.abc import Callable

import uvicorn

from monograph.app.serve.application import application
from monograph.app.serve.served import Served
from monograph.loopback import Credentials, address_of

CONNECTIONS = 500
"""At one time; more are told to come back."""
IDLE_SECONDS = 30
"""After which a connection is closed on which nothing is asked."""
LAST_SECONDS = 3
"""For answers that are being written when the server ends."""


def serve(
    served: Served, token: str, listening: socket.socket, *, ready: Callable[[str], None] = lambda address: None
) -> None:
    """Answer on a socket, until interrupted.

    Parameters
    ----------
    served:
        The files.
    token:
        What those who ask must know, at least 16 characters.
    listening:
        On a loopback address; it stays the caller's to close.
    ready:
        Told the address once it answers.

    Raises
    ------
    InputError
        If the token is too short.
    """
    credentials = Credentials(token, listening.getsockname()[1])
    config = uvicorn.Config(
        application(served, credentials),
        http="h11",
        ws="none",
        log_level="warning",
        lifespan="on",
        server_header=False,
        limit_concurrency=CONNECTIONS,
        timeout_keep_alive=IDLE_SECONDS,
        timeout_graceful_shutdown=LAST_SECONDS,
    )
    ready(address_of(listening))
    uvicorn.Server(config).run(sockets=[listening])
