"""Programs that are killed before or after their n-th commit, as by a power cut."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from monograph.store.database import Connection, Database
from support.paths import TESTS

_PROGRAM = """
import sys
sys.path.insert(0, {tests!r})
from support.kill_at_commit import die_at
die_at({commit}, {moment!r})
{program}
"""


def die_at(commit: int, moment: str) -> Callable[[], int]:
    """Have this process killed at its n-th commit (from 1), ``before`` it or ``after``; returns what counts commits."""
    real = Database.write
    count = depth = 0

    @contextmanager
    def write(self: Database) -> Iterator[Connection]:
        nonlocal count, depth
        depth += 1
        try:
            with real(self) as connection:
                yield connection
                count += depth == 1
                if depth == 1 and (count, moment) == (commit, "before"):
                    os.kill(os.getpid(), signal.SIGKILL)
        finally:
            depth -= 1
        if not depth and (count, moment) == (commit, "after"):
            os.kill(os.getpid(), signal.SIGKILL)

    Database.write = write  # type: ignore[method-assign]
    return lambda: count


def killed(program: str, commit: int, moment: str) -> bool:
    """Run a program that is killed at a commit; False if it came to its end before."""
    text = _PROGRAM.format(tests=str(TESTS), commit=commit, moment=moment, program=program)
    code = subprocess.run([sys.executable, "-c", text], check=False).returncode
    if code not in (0, -signal.SIGKILL):
        raise AssertionError(f"the program ended with {code}")
    return code != 0
