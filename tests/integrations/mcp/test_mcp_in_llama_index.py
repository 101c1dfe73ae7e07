"""The server for agents, asked through LlamaIndex's own client: over standard input, and over HTTP."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

mcp = pytest.importorskip("llama_index.tools.mcp", reason="llama-index-tools-mcp is not installed")

from monograph import Document, Monograph, count_tokens
from monograph.derive.loading import load_summarizer

PROGRAM = str(Path(sys.executable).parent / "monograph")
ROOM = 500
NAMES = {"search", "read", "outline", "entity", "paths", "stats"}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("mcp") / "letters.mono"
    long = "\n\n".join(f"Part {n}: Tobias Renk cleaned the telescope in dome {n}." for n in range(300))
    with Monograph.open(made, summarizer=load_summarizer("extractive")) as monograph:
        monograph.add(
            [
                Document("Tobias Renk met Anna Calder in Vienna.", id="letters/1", title="To Vienna"),
                Document("Anna Calder gave the plates to Peter Okafor.", id="letters/2", title="The plates"),
                Document(long, id="long", title="Long"),
            ]
        )
    return made


@contextmanager
def over_http(path: Path) -> Iterator[Any]:
    command = [PROGRAM, "mcp", str(path), "--http", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            served = json.loads("".join(server.stdout.readline() for _ in range(4)))
            yield mcp.BasicMCPClient(served["address"], headers={"Authorization": f"Bearer {served['token']}"})
        finally:
            server.terminate()
            server.wait(30)


def replied(output: Any) -> tuple[dict[str, Any], bool]:
    result = output.raw_output
    return dict(result.structured_content or {"said": result.content[0].text}), bool(result.is_error)


@pytest.mark.long
def test_llama_index_uses_mcp_tools_over_standard_input(path: Path) -> None:
    """Every call is a session, and a server, of its own."""

    async def work(client: Any) -> tuple[set[str], Any]:
        tools = {one.metadata.name: one for one in await mcp.McpToolSpec(client).to_tool_list_async()}
        return set(tools), await tools["search"].acall(query="who cleaned the telescope?", k=40, max_tokens=ROOM)

    names, output = asyncio.run(work(mcp.BasicMCPClient(PROGRAM, args=["mcp", str(path)])))
    assert names == NAMES
    reply, failed = replied(output)
    assert not failed
    assert count_tokens([json.dumps(reply, ensure_ascii=False)])[0] <= ROOM + 150
    assert reply["hits"][0]["citation"]["document"] == "long"


@pytest.mark.long
def test_every_tool_and_every_limit_over_http(path: Path) -> None:
    asked: dict[str, dict[str, Any]] = {
        "search": {"query": "who cleaned the telescope?", "k": 40},
        "read": {"document": "long"},
        "outline": {"layers": 6},
        "entity": {"name": "Tobias Renk", "hops": 2, "limit": 50},
        "paths": {"name": "Tobias Renk", "other": "Peter Okafor"},
    }

    async def work(client: Any) -> dict[str, tuple[dict[str, Any], bool]]:
        tools = {one.metadata.name: one for one in await mcp.McpToolSpec(client).to_tool_list_async()}
        assert set(tools) == NAMES
        assert "query" in json.loads(tools["search"].metadata.fn_schema_str)["properties"]
        found = {
            name: replied(await tools[name].acall(**arguments, max_tokens=ROOM)) for name, arguments in asked.items()
        }
        found["stats"] = replied(await tools["stats"].acall())
        found["nothing"] = replied(await tools["read"].acall(document="nothing"))
        (resource,) = [one for one in (await client.list_resources()).resources if one.title == "To Vienna"]
        assert (await client.read_resource(resource.uri)).contents[0].text.startswith("Tobias Renk met")
        return found

    with over_http(path) as client:
        found = asyncio.run(work(client))
    assert {name for name, (_, failed) in found.items() if failed} == {"nothing"}
    assert "contains no document" in found["nothing"][0]["said"]
    for name in asked:
        reply = found[name][0]
        assert count_tokens([json.dumps(reply, ensure_ascii=False)])[0] <= ROOM + 150, name
        assert '"document":' in json.dumps(reply) or name == "outline"
    with Monograph.open(path, read_only=True) as monograph:
        for hit in found["search"][0]["hits"]:
            cited = hit["citation"]
            whole = monograph.document(cited["document"]).text[cited["start"] : cited["end"]]
            assert whole.startswith(hit["text"].removesuffix(" […]"))
    assert found["search"][0]["left_out"] > 0
    assert found["paths"][0]["paths"][0]["entities"] == ["Tobias Renk", "Anna Calder", "Peter Okafor"]
    assert found["stats"][0]["documents"] == 3
