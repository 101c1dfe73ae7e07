"""The first cases of every part of ``make fuzz``, by a seed that does not change, each part in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from support.paths import TESTS


@pytest.mark.long
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("part", "cases"),
    [
        ("blobs", 25),
        ("filters", 300),
        ("queries", 300),
        ("requests", 300),
        ("agents", 60),
        ("strings", 100),
        ("bounds", 80),
        ("ignored", 300),
        ("cut", 30),
    ],
)
def test_random_inputs_cause_no_fault(part: str, cases: int) -> None:
    if part in ("requests", "agents"):
        pytest.importorskip("mcp", reason="the extra mcp is not installed")
    if part == "bounds":
        pytest.importorskip("fastapi", reason="the extra serve is not installed")
    command = [sys.executable, "-m", "fuzz", part, "--seed", "7", "--cases", str(cases)]
    done = subprocess.run(command, cwd=TESTS, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    told = done.stdout.split()
    answered, refused = int(told[3]), int(told[5])
    assert answered + refused == cases
    assert min(answered, refused) > 0


def test_fault_is_reported_with_its_case(tmp_path: Path) -> None:
    package = tmp_path / "fuzz"
    package.mkdir()
    (package / "wrong.py").write_text(
        "def cases(seed, folder, first=0):\n"
        "    for at in range(first, 9):\n"
        "        yield f'{at}: {seed}', [].clear if at < 3 else [].pop\n"
    )
    program = (TESTS / "fuzz" / "__main__.py").read_text().replace("PARTS = {", 'PARTS = {"wrong": 0.1, ')
    (package / "__main__.py").write_text(program)
    for options in (["--seed", "5"], ["--seed", "5", "--case", "3"]):
        command = [sys.executable, "-m", "fuzz", "wrong", *options]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 1
        assert "IndexError" in done.stderr
        assert "exit code 1 at the case 3: 5" in done.stdout
    (package / "wrong.py").write_text(
        "def cases(seed, folder, first=0):\n    yield '0: hangs', lambda: sum(iter(int, 1))\n"
    )
    (package / "__main__.py").write_text(program.replace("MOST_SECONDS = 20.0", "MOST_SECONDS = 0.2"))
    done = subprocess.run(
        [sys.executable, "-m", "fuzz", "wrong"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "Timeout" in done.stderr
    assert "at the case 0: hangs" in done.stdout
