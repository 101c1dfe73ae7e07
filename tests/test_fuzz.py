"""The first cases of every part of ``make fuzz``, by a seed that does not change, each part in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import fuzz

PROGRAM = Path(fuzz.__file__)


@pytest.mark.long
@pytest.mark.timeout(300)
@pytest.mark.parametrize(("part", "cases"), [("blobs", 25), ("filters", 300), ("queries", 300), ("requests", 300)])
def test_chance_does_no_harm(part: str, cases: int) -> None:
    if part == "requests":
        pytest.importorskip("mcp", reason="the extra mcp is not installed")
    command = [sys.executable, str(PROGRAM), part, "--seed", "7", "--cases", str(cases)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    told = done.stdout.split()
    answered, refused = int(told[3]), int(told[5])
    assert answered + refused == cases
    assert min(answered, refused) > 0
