"""Threads that answer requests: a fixed number, because each thread keeps database connections of its own."""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from collections.abc import AsyncGenerator, Callable, Generator
from concurrent.futures import Executor, Future
from contextlib import closing
from functools import partial
from typing import Any, ParamSpec, TypeVar

from monograph.app.serve.replies import TooMany

P = ParamSpec("P")
Result = TypeVar("Result")

WAITING = 200
"""Maximum number of calls waiting for a thread; further calls are refused."""


class Threads(Executor):
    """Executor with a fixed number of daemon threads.

    Unlike the threads of ``concurrent.futures.ThreadPoolExecutor``, they do not delay the end of the program.
    """

    def __init__(self, most: int, name: str) -> None:
        self._max_threads, self._name = most, name
        self._calls: queue.SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._unfinished = 0
        self._lock = threading.Lock()

    def submit(self, call: Callable[P, Result], /, *args: P.args, **kwargs: P.kwargs) -> Future[Result]:
        """Call a function on the next free thread and return its future. Raises TooMany if too many calls wait."""
        future: Future[Result] = Future()
        with self._lock:
            if self._unfinished >= self._max_threads + WAITING:
                raise TooMany("too many requests are waiting", "try again in a moment")
            self._unfinished += 1
            if self._unfinished > len(self._threads) < self._max_threads:
                self._threads.append(threading.Thread(target=self._run, name=self._name, daemon=True))
                self._threads[-1].start()
        self._calls.put((future, partial(call, *args, **kwargs)))
        return future

    def close(self, seconds: float) -> None:
        """Wait until the running and queued calls are done, at most ``seconds`` seconds.

        The threads end when no call is left, even after this time. Calls submitted after ``close`` may never run.
        """
        end = time.monotonic() + seconds
        for _ in self._threads:
            self._calls.put(None)
        for thread in self._threads:
            thread.join(max(0.0, end - time.monotonic()))

    def _run(self) -> None:
        while (next_call := self._calls.get()) is not None:
            future, call = next_call
            try:
                if future.set_running_or_notify_cancel():
                    future.set_result(call())
            except BaseException as error:
                future.set_exception(error)
            finally:
                with self._lock:
                    self._unfinished -= 1


async def iterate_on(threads: Threads, items: Callable[[], Generator[Result]]) -> AsyncGenerator[Result]:
    """Run a generator on one thread from beginning to end, and yield its items. No item may be None.

    ``items`` returns the generator. If this iterator is closed early, the generator stops at its next item. This
    iterator raises the errors of the generator. It raises TooMany if too many calls wait for a thread.
    """
    loop, closed = asyncio.get_running_loop(), threading.Event()
    received: asyncio.Queue[Result | BaseException | None] = asyncio.Queue()

    def deliver(item: Result | BaseException | None) -> None:
        loop.call_soon_threadsafe(received.put_nowait, item)

    def work() -> None:
        try:
            with closing(items()) as generator:
                for item in generator:
                    if closed.is_set():
                        return
                    deliver(item)
        except BaseException as error:
            deliver(error)
        else:
            deliver(None)

    threads.submit(work)
    try:
        while (item := await received.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        closed.set()
