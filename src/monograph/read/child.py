"""Child processes for work that a file can make hang, crash or run out of memory: one protocol for every task.

A task is sent to a child, which sends back the parts of its result, each as soon as it is there, or an error of ours.
The kernel ends a child whose task takes longer than its limit, whatever a parser is doing then, and whether or not
anyone is left to wait for it.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from multiprocessing.connection import Connection
from typing import Any, Protocol

from monograph.errors import NotFound, SourceDamaged, SourceError, SourceTooSlow
from monograph.read.limits import Limits
from monograph.regex import regex

PROCESSES = min(4, os.cpu_count() or 1)
"""Most children for one kind of work."""

GRACE_SECONDS = 2.0
"""Readers look at the clock themselves: only one that hangs is still there so long after its time."""

_ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
_SECRETS = regex(r"MONOGRAPH_(?:KEY|TOKEN|(?:\w+_)?API_KEY)")
"""What a process that reads strangers' files is not to know: variables of these names."""
_START = "import sys; sys.path[:] = sys.argv[3:]; from {} import main; main()"


class Task(Protocol):
    """Work for a child process. It is pickled on its way."""

    @property
    def limits(self) -> Limits:
        """The time and the memory that it may take."""
        ...

    def parts(self) -> Iterator[Any]:
        """Yield the result in the child, in one part or more; raises SourceError or NotFound."""
        ...


class ChildProcess:
    """A process that runs ``main`` of a module of ours, which meets its parent by :func:`parent`.

    The interpreter is started anew, and knows nothing of the program that it works for: neither its main module, which
    need not be written with this in mind, nor its threads. Pipes, not sockets: who forbids sockets means the network.

    ``asked`` takes what is to be done, ``answers`` has what came of it.
    """

    def __init__(self, module: str = __name__) -> None:
        work, asked = os.pipe()
        answers, done = os.pipe()
        self.asked = Connection(asked, readable=False)
        self.answers = Connection(answers, writable=False)
        try:
            # In a session of its own: an interrupt at the terminal is for the parent to answer.
            self.process = subprocess.Popen(  # noqa: S603 - our own interpreter
                [sys.executable, "-c", _START.format(module), str(work), str(done), *sys.path],
                pass_fds=(work, done),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={name: value for name, value in os.environ.items() if not _SECRETS.fullmatch(name)} | _ONE_THREAD,
                start_new_session=True,
            )
        finally:
            os.close(work)
            os.close(done)

    def end(self) -> int:
        """End the process, whatever it does; its exit code, negative where a signal had ended it."""
        self.asked.close()
        self.answers.close()
        code = self.process.poll()
        if code is None:
            try:
                code = self.process.wait(0.2)
            except subprocess.TimeoutExpired:
                self.process.kill()
                code = self.process.wait()
        return code


class Child:
    """One child process for one task after the other, started with the first. Safe for use by many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: ChildProcess | None = None

    def call(self, task: Task) -> Any:
        """Return the only part of a task's result. The next call starts another process where this one is lost.

        Raises
        ------
        SourceError
            As the task does, or if the process was ended by it.
        NotFound
            As the task does.
        """
        with self._lock:
            if self._process is None or self._process.process.poll() is not None:
                self._end()
                self._process = ChildProcess()
            try:
                self._process.asked.send(task)
                made = self._process.answers.recv()
            except (EOFError, OSError):
                raise death(self._end(), task.limits) from None
        if isinstance(made, Exception):
            raise made
        return made

    def close(self) -> None:
        """End the process; a call after that starts another."""
        with self._lock:
            self._end()

    def _end(self) -> int:
        process, self._process = self._process, None
        return 0 if process is None else process.end()


def death(code: int, limits: Limits) -> SourceError:
    """Return the error of a file over which a process ended with this exit code."""
    if code == -signal.SIGALRM:
        return SourceTooSlow(f"reading it took more than {limits.max_seconds:g} s", "divide it, or give --max-seconds")
    if code == -signal.SIGKILL:
        return SourceTooSlow("the process that read it was killed: it may have taken all memory", "divide it")
    name = signal.Signals(-code).name if code < 0 else f"exit code {code}"
    return SourceDamaged(f"the reader of its format crashed over it ({name})", "save it anew")


# In the child.


def parent() -> tuple[Connection, Connection]:
    """Return (what is to be done, where answers go), of the process that this one works for."""
    return Connection(int(sys.argv[1]), writable=False), Connection(int(sys.argv[2]), readable=False)


def main() -> None:
    """Do the tasks that the parent sends, until it is gone."""
    asked, answers = parent()
    try:
        while True:
            task: Task = asked.recv()
            limit_memory(task.limits.max_memory)
            if not _do(task, answers):
                return
    except (EOFError, BrokenPipeError):
        return
    finally:
        # Nothing here needs to be put away, and a library in C may hang or crash while it tries.
        sys.stdout.flush()
        os._exit(0)


def _do(task: Task, answers: Connection) -> bool:
    """Send the parts of a task's result, or its error; return whether the process is fit for another task."""
    failed: Exception | None = None
    left, is_fit = task.limits.max_seconds + GRACE_SECONDS, True
    try:
        signal.setitimer(signal.ITIMER_REAL, left)
        for part in task.parts():
            # The time is for the task: it stands still while the parent is busy with what came before.
            left, _ = signal.setitimer(signal.ITIMER_REAL, 0)
            answers.send(part)
            signal.setitimer(signal.ITIMER_REAL, left)
    except (SourceError, NotFound) as error:
        failed = error
    except MemoryError:
        failed = SourceTooSlow(f"reading it took more than {task.limits.max_memory:,} bytes of memory", "divide it")
        is_fit = False
    signal.setitimer(signal.ITIMER_REAL, 0)
    if failed is not None:
        answers.send(failed)
    return is_fit


def limit_memory(most: int) -> None:
    """Bound this process's address space, where the system can."""
    if sys.platform == "linux":
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))
