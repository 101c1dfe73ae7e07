"""Child processes for work that a file can make hang, crash or run out of memory, with one protocol for all tasks.

The parent sends a task to a child. The child sends back each part of the result as soon as it is ready, or an error of
Monograph. If a task exceeds its time limit, a timer signal of the kernel ends the child, whatever the parser is doing,
and even if the parent is gone.
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
"""Most child processes for one kind of work."""

GRACE_SECONDS = 2.0
"""Time after the limit before a child is ended. Readers check the limit themselves, so only one that hangs runs on."""

_ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
_SECRETS = regex(r"MONOGRAPH_(?:KEY|TOKEN|(?:\w+_)?API_KEY)")
"""Names of environment variables that are withheld from processes that read untrusted files."""
_START = "import sys; sys.path[:] = sys.argv[3:]; from {} import main; main()"


class Task(Protocol):
    """Work for a child process. It must be picklable."""

    @property
    def limits(self) -> Limits:
        """Limits of the task's time and memory."""
        ...

    def parts(self) -> Iterator[Any]:
        """Yield the parts of the result, at least one. Called in the child. Raises SourceError or NotFound."""
        ...


class ChildProcess:
    """Process that runs ``main`` of one of Monograph's modules, which gets its connections from :func:`parent`.

    The child is a new interpreter, not a fork: it does not run the parent's main module, which needs no
    ``if __name__ == "__main__"``, and inherits none of its threads. It is connected by pipes, not sockets, so that it
    also works in programs that forbid sockets to prevent network access.

    ``asked`` is the connection to send tasks to, ``answers`` the connection to receive results from.
    """

    def __init__(self, module: str = __name__) -> None:
        task_reader, task_writer = os.pipe()
        answer_reader, answer_writer = os.pipe()
        self.asked = Connection(task_writer, readable=False)
        self.answers = Connection(answer_reader, writable=False)
        try:
            # In its own session, so that Ctrl-C in the terminal reaches the parent only.
            self.process = subprocess.Popen(  # noqa: S603 - our own interpreter
                [sys.executable, "-c", _START.format(module), str(task_reader), str(answer_writer), *sys.path],
                pass_fds=(task_reader, answer_writer),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={name: value for name, value in os.environ.items() if not _SECRETS.fullmatch(name)} | _ONE_THREAD,
                start_new_session=True,
            )
        finally:
            os.close(task_reader)
            os.close(answer_writer)

    def end(self) -> int:
        """End the process, and return its exit code, negative if a signal ended it. Kills it after 0.2 seconds."""
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
    """One child process that runs tasks one after the other, started by the first. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: ChildProcess | None = None

    def call(self, task: Task) -> Any:
        """Run a task whose result has one part, and return that part. If the process ended, start another one first.

        Raises
        ------
        SourceError
            If the task raises it, or the process ended during the task.
        NotFound
            If the task raises it.
        """
        with self._lock:
            if self._process is None or self._process.process.poll() is not None:
                self._end()
                self._process = ChildProcess()
            try:
                self._process.asked.send(task)
                result = self._process.answers.recv()
            except (EOFError, OSError):
                raise death(self._end(), task.limits) from None
        if isinstance(result, Exception):
            raise result
        return result

    def close(self) -> None:
        """End the process. A later call starts another one."""
        with self._lock:
            self._end()

    def _end(self) -> int:
        process, self._process = self._process, None
        return 0 if process is None else process.end()


def death(code: int, limits: Limits) -> SourceError:
    """Return the error for a file whose process ended with an exit code, negative for a signal."""
    if code == -signal.SIGALRM:
        return SourceTooSlow(
            f"reading it took more than {limits.max_seconds:g} s", "split it, or give a higher --max-seconds"
        )
    if code == -signal.SIGKILL:
        return SourceTooSlow("the process that read it was killed: it may have taken all memory", "split it")
    name = signal.Signals(-code).name if code < 0 else f"exit code {code}"
    return SourceDamaged(f"the reader of its format crashed on it ({name})", "save it again")


# The functions below run in the child.


def parent() -> tuple[Connection, Connection]:
    """Return two connections to the parent: to receive tasks from, and to send answers to."""
    return Connection(int(sys.argv[1]), writable=False), Connection(int(sys.argv[2]), readable=False)


def main() -> None:
    """Run the tasks that the parent sends, until it closes the connection."""
    tasks, answers = parent()
    try:
        while True:
            task: Task = tasks.recv()
            limit_memory(task.limits.max_memory)
            if not _run_task(task, answers):
                return
    except (EOFError, BrokenPipeError):
        return
    finally:
        # Exit without cleanup: none is needed, and C libraries may hang or crash during theirs.
        sys.stdout.flush()
        os._exit(0)


def _run_task(task: Task, answers: Connection) -> bool:
    """Send the parts of a task's result, or its error. Return whether the process can run another task."""
    failure: Exception | None = None
    remaining, can_continue = task.limits.max_seconds + GRACE_SECONDS, True
    try:
        signal.setitimer(signal.ITIMER_REAL, remaining)
        for part in task.parts():
            # The timer stops during the send, because the parent may be slow to receive.
            remaining, _ = signal.setitimer(signal.ITIMER_REAL, 0)
            answers.send(part)
            signal.setitimer(signal.ITIMER_REAL, remaining)
    except (SourceError, NotFound) as error:
        failure = error
    except MemoryError:
        failure = SourceTooSlow(f"reading it took more than {task.limits.max_memory:,} bytes of memory", "split it")
        can_continue = False
    signal.setitimer(signal.ITIMER_REAL, 0)
    if failure is not None:
        answers.send(failure)
    return can_continue


def limit_memory(most: int) -> None:
    """Limit this process's address space to a number of bytes. Does nothing except on Linux."""
    if sys.platform == "linux":
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))
