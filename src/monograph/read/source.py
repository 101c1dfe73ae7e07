"""A file's bytes with all that a reader must know of them."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import PurePosixPath
from typing import Any, TypeAlias

from monograph.errors import ReaderMissing, SourceError, SourceTooLarge, SourceTooSlow
from monograph.read.kept import Picture
from monograph.read.limits import DEFAULT_LIMITS, Limits
from monograph.values import Document, Problem

Items: TypeAlias = Iterator[Document | Problem | Picture]
"""What a reader finds, as it finds it. It raises a SourceError where nothing of a file can be read.

A picture comes before the document that has its mark.
"""

INSIDE = "!/"
"""Stands between an archive or a message and a file in it."""


@dataclass(frozen=True, slots=True)
class Address:
    """Origin of bytes: the uri, which the ids of documents are made from, and the path below the root."""

    uri: str
    path: str

    @property
    def name(self) -> str:
        """The file's own name."""
        return PurePosixPath(self.path).name

    @property
    def stem(self) -> str:
        """The file's own name without its suffix."""
        return PurePosixPath(self.path).stem

    def inside(self, name: str) -> Address:
        """The address of a file within this one."""
        name = name.replace("\0", "")
        return Address(*(one + INSIDE + name for one in (self.uri, self.path)))


class Clock:
    """Remaining time for a file. It stands still while what was read waits to be taken."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    def left(self) -> float:
        """Seconds, below 0 when the time is over."""
        return self._end - time.monotonic()

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Stop the clock for the block."""
        began = time.monotonic()
        yield
        self._end += time.monotonic() - began


@dataclass(frozen=True, slots=True)
class Opened:
    """Bytes to be read: where from, within what limits, by which clock, and inside how many other files.

    While ``describing``, pictures are kept for what describes them, and no words are recognised in them.
    """

    data: bytes
    address: Address
    limits: Limits = DEFAULT_LIMITS
    clock: Clock = field(default_factory=lambda: Clock(DEFAULT_LIMITS.max_seconds))
    depth: int = 0
    describing: bool = False

    def inside(self, name: str, data: bytes) -> Opened:
        """A file within this one."""
        return replace(self, data=data, address=self.address.inside(name), depth=self.depth + 1)

    def metadata(self, form: str, **known: Any) -> dict[str, Any]:
        """A document's metadata: its path, its format, and what else is known and not empty."""
        return {"path": self.address.path, "format": form, **{key: value for key, value in known.items() if value}}

    def late(self, share: float = 0.75) -> bool:
        """Whether so much of the time for this file is over."""
        return self.clock.left() < (1 - share) * self.limits.max_seconds

    def check_pages(self, count: int, what: str) -> None:
        """Raise SourceTooLarge where there are more pages, slides or files than may be."""
        if count > self.limits.max_pages:
            raise SourceTooLarge(
                f"it has {count:,} {what}, more than the limit of {self.limits.max_pages:,}", "divide it"
            )

    def check_time(self) -> None:
        """Raise SourceTooSlow where the time for this file is over."""
        if self.clock.left() < 0:
            raise SourceTooSlow(f"it took more than {self.limits.max_seconds:g} s to read", "--max-seconds")


Reader: TypeAlias = Callable[[Opened], Items]


def missing(what: str, extra: str, cause: ImportError) -> ReaderMissing:
    """The error for a file whose reader is not installed."""
    return ReaderMissing(
        f"{what}, and the extra {extra!r} is not installed",
        f'pip install "monograph[{extra}]", then monograph retry FILE',
        cause.name or extra,
    )


def is_installed(module: str) -> bool:
    """Whether a module that a file needed can be imported now."""
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def problem_of(uri: str, error: SourceError, where: str = "") -> Problem:
    """Return the problem for an error; ``where`` names the place in the file that it concerns."""
    return Problem(uri, f"{where}: {error.message}" if where else error.message, error.hint, error.needs)


def text_of(value: Any) -> str:
    """A property of a file as plain text; empty for what is no text, number or date."""
    return "" if value is None or isinstance(value, Mapping | bytes) else " ".join(str(value).split())


def day_of(when: Any) -> str:
    """The day of a moment, as a property of a file has it; empty for none."""
    return when.date().isoformat() if isinstance(when, datetime) else ""
