"""Interrupts (Ctrl-C) while files are read."""

from __future__ import annotations

import json
import os
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
"""Of each kind."""
MOMENTS = (60, 250, 350, 300, 450)
"""Audit events after the start of a reader, by which a sync is interrupted: one of all files has about 750."""
INTERRUPTED = """
import itertools, os, signal, sys
reading, number, moment = False, itertools.count(1), int(sys.argv.pop(1))
def hook(event, arguments):
    global reading
    reading = reading or event == "subprocess.Popen"
    if reading and next(number) == moment:
        os.killpg(0, signal.SIGINT)
sys.addaudithook(hook)
from monograph.app.cli import main
from monograph.write import apply
apply.BATCH_FILES = 16
main()
"""


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
def test_interrupted_sync_keeps_stored_batches(tmp_path: Path, folder: Path) -> None:
    pytest.importorskip("selectolax", reason="the extra documents is not installed")
    count = fill(folder)
    path, mark = tmp_path / "x.mono", str(tmp_path)
    words = ["sync", str(path), str(folder), "--json"]
    stored = interrupted = 0
    for moment in MOMENTS:
        child = subprocess.run(
            [sys.executable, "-c", INTERRUPTED, str(moment), *words],
            env={**os.environ, MARK: mark}, start_new_session=True, text=True, capture_output=True, check=False,
        )  # fmt: skip
        if child.returncode == -signal.SIGINT:  # It was done, and the interpreter on its way out.
            assert json.loads(child.stdout)["seconds"] > 0
        else:
            assert child.returncode in (0, 130), child.stderr
        assert "Traceback" not in child.stderr
        interrupted += child.returncode == 130
        while left_behind(mark):
            time.sleep(0.05)
        with Monograph.open(path) as monograph:
            assert monograph.check() == []
            assert len(monograph.documents()) >= stored
            stored = len(monograph.documents())
    assert interrupted > 0
    assert stored > 0
    command = [sys.executable, "-m", "monograph.app.cli", *words]
    last = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    assert last["added"] + stored == count
    again = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    assert (again["same"], again["embedded"]) == (count, 0)
