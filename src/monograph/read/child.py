"""Child processes that read files: a parser may hang, crash or run out of memory, and files are read in parallel.

The parent sends a task to a child. The child sends back each part of the result as soon as the part is ready. If the
task fails, the child sends the error. If the task exceeds its time limit, a timer signal of the kernel ends the child,
even if the parser hangs or the parent no longer runs.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from multiprocessing.connection import Connection
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Generic, Protocol, Self, TypeVar

from monograph.errors import NotFound, SourceDamaged, SourceError, SourceTooSlow, SourceUnreadable
from monograph.read.limits import Limits
from monograph.regex import regex

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

PROCESSES = min(4, os.cpu_count() or 1)
"""Maximum number of child processes that read files at the same time.

Storing files uses at most this number of processes too: the writer, and processes that compute vectors and entities.
"""

GRACE_SECONDS = 2.0
"""Number of seconds that a child may run beyond the time limit of its task. Then a signal ends the child.

Readers check the time limit themselves, so the signal ends only a reader that hangs.
"""

_ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
_SECRETS = regex(r"MONOGRAPH_(?:KEY|TOKEN|(?:\w+_)?API_KEY)")
"""Matches names of secret environment variables. Child processes read untrusted files, so they get no secrets."""
_START = "import sys; sys.path[:] = sys.argv[3:]; from monograph.read.child import main; main()"

Result = TypeVar("Result")
Result_co = TypeVar("Result_co", covariant=True)


class Task(Protocol[Result_co]):
    """Work for a child process. The task and the parts of its result must be picklable."""

    @property
    def limits(self) -> Limits:
        """Limits of the task's time and memory."""
        ...

    def parts(self) -> Iterator[Result_co]:
        """Yield the parts of the result, in the child. Raises SourceError or NotFound if the task fails."""
        ...


class ChildProcess:
    """Child process, as the parent sees it. The child runs :func:`main`.

    The child is a new interpreter, not a fork. It inherits no threads. It does not run the parent's main module.
    Therefore the main module needs no ``if __name__ == "__main__"``.

    Parent and child are connected by pipes, not sockets. So children also work in programs that forbid sockets to
    prevent network access. The parent sends tasks through ``asked``, and receives results through ``answers``.
    """

    def __init__(self) -> None:
        task_reader, task_writer = os.pipe()
        answer_reader, answer_writer = os.pipe()
        self.asked = Connection(task_writer, readable=False)
        self.answers = Connection(answer_reader, writable=False)
        try:
            # In its own session, so that Ctrl-C in the terminal reaches the parent only.
            self.process = subprocess.Popen(  # noqa: S603 - our own interpreter
                [sys.executable, "-c", _START, str(task_reader), str(answer_writer), *sys.path],
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
        """End the process, and return its exit code, which is negative if a signal ended it.

        If the process has not ended by itself after 0.2 seconds, it is killed.
        """
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


class Call(Generic[Result]):
    """Task in a pool. Iterate over it, once only, to get each part of the result as soon as it is ready.

    The iteration raises the task's SourceError or NotFound, and SourceError if the child process ends early.
    """

    def __init__(self, pool: ChildPool, task: Task[Result]) -> None:
        self.task = task
        self.answers: SimpleQueue[bytes] = SimpleQueue()
        self.awaited = False
        self._pool = pool
        self._running = pool.threads.submit(pool.run, self)

    def cancel(self) -> bool:
        """Cancel the task if it has not begun. Return whether it was cancelled."""
        return self._running.cancel()

    def __iter__(self) -> Iterator[Result]:
        self._pool.taken(self, 0)
        while data := self.answers.get():
            self._pool.taken(self, len(data))
            # Unpickled in the caller's thread, because it would wait for any other thread that does so.
            part: Result | Exception = pickle.loads(data)  # noqa: S301 - from our own process
            if isinstance(part, Exception):
                raise part
            yield part
        self._running.result()


class ChildPool:
    """Pool of child processes that run tasks. A process is started when a task needs it. A context manager.

    Each process has a thread in the parent, which sends it tasks and receives the parts of their results. The pool is
    safe to use from several threads.

    Parameters
    ----------
    processes:
        Maximum number of processes. Each runs one task at a time.
    most_waiting:
        Limit of the bytes of received parts that no caller has taken yet. Above this limit, the pool receives further
        parts only for calls that a caller iterates over.
    """

    def __init__(self, processes: int = 1, most_waiting: int = sys.maxsize) -> None:
        self._most_processes, self._most_waiting = processes, most_waiting
        self.threads = self._new_threads()
        self._own = threading.local()  # Holds the process of each thread.
        self._children: list[ChildProcess] = []
        self._waiting = 0
        self._room = threading.Condition()
        self._closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Kill the processes. Tasks that are not complete fail. A task that is started later starts a new process."""
        with self._room:
            self._closed = True
            self._room.notify_all()
            for child in self._children:
                child.process.kill()
        self.threads.shutdown()
        for child in self._children:
            child.end()
        self._children.clear()
        self.threads, self._waiting, self._closed = self._new_threads(), 0, False

    def _new_threads(self) -> ThreadPoolExecutor:
        from concurrent.futures import ThreadPoolExecutor  # Child processes do not need it.

        return ThreadPoolExecutor(self._most_processes, thread_name_prefix="child")

    def call(self, task: Task[Result]) -> Call[Result]:
        """Start a task in one of the processes, or queue it if all are busy. Return the call to iterate over."""
        return Call(self, task)

    def taken(self, call: Call[Any], size: int) -> None:
        """Record that a caller iterates over ``call``, and that the caller took a part of ``size`` bytes."""
        with self._room:
            call.awaited = True
            self._waiting -= size
            self._room.notify_all()

    def run(self, call: Call[Any]) -> None:
        """Run a call's task in the child process of this thread. Raises SourceError if the child process ends early."""
        try:
            child = self._child()
            try:
                child.asked.send(call.task)
                while data := child.answers.recv_bytes():
                    call.answers.put(data)
                    with self._room:
                        self._waiting += len(data)
                        self._room.wait_for(lambda: call.awaited or self._waiting <= self._most_waiting or self._closed)
            except (EOFError, OSError):
                raise _death(child.end(), call.task.limits) from None
        finally:
            call.answers.put(b"")

    def _child(self) -> ChildProcess:
        """Return the child process of this thread. Start one if none is running."""
        child: ChildProcess | None = getattr(self._own, "child", None)
        if child is None or child.process.poll() is not None:
            with self._room:
                if self._closed:
                    raise SourceUnreadable("the processes that read files were ended")
                child = self._own.child = ChildProcess()
                self._children.append(child)
        return child


def _death(code: int, limits: Limits) -> SourceError:
    """Return the error for a file whose child process ended. ``code`` is the exit code, negative for a signal."""
    if code == -signal.SIGALRM:
        return SourceTooSlow(
            f"reading it took more than {limits.max_seconds:g} s", "split it, or give a higher --max-seconds"
        )
    if code == -signal.SIGKILL:
        return SourceTooSlow("the process that read it was killed: it may have taken all memory", "split it")
    name = signal.Signals(-code).name if code < 0 else f"exit code {code}"
    return SourceDamaged(f"the reader of its format crashed on it ({name})", "save it again")


# The functions below run in the child.


def main() -> None:
    """Run the tasks that the parent sends, until the parent closes the connection."""
    tasks, answers = Connection(int(sys.argv[1]), writable=False), Connection(int(sys.argv[2]), readable=False)
    try:
        while _run_task(tasks.recv(), answers):
            pass
    except (EOFError, BrokenPipeError):
        return
    finally:
        # Exit without cleanup: none is needed, and C libraries may hang or crash during theirs.
        sys.stdout.flush()
        os._exit(0)


def _run_task(task: Task[Any], answers: Connection) -> bool:
    """Run a task and send its result. Return False if the process ran out of memory and must end, else True."""
    limit_memory(task.limits.max_memory)
    remaining = task.limits.max_seconds + GRACE_SECONDS
    failure: Exception | None = None
    can_continue = True
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
    # Empty bytes mark the end of a result.
    if can_continue:
        answers.send_bytes(b"")
    return can_continue


def limit_memory(most: int) -> None:
    """Limit the address space of this process to ``most`` bytes. Has no effect except on Linux."""
    if sys.platform == "linux":
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))
