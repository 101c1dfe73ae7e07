"""Progress where standard error is no terminal, and SIGTERM."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from monograph import Monograph
from monograph.app import output
from monograph.values import Progress

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
