"""Examples of docs/reference/http.md, and the command ``serve``."""

from __future__ import annotations

import json
import re
import shutil
import socket
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from monograph import Monograph
from support.api_server import Client
from support.paths import ROOT

PROGRAM = str(Path(sys.executable).parent / "monograph")
PAGE = (ROOT / "docs" / "reference" / "http.md").read_text()
TOKEN = "a token of 16 characters or more"


def block(kind: str) -> str:
    (code,) = re.findall(rf"^```{kind}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    return str(code)


@contextmanager
def served(folder: Path, *arguments: str) -> Iterator[str]:
    """Run ``monograph serve`` and yield the address that it prints."""
    with subprocess.Popen([PROGRAM, "serve", *arguments], stdout=subprocess.PIPE, text=True, cwd=folder) as process:
        watchdog = threading.Timer(120, process.kill)
        watchdog.start()
        try:
            assert process.stdout is not None
            line = process.stdout.readline().strip()
            assert re.fullmatch(rf"http://(127\.0\.0\.1|\[::1\]):\d+/#token={TOKEN}", line), line
            yield line.partition("/#")[0]
        finally:
            watchdog.cancel()
            process.kill()


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with a file of the example texts, and set the token in the environment."""
    monkeypatch.setenv("MONOGRAPH_TOKEN", TOKEN)
    shutil.copytree(ROOT / "examples" / "texts", tmp_path / "examples" / "texts")
    with Monograph.open(tmp_path / "archive.mono") as archive:
        archive.sync(tmp_path / "examples" / "texts")
    return tmp_path


def run(command: list[str], folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.mark.long
def test_examples_of_the_http_page_run(place: Path) -> None:
    with served(place, "archive.mono", "--write", "--port", "0") as address:

        def example(kind: str, name: str) -> str:
            path = place / name
            path.write_text(block(kind).replace("http://127.0.0.1:8765", address))
            return str(path)

        said = run([sys.executable, example("python", "example.py")], place)
        assert "done {'added': 0" in said
        assert "Plate 4417" in said
        if shutil.which("node"):
            said = run(["node", example("js", "example.mjs")], place)
            assert "comet" in said
            assert "answer " in said
        if shutil.which("curl"):
            said = run(["bash", "-euo", "pipefail", example("sh", "example.sh")], place)
            assert said.count("Plate 4417") > 3
            assert "event: answer" in said
            assert '"kind":"sync"' in said
            assert (place / "examples" / "texts" / "key.txt").read_text() == "Mrs Grubb has the key of the dome.\n"


@pytest.mark.long
def test_serve_offers_several_files_and_mcp(place: Path) -> None:
    pytest.importorskip("mcp", reason="the extra mcp is not installed")
    (place / "other").mkdir()
    shutil.copy(place / "archive.mono", place / "other" / "archive.mono")
    with served(place, "archive.mono", "other/archive.mono", "--mcp", "--host", "127.0.0.1") as address:
        client = Client(int(address.rpartition(":")[2]), TOKEN)
        settings = client.get("/settings").json
        assert [one["name"] for one in settings["files"]] == ["archive", "archive 2"]
        assert (settings["mcp"], settings["write"]) == (True, False)
        assert client.get("/stats", file="archive 2").json["documents"] == 28
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}})  # fmt: skip
        given = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        for path in ("/mcp", "/mcp/archive-2"):
            reply = client.ask("POST", path, body.encode(), given)
            assert reply.status == 200, reply.body
            assert b"serverInfo" in reply.body
            assert client.ask("POST", path, body.encode(), {**given, "Authorization": ""}).status == 401
            assert client.ask("POST", path, body.encode(), {**given, "Origin": "http://evil.example"}).status == 403
        assert client.ask("POST", "/mcp/none", body.encode(), given).status == 404


def test_serve_binds_the_ipv6_loopback_address(place: Path) -> None:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("this machine has no IPv6")
    with served(place, "archive.mono", "--host", "::1") as address:
        assert address.startswith("http://[::1]:")
        asked = urllib.request.Request(f"{address}/api/v1/stats", headers={"Authorization": f"Bearer {TOKEN}"})
        with urllib.request.urlopen(asked, timeout=60) as answer:
            assert json.load(answer)["documents"] == 28


@pytest.mark.long
def test_serve_command_refuses_bad_arguments(place: Path) -> None:
    for arguments, code, said in (
        (["none.mono"], 1, "does not exist"),
        (["archive.mono", "--host", "0.0.0.0"], 2, "can be reached from other machines"),
        (["archive.mono", "--token", "short"], 2, "at least 16"),
    ):
        done = subprocess.run([PROGRAM, "serve", *arguments], cwd=place, capture_output=True, text=True, check=False)
        assert done.returncode == code
        assert said in done.stderr
