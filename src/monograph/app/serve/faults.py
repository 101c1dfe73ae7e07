"""Errors as answers: the JSON that the command line prints, under a status of HTTP."""

from __future__ import annotations

from typing import Any

from monograph.errors import (
    BusyFile,
    ClosedFile,
    FileError,
    InputError,
    ModelError,
    ModelUntrusted,
    MonographError,
    NotFound,
    OutOfMemory,
    ReadOnlyFile,
    SourceError,
    SourceMissing,
    SourceTooLarge,
    StorageFull,
)


class NoSuchAddress(NotFound):
    """Nothing is at this address."""


class Taken(InputError):
    """A file of that name is there already."""


class TooLarge(InputError):
    """More bytes than are taken."""


class TooMany(InputError):
    """More at one time than is done."""


class NotWritable(InputError):
    """The server was started without ``--write``."""


_STATUS: tuple[tuple[type[MonographError], int], ...] = (
    (NotFound, 404),
    (Taken, 409),
    (TooLarge, 413),
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
    (SourceMissing, 404),
    (SourceTooLarge, 413),
    (SourceError, 409),
    (MonographError, 500),
)


def status_of(error: MonographError) -> int:
    """The status of HTTP that an error has: of its kinds the first above."""
    return next(status for kind, status in _STATUS if isinstance(error, kind))


def said(error: MonographError) -> dict[str, Any]:
    """An error as JSON."""
    return {"error": error.message, "mend": error.mend, "kind": type(error).__name__}
