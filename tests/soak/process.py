"""Work done in a process of its own: it may end, be killed, crash or hang, and its caller hears which."""

from __future__ import annotations

import os
import pickle
import resource
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, TypeAlias

from monograph.errors import MonographError

Tell: TypeAlias = Callable[[Any], None]
Work: TypeAlias = Callable[[Tell], Any]
MEMORY = 6 << 30
"""Bytes of address space that the work may have."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How work ended.

    ``how`` is ``done`` (``value`` is what it returned), ``refused`` (an error of ours: ``value`` is its text), ``raised``
    (any other: ``value`` is its traceback), ``killed`` (by its caller, as was asked), ``crashed`` or ``hung``.
    """

    how: str
    value: Any = None
    said: tuple[Any, ...] = ()

    @property
    def fault(self) -> str:
        """What is wrong with it; empty where it is an answer or an error of ours."""
        return "" if self.how in ("done", "refused", "killed") else f"{self.how}: {self.value}"


@dataclass(slots=True, eq=False)
class Running:
    """Work that goes on in a process of its own."""

    child: int
    answers: int
    began: float
    _received: bytes = b""
    _said: list[Any] = field(default_factory=list)
    _last: tuple[str, Any] | None = None

    def fileno(self) -> int:
        """What is readable when it has said something, or ended."""
        return self.answers

    def wait(self, seconds: float, kill_after: float | None = None) -> Outcome:
        """How it ends; it hangs after so many seconds, and is killed without warning after so many others."""
        end = self.began + (seconds if kill_after is None else min(seconds, kill_after))
        while select.select([self], [], [], max(0.0, end - time.monotonic()))[0]:
            if not self.heard():
                return self.ended()
        return self.ended("hung" if kill_after is None or kill_after > seconds else "killed")

    def heard(self) -> list[Any]:
        """What it says now, waiting for something; nothing when it has ended."""
        while part := os.read(self.answers, 1 << 16):
            self._received += part
            if said := list(self._read()):
                return said
        return []

    def ended(self, cut: str = "") -> Outcome:
        """How it ended, after nothing more was heard; where it is cut it is killed first."""
        if cut:
            _kill(self.child)
        _, status = os.waitpid(self.child, 0)
        while cut and (part := os.read(self.answers, 1 << 16)):
            self._received += part
        list(self._read())
        os.close(self.answers)
        if self._last is not None:
            return Outcome(*self._last, tuple(self._said))
        if cut:
            return Outcome(cut, f"after {time.monotonic() - self.began:.1f} s", tuple(self._said))
        name = signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else f"code {status}"
        return Outcome("crashed", name, tuple(self._said))

    def _read(self) -> Iterator[Any]:
        while len(self._received) >= 4:
            size = int.from_bytes(self._received[:4], "big")
            if len(self._received) < 4 + size:
                return
            how, value = pickle.loads(self._received[4 : 4 + size])
            self._received = self._received[4 + size :]
            if how == "said":
                self._said.append(value)
                yield value
            else:
                self._last = how, value


def begin(work: Work) -> Running:
    """Begin work in a fork of this process, which must have no threads and no open .mono file.

    The work is given what tells its caller something on the way: what was told is ``said``, even by one that is killed.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    answers, told = os.pipe()
    child = os.fork()
    if not child:
        os.close(answers)
        _do(work, told)
    os.close(told)
    return Running(child, answers, time.monotonic())


def apart(work: Work, seconds: float, kill_after: float | None = None) -> Outcome:
    """Begin work, and wait for its end."""
    return begin(work).wait(seconds, kill_after)


def side_by_side(works: Iterable[Work], jobs: int, hear: Callable[[Any], None]) -> Generator[Outcome]:
    """How works end, so many going on at once, in the order in which they end; ``hear`` is told what they say."""
    waiting = iter(works)
    running: list[Running] = []
    try:
        while True:
            running += [begin(work) for work in islice(waiting, jobs - len(running))]
            if not running:
                return
            for one in select.select(running, [], [])[0]:
                said = one.heard()
                for value in said:
                    hear(value)
                if not said:
                    running.remove(one)
                    yield one.ended()
    finally:
        for one in running:
            one.ended("killed")


def _do(work: Work, told: int) -> None:
    """Never returns."""
    os.setpgid(0, 0)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))

    def tell(how: str, value: Any) -> None:
        packed = pickle.dumps((how, value))
        left = len(packed).to_bytes(4, "big") + packed
        while left:
            left = left[os.write(told, left) :]

    try:
        tell("done", work(lambda value: tell("said", value)))
    except MonographError as error:
        tell("refused", f"{type(error).__name__}: {error}")
    except BaseException:
        tell("raised", traceback.format_exc()[-4_000:])
    finally:
        os._exit(0)


def _kill(child: int) -> None:
    """With all that it started: what it started would end by itself, but not at once."""
    try:
        os.killpg(child, signal.SIGKILL)
    except ProcessLookupError:
        os.kill(child, signal.SIGKILL)  # It has not come to a group of its own yet.
