"""Ctrl-C while files are read: the file stays sound, nothing is lost, and no process is left behind."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from monograph import Monograph

if not Path("/proc/self/environ").exists():
    pytest.skip("processes are found by /proc", allow_module_level=True)

MARK = "MONOGRAPH_TEST_MARK"
FILES = 48
"""Of each kind: to read and to store them takes longer than any of the moments at which it is interrupted."""


def fill(folder: Path) -> int:
    """Files that are read in processes of their own, and some that are not; how many."""
    for number in range(FILES):
        rows = "\n".join(f"{row},boat {row % 97},harbour {number},remark {row * number}" for row in range(400))
        (folder / f"{number:02}.csv").write_text(f"row,boat,harbour,remark\n{rows}")
        (folder / f"{number:02}.html").write_text(
            f"<h1>Log {number}</h1>" + "<p>Fog all day, and no wind at all.</p>" * 200
        )
        (folder / f"{number:02}.txt").write_text(f"The harbour master counted {number} boats. " * 100)
    return 3 * FILES


def left_behind(mark: str) -> list[int]:
    """Processes that were started under a mark, and are still there."""
    found = []
    for place in Path("/proc").iterdir():
        if place.name.isdigit() and int(place.name) != os.getpid():
            try:
                known = (place / "environ").read_bytes().split(b"\0")
                state = (place / "stat").read_text().rpartition(") ")[2][:1]
            except OSError:
                continue
            if f"{MARK}={mark}".encode() in known and state != "Z":
                found.append(int(place.name))
    return found


@pytest.mark.long
@pytest.mark.timeout(280)
def test_an_interrupt_while_files_are_read(tmp_path: Path, folder: Path) -> None:
    pytest.importorskip("selectolax", reason="the extra documents is not installed")
    count = fill(folder)
    path, mark = tmp_path / "x.mono", str(tmp_path)
    command = [sys.executable, "-m", "monograph.app.cli", "sync", str(path), str(folder), "--json"]
    moments = random.Random(3)
    stored = interrupted = 0
    for _ in range(5):
        child = subprocess.Popen(
            command, env={**os.environ, MARK: mark}, start_new_session=True, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )  # fmt: skip
        while not left_behind(mark)[1:] and child.poll() is None:
            time.sleep(0.01)  # Until a reader is there.
        time.sleep(moments.uniform(0, 1.5))
        if child.poll() is None:  # What was left may have been little.
            os.killpg(child.pid, signal.SIGINT)
        told, said = child.communicate(timeout=60)
        if child.returncode == -signal.SIGINT:  # It was done, and the interpreter on its way out.
            assert json.loads(told)["seconds"] > 0
        else:
            assert child.returncode in (0, 130), said
        assert "Traceback" not in said
        interrupted += child.returncode == 130
        end = time.monotonic() + 10
        while left_behind(mark) and time.monotonic() < end:
            time.sleep(0.05)
        assert left_behind(mark) == []
        with Monograph.open(path) as monograph:
            assert monograph.check() == []
            assert len(monograph.documents()) >= stored
            stored = len(monograph.documents())
    assert interrupted > 0
    last = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    assert last["added"] + stored == count
    again = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    assert (again["same"], again["embedded"]) == (count, 0)
