"""A server on standard input ends when its client does, whatever it is doing then."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="the extra mcp is not installed")

from monograph import Document, Monograph
from monograph.derive.loading import load_embedder
from support.vector_server import VectorServer

WAIT = 100
"""Seconds after which a server counts as left over; it has five."""

CLIENT = """
import subprocess, sys
server = subprocess.Popen([sys.executable, "-m", "monograph.app.cli", "mcp", *sys.argv[2:]],
    stdin=subprocess.PIPE, stdout=subprocess.PIPE)
print("started", flush=True)
server.stdin.write(sys.argv[1].encode())
server.stdin.flush()
print(server.stdout.readline().decode(), flush=True)
sys.stdin.read()
"""
"""Starts a server, says so, sends it messages, prints its first answer, and ends with its standard input."""


def messages(*calls: dict[str, Any]) -> str:
    begun: dict[str, Any] = {
        "id": 1,
        "method": "initialize",
        "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
    }
    sent = [begun, {"method": "notifications/initialized"}, *calls]
    return "".join(json.dumps({"jsonrpc": "2.0", **one}) + "\n" for one in sent)


@contextmanager
def client(sent: str, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Start a client whose server has answered its first message, if it sends one; then wait until both are gone.

    Both write what they log to one pipe, which is open until all that they started are gone.
    """
    command = [sys.executable, "-c", CLIENT, sent, *arguments]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "started\n"
        if sent:
            assert json.loads(running.stdout.readline())["id"] == 1
        yield running
        running.communicate(timeout=WAIT)


@pytest.mark.parametrize(
    ("sent", "is_killed"),
    [(messages(), False), (messages(), True), ("", True)],
    ids=["closes its output", "is killed", "is killed while the server starts"],
)
def test_server_ends_with_its_client(tmp_path: Path, sent: str, is_killed: bool) -> None:
    with Monograph.open(tmp_path / "notes.mono") as notes:
        notes.add([Document("Ines Calder found the comet in Draco.", id="comet")])
    with client(sent, str(tmp_path / "notes.mono")) as running:
        if is_killed:
            running.kill()
    assert running.returncode == (-signal.SIGKILL if is_killed else 0)


@pytest.mark.long
def test_server_ends_in_the_middle_of_a_call_when_its_client_is_killed(tmp_path: Path) -> None:
    file = tmp_path / "notes.mono"
    call = {"id": 2, "method": "tools/call", "params": {"name": "search", "arguments": {"query": "comet"}}}
    called = threading.Event()
    with VectorServer() as vectors:

        def keep_waiting(reply: Any) -> Any:
            called.set()
            vectors.closing.wait()
            return reply

        with Monograph.open(file, load_embedder(f"openai:{vectors.url}#m")) as notes:
            notes.add([Document("Ines Calder found the comet in Draco.", id="comet")])
        vectors.fail(keep_waiting)
        with client(messages(call), str(file), "--trust") as running:
            assert called.wait(WAIT)
            running.kill()
