"""Examples run from a copy, in an empty folder, without a network."""

from __future__ import annotations

import functools
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from support.model_server import ModelServer
from support.paths import EXAMPLES

TEXTS = EXAMPLES / "texts"
SCRIPTS = sorted(path.name for path in EXAMPLES.glob("*.py"))
# Creation of sockets is allowed: urllib3 creates one at import to check for IPv6.
OFFLINE = """
import os, runpy, sys
FORBIDDEN = {"socket." + name for name in (
    "connect", "getaddrinfo", "gethostbyaddr", "gethostbyname", "getnameinfo", "sendmsg", "sendto"
)}
def refuse(event, arguments):
    if event in FORBIDDEN:
        print("REFUSED", event, arguments, file=sys.stderr, flush=True)
        os._exit(99)  # not an exception, which could be caught
sys.addaudithook(refuse)
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def copy_examples(place: Path) -> tuple[Path, Path]:
    """Return a copy of the examples, in a path with a space, and an empty folder."""
    empty = place / "somewhere else"
    empty.mkdir()
    ignored = shutil.ignore_patterns("__pycache__")
    return shutil.copytree(EXAMPLES, place / "a copy" / "examples", ignore=ignored), empty


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], list[str]]:
    """Function that runs an example once, asserts that it changes no example file, and returns its printed lines."""

    def files(folder: Path) -> dict[Path, bytes]:
        return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}

    @functools.cache
    def run_once(name: str) -> list[str]:
        copied, empty = copy_examples(tmp_path_factory.mktemp("example"))
        before = files(copied)
        said = run(copied / name, empty)
        assert files(copied) == before
        assert {path.name for path in empty.iterdir()} <= {"demo.mono"}
        return said.splitlines()

    return run_once


def run(script: Path, folder: Path) -> str:
    """Return the output of a script, and check that its folder of temporary files is empty afterwards."""
    framework = {
        "03": "llama_index.core",
        "04": "langchain_core",
        "06": "langchain_core",
        "07": "llama_index.core",
    }.get(script.name[:2])
    if framework is not None:
        pytest.importorskip(framework, reason="the extra is not installed")
    temporary = folder.parent / "temporary"
    temporary.mkdir(exist_ok=True)
    done = subprocess.run(
        [sys.executable, "-c", OFFLINE, str(script)],
        cwd=folder,
        env={**os.environ, "TMPDIR": str(temporary), "TEMP": str(temporary), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, f"{script.name}\n{done.stdout}\n{done.stderr}"
    assert list(temporary.iterdir()) == []
    return done.stdout


def test_offline_wrapper_refuses_connections(tmp_path: Path) -> None:
    script = tmp_path / "call.py"
    script.write_text(
        "import socket\ntry:\n    socket.create_connection(('127.0.0.1', 9))\nexcept BaseException:\n    pass\n"
    )
    done = subprocess.run([sys.executable, "-c", OFFLINE, str(script)], capture_output=True, text=True, check=False)
    assert done.returncode == 99
    assert "REFUSED socket." in done.stderr


def test_every_example_has_a_test() -> None:
    assert SCRIPTS == [
        "01_first_search.py",
        "02_edit_and_remove.py",
        "03_llama_index.py",
        "04_langchain.py",
        "05_ask.py",
        "06_agent_with_memory.py",
        "07_chats.py",
        "demo.py",
    ]


@pytest.mark.parametrize("name", SCRIPTS)
@pytest.mark.long
def test_example_changes_no_files_outside_its_result(name: str, ran: Callable[[str], list[str]]) -> None:
    assert ran(name)


def test_first_search_example_cites_its_hits(ran: Callable[[str], list[str]]) -> None:
    said = ran("01_first_search.py")
    assert re.fullmatch(r"\d+ documents, \d+ chunks", said[0])
    assert any(
        re.match(r"\d\. Logbook, spring 1963: the comet: .*1963-comet\.md, characters \d+ to \d+", line)
        for line in said
    )
    assert "INV-2031 stands in invoices-1968" in said


@pytest.mark.long
def test_edit_example_embeds_only_changes_and_leaves_no_trace(ran: Callable[[str], list[str]]) -> None:
    said = ran("02_edit_and_remove.py")
    assert int(said[0].split()[2]) > 20
    assert said[1:4] == ["again: 0 embedded", "the plan: 1 changed, 1 to embed", "done: 1 embedded"]
    assert said[4] == "found: The key to the cellar hangs behind the clock."
    assert said[5:] == ["a trace of the note in the file: False", "faults: []"]


@pytest.mark.long
def test_llama_index_example_prints_sources(ran: Callable[[str], list[str]]) -> None:
    said = ran("03_llama_index.py")
    found = [re.fullmatch(r"-?\d+\.\d{3} .+: (\S+)", line) for line in said[:3]]
    paths = [match[1] for match in found if match is not None]
    assert len(paths) == 3
    assert said[3] == f"sources: {paths}"
    assert "logbook/1965-winter.md" in paths


@pytest.mark.long
def test_agent_example_remembers_a_new_note(ran: Callable[[str], list[str]]) -> None:
    said = ran("06_agent_with_memory.py")
    assert re.fullmatch(r"found in '.+', characters \d+ to \d+", said[0])
    assert said[1] == "new note: True"
    assert said[2].startswith("remembered: The generator was repaired in winter")


@pytest.mark.long
def test_chats_example_prints_sources(ran: Callable[[str], list[str]]) -> None:
    said = ran("07_chats.py")
    assert said[0].startswith("» ")
    assert said[said.index("") + 1].startswith("[1] 2031-06-07, MiraHolm, AnaPrado, JonasVeit: Launch is moved")
    assert any("because the crane is under repair" in line for line in said)
    assert any(re.fullmatch(r"\[1\] 2031-06-07, .+, characters 0 to \d+", line) for line in said)


@pytest.mark.long
def test_chats_example_answers_with_a_model(tmp_path: Path) -> None:
    pytest.importorskip("llama_index.core", reason="the extra is not installed")
    copied, _ = copy_examples(tmp_path)
    with ModelServer() as server:
        model = f"openai:{server.url}#scripted"
        command = [sys.executable, str(copied / "07_chats.py"), "Why was the launch moved?", "--model", model]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    answer, source = done.stdout.splitlines()
    assert answer.endswith("because the crane is under repair. [1]")
    assert re.match(r"\[1\] 2031-06-07, .+, characters 0 to ", source)
    assert server.calls == 1


@pytest.mark.long
def test_langchain_example_answers_with_its_source(ran: Callable[[str], list[str]]) -> None:
    said = ran("04_langchain.py")
    assert said[:3].count("logbook/1965-winter.md") == 1
    assert said[-1] == "Tobias Renk (logbook/1965-winter.md)."


@pytest.mark.long
def test_ask_example_packs_within_its_budget_and_abstains(ran: Callable[[str], list[str]]) -> None:
    said = ran("05_ask.py")
    counted = re.fullmatch(r"(\d+) of (\d+) tokens", said[0])
    assert counted is not None
    assert int(counted[1]) <= 200 < int(counted[2])
    assert any("Nebula in Orion, interrupted when the generator failed." in line for line in said)
    assert any(line.startswith("sources: ['Plate 4417'") for line in said)
    assert said[-1] == "I don't know."


@pytest.mark.long
def test_demo_and_the_commands_it_suggests_run(tmp_path: Path) -> None:
    copied, empty = copy_examples(tmp_path)
    said = run(copied / "demo.py", empty)
    counts = re.search(
        r"^demo\.mono: (\d+) documents, (\d+) chunks, .* (\d+) embedded in [\d.]+ s$", said, re.MULTILINE
    )
    assert counts is not None
    assert counts[2] == counts[3]
    answers = {block.partition("\n")[0]: block.split("\n")[1] for block in said.split("\n? ")[1:]}
    assert answers["Was INV-2031 paid?"] == "1. invoices-1968"
    assert answers["Wie oft wird die Kuppel geschmiert?"] == "1. anleitung-kuppel"
    assert len(answers) == 4
    typed, _, looked = said.partition("Next, type:\n")[2].partition("And look at it in the browser")
    commands = [line.strip() for line in typed.splitlines()]
    assert len(commands) >= 5
    for command in commands:
        done = subprocess.run(command, shell=True, cwd=empty, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
        assert done.stdout.strip(), command
        assert "nothing found" not in done.stdout
    unchanged = sum(path.is_file() for path in TEXTS.rglob("*"))
    assert f"documents 0 added, 0 changed, 0 removed; files {unchanged} unchanged" in (
        subprocess.run(
            shlex.split(next(command for command in commands if " sync " in command), comments=True),
            cwd=empty, capture_output=True, text=True, check=True,
        ).stdout
    )  # fmt: skip
    again = run(copied / "demo.py", empty)
    assert " 0 embedded in " in again
    pytest.importorskip("fastapi", reason="the extra serve is not installed")
    page = shlex.split(looked.splitlines()[1].removesuffix("--open"))
    with subprocess.Popen(page, stdout=subprocess.PIPE, text=True, cwd=empty) as served:
        try:
            assert served.stdout is not None
            assert served.stdout.readline().startswith("http://127.0.0.1:")
        finally:
            served.kill()
