"""HTTP server of Monograph files on a local port, and its client."""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from fastapi.routing import APIRoute
from pydantic.fields import FieldInfo

from monograph import Reader
from monograph.app.serve.application import ROUTERS
from monograph.app.serve.operations import parameters_of
from monograph.app.serve.served import Served
from monograph.app.serve.server import server
from monograph.loopback import listen
from monograph.shelf import Shelf

TOKEN = "a token that only the tests know"
BASE = "/api/v1"


@dataclass(frozen=True)
class Reply:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def events(self) -> list[tuple[str, Any]]:
        """Name and data of each server-sent event."""
        return list(events(self.body.decode().splitlines()))


def events(lines: Any) -> Iterator[tuple[str, Any]]:
    name = ""
    for line in lines:
        if line.startswith("event: "):
            name = line[7:]
        elif line.startswith("data: "):
            yield name, json.loads(line[6:])


@dataclass(frozen=True)
class Client:
    """Client of a local server. It sends its token unless a request has another ``Authorization`` header."""

    port: int
    token: str = TOKEN

    def head(self, method: str, path: str, *more: str) -> bytes:
        """Return the request line and headers as bytes, without the empty line that ends them."""
        headers = (f"Host: 127.0.0.1:{self.port}", f"Authorization: Bearer {self.token}", *more)
        return "\r\n".join((f"{method} {path} HTTP/1.1", *headers, "")).encode()

    def connected(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=60)

    def ask(self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None) -> Reply:
        """Send a request on a new connection; headers with an empty value are omitted."""
        sent = {"Authorization": f"Bearer {self.token}", **(headers or {})}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.putrequest(method, path, skip_host="Host" in sent, skip_accept_encoding=True)
            for name, value in sent.items():
                if value:
                    connection.putheader(name, value)
            if body is not None:
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
            reply = connection.getresponse()
            return Reply(reply.status, {name.lower(): value for name, value in reply.getheaders()}, reply.read())
        finally:
            connection.close()

    def get(self, path: str, /, **parameters: Any) -> Reply:
        return self.ask("GET", address(path, **parameters))

    def stream(self, path: str, /, **parameters: Any) -> Reply:
        """Read an event stream to its end, and return the reply."""
        return self.ask("GET", address(path, **parameters), headers={"Accept": "text/event-stream"})

    def post(self, path: str, /, **values: Any) -> Reply:
        return self.ask("POST", BASE + path, json.dumps(values).encode(), {"Content-Type": "application/json"})

    def call(self, operation: Operation, values: Mapping[str, Any]) -> Reply:
        """Send a request to an operation, with its parameters in the JSON body or in the query string."""
        if operation.takes_json:
            return self.post(operation.path, **values)
        return self.ask(operation.method, address(operation.path, **values), b"x" if operation.takes_bytes else None)

    def done(self, job: Reply) -> dict[str, Any]:
        """Wait until a job has ended, and return its last event."""
        assert job.status == 202, job.body
        _, last = self.stream("/job/events", id=job.json["id"]).events[-1]
        assert last["ended"]
        return dict(last)


@dataclass(frozen=True)
class Operation:
    """Operation of the API, with its parameters by name."""

    method: str
    path: str
    parameters: Mapping[str, FieldInfo]

    def __str__(self) -> str:
        return f"{self.method} {self.path}"

    @property
    def takes_bytes(self) -> bool:
        """Whether its body is a file."""
        return self.path == "/upload"

    @property
    def takes_json(self) -> bool:
        return self.method == "POST" and not self.takes_bytes

    @property
    def writes(self) -> bool:
        return self.method != "GET" and self.path != "/chat"


OPERATIONS = [
    Operation(method, route.path, parameters_of(route.dependant))
    for router in ROUTERS
    for route in router.routes
    if isinstance(route, APIRoute)
    for method in route.methods or ()
]


def address(path: str, **parameters: Any) -> str:
    """Return the path and query string of an API request; parameters that are None are omitted."""
    query = {key: value for key, value in parameters.items() if value is not None}
    return f"{BASE}{path}?{urlencode(query, doseq=True)}" if query else BASE + path


@contextmanager
def serving(
    files: Mapping[str, Reader | Shelf],
    *,
    write: bool = False,
    model: str = "",
) -> Iterator[Client]:
    """Serve files on a thread until the end of the block."""
    with listen("127.0.0.1", 0) as listening:
        served = Served(dict(files), write=write, model=model)
        running = server(served, TOKEN, listening)
        thread = threading.Thread(target=running.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        try:
            while not running.started:
                assert thread.is_alive(), "the server does not start"
                time.sleep(0.01)
            yield Client(listening.getsockname()[1])
        finally:
            served.end()
            running.should_exit = True
            thread.join()
