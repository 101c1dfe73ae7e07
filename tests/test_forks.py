"""Forked programs know nothing of each other, and end as programs do."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import pytest

from forks import Forks

PROGRAM = """
import os, signal
said = sys.stdin.read()
print(sys.argv, os.getcwd(), os.environ.get("COLOUR"), said, "left" in known)
print("beside", file=sys.stderr)
known.append("left")
os.environ["COLOUR"] = "left"
os.chdir("/")
if sys.argv[1] == "killed":
    sys.stdout.flush()
    os.kill(os.getpid(), signal.SIGKILL)
if sys.argv[1] == "waits":
    with open(said, "w"):
        pass
    signal.pause()
sys.exit(int(sys.argv[1]))
"""


def test_each_starts_clean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Forks("import sys\nknown = []", PROGRAM) as forks:
        for code in (0, 3, "killed", 1):
            monkeypatch.setenv("COLOUR", f"blue {code}")
            done = forks.run("name", code, cwd=tmp_path, said="a question")
            assert done.returncode == (code if code != "killed" else -signal.SIGKILL)
            assert done.stdout == f"['name', '{code}'] {tmp_path} blue {code} a question False\n"
            assert done.stderr == "beside\n"


def test_one_that_is_given_up_answers_for_no_other(tmp_path: Path) -> None:
    mark = tmp_path / "it waits"

    def give_up() -> None:
        while not mark.exists():
            pass
        os.kill(os.getpid(), signal.SIGUSR1)

    def raised(number: int, frame: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGUSR1, raised)
    with Forks("import sys\nknown = []", PROGRAM) as forks:
        try:
            threading.Thread(target=give_up).start()
            with pytest.raises(TimeoutError):
                forks.run("name", "waits", said=str(mark))
        finally:
            signal.signal(signal.SIGUSR1, before)
        assert forks.run("name", 4).returncode == 4


def test_what_cannot_be_prepared_is_told() -> None:
    with Forks("raise SystemExit(1)", "") as forks, pytest.raises(RuntimeError, match="come to an end"):
        forks.run("name")
