"""Waiting in threads, so that an event loop goes on meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator
from typing import TypeVar

Piece = TypeVar("Piece")


async def in_threads(pieces: Iterator[Piece]) -> AsyncGenerator[Piece, None]:
    """What an iterator gives, each piece awaited in a thread."""
    end = object()
    while (piece := await asyncio.to_thread(next, pieces, end)) is not end:
        yield piece  # type: ignore[misc]
