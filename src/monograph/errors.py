"""All errors that Monograph raises on purpose, each with a hint that says what to do next.

The class hierarchy::

    MonographError
    ├── FileError            the .mono file itself
    │   ├── NotAMonograph    not a Monograph file, or missing
    │   ├── WrongKey         encrypted with another key, or not encrypted
    │   ├── NewerFormat      written by a later version of Monograph
    │   ├── DamagedFile      truncated or corrupt
    │   ├── ReadOnlyFile     a write to a file that cannot be written
    │   ├── BusyFile         another process held the write lock for too long
    │   ├── StorageFull      no room left: the disk is full, or a quota or limit is reached
    │   ├── ReplacedFile     deleted, replaced or truncated by another program while it was open
    │   └── ClosedFile       used after close()
    ├── SourceError          a file or folder that cannot be read as a source
    │   ├── SourceMissing    missing, or deleted while it was read
    │   ├── SourceUnreadable no permission, or the device failed
    │   ├── SourceChanging   it kept changing while it was read
    │   ├── UnknownFormat    no reader understands its bytes
    │   │   └── ReaderMissing    the reader of its format is not installed
    │   ├── SourceDamaged    its bytes are corrupt or malicious
    │   ├── SourceLocked     it is encrypted
    │   ├── SourceTooSlow    reading it took too long, or too much memory
    │   └── SourceTooLarge   above a limit
    ├── InputError           an invalid value given by the caller
    │   ├── InvalidFilter    a `where` that cannot be understood
    │   ├── InvalidDocument  a document, passage or vector that cannot be stored
    │   ├── NameTaken        a file of that name exists already
    │   ├── NotOnShelf       an operation that files have and shelves lack
    │   ├── OutsideView      an operation that views lack, or a document outside the view
    │   └── NotFound         an id that the file does not contain
    ├── ShelfError           the storage of a shelf
    │   ├── ShelfConflict    another writer has published a version, or is writing
    │   ├── ShelfUnreachable the storage did not answer, or denied access
    │   ├── ShardLost        a shard cannot be read in time, or at all
    │   ├── ObjectMissing    an object that should exist does not
    │   └── ObjectDamaged    an object whose bytes do not match its name, or an invalid manifest
    ├── OutOfMemory          the operation needs more memory than there is
    └── ModelError           a model that is plugged in
        ├── MissingExtra     an optional dependency is not installed
        ├── ModelUnavailable a model that could not be loaded, or did not answer
        │   └── UnknownModel     a text that names no kind of model; an InputError as well
        ├── ModelUntrusted   the file names a model that it is not allowed to open
        └── ModelMismatch    the file was built with another model

A :class:`SourceError` never stops the sync of a folder: it becomes one :class:`~monograph.values.Problem` in the
report.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

OF_A_MODEL = "raised by the model "
"""Beginning of the note that :func:`calling_model` adds to an error. The key of the model follows."""


class MonographError(Exception):
    """Base of all errors: a message that says what went wrong, and a hint that says what to do next.

    The message is one sentence that names the file, the value or the missing extra. The hint may be empty.
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
    """The .mono file cannot be opened, read or written."""


class NotAMonograph(FileError):
    """The file is not a Monograph file, or it does not exist."""


class WrongKey(FileError):
    """The file is encrypted with another key than the one given, or is not encrypted."""


class NewerFormat(FileError):
    """The file was written by a later version of Monograph."""


class DamagedFile(FileError):
    """The file is truncated or corrupt."""


class ReadOnlyFile(FileError):
    """The file cannot be written."""


class BusyFile(FileError):
    """Another process kept the file locked for longer than the timeout."""


class StorageFull(FileError):
    """The disk is full, or a quota or limit is reached. Transactions committed before are safe."""


class ReplacedFile(FileError):
    """Another program deleted, replaced or truncated the file while it was open."""


class ClosedFile(FileError):
    """The file was used after it was closed."""


class SourceError(MonographError):
    """A file or folder cannot be read as a source.

    ``needs`` is the Python module that is missing, if that is the cause; otherwise it is empty.
    """

    needs: str = ""


class SourceMissing(SourceError):
    """The source is missing, or was deleted while it was read."""


class SourceUnreadable(SourceError):
    """Permission to read the source is missing, or its device failed."""


class SourceChanging(SourceError):
    """The source kept changing while it was read."""


class UnknownFormat(SourceError):
    """No reader understands the bytes of the source."""


class ReaderMissing(UnknownFormat):
    """The reader of the source's format needs an extra that is not installed."""

    def __init__(self, message: str, hint: str = "", needs: str = "") -> None:
        super().__init__(message, hint)
        self.needs = needs

    def __reduce__(self) -> tuple[type[ReaderMissing], tuple[str, ...]]:
        return type(self), (self.message, self.hint, self.needs)


class SourceDamaged(SourceError):
    """The bytes of the source are corrupt or malicious."""


class SourceLocked(SourceError):
    """The source is encrypted."""


class SourceTooSlow(SourceError):
    """Reading the source took more time or memory than its limit."""


class SourceTooLarge(SourceError):
    """The source is larger than a limit allows."""


class OutOfMemory(MonographError, MemoryError):
    """The operation needs more memory than there is. Transactions committed before are safe."""


class InputError(MonographError):
    """A value given by the caller is invalid."""


class InvalidFilter(InputError):
    """The filter given as ``where`` cannot be understood."""


class NotOnShelf(InputError, AttributeError):
    """The operation works on a file, but not on a shelf."""


class OutsideView(InputError):
    """The operation does not work on a view, or it would affect documents outside the view."""


class InvalidDocument(InputError):
    """A document, passage or vector cannot be stored."""


class NameTaken(InputError):
    """A file of that name exists already."""


class NotFound(InputError):
    """The file does not contain the id."""


class ShelfError(MonographError):
    """The storage of a shelf cannot be read or written."""


class ShelfConflict(ShelfError):
    """Another writer has published a version of the shelf in the meantime, or is writing now."""


class ShelfUnreachable(ShelfError):
    """The storage of a shelf did not answer, or denied access."""


class ShardLost(ShelfError):
    """A shard cannot be read, or does not answer within the timeout. The message names the shard and the reason."""


class ObjectMissing(ShelfError):
    """An object of a shelf does not exist."""


class ObjectDamaged(ShelfError):
    """The bytes of an object of a shelf do not match its name, or its manifest is invalid."""


class ModelError(MonographError):
    """A plugged-in model failed: an embedder, an extractor or a language model, for example."""


class MissingExtra(ModelError):
    """An optional dependency is not installed."""


class ModelUnavailable(ModelError):
    """A model could not be loaded, or did not answer.

    ``status`` is the HTTP status with which the model's server refused the request; 0 for any other cause. ``reply`` is
    the beginning of the body of that response.
    """

    status: int = 0
    reply: str = ""


class UnknownModel(ModelUnavailable, InputError):
    """The text given as a model's name (spec) names no known kind of model."""


class ModelUntrusted(ModelError):
    """The file names a model (a server, folder or hub name) that it is not allowed to open. It was not opened."""


class ModelMismatch(ModelError):
    """The file was built with another model than the one given."""


@contextmanager
def calling_model(key: str) -> Iterator[None]:
    """Add a note with the model's key to any error raised in the block.

    The note keeps the error from being reported as an error of the file.
    """
    try:
        yield
    except Exception as error:
        error.add_note(f"{OF_A_MODEL}{key!r}")
        raise
