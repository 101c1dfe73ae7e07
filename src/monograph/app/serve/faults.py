"""Errors as answers: the JSON that the command line prints, under a status of HTTP."""

from __future__ import annotations

from dataclasses import dataclass

from monograph.app.output import shell_hint
from monograph.errors import (
    BusyFile,
    ClosedFile,
    FileError,
    InputError,
    ModelError,
    ModelUntrusted,
    MonographError,
    NameTaken,
    NotFound,
    OutOfMemory,
    ReadOnlyFile,
    ShelfConflict,
    ShelfError,
    ShelfUnreachable,
    SourceError,
    SourceMissing,
    SourceTooLarge,
    StorageFull,
)


@dataclass(frozen=True, slots=True)
class Fault:
    """An error as JSON: its message, the hint and its kind."""

    error: str
    hint: str
    kind: str


class NoSuchAddress(NotFound):
    """Nothing is at this address."""


class TooLarge(InputError):
    """More bytes than are taken."""


class TooSlow(InputError):
    """A body that does not come."""


class TooMany(InputError):
    """More at one time than is done."""


class NotWritable(InputError):
    """The server was started without ``--write``."""


_STATUS: tuple[tuple[type[MonographError], int], ...] = (
    (NotFound, 404),
    (NameTaken, 409),
    (TooLarge, 413),
    (TooSlow, 408),
    (TooMany, 429),
    (NotWritable, 403),
    (InputError, 400),
    (ReadOnlyFile, 403),
    (ModelUntrusted, 403),
    (ModelError, 502),
    (BusyFile, 503),
    (ClosedFile, 503),
    (OutOfMemory, 503),
    (StorageFull, 507),
    (FileError, 500),
    (ShelfConflict, 409),
    (ShelfUnreachable, 503),
    (ShelfError, 500),
    (SourceMissing, 404),
    (SourceTooLarge, 413),
    (SourceError, 409),
    (MonographError, 500),
)


def status_of(error: MonographError) -> int:
    """The status of HTTP that an error has: of its kinds the first above."""
    return next(status for kind, status in _STATUS if isinstance(error, kind))


def fault_of(error: MonographError) -> Fault:
    """An error as it is told."""
    return Fault(error.message, shell_hint(error.hint), type(error).__name__)
