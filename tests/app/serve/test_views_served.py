"""Views over HTTP, MCP and the command line."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="the extra mcp is not installed")

from mcp import Client as Agent
from mcp.client.stdio import StdioServerParameters
from mcp.shared.exceptions import MCPError

from monograph import Document, Monograph
from monograph.derive.summarize.extractive import ExtractiveSummarizer
from monograph_mcp import make_server
from monograph_tools.tools import address
from support.api_server import OPERATIONS, Client, Operation, serving
from support.browser import TOKEN, site
from support.forks import run

PROGRAM = str(Path(sys.executable).parent / "monograph")
ANN = {"owner": "ann"}
SECRET = "zorblax"
TOWNS = ("Lisbon", "Vienna", "Oslo", "Turin", "Lima", "Bergen")


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a file with documents of Ann, documents of another owner, and a followed folder."""
    place = tmp_path_factory.mktemp("views")
    folder = place / SECRET
    folder.mkdir()
    (folder / "b.txt").write_text("Zorblax keeps a diary with Ada Lovelace and Charles Babbage.")
    (folder / "broken.pdf").write_bytes(b"%PDF-1.4 zorblax")
    with Monograph.open(place / "shared.mono", summarizer=ExtractiveSummarizer()) as archive:
        archive.sync(folder)
        for number, town in enumerate(TOWNS):
            mine = f"Ada Lovelace met Charles Babbage in {town}. The engine was shown in {town}."
            theirs = f"Zorblax met Charles Babbage in {town}. Charles Babbage told Zorblax of Ada Lovelace."
            archive.add(
                [
                    Document(mine, id=f"a{number}", title=f"From {town}", uri=f"letters/{number}", metadata=ANN),
                    Document(theirs, id=f"b{number}", title="Zorblax", uri=f"z/{SECRET}", metadata={"owner": SECRET}),
                ]
            )
    return place / "shared.mono"


@pytest.fixture(scope="module")
def ids(path: Path) -> dict[str, str]:
    """Return ids of a document, a chunk and a summary outside the view, and of a chunk in it (``mine``)."""
    with Monograph.open(path, read_only=True) as archive:
        outside = archive.chunks("b1")[0].id
        nodes = archive.tree.outline(layers=9)
        return {"document": "b1", "chunk": outside, "summary": nodes[0].id, "mine": archive.chunks("a1")[0].id}


@pytest.fixture(scope="module")
def client(path: Path) -> Iterator[Client]:
    with Monograph.open(path) as archive, serving({"shared": archive.within(ANN)}, write=True) as client:
        yield client


def parameters(ids: dict[str, str]) -> dict[str, list[dict[str, Any]]]:
    """Return the parameters to send to each path: for contents inside and outside the view."""
    documents = [{"id": "a1"}, {"id": ids["document"]}, {"id": "letters/1"}]
    parts = ("text", "chunks", "source", "original", "page", "names", "summaries")
    names, job = [{"name": "Ada Lovelace", "other": "Charles Babbage"}], [{"id": "nothing"}]
    drawn: list[dict[str, Any]] = [{"name": "Charles Babbage"}, {"q": "Who met Charles Babbage?", "k": 50}]
    questions: list[dict[str, Any]] = [
        {"q": "Who met Charles Babbage?", "k": 50},
        {"q": "What is this about?", "k": 50, "how": "tree"},
        {"q": "babbage", "k": 50, "where": ["owner != x"]},
    ]
    return {
        **dict.fromkeys(("/search", "/context", "/ask"), questions),
        "/chat": [{"q": "Who met him?", "history": [{"question": "Charles Babbage?", "answer": "He was met."}]}],
        "/documents": [{}, {"like": "o"}],
        **dict.fromkeys(("/document", *(f"/document/{part}" for part in parts)), documents),
        "/document/boxes": [{**document, "start": 0, "end": 10} for document in documents],
        "/chunk": [{"id": ids["mine"], "around": 9}, {"id": ids["chunk"]}],
        "/entities": [{"k": 1000}, {"name": "a", "why": "true"}, {"why": "true"}],
        "/neighbourhood": [{"name": "Charles Babbage", "hops": 3}, {"name": "Z"}, {"name": "lax"}],
        "/routes": [{"name": "Oslo", "other": "Turin"}, {"name": "Oslo", "other": "Zo"}],
        **dict.fromkeys(("/picture", "/picture/data"), drawn),
        "/outline": [{"layers": 3}, {"node": ids["summary"]}],
        "/summary": [{"id": ids["summary"]}],
        "/sync": [{}, {"verify": True}],
        "/remove": [{"ids": [ids["document"]]}],
        "/sources/remove": [{"root": "nothing"}],
        "/upload": [{"root": "nothing", "name": "x.txt"}],
        **dict.fromkeys(("/names/apart", "/names/unite"), names),
        **dict.fromkeys(("/job", "/job/events"), job),
    }


ENDLESS = "/changes"
"""Path of a stream that sends a number whenever the file changes, and never ends."""


@pytest.mark.parametrize("route", [route for route in OPERATIONS if route.path != ENDLESS], ids=str)
def test_every_route_shows_only_the_view(client: Client, ids: dict[str, str], path: Path, route: Operation) -> None:
    with Monograph.open(path, read_only=True) as archive:
        before = archive.document("b1"), archive.files.sources()
    for given in parameters(ids).get(route.path, [{}]):
        reply = client.call(route, given)
        if reply.status == 202:
            job = client.done(reply)
            assert job["state"] == "failed"
            assert SECRET not in json.dumps(job).lower()
        assert reply.status in (200, 202, 400, 404), reply.body
        assert SECRET not in reply.body.decode().lower()
        if route.writes:
            assert reply.status != 200
    with Monograph.open(path, read_only=True) as archive:
        assert (archive.document("b1"), archive.files.sources()) == before
    assert SECRET not in client.get("/jobs").body.decode().lower()


def test_routes_answer_within_the_view(client: Client, ids: dict[str, str]) -> None:
    hits = client.get("/search", q="Who met Charles Babbage?", k=50).json["files"][0]["hits"]
    assert [hit["hit"]["metadata"]["owner"] for hit in hits] == ["ann"] * len(TOWNS)
    assert client.get("/documents").json["count"] == len(TOWNS)
    assert client.get("/stats").json["documents"] == len(TOWNS)
    assert client.get("/settings").json["files"][0]["documents"] == len(TOWNS)
    assert client.get("/document", id="b1").status == client.get("/chunk", id=ids["chunk"]).status == 404
    refused = client.get("/check")
    assert refused.status == 400
    assert "a view of" in refused.json["error"]
    assert refused.json["hint"] == "leave out --within and --as-of"
    assert client.get("/sources").json == client.get("/failures").json == []


def test_writer_removes_only_documents_of_the_view(path: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.mono"
    with Monograph.open(path) as archive:
        archive.backup(copy)
    with Monograph.open(copy) as archive, serving({"copy": archive.within(ANN)}, write=True) as client:
        before = {document.id for document in archive.documents()}
        assert client.done(client.post("/remove", ids=["a1"]))["state"] == "done"
        assert client.done(client.post("/remove", ids=["a2", "b2"]))["state"] == "failed"
        assert {document.id for document in archive.documents()} == before - {"a1"}


def asked(server: Any, work: Callable[[Agent], Awaitable[Any]]) -> Any:
    async def run() -> Any:
        async with Agent(server) as client:
            return await work(client)

    return asyncio.run(run())


async def refused(client: Agent) -> str:
    """Read a resource outside the view; return the error, or the contents if there is no error."""
    try:
        return repr(await client.read_resource(address("b1")))
    except MCPError as error:
        return str(error)


def test_every_tool_shows_only_the_view(path: Path, ids: dict[str, str]) -> None:
    given: dict[str, list[dict[str, Any]]] = {
        "search": [
            {"query": "Who met Charles Babbage?", "k": 50, "max_tokens": 8000},
            {"query": "What is this about?", "k": 50, "how": "tree", "max_tokens": 8000},
            {"query": "babbage", "where": {"owner": {"!=": "ann"}}},
        ],
        "read": [{"document": "a1"}, {"document": ids["document"]}],
        "outline": [{"layers": 6, "max_tokens": 8000}, {"node": ids["summary"]}],
        "entity": [{"name": "Charles Babbage", "hops": 3, "limit": 100, "max_tokens": 8000}, {"name": "lax"}],
        "paths": [{"name": "Oslo", "other": "Turin", "max_tokens": 8000}],
        "stats": [{}],
        "add_note": [{"text": "Ada keeps the plans.", "title": "Plans"}],
        "change_note": [{"note": ids["document"], "text": "x"}],
        "forget_note": [{"note": ids["document"]}],
    }
    with Monograph.open(path) as archive:
        view = archive.within(ANN)
        server = make_server(view, notes=True)
        tools = [one.name for one in asked(server, lambda client: client.list_tools()).tools]
        assert set(tools) == given.keys()
        for tool in tools:
            for arguments in given[tool]:
                reply = asked(server, lambda client: client.call_tool(tool, arguments))  # noqa: B023
                assert SECRET not in " ".join(one.text for one in reply.content).lower(), (tool, arguments)
        listed = asked(server, lambda client: client.list_resources()).resources
        assert len(listed) == len(TOWNS) + 1
        assert SECRET not in repr(listed).lower()
        assert "no document 'b1'" in asked(server, refused)
        assert archive.document("b1").text.startswith("Zorblax")
        # Two owners who add the same text get two notes.
        note = next(one.id for one in view.documents() if one.id.startswith("note/"))
        assert archive.document(note).metadata["owner"] == "ann"
        other = make_server(archive.within({"owner": "eve"}), notes=True)
        added = asked(other, lambda client: client.call_tool("add_note", given["add_note"][0])).structured_content
        assert added["new"]
        assert added["document"] != note
        gone = asked(server, lambda client: client.call_tool("forget_note", {"note": note}))
        assert not gone.is_error
        assert archive.document(added["document"]).text == "Ada keeps the plans."
        archive.remove([added["document"]])


@pytest.mark.long
def test_mcp_serves_only_the_view(path: Path) -> None:
    command = ["mcp", str(path), "--within", "owner=ann"]
    started = StdioServerParameters(command=PROGRAM, args=command, env=dict(os.environ))
    found = asked(started, lambda client: client.call_tool("stats", {})).structured_content
    assert found["documents"] == len(TOWNS)


def test_page_serves_only_the_view(path: Path) -> None:
    with site([path], "--within", "owner=ann") as running:
        assert running.get("/documents")["count"] == len(TOWNS)
        assert Client(running.port, TOKEN).get("/document", id="b1").status == 404


@pytest.mark.parametrize("within", ["owner=ann", "owner == ann", '{"owner": "ann"}'])
@pytest.mark.long
def test_commands_show_only_the_view(path: Path, within: str) -> None:
    printed = [run("show", path, "--within", within)]
    if within == "owner=ann":
        asked_for = (path, "Who met Charles Babbage?", "--within", within)
        printed += [run(command, *asked_for) for command in ("search", "ask", "context")]
        printed += [
            run("entities", path, "--within", within),
            run("graph", path, "Charles Babbage", "--within", within),
        ]
        assert json.loads(run("stats", path, "--within", within, "--json"))["documents"] == len(TOWNS)
        assert SECRET in run("search", path, "Who met Charles Babbage?", "-k", "50").lower()
    for one in map(str.lower, printed):
        assert "lovelace" in one or "lisbon" in one
        assert SECRET not in one
    assert SECRET not in run("show", path, "b1", "--within", within, code=1).lower()
