"""Responses and errors of every operation of the HTTP API, compared with golden.json and openapi.json.

The keys of golden.json are the requests, sent in this order.
``PYTHONPATH=tests python tests/app/serve/test_http_golden.py`` records their responses again.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

jsonschema = pytest.importorskip("jsonschema", reason="what answers are held against is not installed")

from monograph import Document, Monograph
from monograph.derive.loading import load_summarizer
from support.api_server import BASE, Client, Reply, serving

GOLDEN = Path(__file__).with_name("golden.json")
VOLATILE = ("seconds", "created", "ended")
"""Keys whose values differ from run to run."""
SHAPES = ("GET /settings", "GET /sources", "GET /costs", "GET /stats")
"""Requests whose responses are recorded as types, because other tests check their sizes, times and counts."""
HEADERS = ("content-type", "content-security-policy", "cache-control", "content-disposition", "x-content-type-options")
STREAM = "GET /ask as events"
SYNC = "the job of a sync"
BODIES = {
    f"POST /chat {kind} {body[:9]!r}": (kind, body)
    for kind, body in (
        ("application/json", b"{"),
        ("text/plain", b'{"q": "a"}'),
        ("application/json", b"[" * 100_000),
        ("application/json; charset=utf-8", b'{"q": "boiler", "k": 1}'),
        ("application/json", b" " * 1_100_000),
    )
}
"""Media types and bytes of bodies that are invalid, very long, or have another media type."""


def make(folder: Path) -> Path:
    """Make a file of two documents and a followed folder."""
    (folder / "notes").mkdir()
    (folder / "notes" / "table.md").write_text(
        "# Plates\n\n| plate | year |\n| --- | --- |\n| 4417 | 1963 |\n\nIt was *lost*.\n"
    )
    (folder / "notes" / "broken.pdf").write_bytes(b"%PDF-1.7\nnothing of a PDF")
    for name in ("table.md", "broken.pdf"):
        os.utime(folder / "notes" / name, (1e9, 1e9))
    path = folder / "notes.mono"
    with Monograph.open(path, summarizer=load_summarizer("extractive")) as notes:
        notes.add(
            [
                Document(
                    "Mrs Grubb repaired the boiler in Salzburg. Ines Calder saw the boiler.",
                    "boiler",
                    "The boiler",
                    metadata={"year": 3},
                ),
                Document("Ines Calder found the comet over Salzburg.", "comet", "The comet", metadata={"year": 2}),
            ]
        )
        notes.sync(folder / "notes")
    return path


def validate(reply: Reply, request: str, described: dict[str, Any]) -> None:
    """Check a response in JSON against the schema of its operation and status."""
    method, path = request.split(" ")[:2]
    operation = described["paths"].get(BASE + path.partition("?")[0], {}).get(method.lower())
    if operation is not None and reply.headers.get("content-type") == "application/json":
        responses = operation["responses"]
        schema = responses.get(str(reply.status), responses["default"])["content"]["application/json"].get("schema", {})
        jsonschema.validate(reply.json, {**schema, "components": described["components"]})


def stable(value: Any, folder: Path) -> Any:
    """Return a JSON value without volatile keys, and with rounded floats."""
    if isinstance(value, dict):
        return {key: stable(item, folder) for key, item in value.items() if key not in VOLATILE}
    if isinstance(value, list):
        return [stable(item, folder) for item in value]
    if isinstance(value, str):
        return value.replace(str(folder), "PLACE")
    return round(value, 4) if isinstance(value, float) else value


def shape(value: Any) -> Any:
    """Return a JSON value with type names in place of texts and numbers, and only the first item of each list."""
    if isinstance(value, dict):
        return {key: shape(item) for key, item in value.items()}
    return [shape(item) for item in value[:1]] if isinstance(value, list) else type(value).__name__


def send(client: Client, request: str) -> Reply:
    """Send the request of a key of golden.json."""
    method, path, body = (*request.split(" ", 2), "")[:3]
    if path == "/upload":
        root = "none" if body == "nowhere" else "notes"
        return client.ask(method, f"{BASE}/upload?root={root}&name=a.txt", b"A letter.")
    if body:
        kind, content = BODIES.get(request, ("application/json", body.encode()))
        return client.ask(method, BASE + path, content, {"Content-Type": kind})
    return client.ask(method, BASE + path, None if method == "GET" else b"")


def replies(folder: Path, requests: Iterable[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (request, response) of each request."""
    with Monograph.open(make(folder)) as notes, serving({"notes": notes}, write=True) as client:
        described = client.get("/openapi.json").json
        chunk, node = client.get("/document/chunks", id="comet").json[0]["id"], client.get("/outline").json[0]["id"]
        for request in requests:
            if request == STREAM:
                streamed = client.stream("/ask", q="Who repaired the boiler?").events
                yield request, {"events": [[name, stable(data, folder)] for name, data in streamed]}
                continue
            if request == SYNC:
                yield request, {"job": shape(client.done(client.post("/sync")))}
                continue
            reply = send(client, request.replace("id=CHUNK", f"id={chunk}").replace("id=NODE", f"id={node}"))
            validate(reply, request, described)
            is_json = reply.headers.get("content-type") == "application/json"
            body = stable(reply.json, folder) if is_json else len(reply.body)
            if isinstance(body, dict) and "maximum recursion" in str(body.get("error")):
                body["error"] = "maximum recursion"  # The rest of the message depends on the version of Python.
            yield (
                request,
                {
                    "status": reply.status,
                    "headers": {key: reply.headers[key] for key in HEADERS if key in reply.headers},
                    "body": shape(body) if request in SHAPES else body,
                },
            )


def test_responses_are_as_recorded_and_described(tmp_path: Path) -> None:
    recorded = json.loads(GOLDEN.read_text())
    for request, reply in replies(tmp_path, recorded):
        assert reply == recorded[request], request


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        answered = dict(replies(Path(place), json.loads(GOLDEN.read_text())))
    GOLDEN.write_text(json.dumps(answered, indent=1, ensure_ascii=False) + "\n")
