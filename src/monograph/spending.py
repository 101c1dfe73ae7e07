"""Ledger of model calls: the tokens that work on a file takes, until the file stores them."""

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
    """Key of a ledger entry: day of UTC as ``2026-11-23``, model and purpose."""

    day: str
    model: str
    purpose: str


@dataclass(frozen=True, slots=True)
class Spent:
    """Calls of a model, and the tokens that it read and wrote."""

    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0

    def __add__(self, other: Spent) -> Spent:
        return Spent(self.calls + other.calls, self.tokens_in + other.tokens_in, self.tokens_out + other.tokens_out)

    def __sub__(self, other: Spent) -> Spent:
        return Spent(self.calls - other.calls, self.tokens_in - other.tokens_in, self.tokens_out - other.tokens_out)


class Noted:
    """Model calls for a file that are not in its ledger yet. Safe for use by many threads."""

    def __init__(self) -> None:
        self.spent: dict[CallKey, Spent] = {}
        self._lock = threading.Lock()

    def add(self, asked: CallKey, spent: Spent) -> None:
        """Note what was spent."""
        with self._lock:
            self.spent[asked] = self.spent.get(asked, Spent()) + spent

    def pending(self) -> Mapping[CallKey, Spent]:
        """All that is noted."""
        with self._lock:
            return dict(self.spent)

    def drop(self, written: Mapping[CallKey, Spent]) -> None:
        """Take off what the ledger has by now."""
        with self._lock:
            for asked, spent in written.items():
                left = self.spent.pop(asked) - spent
                if left != Spent():
                    self.spent[asked] = left


NOTED: ContextVar[Noted | None] = ContextVar("monograph_noted", default=None)
"""What notes the calls of models: that of the file that is worked on; None between."""


def note(purpose: Purpose, model: str, tokens_in: int = 0, tokens_out: int = 0) -> None:
    """Note that a model has answered, for the file that is worked on, if one is.

    Parameters
    ----------
    purpose:
        What it was asked for.
    model:
        Its key.
    tokens_in, tokens_out:
        What it read and wrote; 0 where nobody counted.
    """
    noted = NOTED.get()
    if noted is not None:
        noted.add(CallKey(datetime.now(UTC).date().isoformat(), model, purpose), Spent(1, tokens_in, tokens_out))


def noting_pieces(noted: Noted, pieces: Iterator[T]) -> Iterator[T]:
    """Note for a file what models are asked for an iterator, between whose items the caller does other work."""
    context = copy_context()
    context.run(NOTED.set, noted)
    end = object()
    while (piece := context.run(next, pieces, end)) is not end:
        yield piece  # type: ignore[misc]
