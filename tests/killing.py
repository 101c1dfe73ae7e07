"""Programs that end themselves at a chosen moment of their writing, as a power cut would."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from monograph.store.database import Connection, Database

TESTS = Path(__file__).resolve().parent
_PROGRAM = """
import sys
sys.path.insert(0, {tests!r})
from killing import die_at
die_at({commit}, {moment!r})
{program}
"""


def die_at(commit: int, moment: str) -> None:
    """Have this process killed at its n-th commit (from 1): ``before`` it, or ``after``."""
    real = Database.write
    count = 0

    @contextmanager
    def write(self: Database) -> Iterator[Connection]:
        nonlocal count
        with real(self) as connection:
            yield connection
            count += 1
            if (count, moment) == (commit, "before"):
                os.kill(os.getpid(), signal.SIGKILL)
        if (count, moment) == (commit, "after"):
            os.kill(os.getpid(), signal.SIGKILL)

    Database.write = write  # type: ignore[method-assign]


def killed(program: str, commit: int, moment: str) -> bool:
    """Run a program that is killed at a commit; False if it came to its end before."""
    text = _PROGRAM.format(tests=str(TESTS), commit=commit, moment=moment, program=program)
    code = subprocess.run([sys.executable, "-c", text], check=False).returncode
    if code not in (0, -signal.SIGKILL):
        raise AssertionError(f"the program ended with {code}")
    return code != 0
