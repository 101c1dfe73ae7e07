"""Random lines to a ``monograph mcp`` process: it answers each request, and continues after any other line."""

from __future__ import annotations

import itertools
import json
import random
import re
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from fuzz import Case, Draw
from monograph import Document, Monograph
from monograph.derive.loading import load_summarizer
from monograph.errors import InputError
from support.bad_inputs import altered, changed, number, text, tree, written

SECONDS = 15.0
"""Time limit of an answer."""
PROGRAM = "import sys; from monograph.app.cli import main; sys.exit(main())"
LIMITED = "from monograph.read.child import limit_memory; limit_memory(3 << 30); " + PROGRAM
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "chance", "version": "1"}}
CALLS: tuple[dict[str, Any], ...] = (
    {"name": "search", "arguments": {"query": "who met Anna Calder?", "k": 3, "how": "auto", "where": {"year": {">": 3}}, "max_tokens": 500}},
    {"name": "search", "arguments": {"query": "INV-2024", "how": "tree:detail=0.5", "where": None}},
    {"name": "read", "arguments": {"document": "d1", "start": 0, "end": 20, "max_tokens": 300}},
    {"name": "outline", "arguments": {"node": "", "layers": 2, "max_tokens": 300}},
    {"name": "entity", "arguments": {"name": "Anna Calder", "hops": 1, "limit": 15, "max_tokens": 300}},
    {"name": "paths", "arguments": {"name": "Anna Calder", "other": "Mrs Grubb", "hops": 4, "limit": 3}},
    {"name": "stats", "arguments": {}},
    {"name": "add_note", "arguments": {"text": "See the logbook.", "title": "Note"}},
    {"name": "change_note", "arguments": {"note": "note/0", "text": "See the logbook.", "title": "Note"}},
    {"name": "forget_note", "arguments": {"note": "note/0"}},
)  # fmt: skip
METHODS = (
    "tools/call", "tools/list", "resources/list", "resources/read", "resources/templates/list", "prompts/list",
    "ping", "initialize", "notifications/initialized", "notifications/cancelled", "completion/complete", "logging/setLevel",
    "resources/subscribe", "tools/none", "", "rpc.discover",
)  # fmt: skip
"""Methods without ``prompts/get``, for which the library logs a traceback if the prompt does not exist."""
DEEP = re.compile(r"""(?:\[|\{"\w+": ){100}""")
"""Requests that need no answer: the library does not read JSON that is nested more than 200 deep."""


class Served:
    """Process that serves a file, with its answers and log."""

    def __init__(self, path: Path, log: Path) -> None:
        self._log = log.open("wb")
        self._said = log
        self._seen = 0
        command = [sys.executable, "-c", LIMITED, "mcp", str(path), "--notes"]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log)
        self._rest = b""
        self.ask({"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": HELLO}, "hello")
        self.send(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')

    def send(self, line: bytes) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line + b"\n")
        self._process.stdin.flush()

    def ask(self, request: dict[str, Any], name: str) -> dict[str, Any]:
        """Write a request, and wait for its answer."""
        self.send(json.dumps(request).encode())
        answer: dict[str, Any] = self.answers([name])[name]
        return answer

    def answers(self, names: list[Any]) -> dict[Any, Any]:
        """Wait until requests of these names are answered."""
        found: dict[Any, Any] = {}
        end = time.monotonic() + SECONDS
        while not all(name in found for name in names):
            *lines, self._rest = self._rest.split(b"\n")
            for line in lines:
                answer = json.loads(line)
                assert answer["jsonrpc"] == "2.0", answer
                if isinstance(answer.get("id"), str | int):
                    found[answer["id"]] = answer
            if lines:
                continue
            assert self._process.stdout is not None
            ready, _, _ = select.select([self._process.stdout], [], [], max(0.0, end - time.monotonic()))
            assert ready, f"no answer to {names} within {SECONDS} seconds"
            piece = self._process.stdout.read1(1 << 20)  # type: ignore[attr-defined]
            assert piece, f"the server has ended with {self._process.wait()}: {self.faults()}"
            self._rest += piece
        assert "Traceback" not in (said := self.faults()), said
        return found

    def faults(self) -> str:
        """Return the log since the last call."""
        with self._said.open("rb") as log:
            log.seek(self._seen)
            said = log.read()
        self._seen += len(said)
        return said.decode("utf-8", "replace")

    def close(self) -> None:
        """Close the input, as a client does, and assert that the process then exits with code 0."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        code = self._process.wait(SECONDS)
        self._process.stdout.close()
        self._log.close()
        assert code == 0, code


def meetings(path: Path) -> Monograph:
    """Create a file about meetings of people; the caller closes it."""
    names = ("Anna Calder", "Tobias Renk", "Mrs Grubb")
    opened = Monograph.open(path, summarizer=load_summarizer("extractive"))
    opened.add(
        Document(f"{names[at % 3]} met {names[at % 2]} in Riga, INV-{at}.", id=f"d{at}", metadata={"year": at})
        for at in range(20)
    )
    return opened


@contextmanager
def cases(folder: Path) -> Iterator[Draw]:
    """Draw lines; a ping follows each."""
    path = folder / "requests.mono"
    meetings(path).close()
    served = Served(path, folder / "log")
    numbers = itertools.count()

    def draw(chosen: random.Random) -> Case:
        number = next(numbers)
        line, name = _line(chosen, number)
        return repr(line), partial(_send, served, line, name, number)

    try:
        yield draw
    finally:
        served.close()


def _send(served: Served, line: bytes, name: Any, at: int) -> None:
    served.send(line)
    ping = f"ping/{at}"
    served.send(json.dumps({"jsonrpc": "2.0", "id": ping, "method": "ping"}).encode())
    found = served.answers([ping] if name is None else [ping, name])
    answer = found[ping if name is None else name]
    if "error" in answer or answer.get("result", {}).get("isError"):
        raise InputError(str(answer))


def _line(chosen: random.Random, at: int) -> tuple[bytes, Any]:
    """Draw a line, and the id of the request that must be answered, or None."""
    name = chosen.choice((f"case/{at}", at))
    call = chosen.choice(CALLS)
    kind = chosen.randrange(12)
    request: Any = {"jsonrpc": "2.0", "id": name, "method": "tools/call", "params": call}
    if kind == 0:  # No JSON-RPC at all.
        said = chosen.choice(
            (written(tree(chosen)).encode(), text(chosen).encode("utf-8", "surrogatepass"), chosen.randbytes(40))
        )
        return said.replace(b"\n", b" "), None
    if kind == 1:
        return changed(json.dumps(request).encode(), chosen).replace(b"\n", b" "), None
    if kind == 2:
        return written(altered(request, chosen)).encode(), None
    if kind == 3:
        return written([request, request][: chosen.randrange(3)]).encode(), None
    if kind == 4:
        method = chosen.choice((*METHODS, text(chosen)))
        params = chosen.choice(
            ({}, {"uri": f"monograph://document/{text(chosen)}"}, {"name": text(chosen)}, tree(chosen))
        )
        asked = {"jsonrpc": "2.0", "id": name, "method": method, "params": params}
        return _told(asked, name if method in METHODS[:2] and params == {} else None)
    if kind == 5:
        return _told({**request, "params": {"name": text(chosen), "arguments": tree(chosen)}}, None)
    if kind == 6:
        return _told({**request, "params": {**call, "arguments": altered(call["arguments"], chosen)}}, None)
    given = {
        key: argument(value, chosen) if chosen.random() < 0.5 else value for key, value in call["arguments"].items()
    }
    return _told({**request, "params": {**call, "arguments": given}}, name)


def argument(value: Any, chosen: random.Random) -> Any:
    """Draw a value, mostly of the same type."""
    if chosen.random() < 0.2:
        return tree(chosen)
    if isinstance(value, int):
        return number(chosen)
    return text(chosen) if isinstance(value, str) else altered(value, chosen)


def _told(request: dict[str, Any], name: Any) -> tuple[bytes, Any]:
    """Return a request as a line, and its id, or None if the library that reads it takes it for invalid JSON."""
    said = written(request)
    try:
        json.loads(said, parse_constant=_refuse)
        json.dumps(request, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return said.encode(), None
    return said.encode(), None if DEEP.search(said) else name


def _refuse(said: str) -> None:
    raise ValueError(said)
