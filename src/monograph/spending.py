"""Counts of model calls, and of tokens that models read and wrote, before they are stored in a file's ledger.

The ledger is the table ``costs`` of a file: numbers of calls and tokens by day, model and purpose.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextvars import ContextVar, copy_context
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal, TypeAlias, TypeVar

T = TypeVar("T")

Purpose: TypeAlias = Literal["embed", "extract", "summarize", "describe", "rewrite", "types", "answer", "rerank"]


@dataclass(frozen=True, slots=True, order=True)
class CallKey:
    """Key of a ledger entry: the day in UTC as ``2026-11-23``, the model's key, and the purpose of the calls."""

    day: str
    model: str
    purpose: str


@dataclass(frozen=True, slots=True)
class CallCounts:
    """Number of calls of a model, and numbers of tokens that the model read and wrote."""

    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0

    def __add__(self, other: CallCounts) -> CallCounts:
        return CallCounts(
            self.calls + other.calls, self.tokens_in + other.tokens_in, self.tokens_out + other.tokens_out
        )

    def __sub__(self, other: CallCounts) -> CallCounts:
        return CallCounts(
            self.calls - other.calls, self.tokens_in - other.tokens_in, self.tokens_out - other.tokens_out
        )


class CallCounter:
    """Counter of the model calls for one file, until they are written to the file's ledger.

    Safe for use by many threads.
    """

    def __init__(self) -> None:
        self.spent: dict[CallKey, CallCounts] = {}
        self._lock = threading.Lock()

    def add(self, asked: CallKey, spent: CallCounts) -> None:
        """Add numbers of calls and tokens to the counts of a key."""
        with self._lock:
            self.spent[asked] = self.spent.get(asked, CallCounts()) + spent

    def pending(self) -> Mapping[CallKey, CallCounts]:
        """Return the calls that are not in the ledger yet, by key."""
        with self._lock:
            return dict(self.spent)

    def drop(self, written: Mapping[CallKey, CallCounts]) -> None:
        """Subtract calls that have been written to the ledger."""
        with self._lock:
            for key, spent in written.items():
                remaining = self.spent.pop(key) - spent
                if remaining != CallCounts():
                    self.spent[key] = remaining


NOTED: ContextVar[CallCounter | None] = ContextVar("monograph_noted", default=None)
"""Counter of the file for which this context calls models. If it is None, calls are not counted."""


def note(purpose: Purpose, model: str, tokens_in: int = 0, tokens_out: int = 0) -> None:
    """Count an answered call of a model in :data:`NOTED`. Do nothing if NOTED is None.

    ``model`` is the model's key. ``tokens_in`` and ``tokens_out`` are the tokens that the model read and wrote; 0 if
    they were not counted.
    """
    noted = NOTED.get()
    if noted is not None:
        noted.add(CallKey(datetime.now(UTC).date().isoformat(), model, purpose), CallCounts(1, tokens_in, tokens_out))


def count_while_iterating(noted: CallCounter, pieces: Iterator[T]) -> Iterator[T]:
    """Yield the items of an iterator, and count the model calls that the iterator makes, in the counter ``noted``.

    Model calls that the caller makes between two items are not counted in ``noted``.
    """
    context = copy_context()
    context.run(NOTED.set, noted)
    end = object()
    while (piece := context.run(next, pieces, end)) is not end:
        yield piece  # type: ignore[misc]
