"""Coroutines cancelled at their n-th suspension."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Generator
from types import coroutine
from typing import Any


def cancel_at_every_await(make: Callable[[], Coroutine[Any, Any, object]], most: int = 50) -> int:
    """Run coroutines of ``make``, each cancelled one suspension later, until one ends; count the cancelled ones."""
    for step in range(most):
        if not asyncio.run(_run(make(), step)):
            return step
    raise AssertionError(f"it is suspended more than {most} times")


async def _run(work: Coroutine[Any, Any, object], step: int) -> bool:
    return await _cancelled(work, step)


@coroutine
def _cancelled(work: Coroutine[Any, Any, object], step: int) -> Generator[Any, Any, bool]:
    """Return whether the work was cancelled. Threads that it started run until the event loop closes."""
    reached = 0
    while True:
        try:
            waited = work.send(None)
        except StopIteration:
            return False
        if reached == step:
            if waited is not None:
                waited._asyncio_future_blocking = False
            try:
                work.throw(asyncio.CancelledError())
            except asyncio.CancelledError:
                return True
            raise AssertionError("it went on after it was cancelled")
        reached += 1
        yield waited
