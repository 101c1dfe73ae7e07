"""Types that all readers use: the file to read, its address and time limit, and the items that a reader yields."""

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
"""Items that a reader yields while it reads a file. The reader raises SourceError if nothing in the file can be read.

A picture is yielded before the document that contains the picture's mark, a text that shows the picture's position: see
:class:`monograph.read.kept.Picture`.
"""

INSIDE = "!/"
"""Separator in uris and paths, before the name of a file in an archive or message."""


@dataclass(frozen=True, slots=True)
class Address:
    """Origin of a file's bytes: its uri, from which ids of documents are computed, and its path below the root."""

    uri: str
    path: str

    @property
    def name(self) -> str:
        """Name of the file, without folders."""
        return PurePosixPath(self.path).name

    @property
    def stem(self) -> str:
        """Name of the file, without folders and suffix."""
        return PurePosixPath(self.path).stem

    def inside(self, name: str) -> Address:
        """Return the address of a file that this file contains, such as an attachment of an e-mail.

        ``name`` is the name of the contained file.
        """
        name = name.replace("\0", "")
        return Address(*(part + INSIDE + name for part in (self.uri, self.path)))


class Clock:
    """Time limit for reading a file.

    The clock is stopped while the caller stores a part of the file: see :class:`monograph.read.file.Part`.
    """

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    def left(self) -> float:
        """Return the remaining seconds. The number is negative when the time is over."""
        return self._end - time.monotonic()

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Stop the clock while the body of the ``with`` statement runs."""
        started = time.monotonic()
        yield
        self._end += time.monotonic() - started


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file to read: its bytes and address, the limits for reading it, and the clock with the remaining time.

    ``depth`` is the number of archives and e-mail messages that contain the file, one inside another. If ``describing``
    is True, pictures are kept for a model to describe, and the words in pictures are not recognised.
    """

    data: bytes
    address: Address
    limits: Limits = DEFAULT_LIMITS
    clock: Clock = field(default_factory=lambda: Clock(DEFAULT_LIMITS.max_seconds))
    depth: int = 0
    describing: bool = False

    def inside(self, name: str, data: bytes) -> SourceFile:
        """Return a file that this file contains. The limits and the clock of this file apply to it, too.

        ``name`` is the name of the contained file, and ``data`` its bytes.
        """
        return replace(self, data=data, address=self.address.inside(name), depth=self.depth + 1)

    def metadata(self, form: str, **known: Any) -> dict[str, Any]:
        """Return a document's metadata: its path, its format ``form``, and the nonempty values of ``known``."""
        return {"path": self.address.path, "format": form, **{key: value for key, value in known.items() if value}}

    def late(self, share: float = 0.75) -> bool:
        """Return whether more than ``share`` of the time for reading this file is over."""
        return self.clock.left() < (1 - share) * self.limits.max_seconds

    def check_pages(self, count: int, what: str) -> None:
        """Raise SourceTooLarge if ``count`` exceeds the limit of pages. ``what`` names the items, such as slides."""
        if count > self.limits.max_pages:
            raise SourceTooLarge(
                f"it has {count:,} {what}, more than the limit of {self.limits.max_pages:,}", "split it"
            )

    def check_time(self) -> None:
        """Raise SourceTooSlow if the time for this file is over."""
        if self.clock.left() < 0:
            raise SourceTooSlow(
                f"it took more than {self.limits.max_seconds:g} s to read", "give a higher --max-seconds"
            )


Reader: TypeAlias = Callable[[SourceFile], Items]


@contextmanager
def needs(what: str, extra: str) -> Iterator[None]:
    """Raise ReaderMissing if an import in the body of the ``with`` statement fails.

    ``what`` names the format of the file in the message. ``extra`` is the extra of Monograph that must be installed.
    """
    try:
        yield
    except ImportError as error:
        raise ReaderMissing(
            f"{what}, and the extra {extra!r} is not installed",
            f'pip install "monograph[{extra}]", then monograph retry FILE',
            error.name or extra,
        ) from error


def is_installed(module: str) -> bool:
    """Return whether a module that is needed to read a file can be imported now."""
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def problem_of(uri: str, error: SourceError, where: str = "") -> Problem:
    """Return the problem for an error. ``where`` names the part of the file that the error concerns, if any."""
    return Problem(uri, f"{where}: {error.message}" if where else error.message, error.hint, error.needs)


def text_of(value: Any) -> str:
    """Return a property of a file, such as the author, as text on one line; empty for None, bytes and mappings."""
    return "" if value is None or isinstance(value, Mapping | bytes) else " ".join(str(value).split())


def day_of(when: Any) -> str:
    """Return the day of a datetime as ``2026-03-01``; an empty text for anything else."""
    return when.date().isoformat() if isinstance(when, datetime) else ""
