"""Output of commands to a terminal and to a pipe: escaped texts, and progress."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from pathlib import Path

import pytest

from monograph import Document, Monograph, Passage
from monograph.app import output
from monograph.app.output import escape_logs, safe, visible
from monograph.derive.loading import load_summarizer
from monograph.values import Progress
from support.forks import COMMANDS, run

EVIL = "\x1b]0;owned\x07\x9b2J\r\u202eevil"
"""Control characters that rename a window, clear the screen, return to the line start and reverse the text."""
TERMINATED = """
import itertools, os, signal, sys
seen = itertools.count(1)
def hook(event, arguments):
    if event == "open" and str(arguments[0]).endswith(".txt") and next(seen) == 6:
        os.kill(os.getpid(), signal.SIGTERM)
sys.addaudithook(hook)
from monograph.app.cli import main
from monograph.write import apply
apply.BATCH_FILES = 2
main()
"""


@pytest.fixture(scope="module")
def evil(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a file in which every text has control characters."""
    path = tmp_path_factory.mktemp("evil") / "evil.mono"
    metadata = {f"key{EVIL}": f"value{EVIL}", "section": f"section{EVIL}", "page": f"1{EVIL}"}
    text = f"Ines {EVIL} Calder found the comet. Ines Calder met Bruno{EVIL}Okafor in Draco."
    with Monograph.open(path, summarizer=load_summarizer("extractive")) as archive:
        passages = (Passage(text, id=f"passage{EVIL}"),)
        archive.add([Document(text, f"id{EVIL}", f"Title{EVIL}", f"uri{EVIL}", metadata, passages=passages)])
    return path


def assert_harmless(said: str) -> None:
    assert [one for one in said if not one.isprintable() and one != "\n"] == [], repr(said)


@pytest.mark.parametrize(
    "arguments",
    [
        ("search", "comet", "--explain"),
        ("search", "comet", "--json"),
        ("show",),
        ("show", f"id{EVIL}"),
        *(
            pytest.param(one, marks=pytest.mark.long)
            for one in (
                ("ask", "who found the comet?", "--explain"),
                ("ask", "who found the comet?", "--json"),
                ("context", "comet"),
                ("context", "comet", "--markdown"),
                ("context", "comet", "--prompt"),
                ("entities", "--why"),
                ("graph", "Ines Calder"),
                ("graph", "Ines Calder", "--json"),
                ("outline", "--layers", "3"),
                ("show", f"id{EVIL}", "--json"),
                ("stats",),
                ("costs",),
                ("sources",),
            )
        ),
    ],
    ids=" ".join,
)
def test_commands_escape_control_characters_of_documents(arguments: tuple[str, ...], evil: Path) -> None:
    command, *others = arguments
    assert_harmless(run(command, evil, *others))


@pytest.mark.parametrize(
    "arguments",
    [
        ("show", f"none{EVIL}"),
        ("search", "comet", "--how", EVIL),
        ("search", "comet", EVIL),
        *(
            pytest.param(one, marks=pytest.mark.long)
            for one in (
                ("search", "comet", f"--{EVIL}"),
                ("search", "comet", "-k", EVIL),
                ("search", "comet", "--where", f"{EVIL} ~ 1"),
                ("remove", f"none{EVIL}"),
                (EVIL,),
            )
        ),
    ],
    ids=ascii,
)
def test_errors_escape_control_characters_of_arguments(arguments: tuple[str, ...], evil: Path) -> None:
    command, *others = arguments
    done = COMMANDS.run("monograph", command, evil, *others)
    assert done.returncode != 0
    assert_harmless(done.stdout + done.stderr)


@pytest.mark.long
def test_a_terminal_gets_no_control_characters_of_documents(evil: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Styled output contains escape sequences of Monograph, but none of a document."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    for arguments in (("search", evil, "comet", "--explain"), ("show", evil), ("show", evil, f"none{EVIL}")):
        done = COMMANDS.run("monograph", *arguments)
        said = done.stdout + done.stderr
        assert "\x1b[" in said
        assert not any(one in said for one in ("\x1b]", "\x07", "\x9b", "\r", "\u202e"))
        assert "owned" in said


@pytest.mark.long
def test_chats_escape_control_characters(evil: Path) -> None:
    asked = f"Who found the comet {EVIL}?\n/sources\n/why\n/open 1\n/{EVIL}\n"
    for options in ((), ("--json",)):
        done = COMMANDS.run("monograph", "chat", evil, *options, said=asked)
        assert done.returncode == 0, done.stderr
        assert "comet" in done.stdout
        assert_harmless(done.stdout + done.stderr)


def test_json_output_keeps_every_character(evil: Path) -> None:
    done = COMMANDS.run("monograph", "show", evil, f"id{EVIL}", "--json")
    assert json.loads(done.stdout)["title"] == f"Title{EVIL}"


def test_escaping_keeps_spaces_and_joiners() -> None:
    text = "10\u00a0000\u202f€ \u6771\u4eac\u3000 \U0001f469\u200d\U0001f680 \u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"
    assert visible(text) == text
    assert visible("a\n\x00\x85\u2028\udc80b") == "a\\n\\x00\\x85\\u2028\\udc80b"
    assert safe("a\tb\nc\x1bd") == "a    b\nc\\x1bd"
    assert visible(visible(EVIL)) == visible(EVIL)


def test_log_messages_are_escaped(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    handler = logging._StderrHandler()  # type: ignore[attr-defined]
    monkeypatch.setattr(logging, "lastResort", handler)
    escape_logs()
    handler.handle(logging.makeLogRecord({"msg": f"a fault at {EVIL}", "levelno": logging.ERROR}))
    said = capsys.readouterr().err
    assert "a fault at " in said
    assert_harmless(said)


def test_redirected_work_prints_lines_of_progress(capfd: pytest.CaptureFixture[str]) -> None:
    said = ""
    with output.progress_lines("sync", 0.005) as on_progress:
        on_progress(Progress("read", 12, 1_440, "files", "a\x1b.txt", 3 << 20, 20 << 20))
        while "12" not in said:
            said += capfd.readouterr().err
    assert "sync: read, 12 of 1,440 files, 3" in said
    assert "at a\\x1b.txt\n" in said


def test_quiet_work_prints_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    with output.progress("sync", quiet=True) as on_progress:
        assert on_progress is None
    assert capfd.readouterr() == ("", "")


@pytest.mark.long
def test_sync_that_is_terminated_says_what_is_safe(tmp_path: Path, folder: Path) -> None:
    for number in range(12):
        (folder / f"{number:02}.txt").write_text(f"The harbour master counted {number} boats.")
    command = [sys.executable, "-c", TERMINATED, "sync", str(tmp_path / "x.mono"), str(folder)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (130, "")
    assert "everything stored so far is safe" in done.stderr
    assert "Traceback" not in done.stderr
    with Monograph.open(tmp_path / "x.mono") as monograph:
        assert monograph.check() == []
        assert monograph.sync(folder).same < 12
        assert len(monograph.documents()) == 12
