"""Commands ``ask``, ``chat`` and ``context``, with a model behind a socket and without a model."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from monograph import Document, Monograph
from support.forks import COMMANDS
from support.model_server import ModelServer
from support.paths import EXAMPLES

COMET = "Ines Okafor found the comet on the eleventh of April in 1963."
QUESTION = "Who found the comet?"


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("asked") / "notes.mono"
    with Monograph.open(path) as monograph:
        monograph.add(
            [
                Document(f"It was cold. {COMET} She wrote to Vienna.", id="log", title="Logbook", uri="log.md"),
                Document("Mrs Grubb serves the boiler.\x1b[2J", id="b", title="Boiler", uri="boiler.md", metadata={"year": 1970}),
            ]
        )  # fmt: skip
    return path


def run(*arguments: object, code: int = 0, said: str = "") -> tuple[str, str]:
    """Run a command, check its exit code, and return its standard output and standard error."""
    done = COMMANDS.run("monograph", *arguments, said=said)
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout, done.stderr


def model(server: ModelServer) -> tuple[str, str]:
    return "--model", f"openai:{server.url}#tiny"


def test_ask_command_answers_with_a_model(file: Path, server: ModelServer) -> None:
    out, _ = run("ask", file, QUESTION, *model(server), "--explain", "--api-key", "secret")
    assert out.startswith(f"{COMET} [1]\n")
    assert "[1] Logbook  log.md · characters 0–" in out
    assert "tokens read" in out
    assert server.asked[0].token == "secret"
    out, _ = run("ask", file, QUESTION, *model(server), "--explain")
    assert "cached" in out
    assert server.calls == 1
    answer = json.loads(run("ask", file, "Who found the comet in 1963?", *model(server), "--json")[0])
    assert answer["citations"][0]["spans"][0]["document_id"] == "log"
    assert answer["seconds"]["first_token"] > 0
    assert "hits" not in answer["context"]


def test_ask_command_quotes_without_a_model(file: Path) -> None:
    out, _ = run("ask", file, QUESTION)
    assert COMET in out
    assert "No model is set" in out
    assert out.startswith("» ")
    assert "most likely: " in out
    quoted = json.loads(run("ask", file, QUESTION, "--json")[0])
    assert COMET in quoted["best"]["span"]["text"]
    assert quoted["best"]["within"]["text"] == "Ines Okafor"
    assert 0 < quoted["best"]["confidence"] <= quoted["confidence"] <= 1
    refused = json.loads(run("ask", file, QUESTION, "--threshold", "1", "--json")[0])
    assert (refused["abstained"], refused["best"], refused["confidence"]) == (True, None, quoted["confidence"])
    assert "threshold is 2" in run("ask", file, QUESTION, "--threshold", "2", code=2)[1]
    assert run("context", file, QUESTION, "--threshold", "1")[0].strip() == "nothing found"
    answer = json.loads(run("ask", file, "What did the king of Denmark eat?", "--json")[0])
    assert (answer["abstained"], answer["model"]) == (True, "")
    out, _ = run("ask", file, "Who serves the boiler?", "-w", "year >= 1970")
    assert "\x1b" not in out
    assert "Mrs Grubb" in out


def test_ask_command_reports_a_failing_model(file: Path, server: ModelServer) -> None:
    server.fail("cut half", times=9)
    out, err = run("ask", file, "Who found the comet then?", *model(server), code=1)
    assert out.startswith("Ines Okafor")
    assert "broke off" in err
    assert "sources" not in out
    server.heal()
    server.fail(404, times=9)
    fault = json.loads(run("ask", file, "Who found the comet now?", *model(server), "--json", code=1)[0])
    assert fault["kind"] == "ModelUnavailable"
    out, err = run("ask", file, QUESTION, "--model", "gpt", code=2)
    assert "openai:BASE_URL#MODEL" in err


def test_context_command_packs_hits(file: Path) -> None:
    text, _ = run("context", file, QUESTION, "--budget", 60)
    assert COMET in text
    assert text.startswith("=====")
    packed = json.loads(run("context", file, QUESTION, "--json")[0])
    assert packed["tokens"] <= packed["budget"] == 1000
    assert packed["citations"][0]["title"] == "Logbook"
    assert "**[1] Logbook**" in run("context", file, QUESTION, "--markdown")[0]
    assert run("context", file, QUESTION, "--prompt")[0].rstrip().endswith("Answer:")
    assert run("context", file, "zzz", "-w", "year >= 2000")[0].strip() == "nothing found"
    assert "budget is 0" in run("context", file, QUESTION, "--budget", 0, code=2)[1]
    assert "orders are relevance, edges" in run("context", file, QUESTION, "--order", "best", code=2)[1]


def test_context_command_warns_of_irrelevant_hits(file: Path) -> None:
    text, said = run("context", file, "What did the king of Denmark eat?")
    assert text.startswith("=====")
    assert said.startswith("nothing relevant was found; the nearest passages:")
    assert run("context", file, QUESTION)[1] == ""


@pytest.mark.parametrize("command", ["search", "ask", "context"])
def test_query_is_read_from_standard_input(command: str, file: Path) -> None:
    assert COMET in run(command, file, "-", said=f"\ufeff{QUESTION}\n")[0]
    assert "standard input is empty" in run(command, file, "-", code=2, said=" \n")[1]
    program = [sys.executable, "-m", "monograph.app.cli", command, str(file), "-"]
    done = subprocess.run(program, input=b"\xff\xfe", capture_output=True, check=False)
    assert done.returncode == 2
    assert b"is not UTF-8" in done.stderr
    assert b"Traceback" not in done.stderr


def test_chat_command_answers_with_a_model(file: Path, server: ModelServer) -> None:
    lines = [
        "/why",
        "What did Ines Okafor find?",
        "When was it?",
        "/sources",
        "/open 1",
        "/open 7",
        "/why",
        "/what",
        "/new",
        "/quit",
        "x",
    ]
    out, _ = run("chat", file, *model(server), said="\n".join(lines))
    assert out.startswith("no question was asked yet\n")
    assert "searched for: When was it? (Ines Okafor)" in out
    assert "▶ 1 of 1  0-" in out
    assert "/open takes a number from 1 to" in out
    assert out.count("/sources  /open N") == 1
    assert "lexical #1" in out
    assert server.calls == 3


def test_chat_continues_after_a_failing_model(file: Path, server: ModelServer) -> None:
    server.fail("error half", times=1)
    out, err = run("chat", file, *model(server), said="Who found this comet?\nWho found that comet?\n")
    assert "ran out of memory" in err
    assert f"{COMET} [1]" in out


def test_chat_without_a_model_carries_names_forward(file: Path) -> None:
    out, _ = run("chat", file, "--json", said="What did Ines Okafor find?\nWhen was it?\n\n")
    first, second = map(json.loads, out.splitlines())
    assert first["query"] == "What did Ines Okafor find?"
    assert second["query"].startswith("When was it? (Ines Okafor)")
    assert COMET in second["text"]


def test_scripted_model_runs_as_a_program(file: Path) -> None:
    script = EXAMPLES / "model" / "scripted_model.py"
    process = subprocess.Popen([sys.executable, str(script), "--port", "0"], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        spec = process.stdout.readline().strip().removeprefix("--model ").strip('"')
        assert f"{COMET} [1]" in run("ask", file, "Who, in 1963, found the comet?", "--model", spec)[0]
    finally:
        process.terminate()
        process.communicate()
