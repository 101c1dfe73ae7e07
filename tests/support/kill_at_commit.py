"""Programs that are killed before or after their n-th commit."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from monograph.store.file.database import Connection, Database
from support.forks import Forks
from support.paths import TESTS

_PREPARED = f"""
import sys, tempfile
sys.path.insert(0, {str(TESTS)!r})
from pathlib import Path
from monograph import Document, Monograph
from monograph.derive import derivation
from monograph.derive.summarize.extractive import ExtractiveSummarizer
from support.kill_at_commit import die_at
from support.models import HashEmbedder
derivation.PATIENCE = float("inf")  # How often a program commits must not depend on the clock.
# What a program needs is imported at its first use: so everything is used once.
with (
    tempfile.TemporaryDirectory() as place,
    Monograph.open(Path(place, "x.mono"), HashEmbedder(8), summarizer=ExtractiveSummarizer()) as monograph,
):
    monograph.add([Document("Anna Calder met John Smith in Vienna.", id="letter")])
    monograph.remove(["letter"], forget=True)
"""
_PROGRAM = """
count = die_at({commit}, {moment!r})
{program}
print(count())
"""
_FORKS = Forks(_PREPARED, "exec(sys.argv[0])")


def die_at(commit: int, moment: str) -> Callable[[], int]:
    """Kill this process ``before`` or ``after`` its n-th commit (from 1); return a function that counts its commits."""
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

    Database.write = write  # type: ignore[method-assign, assignment]
    return lambda: count


def killed(program: str, commit: int, moment: str) -> bool:
    """Run a program that is killed at a commit; return False if it ended earlier."""
    return _run(program, commit, moment) is None


def count_commits(program: str) -> int:
    """Run a program to its end and return how often it commits."""
    commits = _run(program, 0, "before")
    assert commits is not None
    return commits


def _run(program: str, commit: int, moment: str) -> int | None:
    """Run a program and return how often it committed; None if it was killed at the commit."""
    ended = _FORKS.run(_PROGRAM.format(commit=commit, moment=moment, program=program))
    if ended.returncode not in (0, -signal.SIGKILL):
        raise AssertionError(f"the program ended with {ended.returncode}: {ended.stderr}")
    return None if ended.returncode else int(ended.stdout.split()[-1])
