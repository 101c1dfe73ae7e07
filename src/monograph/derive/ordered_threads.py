"""Work on many inputs in several threads, with the results in the order of the inputs."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from itertools import islice
from typing import TypeVar

from monograph.errors import ModelError

Input = TypeVar("Input")
Result = TypeVar("Result")


def in_order(work: Callable[[Input], Result], inputs: Iterable[Input], workers: int) -> Generator[Result]:
    """Yield the results of ``work`` on each input, in input order, computed in several threads.

    The threads run ahead of the caller by at most ``2 * workers`` inputs. With one worker, the caller's thread does the
    work. If ``work`` raises ModelError, no further input is started. The results of inputs that were already started
    are yielded before the error is raised.
    """
    if workers == 1:
        yield from map(work, inputs)
        return
    remaining = iter(inputs)
    running: deque[Future[Result]] = deque()
    error: ModelError | None = None
    pool = ThreadPoolExecutor(workers, thread_name_prefix="derive")
    try:
        while True:
            if error is None:
                batch = islice(remaining, 2 * workers - len(running))
                running.extend(pool.submit(copy_context().run, work, item) for item in batch)
            if not running:
                break
            try:
                yield running.popleft().result()
            except ModelError as raised:
                error = error or raised
    finally:
        pool.shutdown(cancel_futures=True)
    if error is not None:
        raise error
