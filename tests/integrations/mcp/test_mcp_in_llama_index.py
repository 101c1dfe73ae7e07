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


async def used(client: Any) -> None:
    """Use each tool, and read a resource. The tests of the server check more of what the replies contain."""
    asked: dict[str, dict[str, Any]] = {
        "search": {"query": "who cleaned the telescope?", "k": 40},
        "read": {"document": "long"},
        "outline": {"layers": 6},
        "entity": {"name": "Tobias Renk", "hops": 2, "limit": 50},
        "paths": {"name": "Tobias Renk", "other": "Peter Okafor"},
        "stats": {},
    }
    tools = {one.metadata.name: one for one in await mcp.McpToolSpec(client).to_tool_list_async()}
    assert set(tools) == set(asked)
    assert "query" in json.loads(tools["search"].metadata.fn_schema_str)["properties"]
    replies = {}
    for name, arguments in asked.items():
        limit = {} if name == "stats" else {"max_tokens": ROOM}
        reply, failed = replied(await tools[name].acall(**arguments, **limit))
        assert not failed, name
        assert count_tokens([json.dumps(reply, ensure_ascii=False)])[0] <= ROOM + 150, name
        replies[name] = reply
    assert replies["search"]["hits"][0]["citation"]["document"] == "long"
    assert replies["search"]["left_out"] > 0
    assert all('"document":' in json.dumps(replies[name]) for name in ("search", "read", "entity", "paths"))
    assert replies["paths"]["paths"][0]["entities"] == ["Tobias Renk", "Anna Calder", "Peter Okafor"]
    assert replies["stats"]["documents"] == 3
    reply, failed = replied(await tools["read"].acall(document="nothing"))
    assert failed
    assert "contains no document" in reply["said"]
    (resource,) = [one for one in (await client.list_resources()).resources if one.title == "To Vienna"]
    assert (await client.read_resource(resource.uri)).contents[0].text.startswith("Tobias Renk met")


@pytest.mark.long
def test_llama_index_uses_mcp_tools_over_standard_input(path: Path) -> None:
    """Every call is a session, and a server, of its own."""
    asyncio.run(used(mcp.BasicMCPClient(PROGRAM, args=["mcp", str(path)])))


@pytest.mark.long
def test_llama_index_uses_mcp_tools_over_http(path: Path) -> None:
    with over_http(path) as client:
        asyncio.run(used(client))
