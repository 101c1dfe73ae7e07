"""First cases of the parts of ``make fuzz``, with a fixed seed, each part in a new process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from support.paths import TESTS


@pytest.mark.long
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("part", "cases"),
    [
        ("blobs", 25),
        ("readers", 80),
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


WRONG = "lambda chosen: ('wrong', [].pop if chosen.random() < 0.2 else [].clear)"
HANGING = "lambda chosen: ('hangs', lambda: sum(iter(int, 1)))"
FIRST_FAULT = next(number for number in range(100) if Random(f"5/{number}").random() < 0.2)


@pytest.mark.parametrize(
    ("draw", "options", "error", "case"),
    [
        (WRONG, [], "IndexError", f"{FIRST_FAULT}: wrong"),
        (WRONG, ["--case", str(FIRST_FAULT)], "IndexError", f"{FIRST_FAULT}: wrong"),
        (HANGING, [], "Timeout", "0: hangs"),
    ],
)
def test_fault_is_reported_with_its_case(tmp_path: Path, draw: str, options: list[str], error: str, case: str) -> None:
    package = tmp_path / "fuzz"
    package.mkdir()
    (package / "wrong.py").write_text(
        f"from contextlib import nullcontext\n\ndef cases(folder):\n    return nullcontext({draw})\n"
    )
    program = (TESTS / "fuzz" / "__main__.py").read_text().replace("PARTS = {", 'PARTS = {"wrong": 0.1, ')
    (package / "__main__.py").write_text(program.replace("MOST_SECONDS = 20.0", "MOST_SECONDS = 0.2"))
    command = [sys.executable, "-m", "fuzz", "wrong", "--seed", "5", *options]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert error in done.stderr
    assert f"exit code 1 at the case {case}" in done.stdout
