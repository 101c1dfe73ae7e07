"""The threads that answer: few, since each has connections of its own, and they stay."""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, TypeVar

from monograph.app.serve.faults import TooMany

Made = TypeVar("Made")

QUICK, SLOW = 4, 8
"""Requests that are answered at one time: what takes moments, and what may take minutes, as what a model writes."""
WAITING = 200
"""Requests that wait for a thread of either kind; more are refused."""

UPLOADS = 4
"""Files that are taken at one time; more are refused."""


class Threads:
    """So many threads at most, which do one thing after the other. A program may end while they work."""

    def __init__(self, most: int, name: str) -> None:
        self._most, self._name = most, name
        self._work: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._waiting = 0
        self._lock = threading.Lock()

    @property
    def waiting(self) -> int:
        """How many things are to be done, or being done."""
        return self._waiting

    def do(self, work: Callable[[], None]) -> None:
        """Do something on the next thread that is free. It is to raise nothing."""
        with self._lock:
            self._waiting += 1
            if self._waiting > len(self._threads) and len(self._threads) < self._most:
                self._threads.append(threading.Thread(target=self._run, name=self._name, daemon=True))
                self._threads[-1].start()
        self._work.put(work)

    def close(self, seconds: float) -> None:
        """Take no more, and wait for what is being done."""
        end = time.monotonic() + seconds
        for _ in self._threads:
            self._work.put(None)
        for thread in self._threads:
            thread.join(max(0.0, end - time.monotonic()))

    def _run(self) -> None:
        while (work := self._work.get()) is not None:
            try:
                work()
            finally:
                with self._lock:
                    self._waiting -= 1


class Workers:
    """Two sets of threads, for what is quick and for what is slow."""

    def __init__(self) -> None:
        self._quick, self._slow = Threads(QUICK, "monograph-serve"), Threads(SLOW, "monograph-serve-slow")
        self.uploads = asyncio.Semaphore(UPLOADS)

    async def run(self, work: Callable[[], Made], *, slow: bool = False) -> Made:
        """Do something on a thread, and wait for it. Whoever goes away leaves the work to its end.

        Raises
        ------
        TooMany
            If too many wait already.
        """
        threads, loop = self._free(slow=slow), asyncio.get_running_loop()
        done: asyncio.Future[Made] = loop.create_future()

        def worked() -> None:
            try:
                made = work()
            except BaseException as error:  # it is raised where it is waited for
                _tell(loop, _fail, done, error)
            else:
                _tell(loop, _give, done, made)

        threads.do(worked)
        return await done

    async def stream(self, pieces: Callable[[], Iterator[Made]]) -> AsyncIterator[Made]:
        """What an iterator gives that works on a slow thread. Closed early, it ends at its next piece.

        Raises
        ------
        TooMany
            If too many wait already.
        """
        threads, loop = self._free(slow=True), asyncio.get_running_loop()
        given: asyncio.Queue[Made | BaseException | None] = asyncio.Queue()
        left = threading.Event()

        def worked() -> None:
            end: BaseException | None = None
            made = iter(pieces())
            try:
                for piece in made:
                    if left.is_set():
                        break
                    _tell(loop, given.put_nowait, piece)
            except BaseException as error:  # it is raised where the pieces are taken
                end = error
            close = getattr(made, "close", None)
            if close is not None:
                close()
            _tell(loop, given.put_nowait, end)

        threads.do(worked)
        try:
            while (piece := await given.get()) is not None:
                if isinstance(piece, BaseException):
                    raise piece
                yield piece
        finally:
            left.set()

    def close(self, seconds: float) -> None:
        """Take no more, and wait for what is being done."""
        self._quick.close(seconds)
        self._slow.close(seconds)

    def _free(self, *, slow: bool) -> Threads:
        threads = self._slow if slow else self._quick
        if threads.waiting >= WAITING:
            raise TooMany("too many requests wait for an answer", "ask again in a moment")
        return threads


def _tell(loop: asyncio.AbstractEventLoop, told: Callable[..., None], *values: Any) -> None:
    try:
        loop.call_soon_threadsafe(told, *values)
    except RuntimeError:  # The server has ended meanwhile: nobody waits.
        return


def _give(done: asyncio.Future[Made], made: Made) -> None:
    if not done.done():
        done.set_result(made)


def _fail(done: asyncio.Future[Any], error: BaseException) -> None:
    if not done.done():
        done.set_exception(error)
