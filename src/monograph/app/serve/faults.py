"""Errors as HTTP responses: the JSON that the command line prints, and a status code."""

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
    """No operation or page has this address."""


class TooLarge(InputError):
    """A request with more bytes than the limit."""


class TooSlow(InputError):
    """A request whose body does not arrive in time."""


class TooMany(InputError):
    """More concurrent requests, jobs or uploads than the limit."""


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
    """Return the HTTP status code of an error: that of the first matching class in ``_STATUS``."""
    return next(status for kind, status in _STATUS if isinstance(error, kind))


def fault_of(error: MonographError) -> Fault:
    """Return an error as it is sent to clients."""
    return Fault(error.message, shell_hint(error.hint), type(error).__name__)
