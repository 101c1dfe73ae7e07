"""The server for agents, asked by the official client: over standard input, and over HTTP."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from operator import methodcaller
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="the extra mcp is not installed")

from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.shared.exceptions import MCPError

from monograph import Document, Monograph, count_tokens
from monograph.derive.loading import load_summarizer
from monograph.errors import InputError
from monograph_mcp import make_server, serve_http
from monograph_tools.tools import address, fitting, shortened

TEXTS = {
    "letters/1": ("To the foundry", "Mrs Grubb wrote to Tobias Renk about the boiler in Salzburg."),
    "letters/2": ("To Vienna", "Tobias Renk met Anna Calder in Vienna. Anna Calder brought the comet plates."),
    "letters/3": ("The plates", "Anna Calder gave the plates to Peter Okafor in Berlin."),
    "../odd id/ü😀": ("Odd", "A document of an odd name says that the lathe is red."),
    "long": ("Long", "\n\n".join(f"Part {n}: the telescope stands in dome {n} and was cleaned." for n in range(400))),
}
PROGRAM = str(Path(sys.executable).parent / "monograph")


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("mcp") / "letters.mono"
    with Monograph.open(made, summarizer=load_summarizer("extractive")) as monograph:
        monograph.add(
            Document(text, id=name, title=title, uri=f"/files/{number}", metadata={"number": number})
            for number, (name, (title, text)) in enumerate(TEXTS.items())
        )
    return made


@pytest.fixture
def opened(path: Path) -> Iterator[Monograph]:
    with Monograph.open(path, read_only=True) as monograph:
        yield monograph


def asked(server: Any, work: Callable[[Client], Awaitable[Any]]) -> Any:
    async def run() -> Any:
        async with Client(server) as client:
            return await work(client)

    return asyncio.run(run())


def call(server: Any, tool: str, **arguments: Any) -> dict[str, Any]:
    result = asked(server, lambda client: client.call_tool(tool, arguments))
    assert not result.is_error, result.content
    assert json.loads(result.content[0].text) == result.structured_content
    return dict(result.structured_content)


def refused(server: Any, tool: str, **arguments: Any) -> str:
    result = asked(server, lambda client: client.call_tool(tool, arguments))
    assert result.is_error
    return str(result.content[0].text)


def test_mcp_server_lists_its_tools(opened: Monograph) -> None:
    tools = {one.name: one for one in asked(make_server(opened), lambda client: client.list_tools()).tools}
    assert list(tools) == ["search", "read", "outline", "entity", "paths", "stats"]
    for one in tools.values():
        assert one.description
        assert one.output_schema
        assert ("Citation" in one.output_schema.get("$defs", {})) == (one.name != "stats")
        assert one.annotations is not None
        assert (one.annotations.read_only_hint, one.annotations.idempotent_hint) == (True, True)
        assert one.annotations.open_world_hint is False


def test_mcp_server_offers_no_outline_without_a_tree(monograph: Monograph) -> None:
    names = {one.name for one in asked(make_server(monograph), lambda client: client.list_tools()).tools}
    assert "outline" not in names
    assert call(make_server(monograph), "stats")["has_tree"] is False


def test_mcp_search_cites_the_place_of_each_hit(opened: Monograph) -> None:
    found = call(make_server(opened), "search", query="who brought the comet plates?", k=2)
    assert found["hits"][0]["citation"]["title"] == "To Vienna"
    for hit in found["hits"]:
        cited = hit["citation"]
        assert opened.document(cited["document"]).text[cited["start"] : cited["end"]] == hit["text"]
    assert [hit["score"] for hit in found["hits"]] == [
        hit.relevance for hit in opened.search("who brought the comet plates?", 2)
    ]
    only = call(make_server(opened), "search", query="the plates", where={"number": 2}, how="hybrid")
    assert {hit["citation"]["document"] for hit in only["hits"]} == {"letters/3"}
    tree = call(make_server(opened), "search", query="telescope", how="tree", k=10)
    assert any(hit["summary"] for hit in tree["hits"])


def test_mcp_replies_keep_to_their_token_limit(opened: Monograph) -> None:
    server = make_server(opened)
    for tool, arguments in (
        ("search", {"query": "the telescope in its dome", "k": 50}),
        ("read", {"document": "long"}),
        ("outline", {"layers": 6}),
        ("entity", {"name": "Renk", "hops": 3, "limit": 100}),
    ):
        for room in (200, 700, 3_000):
            reply = call(server, tool, **arguments, max_tokens=room)
            assert count_tokens([json.dumps(reply, ensure_ascii=False)])[0] <= room + 150, (tool, room)
            if tool in ("search", "outline") and room == 200:
                assert reply["left_out"] > 0
    short = call(server, "search", query="the telescope in its dome", max_tokens=200)
    assert short["hits"] == [] or short["hits"][0]["cut"]
    hits = call(server, "search", query="the telescope in its dome", k=50, max_tokens=700)["hits"]
    assert any(hit["cut"] for hit in hits)
    for hit in hits:
        cited = hit["citation"]
        whole = opened.document(cited["document"]).text[cited["start"] : cited["end"]]
        assert hit["cut"] == hit["text"].endswith(" […]")
        assert whole.startswith(hit["text"].removesuffix(" […]"))
    assert "200" in refused(server, "read", document="long", max_tokens=10)
    assert refused(server, "search", query="x", k=1_000)


def test_mcp_read_returns_a_long_document_in_parts(opened: Monograph) -> None:
    server = make_server(opened)
    pieces, start = [], 0
    while start is not None:
        reply = call(server, "read", document="long", start=start, max_tokens=1_500)
        assert reply["citation"]["start"] == start
        pieces.append(reply["text"])
        start = reply["next_start"]
    assert "".join(pieces) == TEXTS["long"][1]
    assert len(pieces) > 3
    assert call(server, "read", document="/files/0", start=4, end=9)["text"] == "Grubb"
    assert call(server, "read", document="letters/1", start=5, end=2)["text"] == ""
    assert "contains no document 'nothing'" in refused(server, "read", document="nothing")
    assert "start earlier" in refused(server, "read", document="letters/1", start=10_000)


def test_mcp_outline_opens_summaries_layer_by_layer(opened: Monograph) -> None:
    server = make_server(opened)
    top = call(server, "outline", layers=0)["items"]
    opened_once = call(server, "outline", node=top[0]["id"], layers=1)["items"]
    assert opened_once[0]["id"] == top[0]["id"]
    assert {one["depth"] for one in opened_once} == {0, 1}
    everything = call(server, "outline", layers=6, max_tokens=8_000)["items"]
    assert {one["is_summary"] for one in everything} == {True, False}
    for one in everything:
        cited = one["citation"]
        assert (cited is None) == one["is_summary"]
        if cited is not None:
            assert opened.document(cited["document"]).text[cited["start"] : cited["end"]] == one["text"]
    assert "contains no summary" in refused(server, "outline", node="ffffffff")


def test_mcp_entity_and_paths_cite_their_links(opened: Monograph) -> None:
    server = make_server(opened)
    found = call(server, "entity", name="Anna Calder")
    assert found["entity"][0]["name"] == "Anna Calder"
    assert {"Tobias Renk", "Peter Okafor"} <= {one["name"] for one in found["around"]}
    cited = found["links"][0]["citations"][0]
    assert "Calder" in opened.document(cited["document"]).text[cited["start"] : cited["end"]]
    (way, *_) = call(server, "paths", name="Mrs Grubb", other="Peter Okafor")["paths"]
    assert len(way["entities"]) == len(way["links"]) + 1 == 4
    assert (way["entities"][1], way["entities"][2]) == ("Tobias Renk", "Anna Calder")
    assert all(link["citations"] for link in way["links"])
    assert call(server, "paths", name="Mrs Grubb", other="Peter Okafor", hops=2)["paths"] == []
    assert "Nobody" in refused(server, "paths", name="Nobody Here", other="Renk")


def test_mcp_server_lists_and_reads_resources(opened: Monograph) -> None:
    server = make_server(opened)
    listed = asked(server, lambda client: client.list_resources()).resources
    assert {one.title for one in listed} == {title for title, _ in TEXTS.values()}
    for name, (_, text) in TEXTS.items():
        contents = asked(server, methodcaller("read_resource", address(name))).contents
        assert contents[0].text == text
    templates = asked(server, lambda client: client.list_resource_templates()).resource_templates
    assert [one.uri_template for one in templates] == ["monograph://document/{identifier}"]
    for missing in (address("nothing"), address("/etc/passwd"), address("../../etc/passwd")):

        async def read(client: Client, missing: str = missing) -> str:
            with pytest.raises(MCPError) as raised:
                await client.read_resource(missing)
            return str(raised.value)

        assert "contains no document" in asked(server, read)


def test_mcp_server_answers_over_standard_input(path: Path) -> None:
    async def work() -> tuple[list[str], Any]:
        async with Client(StdioServerParameters(command=PROGRAM, args=["mcp", str(path)])) as client:
            names = [one.name for one in (await client.list_tools()).tools]
            return names, await client.call_tool("search", {"query": "who gave the plates away?"})

    names, result = asyncio.run(work())
    assert "add_note" not in names
    assert result.structured_content["hits"][0]["citation"]["document"] in ("letters/2", "letters/3")


@asynccontextmanager
async def over_http(address: str, token: str) -> AsyncIterator[Client]:
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    async with (
        # The first answer waits for a model to be loaded, which on a busy machine takes a while.
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, follow_redirects=True, timeout=100) as http,
        Client(streamable_http_client(address, http_client=http)) as client,
    ):
        yield client


def status(address: str, **headers: str) -> int:
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).encode()
    given = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream", **headers}
    try:
        with urllib.request.urlopen(urllib.request.Request(address, body, given), timeout=20) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


@pytest.mark.long
def test_mcp_over_http_requires_the_token(path: Path, tmp_path: Path) -> None:
    command = [PROGRAM, "mcp", str(path), "--http", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=tmp_path) as server:
        assert server.stdout is not None
        said = "".join(server.stdout.readline() for _ in range(4))
        try:
            served = json.loads(said)
            assert served["address"].startswith("http://127.0.0.1:")
            assert len(served["token"]) >= 16

            async def work() -> Any:
                async with over_http(served["address"], served["token"]) as client:
                    return await asyncio.gather(
                        *(client.call_tool("search", {"query": f"dome {n}"}) for n in range(6)),
                        client.call_tool("stats", {}),
                    )

            answers = asyncio.run(work())
            assert not any(one.is_error for one in answers)
            assert answers[-1].structured_content["documents"] == len(TEXTS)
            good = {"Authorization": f"Bearer {served['token']}"}
            assert status(served["address"]) == 401
            assert status(served["address"], Authorization="Bearer wrong") == 401
            assert status(served["address"], Authorization=served["token"]) == 401
            assert status(served["address"], **good, Host="evil.example") in (403, 421)
            assert status(served["address"], **good, Origin="http://evil.example") == 403
        finally:
            server.terminate()
            server.wait(30)


def test_mcp_over_http_refuses_other_hosts_and_short_tokens(opened: Monograph) -> None:
    token = "a-token-of-many-signs"
    for host in ("0.0.0.0", "192.168.1.1", "example", "::"):
        with pytest.raises(InputError):
            serve_http(opened, token, host=host)
    with pytest.raises(InputError, match="16"):
        serve_http(opened, "short")
    import socket

    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(InputError, match="cannot be used"):
        serve_http(opened, token, port=taken.getsockname()[1])


def test_tool_texts_are_cut_at_their_token_limit() -> None:
    text = "Zürich 😀 telescope " * 50
    for room in (1, 5, 40, 10_000):
        kept = shortened(text, room)
        assert text.startswith(kept)
        assert len(kept) == 1 or count_tokens([kept])[0] <= room
        if len(kept) < len(text):
            assert count_tokens([text[: len(kept) + 8]])[0] > room
    assert shortened("short", 100) == "short"
    assert fitting([], 10) == ([], 0)
