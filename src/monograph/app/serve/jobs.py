"""Background jobs, one at a time for each file. One request starts a job, others observe it."""

from __future__ import annotations

import asyncio
import logging
import secrets
import threading
import time
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from sse_starlette import ServerSentEvent

from monograph.app.serve.replies import Fault, TooMany, event, fault_of
from monograph.app.serve.threads import Threads
from monograph.errors import MonographError, NotFound
from monograph.values import OnProgress, Plan, Progress, Report

JobKind: TypeAlias = Literal["sync", "plan", "retry", "remove", "unfollow"]
JobState: TypeAlias = Literal["waiting", "running", "done", "failed", "stopped"]
Work: TypeAlias = Callable[[OnProgress], Plan | Report]

KEPT = 50
"""Number of ended jobs (of all files) that stay in memory when a new job is queued; the oldest are dropped."""
WAITING = 20
"""Maximum number of jobs of one file that wait or run; further jobs are refused."""
POLL_SECONDS = 0.2
"""Seconds between two checks of a job while its events are read."""

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Job:
    """Background work, and its progress.

    Parameters
    ----------
    id:
        Id of the job.
    file:
        Name of the file that it reads or changes.
    kind, state:
        The work, and whether it waits, runs or has ended.
    progress:
        Its progress; null before it begins.
    plan, report:
        Its result; null until it is done, and in a list of jobs.
    error:
        Why it failed; null if it did not.
    created, ended:
        Seconds since 1970; 0 if it has not ended.
    """

    id: str
    file: str
    kind: JobKind
    state: JobState
    progress: Progress | None = None
    plan: Plan | None = None
    report: Report | None = None
    error: Fault | None = None
    created: float = 0.0
    ended: float = 0.0


class _Stopped(Exception):
    """Signal that ends a job after :meth:`Jobs.stop`.

    The job raises the signal when it next reports progress, or when it starts.
    """


class Jobs:
    """Jobs of a server: all waiting and running jobs, and the newest ended jobs (see ``KEPT``)."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._jobs: dict[str, Job] = {}
        self._stopping: set[str] = set()
        self._threads: dict[str, Threads] = {}

    def begin(self, file: str, kind: JobKind, work: Work) -> Job:
        """Queue a job that runs after all earlier jobs of the file.

        The job calls ``work`` with a function that records progress. The plan or report that ``work`` returns is the
        result of the job.

        Raises
        ------
        TooMany
            If the file already has ``WAITING`` jobs that wait or run.
        """
        job = Job(secrets.token_hex(8), file, kind, "waiting", created=time.time())
        with self._lock:
            if sum(not other.ended for other in self._jobs.values() if other.file == file) >= WAITING:
                raise TooMany(f"{WAITING} jobs of {file} wait or run already", "try again later, or stop some")
            self._jobs[job.id] = job
            ended_ids = [other.id for other in self._jobs.values() if other.ended]
            for identifier in ended_ids[: max(0, len(ended_ids) - KEPT)]:
                del self._jobs[identifier]
            threads = self._threads.setdefault(file, Threads(1, "monograph-job"))
        threads.submit(self._run, job.id, work)
        return job

    def all(self, file: str) -> list[Job]:
        """Return the jobs of a file, newest first, without their results."""
        with self._lock:
            jobs = [job for job in self._jobs.values() if job.file == file]
        return [replace(job, plan=None, report=None) for job in reversed(jobs)]

    def named(self, identifier: str) -> Job:
        """Return a job by its id. Raises NotFound if there is none."""
        with self._lock:
            if identifier not in self._jobs:
                raise NotFound(f"there is no job {identifier!r}", "GET /jobs lists the jobs since the server started")
            return self._jobs[identifier]

    def stop(self, identifier: str) -> Job:
        """Stop a job at its next step. What the job has stored is kept.

        Raises NotFound if no job has the id.
        """
        job = self.named(identifier)
        self._stopping.add(identifier)
        return job

    async def events(self, identifier: str) -> AsyncGenerator[ServerSentEvent]:
        """Yield one event at once, and one after each change of a job until it has ended. Each event contains the job.

        The first step of the generator raises NotFound if no job has the id.
        """
        last = None
        while True:
            job = self.named(identifier)
            if job is not last:
                yield event("job", job)
            if job.ended:
                return
            last = job
            await asyncio.sleep(POLL_SECONDS)

    def end(self) -> None:
        """Stop all jobs at their next step."""
        self._stopping.update(list(self._jobs))

    def close(self, seconds: float) -> None:
        """Wait until jobs have ended, at most ``seconds`` seconds for each file; a job may run longer."""
        for threads in self._threads.values():
            threads.close(seconds)

    def _run(self, identifier: str, work: Work) -> None:
        def advance(**changes: object) -> None:
            if identifier in self._stopping:
                raise _Stopped
            self._set(identifier, **changes)

        outcome: dict[str, object]
        try:
            advance(state="running")
            result = work(lambda progress: advance(progress=progress))
            outcome = {"state": "done", "plan" if isinstance(result, Plan) else "report": result}
        except _Stopped:
            outcome = {"state": "stopped"}
        except MonographError as error:
            outcome = {"state": "failed", "error": fault_of(error)}
        except Exception as error:
            _LOG.exception("a bug in Monograph in a job")
            fault = Fault(f"a bug in Monograph: {type(error).__name__}", "see the terminal, and report it", "Fault")
            outcome = {"state": "failed", "error": fault}
        self._set(identifier, ended=time.time(), **outcome)

    def _set(self, identifier: str, **changes: object) -> None:
        with self._lock:
            self._jobs[identifier] = replace(self._jobs[identifier], **changes)  # type: ignore[arg-type]
