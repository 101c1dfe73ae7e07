"""Files and shelves as components take them: an open one, a store over one, or a path or address."""

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
    """A store over a file or shelf, restricted to its collection."""

    @property
    def monograph(self) -> Archive:
        """The open file or shelf, or the view of the store's collection."""
        ...


Given: TypeAlias = "Archive | Store | str | os.PathLike[str]"
"""An open file, view, snapshot or shelf, a store over one, the path of a file, or the address of a shelf."""
Model = TypeVar("Model")

COLLECTION = "monograph_collection"
"""Metadata key of the collection of a document. It is internal, and is removed from returned metadata."""


@overload
def archive_of(given: Archive | Store) -> Archive: ...


@overload
def archive_of(given: Given) -> Archive | str | os.PathLike[str]: ...


def archive_of(given: Given) -> Archive | str | os.PathLike[str]:
    """Return the archive of a store, and any other argument unchanged.

    Raises
    ------
    InputError
        If the argument is none of the kinds of ``Given``.
    """
    if isinstance(given, Reader | str | os.PathLike):
        return given
    archive = cast("Archive", getattr(given, "monograph", given))
    if not isinstance(archive, Reader) and not hasattr(archive, "url"):
        raise InputError(
            f"a {type(given).__name__} is not an archive", "give a path, an open archive, or a store over one"
        )
    return archive


def is_address(given: Given) -> bool:
    """Whether the argument is a path or an address, which a component opens and closes itself."""
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
    """Return an open file or shelf unchanged; open a path or address with the given embedding model or its own.

    A path is created if it does not exist; a shelf must exist. If ``graph`` is True, a missing graph is built;
    otherwise a new file has none. ``borrowed`` converts the framework's model to an embedder. ``vector_index`` is the
    design of a new file's vector index.

    Raises
    ------
    InputError
        If a model, a key or a design is given with an open file, or a key or a design with a shelf.
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
            "the file is already open with its own embedder",
            f"open it with your model: Monograph.open(path, {name}(your embedding model))",
        )
    if graph:
        build_graph(given)
    return given


def build_graph(given: Given, key: str | None = None, embedder: Embedder | None = None) -> None:
    """Build the graph of a file that has none. Do nothing for a shelf, or for a path where there is no file.

    ``key`` and ``embedder`` are used to open a path.

    Raises
    ------
    InputError
        If the archive is a view or snapshot of a file without a graph.
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
    """Open an existing file, with ``embedder`` unless the file's vectors are given by the caller."""
    try:
        return Monograph.open(path, embedder, create=False, read_only=read_only, key=key)
    except ModelMismatch:
        file = Monograph.open(path, create=False, read_only=read_only, key=key)
        if _is_given(file):
            return file
        file.close()
        raise


def in_collection(archive: Archive, name: str | None) -> Archive:
    """Return the view of a collection; without a name the archive itself.

    Raises
    ------
    InputError
        If the name is not a string, if it is empty, or if the archive is a shelf, which has no collections.
    """
    if name is None:
        return archive
    if not isinstance(name, str) or not name:
        raise InputError(f"the collection is {name!r}", "give a name, or None for all documents")
    return only_file(archive, "collections").within({COLLECTION: name})


class FileHandle:
    """A file or shelf that is already open, or that is opened at its first use by its path or address; it must exist.

    A copy of a handle shares an open file, but opens a path for itself. An unpickled handle opens the path again. A
    handle with a key can be copied, but not pickled.

    Parameters
    ----------
    given:
        A file or shelf, open or by its address. The caller closes an open one.
    read_only:
        Whether a path is opened for reading only.
    key:
        Key of an encrypted file; only with a path.
    collection:
        Read only the documents of this collection.
    embedder:
        Computes the vectors of queries. The archive must have been built with it, unless its vectors are given by the
        caller.

    Raises
    ------
    InputError
        If a key is given with an open file or with a shelf.
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
        self._view: Archive | None = None
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
                "a component with a key cannot be pickled: the pickle would contain its key",
                "create it again where it is needed",
            )
        return FileHandle, (self._given, self._read_only, None, self._collection, self._embedder)

    @property
    def address(self) -> str:
        """Absolute path of the file, or address of the shelf."""
        given = self._given
        if isinstance(given, Reader):
            return str(given.path.absolute())
        if isinstance(given, str | os.PathLike):
            return os.fspath(given) if "://" in os.fspath(given) else str(Path(given).absolute())
        return given.url

    def open(self) -> Archive:
        """Return the open file or shelf; open it if it is closed.

        Raises
        ------
        FileError
            If there is no file at this path, or it cannot be read.
        ShelfError
            If a shelf cannot be read.
        """
        with self._opening:
            if self._view is None:
                if isinstance(self._given, str | os.PathLike):
                    archive = self._opened = self._open_address(self._given)
                else:
                    archive = self._given
                self._view = in_collection(archive, self._collection)
            return self._view

    def open_to_write(self) -> Monograph | View:
        """Return the open file or view for writing. Raises as :func:`to_write` and :meth:`open` do."""
        return to_write(self.open())

    def _open_address(self, address: str | os.PathLike[str]) -> Archive:
        if is_shelf(address):
            from monograph.shelf import Shelf

            return Shelf.open(address, embedder=self._embedder)
        return _file_of(address, self._embedder, read_only=self._read_only, key=self._key)

    def query_vector(
        self, text: str, how: str | Strategy, vector: Sequence[float] | None = None, argument: str = "embed_model"
    ) -> Sequence[float] | Float32 | None:
        """Return the given vector of a query, else one computed by ``embedder``, or None if the archive computes it.

        Raises
        ------
        InputError
            If the search mode needs a vector that nothing can compute; the error names ``argument``, which takes a
            model.
        """
        if vector is not None:
            return vector
        archive = self.open()
        if self._embedder is None:
            require_query_vector(archive, how, argument)
        elif getattr(strategy(how), "needs_vector", False) and _is_given(archive):
            computed: Float32 = self._embedder.embed([text], "query")[0]
            return computed
        return None

    def close(self) -> None:
        """Close the file if it was given as a path; the next use opens it again."""
        with self._opening:
            self._view = None
            if self._opened is not None:
                self._opened.close()
                self._opened = None


def require_query_vector(archive: Archive, how: str | Strategy, argument: str) -> None:
    """Raise InputError if the search mode needs a vector, and the archive has no model to compute it.

    ``argument`` names the caller's parameter for the vector, or for the model that computes it.
    """
    if getattr(strategy(how), "needs_vector", False) and _is_given(archive):
        raise InputError(
            f"the query has no vector, and {place_of(archive)} has no model to compute one: its vectors were given",
            f"pass {argument}= of the model that made its vectors ({archive.embedder.dimension} values),"
            " or search in the mode lexical",
        )


SPANS = "monograph_spans"
"""Metadata key of the kept spans of a reduced text: [start, end] of each span in the original text."""


def allowed_hits(archive: Archive, where: Mapping[str, Any], k: int) -> list[Hit]:
    """Return at most k chunks that match a filter, in reading order, with relevance 0: for a query without a vector."""
    return [
        Hit(stored.chunk, 0.0, rank, stored.title, stored.uri, stored.metadata, ())
        for rank, stored in enumerate(archive.fetch(where=where)[: max(0, k)])
    ]


def reduce_texts(
    held: FileHandle, question: str, texts: Sequence[str], cut: float
) -> list[tuple[int, str, list[list[int]]]]:
    """Reduce texts of any origin to the sentences that a question needs.

    Returns
    -------
    (place among the texts, kept text, [start, end] of each kept span) of every text that is not blank, best first.

    Raises
    ------
    InputError
        If ``cut`` is not in [0, 1].
    """
    hits = [
        Hit(Chunk(f"{index}", f"{index}", text, 0, len(text), 0), 0.0, index, "", "", {}, ())
        for index, text in enumerate(texts)
        if text.strip()
    ]
    reduced = held.open().reduce(question, hits, cut=cut)
    return [(item.hit.rank, item.text, [[span.start, span.end] for span in item.spans]) for item in reduced]


def _refuse_vector_index(kind: Literal["codes", "graph"] | None) -> None:
    if kind is not None:
        raise InputError(f"vector_index is {kind!r}, but the archive already exists", "give it only for a new file")


def _is_given(archive: Archive) -> bool:
    """Whether all vectors of an archive are given by the caller; False if its model cannot be loaded."""
    try:
        return is_given(archive.embedder)
    except ModelError:
        return False


def _refuse_embedder(archive: Archive, embedder: Embedder | None) -> None:
    if embedder is not None and not _is_given(archive) and archive.embedder.key != embedder.key:
        raise ModelMismatch(
            f"{place_of(archive)} was built with {archive.embedder.key!r}, not with {embedder.key!r}",
            "leave the model out: the archive's own model computes the vectors",
        )


def _refuse_key(key: str | None, why: str = "") -> None:
    if key is not None:
        hint = "leave out the key" if why else "give its path with the key, or use Monograph.open(path, key=...)"
        raise InputError(why or "a key was given, but the file is already open", hint)


def whole_documents(held: FileHandle, names: Iterable[str] | None = None) -> Iterator[Document]:
    """Yield documents one by one, ordered by uri, then id; a file given as a path is open only meanwhile.

    Parameters
    ----------
    held:
        Handle of the file.
    names:
        Ids or uris of documents; None for all documents.

    Raises
    ------
    NotFound
        If a name matches no document, or more than one.
    """
    # Copy the handle, so that concurrent readers do not close each other's file.
    with contextlib.closing(copy.copy(held)) as file:
        identifiers = [document.id for document in file.open().documents()] if names is None else names
        for name in identifiers:
            yield file.open().document(name)
