"""Responses and errors of every operation of the HTTP API, held against those recorded and against openapi.json.

``PYTHONPATH=tests python tests/app/serve/test_http_golden.py`` records them anew.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
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
SHAPES = ("/settings", "/sources", "/costs", "/stats")
"""Of these the types are recorded: their values are sizes, times and counts that other tests hold."""
HEADERS = ("content-type", "content-security-policy", "cache-control", "content-disposition", "x-content-type-options")
JSON = {"Content-Type": "application/json"}

READ = (
    "/settings",
    "/search?q=Who+repaired+the+boiler%3F&k=2",
    "/search?q=boiler&how=lexical&where=year+%3E%3D+3&file=notes",
    "/search?q=boiler&k=99999999999999999999999999",
    "/context?q=Who+repaired+the+boiler%3F&budget=60&order=document",
    "/ask?q=Who+repaired+the+boiler%3F",
    "/documents",
    "/documents?like=boiler&start=0&limit=1",
    "/document?id=boiler",
    "/document/text?id=notes/table.md&mark=0-5&q=plate",
    "/document/text?id=boiler&start=-7&length=0&q=boiler",
    "/document/chunks?id=boiler",
    "/document/source?id=notes/table.md",
    "/document/source?id=boiler",
    "/document/original?id=notes/table.md",
    "/document/names?id=boiler",
    "/document/summaries?id=boiler",
    "/document/boxes?id=boiler&start=0&end=4",
    "/entities?name=Grubb&why",
    "/entities?k=3&why=no",
    "/neighbourhood?name=Mrs+Grubb&hops=2&limit=5",
    "/routes?name=Mrs+Grubb&other=Ines+Calder",
    "/picture?name=Mrs+Grubb",
    "/picture/data?q=boiler",
    "/outline?layers=9",
    "/sources",
    "/failures",
    "/costs",
    "/stats",
    "/check",
    "/jobs",
)
REFUSED = (
    "/search",
    "/search?q=a&k=many",
    "/search?q=a&k=0",
    "/search?q=a&k=-3",
    "/search?q=a&k=nan",
    "/search?q=a&q=b",
    "/search?q=a&colour=red",
    "/search?q=a&how=unheard",
    "/search?q=a&where=year",
    "/search?q=a&file=other",
    "/search?q=a&as_of=never",
    "/context?q=a&order=random",
    "/context?q=a&budget=0",
    "/context?q=a&cut=2",
    "/context?q=a&cut=inf",
    "/ask?q=a&threshold=7",
    "/documents?start=-1",
    "/documents?limit=0",
    "/document?id=nothing",
    "/document",
    "/document/text?id=boiler&mark=abc",
    "/document/page?id=boiler",
    "/document/page?id=notes/table.md",
    "/document/original?id=boiler",
    "/document/boxes?id=boiler&start=0",
    "/chunk?id=nothing",
    "/entities?why=perhaps",
    "/entities?k=0",
    "/neighbourhood?name=Zzyzx",
    "/neighbourhood?name=Mrs+Grubb&hops=0",
    "/neighbourhood?name=Mrs+Grubb&limit=0",
    "/routes?name=Mrs+Grubb&other=Ines+Calder&hops=13",
    "/routes?name=Mrs+Grubb&other=Ines+Calder&limit=101",
    "/picture",
    "/picture?name=a&q=b",
    "/outline?layers=0",
    "/summary?id=ffff",
    "/job?id=none",
    "/job/events?id=none",
    "/changes?file=none",
    "/nowhere",
    "/session",
    "",
)
POSTED: tuple[tuple[str, Any], ...] = (
    ("/chat", {"q": "And who found it?", "history": [{"question": "Who found the comet?", "answer": "Ines Calder."}]}),
    ("/chat", {}),
    ("/chat", []),
    ("/chat", {"q": 1}),
    ("/chat", {"q": "a", "k": "5"}),
    ("/chat", {"q": "a", "k": True}),
    ("/chat", {"q": "a", "budget": 0}),
    ("/chat", {"q": "a", "colour": "red"}),
    ("/chat", {"q": "a", "history": [{"question": 1}]}),
    ("/chat", {"q": "a", "history": [{"question": "b", "colour": "red"}]}),
    ("/chat", {"q": "\ud800"}),
    ("/chat", {"q": "a", "file": "other"}),
    ("/sync", {"sources": "notes"}),
    ("/sync", {"verify": "yes"}),
    ("/sync", {"file": "other"}),
    ("/plan", {"forget": True}),
    ("/retry", {"forget": 1}),
    ("/remove", {}),
    ("/remove", {"ids": [1]}),
    ("/sources/remove", {}),
    ("/names/apart", {"name": "Mrs Grubb"}),
    ("/names/apart", {"name": "nobody", "other": "none"}),
    ("/names/apart", {"name": "Ines Calder", "other": "Mrs Grubb"}),
    ("/names/unite", {"name": "Ines Calder", "other": "Mrs Grubb"}),
    ("/names/unite", {"name": "nobody", "other": "none"}),
)


def make(folder: Path) -> Path:
    """A file of two documents and a folder that is followed."""
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


def validate(reply: Reply, path: str, described: dict[str, Any]) -> None:
    """Check a response in JSON against the schema of its operation and status."""
    operation = described["paths"].get(BASE + path.partition("?")[0], {}).get("get")
    if operation is not None and reply.headers["content-type"] == "application/json":
        responses = operation["responses"]
        schema = responses.get(str(reply.status), responses["default"])["content"]["application/json"].get("schema", {})
        jsonschema.validate(reply.json, {**schema, "components": described["components"]})


def without(value: Any, place: str) -> Any:
    """A value of JSON without what is volatile, its numbers rounded."""
    if isinstance(value, dict):
        return {key: without(one, place) for key, one in value.items() if key not in VOLATILE}
    if isinstance(value, list):
        return [without(one, place) for one in value]
    if isinstance(value, str):
        return value.replace(place, "PLACE")
    return round(value, 4) if isinstance(value, float) else value


def shape(value: Any) -> Any:
    """A value of JSON with the name of a type in the place of each text and number."""
    if isinstance(value, dict):
        return {key: shape(one) for key, one in value.items()}
    return [shape(one) for one in value[:1]] if isinstance(value, list) else type(value).__name__


def kept(reply: Reply, place: str) -> dict[str, Any]:
    is_json = reply.headers.get("content-type") == "application/json"
    body: Any = without(reply.json, place) if is_json else len(reply.body)
    if is_json and "maximum recursion" in str(body.get("error") if isinstance(body, dict) else ""):
        body["error"] = "maximum recursion"  # Each Python words it in its own way.
    return {
        "status": reply.status,
        "headers": {key: reply.headers[key] for key in HEADERS if key in reply.headers},
        "body": body,
    }


def replies(folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """(request, response) of every operation."""
    path = make(folder)
    with Monograph.open(path) as notes, serving({"notes": notes}, write=True) as client:
        described = client.get("/openapi.json").json
        named = {"CHUNK": client.get("/document/chunks", id="comet").json[0]["id"]}
        for node in client.get("/outline").json[:1]:
            named["NODE"] = node["id"]
        asked_by_id = [
            f"/{kind}?id={name}" for kind, name in (("summary", "NODE"), ("chunk", "CHUNK")) if name in named
        ]
        for asked in (*READ, *REFUSED, *asked_by_id):
            route, _, name = asked.rpartition("id=")
            answer = client.ask("GET", BASE + (f"{route}id={named[name]}" if name in named else asked))
            validate(answer, asked, described)
            reply = kept(answer, str(folder))
            yield f"GET {asked}", {**reply, "body": shape(reply["body"])} if asked in SHAPES else reply
        streamed = client.stream("/ask", q="Who repaired the boiler?")
        yield "GET /ask as events", {"events": [[name, without(data, str(folder))] for name, data in streamed.events]}
        for asked, given in POSTED:
            body = json.dumps(given)
            yield f"POST {asked} {body}", kept(client.ask("POST", BASE + asked, body.encode(), JSON), str(folder))
        yield from (others(client, str(folder)))


def others(client: Client, place: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """(request, response) where the body is no JSON, or comes in other ways."""
    for kind, body in (("application/json", b"{"), ("text/plain", b'{"q": "a"}'), ("application/json", b"[" * 100_000),
                       ("application/json; charset=utf-8", b'{"q": "boiler", "k": 1}'), ("application/json", b" " * 1_100_000)):  # fmt: skip
        reply = client.ask("POST", f"{BASE}/chat", body, {"Content-Type": kind})
        yield f"POST /chat {kind} {body[:9]!r}", kept(reply, place)
    for method, asked in (
        ("PUT", "/search"),
        ("DELETE", "/job?id=none"),
        ("DELETE", "/job"),
        ("DELETE", "/session"),
        ("POST", "/session"),
    ):
        yield f"{method} {asked}", kept(client.ask(method, BASE + asked, b""), place)
    yield "POST /upload", kept(client.ask("POST", f"{BASE}/upload?root=notes&name=a.txt", b"A letter."), place)
    yield "POST /upload again", kept(client.ask("POST", f"{BASE}/upload?root=notes&name=a.txt", b"A letter."), place)
    yield "POST /upload nowhere", kept(client.ask("POST", f"{BASE}/upload?root=none&name=a.txt", b"A letter."), place)
    job = client.done(client.post("/sync"))
    yield "the job of a sync", {"job": shape(job)}


@pytest.fixture(scope="module")
def recorded() -> dict[str, Any]:
    return dict(json.loads(GOLDEN.read_text()))


def test_responses_are_as_recorded_and_described(tmp_path: Path, recorded: dict[str, Any]) -> None:
    answered = dict(replies(tmp_path))
    assert answered.keys() == recorded.keys()
    for asked, reply in answered.items():
        wanted = recorded[asked]
        assert reply == wanted, asked


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        told = dict(replies(Path(place)))
    GOLDEN.write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n")
