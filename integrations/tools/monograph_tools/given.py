"""A file as it is handed to a component: open, or by its path."""

from __future__ import annotations

import contextlib
import copy
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from monograph import Document, Hit, Monograph
from monograph.errors import InputError
from monograph.models import Embedder

Given: TypeAlias = Monograph | str | os.PathLike[str]
Model = TypeVar("Model")

COLLECTION = "monograph_collection"
"""The metadata key of the collection that a document is in; it is nobody's own, and not handed back."""


def opened(
    given: Given, model: Model | None, borrowed: Callable[[Model], Embedder], key: str | None = None
) -> Monograph:
    """The open file itself, or one that is opened with a framework's embedding model, or with its own.

    A new file makes its graph when it is first asked for.

    Raises
    ------
    InputError
        If a model or a key is given besides an open file.
    """
    if not isinstance(given, Monograph):
        return Monograph.open(given, None if model is None else borrowed(model), key=key, on_demand=True)
    _refuse_key(key)
    if model is not None:
        name = getattr(borrowed, "__name__", "embedder")
        raise InputError(
            "the file is open, with an embedder of its own", f"Monograph.open(path, {name}(your embedding model))"
        )
    return given


def in_collection(monograph: Monograph, name: str | None) -> Monograph:
    """The documents of a collection alone; without a name the file as it is.

    Raises
    ------
    InputError
        If the name is no text, or empty.
    """
    if name is None:
        return monograph
    if not isinstance(name, str) or not name:
        raise InputError(f"the collection is {name!r}", "give it a name")
    return monograph.within({COLLECTION: name})


class HeldFile:
    """A file that is open, or one of this path, opened when it is first asked for; it must be there.

    A copy of an open file is the same; one of a path opens it for itself, and so does one that is pickled, which has no
    key: what was given one is copied, but not pickled.

    Parameters
    ----------
    given:
        An open file stays the caller's to close.
    read_only:
        Whether a path is opened for reading only.
    key:
        Of an encrypted file; with a path only.
    collection:
        See nothing but the documents of this one.

    Raises
    ------
    InputError
        If a key is given besides an open file.
    """

    def __init__(
        self, given: Given, *, read_only: bool = True, key: str | None = None, collection: str | None = None
    ) -> None:
        if isinstance(given, Monograph):
            _refuse_key(key)
        self._given = given
        self._collection = collection
        self._seen: Monograph | None = None
        self._key = key
        self._read_only = read_only
        self._opened: Monograph | None = None
        self._opening = threading.Lock()

    def __copy__(self) -> HeldFile:
        return HeldFile(self._given, read_only=self._read_only, key=self._key, collection=self._collection)

    def __deepcopy__(self, memo: dict[int, Any]) -> HeldFile:
        return self.__copy__()

    def __reduce__(self) -> tuple[Callable[..., HeldFile], tuple[Given, bool, str | None]]:
        if self._key is not None:
            raise InputError(
                "what was given a key cannot be pickled: its key would go with it", "make it anew where it is wanted"
            )
        return _held, (self._given, self._read_only, self._collection)

    @property
    def path(self) -> Path:
        """Where it is."""
        given = self._given
        return (given.path if isinstance(given, Monograph) else Path(given)).absolute()

    def open(self) -> Monograph:
        """The open file.

        Raises
        ------
        FileError
            If there is none of this path, or it cannot be read.
        """
        with self._opening:
            if self._seen is None:
                if not isinstance(self._given, Monograph):
                    self._opened = Monograph.open(self._given, create=False, read_only=self._read_only, key=self._key)
                whole = self._given if isinstance(self._given, Monograph) else self._opened
                assert whole is not None  # noqa: S101 - it was opened above
                self._seen = in_collection(whole, self._collection)
            return self._seen

    def close(self) -> None:
        """Close the file if it was given as a path; what asks next opens it again."""
        with self._opening:
            self._seen = None
            if self._opened is not None:
                self._opened.close()
                self._opened = None


def allowed_hits(monograph: Monograph, where: Mapping[str, Any], k: int) -> list[Hit]:
    """What a filter allows, for a query that is near to nothing: at most k chunks in reading order, of relevance 0."""
    return [
        Hit(one.chunk, 0.0, rank, one.title, one.uri, one.metadata, ())
        for rank, one in enumerate(monograph.fetch(where=where)[: max(0, k)])
    ]


def _held(given: Given, read_only: bool, collection: str | None) -> HeldFile:
    return HeldFile(given, read_only=read_only, collection=collection)


def _refuse_key(key: str | None) -> None:
    if key is not None:
        raise InputError("the file is open, and a key was given", "give its path, or Monograph.open(path, key=...)")


def whole_documents(held: HeldFile, names: Iterable[str] | None = None) -> Iterator[Document]:
    """Documents one by one, in order of uri, then id; a path is open while they are read.

    Parameters
    ----------
    held:
        The file.
    names:
        Ids or uris; all documents without them.

    Raises
    ------
    NotFound
        If a name fits no document, or several.
    """
    # A copy: of two that read at once, none closes the other's file.
    with contextlib.closing(copy.copy(held)) as file:
        monograph = file.open()
        for name in [one.id for one in monograph.documents()] if names is None else names:
            yield monograph.document(name)
