"""Tools for agents: the same to LlamaIndex, LangChain and MCP; notes that an agent may take back; what it is not told."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

for package in ("mcp", "llama_index.core", "langchain_core"):
    pytest.importorskip(package, reason="an extra is not installed")

from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp.types import TextContent

from langchain_monograph import MonographToolkit
from llama_index.tools.monograph import MonographToolSpec
from monograph import Document, Monograph, Passage
from monograph.derive.loading import load_extractor
from monograph.errors import (
    BusyFile,
    DamagedFile,
    InvalidFilter,
    MissingExtra,
    ModelMismatch,
    MonographError,
    NotFound,
    ReadOnlyFile,
    StorageFull,
)
from monograph_mcp import make_server
from monograph_tools import for_agents
from monograph_tools.notes import note_id

NOTE = {"text": "The lathe was sold in 1971 to Otto Ruhl.", "title": "Lathe"}


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[Monograph]:
    texts = tmp_path / "texts"
    texts.mkdir()
    (texts / "letter.md").write_text("# Letter\n\nMrs Grubb wrote to Tobias Renk about the boiler in Salzburg.\n")
    place = tmp_path / "secret place"
    place.mkdir()
    with Monograph.open(place / "letters.mono") as monograph:
        monograph.sync(texts)
        monograph.add([Document("Tobias Renk met Anna Calder in Vienna.", id="given", title="To Vienna")])
        yield monograph


def by_mcp(monograph: Monograph) -> Callable[..., tuple[bool, str]]:
    def call(tool: str, /, **arguments: Any) -> tuple[bool, str]:
        async def work() -> Any:
            async with Client(make_server(monograph, notes=True)) as client:
                return await client.call_tool(tool, arguments)

        result = asyncio.run(work())
        return not result.is_error, str(result.content[0].text)

    return call


def by_langchain(monograph: Monograph) -> Callable[..., tuple[bool, str]]:
    tools = {one.name: one for one in MonographToolkit(monograph=monograph, notes=True).get_tools()}

    def call(tool: str, /, **arguments: Any) -> tuple[bool, str]:
        message = tools[tool].invoke({"type": "tool_call", "id": "1", "name": tool, "args": arguments})
        return message.status == "success", str(message.content)

    return call


def by_llama_index(monograph: Monograph) -> Callable[..., tuple[bool, str]]:
    tools = {one.metadata.name: one for one in MonographToolSpec(monograph, notes=True).to_tool_list()}

    def call(tool: str, /, **arguments: Any) -> tuple[bool, str]:
        said = str(tools[tool].call(**arguments).content)
        return not said.startswith("error: "), said.removeprefix("error: ")

    return call


WAYS = {"mcp": by_mcp, "langchain": by_langchain, "llama-index": by_llama_index}


def listed(monograph: Monograph) -> list[Any]:
    async def work() -> Any:
        async with Client(make_server(monograph, notes=True)) as client:
            return (await client.list_tools()).tools

    return list(asyncio.run(work()))


def test_tools_are_described_alike_on_every_surface(archive: Monograph) -> None:
    archive.tree.rebuild()
    served = {one.name: (one.description, one.input_schema) for one in listed(archive)}
    toolkit = {
        one.name: (one.description, one.get_input_jsonschema())
        for one in MonographToolkit(monograph=archive, notes=True).get_tools()
    }
    spec = {
        one.metadata.name: (one.metadata.description, one.metadata.get_parameters_dict()["properties"])
        for one in MonographToolSpec(archive, notes=True).to_tool_list()
    }
    properties = {name: (said, schema["properties"]) for name, (said, schema) in served.items()}
    assert {name: (said, schema["properties"]) for name, (said, schema) in toolkit.items()} == properties == spec
    assert len(served) == 9
    assert all(schema["additionalProperties"] is False for _, schema in [*served.values(), *toolkit.values()])
    for name, (description, fields) in properties.items():
        assert 40 < len(description) < 130, name
        assert not re.search(r"typing|Annotated|FieldInfo|->|\(.*:", description + json.dumps(fields)), name
        assert all(len(one.get("description", "")) < 100 for one in fields.values())


def test_llama_index_tool_accepts_a_custom_description(archive: Monograph) -> None:
    from llama_index.core.tools import ToolMetadata

    own = {"search": ToolMetadata(name="look_up", description="Look up a letter.")}
    (tool,) = MonographToolSpec(archive).to_tool_list(["search"], own)
    assert (tool.metadata.name, tool.metadata.description) == ("look_up", "Look up a letter.")
    assert "Renk" in str(tool.call(query="who met Anna Calder?").content)


FAULTS: list[tuple[str, dict[str, Any]]] = [
    ("search", {"query": "x", "how": "tree"}),
    ("search", {"query": "x", "how": "sideways"}),
    ("search", {"query": "x", "where": {"a": {"~": 1}}}),
    ("read", {"document": "nothing"}),
    ("read", {"document": "given", "start": 10_000}),
    ("outline", {"node": "ffffffff"}),
    ("entity", {"name": "Nobody Here"}),
    ("entity", {"name": "zzz"}),
    ("paths", {"name": "Tobias Renk", "other": "Nobody Here"}),
    ("add_note", {"text": " \n"}),
    ("change_note", {"note": "nothing", "text": "x"}),
    ("change_note", {"note": "given", "text": "x"}),
    ("forget_note", {"note": "nothing"}),
    ("forget_note", {"note": "given"}),
]
COMMAND = re.compile(r"monograph [a-z]|pip |--\w|Monograph\.")


@pytest.mark.parametrize("way", WAYS)
def test_agent_is_told_its_errors(archive: Monograph, way: str) -> None:
    summaries = archive.path.with_name("tree.mono")
    for tool, arguments in FAULTS:
        if tool == "outline":
            with Monograph.open(summaries) as grown:
                grown.add([Document("Anna Calder gave the plates to Peter Okafor.")])
                grown.tree.rebuild()
                well, said = WAYS[way](grown)(tool, **arguments)
        else:
            well, said = WAYS[way](archive)(tool, **arguments)
        assert not well, tool
        assert len(said) > 10
        assert "secret place" not in said
        assert str(archive.path.parent.parent) not in said
        assert not COMMAND.search(said), said


@pytest.mark.parametrize("way", WAYS)
def test_tools_refuse_unknown_and_wrong_arguments(archive: Monograph, way: str) -> None:
    call = WAYS[way](archive)
    before = archive.stats().documents
    for tool, arguments, named in (
        ("search", {"query": "boiler", "filter": {"kind": "note"}}, "'filter': there is no such argument"),
        ("search", {"query": "boiler", "k": -3}, "'k': "),
        ("search", {"query": "", "max_tokens": 10**30}, "'max_tokens': "),
        ("read", {}, "'document': "),
        ("add_note", {"text": "Kumquat.", "ttl": 3}, "'ttl': there is no such argument"),
        ("entity", {"name": "x", **{f"x{n}": n for n in range(9)}}, "; and 4 more"),
    ):
        well, said = call(tool, **arguments)
        assert not well
        assert named in said
        assert "pydantic" not in said
    assert archive.stats().documents == before
    assert call("search", query="boiler", k="1", where={"kind": "note"})[0]


def test_core_errors_name_paths_and_commands(archive: Monograph) -> None:
    """What the core says of the same, to people."""
    for work in (
        lambda: archive.search("x", how="tree"),
        lambda: archive.document("nothing"),
        lambda: archive.graph.neighbourhood("zzz"),
    ):
        with pytest.raises(MonographError) as caught:
            work()
        assert "secret place" in str(caught.value)
        assert COMMAND.search(str(caught.value))


def test_error_that_an_agent_cannot_repair_is_hidden(
    archive: Monograph, server: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """Its words are few, and whoever serves the file finds all of it in the log."""
    received = archive.path.with_name("received.mono")
    with Monograph.open(received, extractor=load_extractor(f"llm:openai:{server.url}#x")) as theirs:
        theirs.add([Document("A shared archive about Anna Karenina.")])
    calls = server.calls
    with Monograph.open(received) as opened, caplog.at_level(logging.WARNING):
        well, said = by_mcp(opened)("add_note", **NOTE)
    assert not well
    assert "model" in said
    assert server.url not in said
    assert server.calls == calls
    assert server.url in caplog.text
    assert "trusted=" in caplog.text
    with Monograph.open(archive.path, read_only=True) as only_read:
        well, said = by_mcp(only_read)("add_note", **NOTE)
    assert not well
    assert said.endswith(for_agents(ReadOnlyFile("x"), archive.path))
    closed = Monograph.open(archive.path)
    server_of_a_closed_file = make_server(closed, notes=True)
    closed.close()

    async def work() -> tuple[str, str]:
        async with Client(server_of_a_closed_file) as client:
            result = await client.call_tool("search", {"query": "x"})
            with pytest.raises(MCPError) as caught:
                await client.read_resource("monograph://document/given")
            (content,) = result.content
            assert isinstance(content, TextContent)
            return content.text, str(caught.value)

    for said in asyncio.run(work()):
        assert "closed" in said
        assert "secret place" not in said


def test_errors_for_agents_name_no_path_or_command(tmp_path: Path) -> None:
    path = tmp_path / "x.mono"
    for kind in (BusyFile, DamagedFile, MissingExtra, ModelMismatch, StorageFull, MonographError):
        said = for_agents(kind(f"{path} is in trouble", f"monograph check {path} --repair"), path)
        assert str(tmp_path) not in said
        assert not COMMAND.search(said)
        assert said.endswith(")")
    for kind in (NotFound, InvalidFilter):
        said = for_agents(kind(f"{path} has no such thing", f"monograph check {path} --repair"), path)
        assert said.startswith("the file has no such thing")
        assert not COMMAND.search(said)
    assert for_agents(InvalidFilter("bad", "write {key: value}"), path) == "bad (write {key: value})"


@pytest.mark.parametrize("way", WAYS)
def test_a_note_is_corrected_and_forgotten(archive: Monograph, way: str) -> None:
    call = WAYS[way](archive)

    def done(tool: str, /, **arguments: Any) -> dict[str, Any]:
        well, said = call(tool, **arguments)
        assert well, said
        return dict(json.loads(said))

    before = {one.id for one in archive.documents()}
    first = done("add_note", **NOTE)
    assert done("add_note", **NOTE) == {**first, "new": False}
    written = archive.document(first["document"]).metadata["written"]
    corrected = done("change_note", note=first["document"], text="The lathe was sold in 1972.", title="Lathe")
    assert corrected["new"] is True
    assert corrected["document"] != first["document"]
    assert archive.document(corrected["document"]).text == "The lathe was sold in 1972."
    metadata = archive.document(corrected["document"]).metadata
    assert (metadata["kind"], metadata["written"]) == ("note", written)
    assert metadata["changed"] >= written
    assert {one.id for one in archive.documents()} == before | {corrected["document"]}
    found = done("search", query="when was the lathe sold?", where={"kind": "note"})["hits"]
    assert [one["citation"]["document"] for one in found] == [corrected["document"]]
    same = done("change_note", note=corrected["document"], text="The lathe was sold in 1972.", title="Lathe")
    assert same == {**corrected, "new": False}
    well, _ = call("change_note", note=first["document"], text="again")
    assert not well
    other = done("add_note", text="Kumquat is the word.")
    merged = done("change_note", note=corrected["document"], text="Kumquat is the word.")
    assert (merged["document"], merged["new"]) == (other["document"], False)
    assert {one.id for one in archive.documents()} == before | {other["document"]}
    assert done("forget_note", note=other["document"]) == {"document": other["document"], "traces": False}
    assert {one.id for one in archive.documents()} == before
    left = b"".join(one.read_bytes() for one in archive.path.parent.glob("letters.mono*"))
    assert b"Kumquat" not in left
    assert b"kumquat" not in left
    assert archive.check() == []


def test_nothing_but_notes_is_changed_or_forgotten(archive: Monograph) -> None:
    call = by_mcp(archive)
    note = json.loads(call("add_note", **NOTE)[1])["document"]
    assert "blank" in call("change_note", note=note, text="  ")[1]
    assert archive.document(note).text == NOTE["text"]
    (synced,) = [one.id for one in archive.documents() if one.id not in ("given", note)]
    archive.add(
        [
            Document("Looks like one.", id="note/like", title="Like", metadata={"kind": "note", "written": "2031"}),
            Document("Has the id of one.", id=note_id("", "Has the id of one.")),
            Document(id="note/pages", passages=(Passage("First."),), metadata={"kind": "note", "written": "2031"}),
        ]
    )
    before = {one.id: archive.document(one.id) for one in archive.documents()}
    for name in [*(before.keys() - {note}), archive.document(synced).uri]:
        for tool, arguments in (("change_note", {"text": "Mine."}), ("forget_note", {})):
            well, said = call(tool, note=name, **arguments)
            assert not well
            assert "is not a note" in said
    assert {one.id: archive.document(one.id) for one in archive.documents()} == before


@pytest.mark.long
def test_forget_note_reports_traces_while_another_process_reads(
    archive: Monograph, monkeypatch: pytest.MonkeyPatch
) -> None:
    from monograph.store.file import database

    monkeypatch.setattr(database, "BUSY_SECONDS", 0.1)
    with Monograph.open(archive.path) as opened:
        call = by_mcp(opened)
        note = json.loads(call("add_note", **NOTE)[1])["document"]
        reading, done = threading.Event(), threading.Event()

        def read() -> None:
            with closing(sqlite3.connect(archive.path, isolation_level=None)) as rows:
                rows.execute("BEGIN")
                rows.execute("SELECT count(*) FROM documents").fetchone()
                reading.set()
                done.wait(60)

        thread = threading.Thread(target=read)
        thread.start()
        reading.wait(60)
        try:
            well, said = call("forget_note", note=note)
        finally:
            done.set()
            thread.join()
        assert (well, json.loads(said)) == (True, {"document": note, "traces": True})
        assert note not in {one.id for one in opened.documents()}


def test_writing_tools_are_annotated_as_writing(archive: Monograph) -> None:
    said = {one.name: one.annotations for one in listed(archive)}
    assert {name for name, one in said.items() if not one.read_only_hint} == {"add_note", "change_note", "forget_note"}
    assert {name for name, one in said.items() if one.destructive_hint} == {"change_note", "forget_note"}
    assert (said["add_note"].read_only_hint, said["add_note"].destructive_hint) == (False, False)
