"""Every error Monograph raises on purpose, and the hint each one carries.

The tree::

    MonographError
    ├── FileError            the .mono file itself
    │   ├── NotAMonograph    some other file, or none at all
    │   ├── WrongKey         encrypted with another key, or not encrypted
    │   ├── NewerFormat      written by a later version of Monograph
    │   ├── DamagedFile      truncated or corrupt
    │   ├── ReadOnlyFile     a write was asked of a file that cannot be written
    │   ├── BusyFile         another process held the write lock for too long
    │   ├── StorageFull      no room left: the disk is full, or a quota or limit is reached
    │   ├── ReplacedFile     deleted, replaced or cut off by another program while it was open
    │   └── ClosedFile       used after close()
    ├── SourceError          one file or folder that was to be read
    │   ├── SourceMissing    it is not there, or vanished while it was read
    │   ├── SourceUnreadable no permission, or the device failed
    │   ├── SourceChanging   it kept changing while it was read
    │   ├── UnknownFormat    nothing here can read these bytes
    │   │   └── ReaderMissing    what reads them is not installed
    │   ├── SourceDamaged    its bytes are broken, or made to do harm
    │   ├── SourceLocked     it is encrypted
    │   ├── SourceTooSlow    reading it took too long, or too much memory
    │   └── SourceTooLarge   above a limit
    ├── InputError           a value handed over by the caller
    │   ├── InvalidFilter    a `where` that cannot be understood
    │   ├── InvalidDocument  a document, passage or vector that cannot be stored
    │   ├── NameTaken        a file of that name is there already
    │   ├── NotOnShelf       what a file does and a shelf does not
    │   ├── OutsideView      what a view does not do, or what stands outside of it
    │   └── NotFound         an id that the file does not hold
    ├── ShelfError           the place where the objects of a shelf lie
    │   ├── ShelfConflict    another writer published meanwhile, or is at work
    │   ├── ShelfUnreachable it did not answer, or refused who asked
    │   ├── ShardLost        a shard cannot be had in time, or at all
    │   ├── ObjectMissing    an object that should be there is not
    │   └── ObjectDamaged    an object that is not what its name says, or a manifest that cannot be understood
    ├── OutOfMemory          what was asked needs more memory than there is
    └── ModelError           something plugged in
        ├── MissingExtra     an optional dependency is not installed
        ├── ModelUnavailable a model that could not be loaded, or did not answer
        │   └── UnknownModel     a text that names no kind of model; an InputError as well
        ├── ModelUntrusted   the file names a model that it is not allowed to open
        └── ModelMismatch    the file was built with another model

A :class:`SourceError` met while a folder is read never ends the batch: it becomes one
:class:`~monograph.values.Problem` in the report.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

OF_A_MODEL = "raised by the model "
"""How a note begins that :func:`calling_model` adds to an error."""


class MonographError(Exception):
    """Base of all errors: what went wrong, in one sentence, and a hint what to do about it.

    Parameters
    ----------
    message:
        Names the file, the value or the missing extra.
    hint:
        The next thing to do or to type; may be empty.
    """

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})" if self.hint else self.message

    def __reduce__(self) -> tuple[type[MonographError], tuple[str, ...]]:
        return type(self), (self.message, self.hint)


class FileError(MonographError):
    """The .mono file itself."""


class NotAMonograph(FileError):
    """The file is something else, or there is none."""


class WrongKey(FileError):
    """The file does not open with the key that was given, or is not encrypted at all."""


class NewerFormat(FileError):
    """The file was written by a later version of Monograph."""


class DamagedFile(FileError):
    """The file is truncated or corrupt."""


class ReadOnlyFile(FileError):
    """A write was asked of a file that cannot be written."""


class BusyFile(FileError):
    """Another process held the file for longer than the time allowed."""


class StorageFull(FileError):
    """No room is left on the disk, or a quota or limit is reached; what was committed before is safe."""


class ReplacedFile(FileError):
    """Another program deleted, replaced or cut off the file while it was open."""


class ClosedFile(FileError):
    """The monograph was used after it was closed."""


class SourceError(MonographError):
    """One file or folder that was to be read.

    ``needs`` is the module that would read it and is not installed; empty where that is not the fault.
    """

    needs: str = ""


class SourceMissing(SourceError):
    """The source is not there, or vanished while it was read."""


class SourceUnreadable(SourceError):
    """The source may not be read, or its device failed."""


class SourceChanging(SourceError):
    """The source kept changing while it was read."""


class UnknownFormat(SourceError):
    """No reader understands the bytes of the source."""


class ReaderMissing(UnknownFormat):
    """The reader of the source is in an extra that is not installed."""

    def __init__(self, message: str, hint: str = "", needs: str = "") -> None:
        super().__init__(message, hint)
        self.needs = needs

    def __reduce__(self) -> tuple[type[ReaderMissing], tuple[str, ...]]:
        return type(self), (self.message, self.hint, self.needs)


class SourceDamaged(SourceError):
    """The bytes of the source are broken, or made to do harm."""


class SourceLocked(SourceError):
    """The source is encrypted."""


class SourceTooSlow(SourceError):
    """Reading the source took more time or memory than its limit."""


class SourceTooLarge(SourceError):
    """The source is above a limit."""


class OutOfMemory(MonographError, MemoryError):
    """The operation needs more memory than there is; everything committed before is safe."""


class InputError(MonographError):
    """A value handed over by the caller."""


class InvalidFilter(InputError):
    """A ``where`` that cannot be understood."""


class NotOnShelf(InputError, AttributeError):
    """A shelf was asked for what only a file does."""


class OutsideView(InputError):
    """A view does not have the operation, or it would touch documents outside of the view."""


class InvalidDocument(InputError):
    """A document, passage or vector that cannot be stored."""


class NameTaken(InputError):
    """A file of that name is there already."""


class NotFound(InputError):
    """An id that the file does not hold."""


class ShelfError(MonographError):
    """The place where the objects of a shelf lie."""


class ShelfConflict(ShelfError):
    """Another writer has published a version meanwhile, or is at work."""


class ShelfUnreachable(ShelfError):
    """The place of a shelf did not answer, or refused who asked."""


class ShardLost(ShelfError):
    """A shard cannot be had in the time that there is, or at all: the error says which, and why."""


class ObjectMissing(ShelfError):
    """An object of a shelf is not there."""


class ObjectDamaged(ShelfError):
    """An object of a shelf is not what its name says, or a manifest that cannot be understood."""


class ModelError(MonographError):
    """Something plugged in: an embedder, an extractor, a language model."""


class MissingExtra(ModelError):
    """An optional dependency is not installed."""


class ModelUnavailable(ModelError):
    """A model that could not be loaded or did not answer.

    ``status`` is the one that its server refused with, 0 where that is not the fault, and ``reply`` the beginning of
    what the server said with it.
    """

    status: int = 0
    reply: str = ""


class UnknownModel(ModelUnavailable, InputError):
    """A text that was to name a model and does not: no kind of model is called so."""


class ModelUntrusted(ModelError):
    """The file names a model (a server, folder or hub name) that it is not allowed to open; it was not opened."""


class ModelMismatch(ModelError):
    """The file was built with another model than the one given."""


@contextmanager
def calling_model(key: str) -> Iterator[None]:
    """Add a note with the model's key to an error that a plugged-in model raises: it is no fault of the file."""
    try:
        yield
    except Exception as error:
        error.add_note(f"{OF_A_MODEL}{key!r}")
        raise
