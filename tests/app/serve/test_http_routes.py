"""Routes of the API: requests, responses and their description in openapi.json."""

from __future__ import annotations

import itertools
import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.paths import EXAMPLES, ROOT

pytest.importorskip("fastapi", reason="the extra serve is not installed")
pytest.importorskip("uvicorn", reason="the extra serve is not installed")
jsonschema = pytest.importorskip("jsonschema", reason="what answers are held against is not installed")

from monograph import Monograph
from monograph.derive.loading import load_model, load_summarizer
from monograph.errors import ModelUnavailable
from monograph.models import Completion
from support.api_server import BASE, OPERATIONS, Client, Reply, address, serving
from support.forks import COMMANDS
from support.model_server import ModelServer

TEXTS = EXAMPLES / "texts"
QUESTION = "Why was plate 4417 lost?"


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("served") / "archive.mono"
    with Monograph.open(made, summarizer=load_summarizer("extractive")) as archive:
        archive.sync(TEXTS)
    return made


@pytest.fixture(scope="module")
def client(path: Path) -> Iterator[Client]:
    with Monograph.open(path, read_only=True) as archive, serving({"archive": archive}) as made:
        yield made


@pytest.fixture(scope="module")
def described(client: Client) -> dict[str, Any]:
    return dict(client.get("/openapi.json").json)


def printed(path: Path, *arguments: str) -> Any:
    done = COMMANDS.run("monograph", *arguments[:1], str(path), *arguments[1:], "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def document_id(client: Client) -> str:
    return str(client.get("/documents", like="spring 1963").json["documents"][0]["id"])


def chunk_id(client: Client) -> str:
    return str(client.get("/document/chunks", id=document_id(client)).json[0]["id"])


def same(answered: Any, said: Any) -> None:
    """Equal, but for what a process measures of itself."""
    for one in (answered, said):
        if isinstance(one, dict):
            one.pop("seconds", None)
            one.get("index", {}).pop("memory", None)
    assert answered == said


@pytest.mark.long
def test_responses_equal_the_output_of_commands(client: Client, path: Path) -> None:
    document, chunk = document_id(client), chunk_id(client)
    found = client.get("/search", q=QUESTION, k=3, where=["year >= 1963"]).json
    assert found["query"] == QUESTION
    assert [one["file"] for one in found["files"]] == ["archive"]
    said = printed(path, "search", QUESTION, "-k", "3", "--where", "year >= 1963")
    assert [one["hit"] for one in found["files"][0]["hits"]] == said
    assert len(said) == 3
    for place, parameters, command in (
        ("/context", {"q": QUESTION, "budget": 200}, ["context", QUESTION, "--budget", "200"]),
        ("/ask", {"q": QUESTION}, ["ask", QUESTION]),
        ("/document", {"id": document}, ["show", document]),
        ("/chunk", {"id": chunk, "around": 2}, ["show", chunk, "--around", "2"]),
        ("/entities", {"name": "amsel", "why": "true"}, ["entities", "amsel", "--why"]),
        ("/neighbourhood", {"name": "T. Renk", "hops": 2}, ["graph", "T. Renk", "--hops", "2"]),
        ("/outline", {"layers": 2}, ["outline", "--layers", "2"]),
        ("/sources", {}, ["sources"]),
        ("/check", {}, ["check"]),
        ("/stats", {}, ["stats"]),
        ("/costs", {}, ["costs"]),
    ):
        same(client.get(place, **parameters).json, printed(path, *command))


def asked(client: Client) -> list[tuple[str, str, Reply]]:
    """(method, path, answer) of every route that reads."""
    document, chunk = document_id(client), chunk_id(client)
    summary = client.get("/outline").json[0]["id"]
    given: dict[str, dict[str, Any]] = {
        "/settings": {},
        "/search": {"q": QUESTION, "how": "tree:detail=0.5"},
        "/context": {"q": QUESTION},
        "/ask": {"q": QUESTION},
        "/documents": {"start": 3, "limit": 5},
        "/document": {"id": document},
        "/document/text": {"id": document, "mark": ["5-9", "12-40"], "q": "comet", "start": 10, "length": 100},
        "/document/chunks": {"id": document},
        "/document/source": {"id": document},
        "/document/boxes": {"id": document, "start": 0, "end": 10},
        "/document/names": {"id": document},
        "/document/summaries": {"id": document},
        "/chunk": {"id": chunk},
        "/entities": {"name": "amsel", "why": "true"},
        "/neighbourhood": {"name": "T. Renk"},
        "/routes": {"name": "T. Renk", "other": "Ines Calder"},
        "/outline": {"layers": 3},
        "/summary": {"id": summary},
        "/sources": {},
        "/failures": {},
        "/stats": {},
        "/costs": {},
        "/check": {},
        "/jobs": {},
    }
    return [("get", path, client.get(path, **parameters)) for path, parameters in given.items()]


def test_responses_match_the_openapi_description(client: Client, described: dict[str, Any]) -> None:
    for method, path, reply in asked(client):
        assert reply.status == 200, (path, reply.body)
        operation = described["paths"][BASE + path][method]
        schema = operation["responses"]["200"]["content"]["application/json"]["schema"]
        jsonschema.validate(reply.json, {**schema, "components": described["components"]})
    missing = client.get("/document", id="nothing")
    assert missing.status == 404
    fault = described["paths"][f"{BASE}/document"]["get"]["responses"]["default"]["content"]["application/json"]
    jsonschema.validate(missing.json, {**fault["schema"], "components": described["components"]})


def test_openapi_describes_exactly_the_routes(described: dict[str, Any]) -> None:
    told = {(method, path.removeprefix(BASE)) for path, some in described["paths"].items() for method in some}
    assert told == {(one.method.lower(), one.path) for one in OPERATIONS} | {
        ("post", "/session"),
        ("delete", "/session"),
    }
    for route in OPERATIONS:
        operation = described["paths"][BASE + route.path][route.method.lower()]
        assert operation["summary"].endswith(".")
    identifiers = [one["operationId"] for some in described["paths"].values() for one in some.values()]
    assert len(identifiers) == len(set(identifiers)) == len(OPERATIONS) + 2
    for schema in described["components"]["schemas"].values():
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema["description"]


def test_http_page_documents_routes_and_parameters(described: dict[str, Any]) -> None:
    page = (ROOT / "docs" / "reference" / "http.md").read_text()
    for route in OPERATIONS:
        assert f"{route.method} {route.path}`" in page, route.path
        operation = described["paths"][BASE + route.path][route.method.lower()]
        line = next(line for line in page.splitlines() if f"{route.method} {route.path}`" in line)
        named = [one["name"] for one in operation.get("parameters", ())]
        for name in named:
            assert f"`{name}`" in line or "the same" in line, (route.path, name)


def test_invalid_requests_are_refused_with_a_reason(client: Client) -> None:
    for path, status, word in (
        ("/search", 400, "q is not given"),
        ("/search?q=a&k=many", 400, "k is 'many'"),
        ("/search?q=a&q=b", 400, "twice"),
        ("/search?q=a&colour=red", 400, "colour"),
        ("/search?q=a&how=unheard", 400, "unheard"),
        ("/search?q=a&where=year", 400, "is not a filter"),
        ("/search?q=a&file=other", 404, "other"),
        ("/search?q=a&k=99999999999999999999999999", 200, ""),
        ("/context?q=a&order=random", 400, "order"),
        ("/document?id=nothing", 404, "nothing"),
        ("/document/text?id=texts/README.md&mark=abc", 400, "mark"),
        ("/chunk?id=nothing", 404, "nothing"),
        ("/entities?why=perhaps", 400, "perhaps"),
        ("/neighbourhood?name=Zzyzx", 404, "Zzyzx"),
        ("/picture", 400, "name or q"),
        ("/summary?id=ffff", 404, "ffff"),
        ("/job?id=none", 404, "none"),
        ("/nowhere", 404, "nowhere"),
    ):
        reply = client.ask("GET", BASE + path)
        assert reply.status == status, (path, reply.body)
        if status != 200:
            assert set(reply.json) == {"error", "hint", "kind"}
            assert word in reply.json["error"] + reply.json["hint"], path
    assert client.ask("PUT", f"{BASE}/search").status == 404
    for body, kind in ((b"{", "application/json"), (b"[]", "application/json"), (b'{"q": 1}', "application/json"),
                       (b'{"q": "a"}', "text/plain"), (b'{"q": "a", "history": [{"question": 1}]}', "application/json"),
                       (b'{"q": "\\ud800"}', "application/json"), (b"[" * 100_000, "application/json")):  # fmt: skip
        reply = client.ask("POST", f"{BASE}/chat", body, {"Content-Type": kind})
        assert reply.status == 400, (body[:50], reply.body)
    assert client.ask("POST", f"{BASE}/chat", b" " * 2_000_000, {"Content-Type": "application/json"}).status == 413


def test_writing_routes_are_refused_without_write(client: Client) -> None:
    for route in OPERATIONS:
        if not route.writes:
            continue
        assert route.method in ("POST", "DELETE")
        if not route.takes_json:
            given = "root=a&name=b" if route.takes_bytes else "id=a"
            reply = client.ask(route.method, f"{BASE}{route.path}?{given}", b"")
        else:
            names = {"ids": ["a"], "root": "a", "name": "a", "other": "b"}
            known = {one: value for one, value in names.items() if one in route.parameters}
            reply = client.post(route.path, **known)
        assert reply.status == 403, (route.path, reply.body)
        assert "--write" in reply.json["hint"]


def test_each_file_is_searched_separately(path: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.mono"
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "comet.md").write_text("The comet of the other file was seen by nobody.")
    with Monograph.open(other) as made:
        made.sync(tmp_path / "notes")
    with (
        Monograph.open(path, read_only=True) as first,
        Monograph.open(other, read_only=True) as second,
        serving({"archive": first, "other": second}) as client,
    ):
        found = client.get("/search", q="the comet", k=2).json["files"]
        assert [one["file"] for one in found] == ["archive", "other"]
        assert [len(one["hits"]) for one in found] == [2, 1]
        only = client.get("/search", q="the comet", file=["other"]).json["files"]
        assert only == found[1:]
        both = client.get("/search", q="the comet", how="tree").json["files"]
        assert both[0]["error"] is None
        assert both[1]["error"]["kind"] == "InputError"
        assert client.get("/search", q="the comet", how="tree", file="other").status == 400
        assert client.get("/stats", file="other").json["documents"] == 1
        assert client.get("/stats").json["documents"] == 28


def test_answers_are_streamed(path: Path) -> None:
    with ModelServer() as models:
        model = load_model(f"openai:{models.url}#scripted", "")
        with (
            Monograph.open(path, read_only=True, model=model) as archive,
            serving({"archive": archive}, model=model.key) as client,
        ):
            assert client.get("/settings").json["model"] == model.key
            streamed = client.stream("/ask", q="Who found the comet?")
            assert streamed.headers["content-type"].startswith("text/event-stream")
            names = [name for name, _ in streamed.events]
            assert set(names[:-1]) == {"piece"}
            assert names[-1] == "answer"
            answer = streamed.events[-1][1]
            assert answer["model"] == model.key
            assert answer["citations"]
            whole = client.get("/ask", q="Who found the comet?").json
            for one in (answer, whole):
                one.pop("seconds")
            assert whole == answer
            turn = {"question": "Who found the comet?", "answer": answer["text"], "query": answer["query"]}
            follow = client.post("/chat", q="And when did she do it?", history=[turn])
            assert follow.status == 200
            assert follow.json["query"]


class Scripted:
    """A model that writes word by word, as far as it is let."""

    key = "scripted"

    def __init__(self, words: int, let: threading.Event) -> None:
        self.words, self.let, self.left = words, let, threading.Event()

    def complete(self, prompt: str, max_tokens: int) -> Completion:
        raise ModelUnavailable("the model is gone", "start it")

    def stream(self, prompt: str, max_tokens: int) -> Iterator[str | Completion]:
        try:
            for number in range(self.words):
                yield f"word{number} [1] "
                self.let.wait(60)
        finally:
            self.left.set()
        raise ModelUnavailable("the model is gone", "start it")


def test_failing_model_sends_an_error_event(path: Path) -> None:
    let = threading.Event()
    let.set()
    for words in (0, 3):
        model = Scripted(words, let)
        with Monograph.open(path, read_only=True, model=model) as archive, serving({"archive": archive}) as client:
            assert client.get("/ask", q="Who found the comet?").status == 502
            streamed = client.stream("/ask", q="Who found the comet?")
            if not words:
                assert streamed.status == 502
                continue
            assert [name for name, _ in streamed.events] == ["piece"] * words + ["error"]
            assert streamed.events[-1][1] == {
                "error": "the model is gone",
                "hint": "start it",
                "kind": "ModelUnavailable",
            }


def test_disconnected_client_ends_the_answer(path: Path) -> None:
    let = threading.Event()
    model = Scripted(10**9, let)
    with Monograph.open(path, read_only=True, model=model) as archive, serving({"archive": archive}) as client:
        asked = address("/ask", q="Who found the comet?")
        head = f"Host: 127.0.0.1:{client.port}\r\nAuthorization: Bearer {client.token}\r\nAccept: text/event-stream"
        with socket.create_connection(("127.0.0.1", client.port), timeout=60) as raw:
            raw.sendall(f"GET {asked} HTTP/1.1\r\n{head}\r\n\r\n".encode())
            assert any("word0" in line for line in raw.makefile("r", encoding="utf-8"))
        # The others are answered while it waits, and it ends at one of its next words.
        assert client.get("/search", q="comet").status == 200
        let.set()
        model.left.wait()


def test_matched_words_are_marked(client: Client) -> None:
    marked = set()
    for hit in client.get("/search", q="comets that Ines Calder found", k=5).json["files"][0]["hits"]:
        pieces, chunk = hit["pieces"], hit["hit"]["chunk"]
        assert "".join(one["text"] for one in pieces) == chunk["text"]
        assert pieces[0]["start"] == chunk["start"]
        assert pieces[-1]["end"] == chunk["end"]
        for one, other in itertools.pairwise(pieces):
            assert one["end"] == other["start"]
        marked |= {one["text"] for one in pieces if one["word"]}
    assert {"comet", "Ines", "Calder", "found"} <= marked
    assert not {"the", "that", "a"} & marked


def test_document_is_returned_in_parts(client: Client) -> None:
    document = client.get("/document", id=document_id(client))
    whole, start, seen = document.json["text"], 0, []
    while start < len(whole):
        part = client.get("/document/text", id=document.json["id"], start=start, length=300).json
        assert part["characters"] == len(whole)
        assert part["start"] == start
        seen += part["blocks"]
        start = part["end"]
    assert len(seen) > 5
    assert any(block["kind"] == "heading" for block in seen)
    for block in seen:
        for piece in block["pieces"]:
            assert whole[piece["start"] : piece["end"]] == piece["text"]
    assert " ".join("".join(piece["text"] for piece in block["pieces"]) for block in seen).replace("#", "").split() == (
        whole.replace("#", "").split()
    )


def test_pictures_may_be_framed_by_this_page_only(client: Client) -> None:
    for parameters in ({"name": "T. Renk"}, {"q": QUESTION}):
        page = client.get("/picture", **parameters)
        assert page.status == 200
        assert page.headers["content-type"] == "text/html; charset=utf-8"
        assert page.headers["content-security-policy"] == "frame-ancestors 'self'; sandbox allow-scripts"
        assert b"default-src 'none'" in page.body
        data = client.get("/picture/data", **parameters).json
        assert data["entities"]
