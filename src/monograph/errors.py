"""All errors that Monograph raises on purpose, each with a hint that says what to do next.

The class hierarchy::

    MonographError
    ├── FileError            the .mono file itself
    │   ├── NotAMonograph    not a Monograph file, or missing
    │   ├── WrongKey         does not open with the given key, or is not encrypted
    │   ├── NewerFormat      written by a later version of Monograph
    │   ├── DamagedFile      truncated or corrupt
    │   ├── ReadOnlyFile     a write to a file that cannot be written
    │   ├── BusyFile         another process held the write lock for too long
    │   ├── StorageFull      the disk is full, or a quota or limit is reached
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
    │   ├── SourceTooSlow    took too much time or memory to read
    │   └── SourceTooLarge   above a limit on its bytes, characters, values, parts or pixels
    ├── InputError           an invalid value given by the caller
    │   ├── InvalidFilter    a `where` that cannot be understood
    │   ├── InvalidDocument  a document, passage or vector that cannot be stored
    │   ├── NameTaken        an uploaded file has the name of an existing file
    │   ├── NotOnShelf       an operation that works on a file, but not on a shelf
    │   ├── OutsideView      an operation that does not work on a view, or would affect documents outside it
    │   └── NotFound         nothing has the given id or name
    ├── ShelfError           the storage of a shelf
    │   ├── ShelfConflict    another process changed the shelf during a write
    │   ├── ShelfUnreachable the storage did not answer, or denied access
    │   ├── ShardLost        a shard cannot be read in time, or at all
    │   ├── ObjectMissing    a stored file of the shelf does not exist
    │   └── ObjectDamaged    a stored file of the shelf is corrupt
    ├── OutOfMemory          the operation needs more memory than there is
    └── ModelError           a plugged-in model
        ├── MissingExtra     an optional dependency is not installed
        ├── ModelUnavailable a model that could not be loaded, or did not answer
        │   └── UnknownModel     a model's spec is invalid (this is also an InputError)
        ├── ModelUntrusted   the file names a model whose address is not trusted
        └── ModelMismatch    the file was built with another model

A :class:`SourceError` never stops the sync of a folder: it becomes one :class:`~monograph.values.Problem` in the
report.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

OF_A_MODEL = "raised by the model "
"""Beginning of the note that :func:`calling_model` adds to an error. The rest of the note is the name of the model."""


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
    """The given key does not open the file, or a key was given for a file that is not encrypted."""


class NewerFormat(FileError):
    """The file was written by a later version of Monograph."""


class DamagedFile(FileError):
    """The file is truncated or corrupt."""


class ReadOnlyFile(FileError):
    """The file cannot be written."""


class BusyFile(FileError):
    """Another process kept the file locked for longer than the timeout."""


class StorageFull(FileError):
    """The disk is full, or a quota or size limit is reached. Transactions committed before the error are safe."""


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
    """The operation needs more memory than there is. Transactions committed before the error are safe."""


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
    """An uploaded file has the name of a file that exists already."""


class NotFound(InputError):
    """No document, chunk, entity or other item has the given id or name."""


class ShelfError(MonographError):
    """The storage of a shelf cannot be read or written."""


class ShelfConflict(ShelfError):
    """Another process changed the shelf while this process was writing a new version of the shelf.

    The other process published a version first, or removed stored files that the new version needs.
    """


class ShelfUnreachable(ShelfError):
    """The storage of a shelf did not answer, or denied access."""


class ShardLost(ShelfError):
    """A shard cannot be read, or does not answer within the timeout. The message names the shard and the reason."""


class ObjectMissing(ShelfError):
    """An object of a shelf (a stored file, such as a shard) does not exist."""


class ObjectDamaged(ShelfError):
    """A stored file of a shelf is corrupt: an object (a shard, for example) or a manifest.

    A manifest lists the objects of one version of the shelf. An object is named after the digest of its bytes, and is
    corrupt if the digest differs from the name.
    """


class ModelError(MonographError):
    """A plugged-in model failed: an embedder, an extractor or a language model, for example."""


class MissingExtra(ModelError):
    """An optional dependency is not installed."""


class ModelUnavailable(ModelError):
    """A model could not be loaded, or did not answer.

    ``status`` is the HTTP status of the response with which the model's server refused the request. It is 0 if there
    was no such response. ``reply`` is the beginning of the response's body.
    """

    status: int = 0
    reply: str = ""


class UnknownModel(ModelUnavailable, InputError):
    """A model's spec (the text that says which model to load) names no known kind of model, or has the wrong form."""


class ModelUntrusted(ModelError):
    """The file names a model whose server, folder, hub or package is not trusted. The model was not opened."""


class ModelMismatch(ModelError):
    """The file was built with another model than the one given."""


@contextmanager
def calling_model(key: str) -> Iterator[None]:
    """Add a note with the model's name, ``key``, to any error that is raised inside the ``with`` statement.

    The note says that the model raised the error. Without the note, a decoding error could be reported as damage of
    the .mono file.
    """
    try:
        yield
    except Exception as error:
        error.add_note(f"{OF_A_MODEL}{key!r}")
        raise
