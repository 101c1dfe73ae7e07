"""Work in a forked process, with an outcome that says whether it ended, was killed, crashed or hung."""

from __future__ import annotations

import os
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass
from itertools import islice
from multiprocessing.connection import Connection, Pipe
from select import select
from typing import Any, NoReturn, TypeAlias

from monograph.errors import MonographError

Tell: TypeAlias = Callable[[Any], None]
Work: TypeAlias = Callable[[Tell], Any]
"""Function of a callback that sends messages to the parent process."""
MEMORY = 6 << 30
"""Limit of the work's address space in bytes."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How work ended, and the messages that it sent.

    ``how`` is ``done`` (``value`` is the result), ``refused`` (a MonographError; ``value`` is its text), ``raised``
    (another error; ``value`` is its traceback), ``killed`` (at the time the caller chose), ``crashed`` or ``hung``.
    """

    how: str
    value: Any = None
    messages: tuple[Any, ...] = ()

    def __str__(self) -> str:
        return f"{self.how}: {self.value}"

    def result(self) -> Any:
        """Return the value of work that was done, or raise RuntimeError."""
        if self.how != "done":
            raise RuntimeError(str(self))
        return self.value


class Running:
    """Work in a fork of this process, which must have no threads and no open .mono file."""

    def __init__(self, work: Work) -> None:
        sys.stdout.flush()
        sys.stderr.flush()
        self._pipe, sender = Pipe(duplex=False)
        self._child = os.fork()
        if not self._child:
            _run(work, sender)
        sender.close()
        self._began = time.monotonic()
        self._messages: list[Any] = []
        self._result: tuple[str, Any] | None = None

    def fileno(self) -> int:
        """Return the descriptor that is readable when the work has sent a message, or ended."""
        return self._pipe.fileno()

    def receive(self) -> tuple[str, Any] | None:
        """Wait for a message or the result and return it, with its kind; None when the work has ended."""
        try:
            kind, value = self._pipe.recv()
        except (EOFError, OSError):
            return None
        if kind == "message":
            self._messages.append(value)
        else:
            self._result = kind, value
        return kind, value

    def wait(self, seconds: float, kill_after: float | None = None) -> Outcome:
        """Wait for the end of the work; kill it after ``kill_after`` seconds, or as hung after ``seconds``."""
        end = self._began + (seconds if kill_after is None else min(seconds, kill_after))
        while self._pipe.poll(max(0.0, end - time.monotonic())):
            if self.receive() is None:
                return self.end()
        return self.end("hung" if kill_after is None or kill_after > seconds else "killed")

    def end(self, cut: str = "") -> Outcome:
        """Return the outcome. With ``cut``, kill the work first; ``cut`` is its outcome unless it has sent a result."""
        if cut:
            try:
                os.killpg(self._child, signal.SIGKILL)  # Includes the reader processes that it started.
            except ProcessLookupError:
                os.kill(self._child, signal.SIGKILL)  # It has no process group of its own yet.
        _, status = os.waitpid(self._child, 0)
        while cut and self.receive():
            pass
        self._pipe.close()
        if self._result is not None:
            how, value = self._result
        elif cut:
            how, value = cut, f"after {time.monotonic() - self._began:.1f} s"
        else:
            how = "crashed"
            value = signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else f"code {status}"
        return Outcome(how, value, tuple(self._messages))


def _run(work: Work, pipe: Connection) -> NoReturn:
    os.setpgid(0, 0)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    try:
        pipe.send(("done", work(lambda value: pipe.send(("message", value)))))
    except MonographError as error:
        pipe.send(("refused", f"{type(error).__name__}: {error}"))
    except BaseException:
        pipe.send(("raised", traceback.format_exc()[-4_000:]))
    finally:
        os._exit(0)


def run(work: Work, seconds: float = 120, kill_after: float | None = None) -> Outcome:
    """Run work in a new process and wait for its end, as :meth:`Running.wait`."""
    return Running(work).wait(seconds, kill_after)


def run_parallel(works: Iterable[Work], jobs: int, hear: Callable[[Any], None]) -> Generator[Outcome]:
    """Run at most ``jobs`` works at a time, pass their messages to ``hear``, and yield how each ended."""
    waiting = iter(works)
    running: list[Running] = []
    try:
        while True:
            running += [Running(work) for work in islice(waiting, jobs - len(running))]
            if not running:
                return
            for process in select(running, [], [])[0]:
                received = process.receive()
                if received is None:
                    running.remove(process)
                    yield process.end()
                elif received[0] == "message":
                    hear(received[1])
    finally:
        for process in running:
            process.end("killed")
