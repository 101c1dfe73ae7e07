"""The threads that answer: few, and as many at most as wait for them, since each has a connection of its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from monograph.app.serve.faults import TooMany

Made = TypeVar("Made")

THREADS = 4
"""Requests that are answered at one time."""
WAITING = 200
"""Requests that wait for a thread; more are refused."""
STREAMS = 8
"""Answers that are streamed at one time."""


class Workers:
    """Two sets of threads: for what is answered at once, and for answers that a model writes for minutes."""

    def __init__(self, threads: int = THREADS, waiting: int = WAITING, streams: int = STREAMS) -> None:
        self._quick = ThreadPoolExecutor(threads, "monograph-serve")
        self._slow = ThreadPoolExecutor(streams, "monograph-stream")
        self._most_quick, self._most_slow = threads + waiting, streams
        self._asked = self._streamed = 0

    async def run(self, work: Callable[[], Made]) -> Made:
        """Do something on a thread, and wait for it.

        Raises
        ------
        TooMany
            If too many wait already.
        """
        if self._asked >= self._most_quick:
            raise TooMany("too many requests wait for an answer", "ask again in a moment")
        self._asked += 1
        done = asyncio.get_running_loop().run_in_executor(self._quick, work)
        done.add_done_callback(self._answered)
        # Whoever goes away leaves the work to its end: a thread is not interrupted, and stays counted.
        return await asyncio.shield(done)

    def _answered(self, done: asyncio.Future[Any]) -> None:
        self._asked -= 1
        if not done.cancelled():
            done.exception()  # It is known, even where nobody waits for it any more.

    async def stream(self, pieces: Callable[[], Iterator[Made]]) -> AsyncIterator[Made]:
        """What an iterator gives that works on a thread of its own. Closed early, it ends at its next piece.

        Raises
        ------
        TooMany
            If as many are at work as may be.
        """
        if self._streamed >= self._most_slow:
            raise TooMany("too many answers are being written", "ask again when one of them is done")
        self._streamed += 1
        loop = asyncio.get_running_loop()
        given: asyncio.Queue[Made | BaseException | None] = asyncio.Queue()
        left = False

        def work() -> None:
            made = pieces()
            try:
                for piece in made:
                    if left:
                        break
                    loop.call_soon_threadsafe(given.put_nowait, piece)
                end: BaseException | None = None
            except BaseException as error:  # It is raised again where the pieces are taken.
                end = error
            finally:
                close = getattr(made, "close", None)
                if close is not None:
                    close()
            loop.call_soon_threadsafe(finished, end)

        def finished(end: BaseException | None) -> None:
            self._streamed -= 1
            given.put_nowait(end)

        loop.run_in_executor(self._slow, work)
        try:
            while (piece := await given.get()) is not None:
                if isinstance(piece, BaseException):
                    raise piece
                yield piece
        finally:
            left = True

    def close(self) -> None:
        """Take no more; what is being done ends by itself."""
        self._quick.shutdown(wait=False, cancel_futures=True)
        self._slow.shutdown(wait=False, cancel_futures=True)
