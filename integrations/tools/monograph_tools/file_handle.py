"""A file or a shelf as it is handed to a component: open, or by its address."""

from __future__ import annotations

import contextlib
import copy
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, TypeVar, cast, overload

from monograph import Chunk, Document, Hit, Monograph, Reader, Settings, View, strategy
from monograph.errors import InputError, ModelError, ModelMismatch
from monograph.models import Embedder, is_given
from monograph.shelf import is_shelf, only_file, place_of, to_write, whole_file

if TYPE_CHECKING:
    from monograph import Strategy
    from monograph.shelf import Archive
    from monograph.values import Float32


class Store(Protocol):
    """A store over an archive, whose collection it sees."""

    @property
    def monograph(self) -> Archive:
        """The open archive, or the part of it that is in the store's collection."""
        ...


Given: TypeAlias = "Archive | Store | str | os.PathLike[str]"
"""An open archive, a store over one, the path of a file or the address of a shelf."""
Model = TypeVar("Model")

COLLECTION = "monograph_collection"
"""The metadata key of the collection that a document is in; it is nobody's own, and not handed back."""


@overload
def archive_of(given: Archive | Store) -> Archive: ...


@overload
def archive_of(given: Given) -> Archive | str | os.PathLike[str]: ...


def archive_of(given: Given) -> Archive | str | os.PathLike[str]:
    """Return the archive of a store, and any other argument as it is.

    Raises
    ------
    InputError
        If it is none of the four.
    """
    if isinstance(given, Reader | str | os.PathLike):
        return given
    archive = cast("Archive", getattr(given, "monograph", given))
    if not isinstance(archive, Reader) and not hasattr(archive, "url"):
        raise InputError(
            f"a {type(given).__name__} is no archive", "give a path, an open archive, or a store that is made of one"
        )
    return archive


def is_address(given: Given) -> bool:
    """Whether it is a path or an address, which a component opens and closes by itself."""
    return isinstance(given, str | os.PathLike)


def opened(
    given: Given,
    model: Model | None,
    borrowed: Callable[[Model], Embedder],
    key: str | None = None,
    *,
    graph: bool = False,
    vector_index: Literal["codes", "graph"] | None = None,
) -> Archive:
    """The open file or shelf itself, or one that is opened with a framework's embedding model, or with its own.

    A new file has a graph only if one is wanted; the graph of a file that has none is built then. A shelf must be
    there. ``vector_index`` is the design of a new file's vector index.

    Raises
    ------
    InputError
        If a model, a key or a design is given besides an open one, or a key or a design with a shelf.
    """
    given = archive_of(given)
    if isinstance(given, str | os.PathLike):
        embedder = None if model is None else borrowed(model)
        if is_shelf(given):
            _refuse_key(key, f"{given} is a shelf, which has no key")
            _refuse_vector_index(vector_index)
            from monograph.shelf import Shelf

            return Shelf.open(given, embedder=embedder)
        settings = None if graph or Path(given).exists() else Settings(graph=False)
        archive = Monograph.open(given, embedder, key=key, settings=settings, vector_index=vector_index)
        if graph:
            build_graph(archive)
        return archive
    _refuse_key(key)
    _refuse_vector_index(vector_index)
    if model is not None:
        name = getattr(borrowed, "__name__", "embedder")
        raise InputError(
            "the file is open, with an embedder of its own", f"Monograph.open(path, {name}(your embedding model))"
        )
    if graph:
        build_graph(given)
    return given


def build_graph(given: Given, key: str | None = None, embedder: Embedder | None = None) -> None:
    """Build the graph of a file that has none. Do nothing for a shelf, or for a path where there is no file.

    ``key`` and ``embedder`` are those of a path.

    Raises
    ------
    InputError
        If it is a view or snapshot of a file without a graph.
    ReadOnlyFile
        If the file has no graph and cannot be written.
    """
    archive = archive_of(given)
    if isinstance(archive, str | os.PathLike):
        if is_shelf(archive) or not Path(archive).exists():
            return
        with Monograph.open(archive, create=False, read_only=True, key=key) as read:
            missing = not read.settings.graph
        if missing:
            with contextlib.closing(_file_of(archive, embedder, read_only=False, key=key)) as file:
                file.graph.build()
    elif isinstance(archive, Reader) and not archive.settings.graph:
        whole_file(archive, "graph", "graph.build").graph.build()


def _file_of(path: str | os.PathLike[str], embedder: Embedder | None, *, read_only: bool, key: str | None) -> Monograph:
    """Open a file that must be there, with an embedder unless its vectors are given."""
    try:
        return Monograph.open(path, embedder, create=False, read_only=read_only, key=key)
    except ModelMismatch:
        file = Monograph.open(path, create=False, read_only=read_only, key=key)
        if _is_given(file):
            return file
        file.close()
        raise


def in_collection(archive: Archive, name: str | None) -> Archive:
    """The documents of a collection alone; without a name all.

    Raises
    ------
    InputError
        If the name is no text, or empty, or it is a shelf, which has no collections.
    """
    if name is None:
        return archive
    if not isinstance(name, str) or not name:
        raise InputError(f"the collection is {name!r}", "give it a name")
    return only_file(archive, "collections").within({COLLECTION: name})


class FileHandle:
    """A file or a shelf that is open, or one of this address, opened when it is first asked for; it must be there.

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
    embedder:
        Makes the vectors of queries. An archive must have been built with it, unless its vectors are given.

    Raises
    ------
    InputError
        If a key is given besides an open file, or with a shelf.
    ModelMismatch
        If an open archive was built with another embedder.
    """

    def __init__(
        self,
        given: Given,
        read_only: bool = True,
        key: str | None = None,
        collection: str | None = None,
        embedder: Embedder | None = None,
    ) -> None:
        given = archive_of(given)
        if not isinstance(given, str | os.PathLike):
            _refuse_key(key)
            _refuse_embedder(given, embedder)
        elif is_shelf(given):
            _refuse_key(key, f"{given} is a shelf, which has no key")
        self._given = given
        self._embedder = embedder
        self._collection = collection
        self._seen: Archive | None = None
        self._key = key
        self._read_only = read_only
        self._opened: Archive | None = None
        self._opening = threading.Lock()

    def __copy__(self) -> FileHandle:
        return FileHandle(self._given, self._read_only, self._key, self._collection, self._embedder)

    def __deepcopy__(self, memo: dict[int, Any]) -> FileHandle:
        return self.__copy__()

    def __reduce__(self) -> tuple[type[FileHandle], tuple[Given, bool, None, str | None, Embedder | None]]:
        if self._key is not None:
            raise InputError(
                "what was given a key cannot be pickled: its key would go with it", "make it anew where it is wanted"
            )
        return FileHandle, (self._given, self._read_only, None, self._collection, self._embedder)

    @property
    def address(self) -> str:
        """The absolute path of a file, or the address of a shelf."""
        given = self._given
        if isinstance(given, Reader):
            return str(given.path.absolute())
        if isinstance(given, str | os.PathLike):
            return os.fspath(given) if "://" in os.fspath(given) else str(Path(given).absolute())
        return given.url

    def open(self) -> Archive:
        """The open file or shelf.

        Raises
        ------
        FileError
            If there is no file of this path, or it cannot be read.
        ShelfError
            If a shelf cannot be read.
        """
        with self._opening:
            if self._seen is None:
                if isinstance(self._given, str | os.PathLike):
                    whole = self._opened = self._of_address(self._given)
                else:
                    whole = self._given
                self._seen = in_collection(whole, self._collection)
            return self._seen

    def open_to_write(self) -> Monograph | View:
        """The open file or view, to be written to. Raises as :func:`to_write`, and as :meth:`open`."""
        return to_write(self.open())

    def _of_address(self, address: str | os.PathLike[str]) -> Archive:
        if is_shelf(address):
            from monograph.shelf import Shelf

            return Shelf.open(address, embedder=self._embedder)
        return _file_of(address, self._embedder, read_only=self._read_only, key=self._key)

    def query_vector(
        self, text: str, how: str | Strategy, vector: Sequence[float] | None = None, argument: str = "embed_model"
    ) -> Sequence[float] | Float32 | None:
        """Return the vector of a query: the given one, one of the ``embedder``, or None if the archive makes it.

        Raises
        ------
        InputError
            If the search mode needs a vector and nothing makes it; the error names ``argument``, which takes a model.
        """
        if vector is not None:
            return vector
        archive = self.open()
        if self._embedder is None:
            require_query_vector(archive, how, argument)
        elif getattr(strategy(how), "needs_vector", False) and _is_given(archive):
            made: Float32 = self._embedder.embed([text], "query")[0]
            return made
        return None

    def close(self) -> None:
        """Close the file if it was given as a path; what asks next opens it again."""
        with self._opening:
            self._seen = None
            if self._opened is not None:
                self._opened.close()
                self._opened = None


def require_query_vector(archive: Archive, how: str | Strategy, argument: str) -> None:
    """Raise InputError if a query has no vector, its search mode needs one, and the archive has no model to make it.

    ``argument`` is what takes the vector, or the model that makes it.
    """
    if getattr(strategy(how), "needs_vector", False) and _is_given(archive):
        raise InputError(
            f"the query has no vector, and {place_of(archive)} has no model to make one: its vectors were given",
            f"pass {argument}= of the model that made its vectors ({archive.embedder.dimension} values),"
            " or make a lexical search",
        )


SPANS = "monograph_spans"
"""Metadata key of what is kept of a reduced text: [start, end] of each span in the text that was given."""


def allowed_hits(archive: Archive, where: Mapping[str, Any], k: int) -> list[Hit]:
    """Return at most k chunks that a filter allows, in reading order, of relevance 0: for a query without a vector."""
    return [
        Hit(one.chunk, 0.0, rank, one.title, one.uri, one.metadata, ())
        for rank, one in enumerate(archive.fetch(where=where)[: max(0, k)])
    ]


def reduce_texts(
    held: FileHandle, question: str, texts: Sequence[str], cut: float
) -> list[tuple[int, str, list[list[int]]]]:
    """Cut texts of any origin down to the sentences that a question needs.

    Returns
    -------
    (place among the texts, what is kept, [start, end] of each kept span) of every text that is not blank, best first.

    Raises
    ------
    InputError
        If ``cut`` is not in [0, 1].
    """
    hits = [
        Hit(Chunk(f"{place}", f"{place}", text, 0, len(text), 0), 0.0, place, "", "", {}, ())
        for place, text in enumerate(texts)
        if text.strip()
    ]
    reduced = held.open().reduce(question, hits, cut=cut)
    return [(one.hit.rank, one.text, [[span.start, span.end] for span in one.spans]) for one in reduced]


def _refuse_vector_index(kind: Literal["codes", "graph"] | None) -> None:
    if kind is not None:
        raise InputError(f"vector_index is {kind!r}, and the archive is there", "give it with the path of a new file")


def _is_given(archive: Archive) -> bool:
    """Whether all vectors of an archive are given to it; False where its model cannot be loaded."""
    try:
        return is_given(archive.embedder)
    except ModelError:
        return False


def _refuse_embedder(archive: Archive, embedder: Embedder | None) -> None:
    if embedder is not None and not _is_given(archive) and archive.embedder.key != embedder.key:
        raise ModelMismatch(
            f"{place_of(archive)} was built with {archive.embedder.key!r}, not with {embedder.key!r}",
            "leave the model out: the archive's own makes the vectors",
        )


def _refuse_key(key: str | None, why: str = "") -> None:
    if key is not None:
        hint = "give none" if why else "give its path, or Monograph.open(path, key=...)"
        raise InputError(why or "the file is open, and a key was given", hint)


def whole_documents(held: FileHandle, names: Iterable[str] | None = None) -> Iterator[Document]:
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
        listed = [one.id for one in file.open().documents()] if names is None else names
        for name in listed:
            yield file.open().document(name)
