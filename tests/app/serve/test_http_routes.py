"""Routes of the API: requests, responses and their description in openapi.json."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.paths import EXAMPLES

jsonschema = pytest.importorskip("jsonschema", reason="what answers are held against is not installed")

from monograph import Document, Monograph
from monograph.derive.loading import load_model, load_summarizer
from monograph.errors import ModelUnavailable
from monograph.models import Completion
from support.api_server import BASE, OPERATIONS, Client, address, serving
from support.built_pages import built, sections
from support.corpora import clustered_archive
from support.forks import run
from support.model_server import ModelServer

QUESTION = "Why was plate 4417 lost?"


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("served") / "archive.mono"
    with Monograph.open(path, summarizer=load_summarizer("extractive")) as archive:
        archive.sync(EXAMPLES / "texts")
    return path


@pytest.fixture(scope="module")
def client(path: Path) -> Iterator[Client]:
    with Monograph.open(path, read_only=True) as archive, serving({"archive": archive}) as client:
        yield client


@pytest.fixture(scope="module")
def described(client: Client) -> dict[str, Any]:
    return dict(client.get("/openapi.json").json)


def printed(path: Path, *arguments: str) -> Any:
    command, *others = arguments
    return json.loads(run(command, path, *others, "--json"))


@pytest.mark.long
def test_responses_equal_the_output_of_commands(client: Client, path: Path) -> None:
    document = client.get("/documents", like="spring 1963").json["documents"][0]["id"]
    chunk = client.get("/document/chunks", id=document).json[0]["id"]
    results = client.get("/search", q=QUESTION, k=3, where=["year >= 1963"]).json
    assert results["query"] == QUESTION
    assert [file["file"] for file in results["files"]] == ["archive"]
    hits = printed(path, "search", QUESTION, "-k", "3", "--where", "year >= 1963")
    assert [item["hit"] for item in results["files"][0]["hits"]] == hits
    assert len(hits) == 3
    for address_, parameters, command in (
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
        answers = client.get(address_, **parameters).json, printed(path, *command)
        for answer in answers:
            if isinstance(answer, dict):  # These values differ between processes.
                answer.pop("seconds", None)
                answer.get("index", {}).pop("memory", None)
        assert answers[0] == answers[1]


def test_openapi_describes_exactly_the_routes(described: dict[str, Any]) -> None:
    operations = {
        (method, path.removeprefix(BASE)): operation
        for path, methods in described["paths"].items()
        for method, operation in methods.items()
    }
    session = {("post", "/session"), ("delete", "/session")}
    assert operations.keys() == {(route.method.lower(), route.path) for route in OPERATIONS} | session
    assert all(operation["summary"].endswith(".") for operation in operations.values())
    assert len({operation["operationId"] for operation in operations.values()}) == len(operations)
    for schema in described["components"]["schemas"].values():
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema["description"]


def test_http_page_documents_operations_and_values(described: dict[str, Any]) -> None:
    page = built("reference/http.md")
    texts = sections(page)
    for operation in OPERATIONS:
        text = texts.pop(str(operation))
        summary = described["paths"][BASE + operation.path][operation.method.lower()]["summary"]
        assert text.startswith(f"\n{summary}\n"), operation
        assert re.findall(r"^\| `(\w+)` \| \S", text, re.MULTILINE) == list(operation.parameters), operation
    for name, schema in described["components"]["schemas"].items():
        if not name.startswith("Body_"):
            text = texts.pop(name)
            assert re.match(r"\n\w", text), name
            assert re.findall(r"^\| `(\w+)` \| \S", text, re.MULTILINE) == list(schema["properties"]), name
    assert texts.keys() == {"POST /session", "DELETE /session"}
    headings = {heading.lower() for heading in re.findall(r"^##+ (.+)$", page, re.MULTILINE)}
    assert set(re.findall(r"\]\(#(\w+)\)", page)) <= headings
    for status in (400, 401, 403, 404, 507):
        assert re.search(rf"^\| {status} \| \w", page, re.MULTILINE)


def test_writing_routes_are_refused_without_write(client: Client) -> None:
    for route in OPERATIONS:
        if not route.writes:
            continue
        assert route.method in ("POST", "DELETE")
        values = {"ids": ["a"], "id": "a", "root": "a", "name": "a", "other": "b"}
        known = {name: value for name, value in values.items() if name in route.parameters}
        reply = client.call(route, known)
        assert reply.status == 403, (route.path, reply.body)
        assert "--write" in reply.json["hint"]


def test_each_file_is_searched_separately(path: Path, tmp_path: Path) -> None:
    with (
        Monograph.open(path, read_only=True) as first,
        Monograph.open(tmp_path / "other.mono") as second,
        serving({"archive": first, "other": second}) as client,
    ):
        second.add([Document("The comet of the other file was seen by nobody.", id="comet")])
        files = client.get("/search", q="the comet", k=2).json["files"]
        assert [(file["file"], len(file["hits"])) for file in files] == [("archive", 2), ("other", 1)]
        assert client.get("/search", q="the comet", file=["other"]).json["files"] == files[1:]
        both = client.get("/search", q="the comet", how="tree").json["files"]
        assert both[0]["error"] is None
        assert both[1]["error"]["kind"] == "InputError"
        assert client.get("/search", q="the comet", how="tree", file="other").status == 400
        assert client.get("/stats", file="other").json["documents"] == 1
        assert client.get("/stats").json["documents"] == 28


def test_http_searches_stop_at_the_given_condition(tmp_path: Path) -> None:
    with (
        Monograph.open(clustered_archive(tmp_path / "a.mono"), read_only=True) as archive,
        serving({"archive": archive}) as client,
    ):

        def loads(**options: str) -> int:
            (file,) = client.get("/search", q="which comet?", how="dense", **options).json["files"]
            return int(file["hits"][0]["hit"]["origins"][0]["effort"]["loads"])

        assert loads(stop="budget:loads=1") == 1
        assert loads(stop="never") == loads(ranked_recall="0.9") > 1
        assert client.get("/search", q="comet", stop="sometimes").status == 400
        for wrong, hint in (("0", "give more than 0.0"), ("2", "give 1.0 or less")):
            reply = client.get("/search", q="comet", ranked_recall=wrong)
            assert (reply.status, reply.json["hint"]) == (400, hint)


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
            *pieces, (name, answer) = streamed.events
            assert {name for name, _ in pieces} == {"piece"}
            assert (name, answer["model"]) == ("answer", model.key)
            assert answer["citations"]
            whole = client.get("/ask", q="Who found the comet?").json
            assert whole | {"seconds": 0} == answer | {"seconds": 0}
            turn = {"question": "Who found the comet?", "answer": answer["text"], "query": answer["query"]}
            follow = client.post("/chat", q="And when did she do it?", history=[turn])
            assert follow.status == 200
            assert follow.json["query"]


class Scripted:
    """A model that writes one word at a time, and waits for ``let`` after each word."""

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
            fault = {"error": "the model is gone", "hint": "start it", "kind": "ModelUnavailable"}
            assert streamed.events[-1][1] == fault


def test_disconnected_client_ends_the_answer(path: Path) -> None:
    let = threading.Event()
    model = Scripted(10**9, let)
    with Monograph.open(path, read_only=True, model=model) as archive, serving({"archive": archive}) as client:
        asked = client.head("GET", address("/ask", q="Who found the comet?"), "Accept: text/event-stream")
        with client.connected() as raw:
            raw.sendall(asked + b"\r\n")
            assert any("word0" in line for line in raw.makefile("r", encoding="utf-8"))
        # Other requests are answered while the model waits, and the model ends at one of its next words.
        assert client.get("/search", q="comet").status == 200
        let.set()
        model.left.wait()


def test_matched_words_are_marked(tmp_path: Path) -> None:
    text = "The rain fell on a roof. " * 200 + "It was Ines Calder that found the comet."
    with Monograph.open(tmp_path / "rain.mono") as archive, serving({"rain": archive}) as client:
        archive.add([Document(text, id="rain")])
        (hit,) = client.get("/search", q="the comets that Ines Calder found", k=1).json["files"][0]["hits"]
    pieces, chunk = hit["pieces"], hit["hit"]["chunk"]
    assert chunk["start"] > 0
    assert "".join(piece["text"] for piece in pieces) == chunk["text"]
    assert all(text[piece["start"] : piece["end"]] == piece["text"] for piece in pieces)
    assert [piece["text"] for piece in pieces if piece["word"]] == ["Ines", "Calder", "found", "comet"]
