"""Handles of files and shelves, made from an open file or shelf, a store, a path, or the address of a shelf."""

from __future__ import annotations

import contextlib
import copy
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, TypedDict, TypeVar, Unpack, cast

from monograph import Chunk, Document, Hit, Monograph, Reader, Settings, strategy
from monograph.errors import InputError, ModelError, ModelMismatch
from monograph.models import Embedder, is_given
from monograph.shelf import is_shelf, only_file, place_of, whole_file
from monograph.values import DEFAULT_CUT, Windows

if TYPE_CHECKING:
    from monograph import StopCondition, Strategy
    from monograph.shelf import Archive
    from monograph.values import Float32


class Stopping(TypedDict, total=False):
    """Arguments that say when the search of the vector index ends: see :meth:`monograph.Monograph.search`."""

    stop: StopCondition | str | None
    ranked_recall: float | None


class Store(Protocol):
    """Interface of a store over a file or shelf. If it has a collection, only this collection is read and written."""

    @property
    def monograph(self) -> Archive:
        """The open file or shelf; if the store has a collection, the view of this collection."""


AnyArchive: TypeAlias = "Archive | Store | str | os.PathLike[str]"
"""An open file, view, snapshot or shelf; a store over one of these; the path of a file; or the address of a shelf."""
Model = TypeVar("Model")

COLLECTION = "monograph_collection"
"""Metadata key of the collection of a document. It is internal, and is removed from returned metadata."""


def archive_of(source: AnyArchive) -> Archive | str | os.PathLike[str]:
    """Return the archive of a store; return an archive, a path or an address unchanged.

    Raises InputError if ``source`` has another type.
    """
    if isinstance(source, Reader | str | os.PathLike):
        return source
    archive = cast("Archive", getattr(source, "monograph", source))
    if not isinstance(archive, Reader) and not hasattr(archive, "url"):
        raise InputError(
            f"a {type(source).__name__} is not an archive", "give a path, an open archive, or a store over one"
        )
    return archive


def opened(  # noqa: PLR0913 - each is a choice of its own
    source: AnyArchive,
    model: Model | None,
    borrowed: Callable[[Model], Embedder],
    key: str | None = None,
    *,
    collection: str | None = None,
    graph: bool = False,
    vector_index: Literal["codes", "graph"] | None = None,
) -> FileHandle:
    """Open a file or shelf for a store, and return its handle. A handle as ``source`` is returned unchanged.

    The handle closes a file or shelf that this function opened. A file or shelf that was open already stays open. A
    file that does not exist is created; a shelf must exist.

    Parameters
    ----------
    source:
        An open file or shelf, a store, the path of a file, or the address of a shelf.
    model:
        The framework's embedding model, or None for the file's own embedder. Give it only with a path or address.
    borrowed:
        Function that converts ``model`` to an embedder of Monograph.
    key:
        Key of an encrypted file. Give it only with the path of a file.
    collection:
        Name of the collection that the handle reads and writes; None for all documents.
    graph:
        If it is True, a missing graph is built. If it is False, a new file has no graph.
    vector_index:
        Design of a new file's vector index: see docs/explanation/vector-index.md. Give it only with the path of a file.

    Raises
    ------
    InputError
        If a model is given with an open file or shelf, if a key or a vector index is given without the path of a file,
        or if the collection is not valid: see :attr:`FileHandle.monograph`.
    """
    if isinstance(source, FileHandle):
        return source
    source = archive_of(source)
    _refuse_key(key, source)
    if vector_index is not None and (not isinstance(source, str | os.PathLike) or is_shelf(source)):
        raise InputError(
            f"vector_index is {vector_index!r}, but the archive already exists", "give it only for a new file"
        )
    if isinstance(source, str | os.PathLike):
        embedder = None if model is None else borrowed(model)
        if is_shelf(source):
            archive = _open_existing(source, embedder, read_only=True, key=None)
        else:
            settings = None if graph or Path(source).exists() else Settings(graph=False)
            archive = Monograph.open(source, embedder, key=key, settings=settings, vector_index=vector_index)
    elif model is not None:
        name = getattr(borrowed, "__name__", "embedder")
        raise InputError(
            "the file is already open with its own embedder",
            f"open it with your model: Monograph.open(path, {name}(your embedding model))",
        )
    else:
        archive = source
    if graph:
        build_graph(archive)
    handle = FileHandle(archive, collection=collection, owned=archive is not source)
    _ = handle.monograph  # Refuses a wrong collection.
    return handle


def build_graph(source: AnyArchive, key: str | None = None, embedder: Embedder | None = None) -> None:
    """Build the graph of a file that has none. Do nothing for a shelf, or for a path where there is no file.

    ``key`` and ``embedder`` are used to open a path. Raises InputError for a view or snapshot of a file without a
    graph, and ReadOnlyFile if the file cannot be written.
    """
    archive = archive_of(source)
    if isinstance(archive, str | os.PathLike):
        if is_shelf(archive) or not Path(archive).exists():
            return
        with Monograph.open(archive, create=False, read_only=True, key=key) as read:
            missing = not read.settings.graph
        if missing:
            with contextlib.closing(_open_existing(archive, embedder, read_only=False, key=key)) as file:
                build_graph(file)
    elif isinstance(archive, Reader) and not archive.settings.graph:
        whole_file(archive, "graph", "graph.build").graph.build()


def _open_existing(
    address: str | os.PathLike[str], embedder: Embedder | None, *, read_only: bool, key: str | None
) -> Archive:
    """Open a shelf or a file with ``embedder``, or without it if callers supplied all vectors of the file."""
    if is_shelf(address):
        from monograph.shelf import Shelf

        return Shelf.open(address, embedder=embedder)
    try:
        return Monograph.open(address, embedder, create=False, read_only=read_only, key=key)
    except ModelMismatch:
        file = Monograph.open(address, create=False, read_only=read_only, key=key)
        if _is_given(file):
            return file
        file.close()
        raise


class FileHandle:
    """Handle of an existing file or shelf, which is open already, or is opened at the first use.

    If the handle was made from an open file, a copy of the handle shares this file and does not close it. If it was
    made from a path, a copy opens the path for itself. An unpickled handle opens the file again, and its :meth:`close`
    closes that file. A handle with a key can be copied, but not pickled.

    Parameters
    ----------
    source:
        An open file or shelf, a store over a file or shelf, the path of a file, or the address of a shelf. The caller
        closes an open file, shelf or store. A path or an address is opened by the first use, and closed by
        :meth:`close`.
    read_only:
        Whether a path is opened for reading only.
    key:
        Key of an encrypted file. Raises InputError if it is given with an open file or a shelf.
    collection:
        Name of the collection that is read; None for all documents.
    embedder:
        Model that computes the vectors of queries. Raises ModelMismatch if an open archive was built with another
        embedder. An archive whose vectors were all supplied by a caller accepts any embedder.
    owned:
        Whether :meth:`close` also closes a ``source`` that is open already.
    """

    def __init__(
        self,
        source: AnyArchive,
        read_only: bool = True,
        key: str | None = None,
        collection: str | None = None,
        embedder: Embedder | None = None,
        owned: bool = False,
    ) -> None:
        source = archive_of(source)
        _refuse_key(key, source)
        self._opened: Archive | None = None
        if not isinstance(source, str | os.PathLike):
            self._opened = source if owned else None
            if embedder is not None and not _is_given(source) and source.embedder.key != embedder.key:
                raise ModelMismatch(
                    f"{place_of(source)} was built with {source.embedder.key!r}, not with {embedder.key!r}",
                    "leave the model out: the archive's own model computes the vectors",
                )
        self.source = source
        self.collection = collection
        self._read_only = read_only
        self._key = key
        self._embedder = embedder
        self._view: Archive | None = None
        self._opening = threading.Lock()

    def __copy__(self) -> FileHandle:
        return FileHandle(self.source, self._read_only, self._key, self.collection, self._embedder)

    def __deepcopy__(self, memo: dict[int, Any]) -> FileHandle:
        return self.__copy__()

    def __reduce__(
        self,
    ) -> tuple[type[FileHandle], tuple[AnyArchive, bool, None, str | None, Embedder | None, bool]]:
        if self._key is not None:
            raise InputError(
                "a component with a key cannot be pickled: the pickle would contain its key",
                "create it again where it is needed",
            )
        return FileHandle, (self.source, self._read_only, None, self.collection, self._embedder, True)

    @property
    def address(self) -> str:
        """Absolute path of the file, or address of the shelf."""
        place = os.fspath(self.source) if isinstance(self.source, str | os.PathLike) else place_of(self.source)
        return place if "://" in place else str(Path(place).absolute())

    @property
    def monograph(self) -> Archive:
        """The open file or shelf; with a collection, the view of this collection. A path is opened if necessary.

        Raises FileError or ShelfError if the file or shelf cannot be read. Raises InputError if the collection is not a
        valid name, or is given for a shelf, which has no collections.
        """
        with self._opening:
            if self._view is None:
                archive = self.source
                if isinstance(archive, str | os.PathLike):
                    archive = self._opened = _open_existing(
                        archive, self._embedder, read_only=self._read_only, key=self._key
                    )
                if self.collection is not None:
                    if not isinstance(self.collection, str) or not self.collection:
                        raise InputError(
                            f"the collection is {self.collection!r}", "give a name, or None for all documents"
                        )
                    archive = only_file(archive, "collections").within({COLLECTION: self.collection})
                self._view = archive
            return self._view

    def query_vector(
        self, text: str, how: str | Strategy, vector: Sequence[float] | None = None, argument: str = "embed_model"
    ) -> Sequence[float] | Float32 | None:
        """Return the vector of a query: ``vector`` if it is given, else the vector that ``embedder`` computes.

        Returns None if the archive computes the vector itself, or if the search mode ``how`` needs no vector. Raises
        InputError if the search mode needs a vector and no model can compute it. The message tells the caller to pass
        the model as ``argument``.
        """
        if vector is not None:
            return vector
        archive = self.monograph
        if self._embedder is None:
            require_query_vector(archive, how, argument)
        elif getattr(strategy(how), "needs_vector", False) and _is_given(archive):
            computed: Float32 = self._embedder.embed([text], "query")[0]
            return computed
        return None

    def close(self) -> None:
        """Close the file or shelf if this handle opened it, or if the handle was made with ``owned``.

        A handle that was made from a path can still be used: the next use opens the path again.
        """
        with self._opening:
            if self._opened is not None:
                self._opened.close()
            if isinstance(self.source, str | os.PathLike):
                self._view = self._opened = None


def require_query_vector(archive: Archive, how: str | Strategy, argument: str) -> None:
    """Raise InputError if the search mode ``how`` needs a query vector that the archive cannot compute.

    ``argument`` is the parameter that takes the missing model or vector; the message names it.
    """
    if getattr(strategy(how), "needs_vector", False) and _is_given(archive):
        raise InputError(
            f"the query has no vector, and {place_of(archive)} has no model to compute one: its vectors were given",
            f"pass {argument}= of the model that made its vectors ({archive.embedder.dimension} values),"
            " or search in the mode lexical",
        )


SPANS = "monograph_spans"
"""Metadata key of the kept spans of a reduced text: [start, end] of each span in the original text."""


def dense_hits(
    archive: Archive,
    text: str | None,
    k: int,
    where: Mapping[str, Any] | None,
    vector: Sequence[float] | Float32 | None,
    **stopping: Unpack[Stopping],
) -> list[Hit]:
    """Return the k hits nearest to ``vector``; if it is None, nearest to the vector of ``text``.

    If both are None, or the vector is zero, there is nothing to compare. Then at most k chunks that match ``where`` are
    returned, in reading order, with relevance 0; without conditions in ``where``, no chunk is returned.
    """
    asks = text is not None or vector is not None
    hits = archive.search(text or "", k, how="dense", where=where, vector=vector, **stopping) if asks else []
    if hits or not where:
        return hits
    return [
        Hit(stored.chunk, 0.0, rank, stored.title, stored.uri, stored.metadata, ())
        for rank, stored in enumerate(archive.fetch(where=where)[: max(0, k)])
    ]


def windows_of(mode: str, cut: float, window: int, overlap: int, context: int, model: object | None) -> Windows | None:
    """Return the windows to reduce texts to; None for the mode ``sentences``.

    ``model`` is the framework's embedding model for windows, or None. Raises InputError if the mode is unknown, if the
    windows are not valid, or if an argument that only the other mode reads does not have its default value.
    """
    if mode not in ("sentences", "windows"):
        raise InputError(f"unknown mode {mode!r}", "give sentences or windows")
    windows = Windows(window, overlap, context)
    if mode == "windows" and cut != DEFAULT_CUT:
        raise InputError(f"cut is {cut}, but windows have no cut", "leave cut out, or give mode='sentences'")
    if mode == "sentences" and windows != Windows():
        raise InputError(f"{windows}, but the mode is sentences", "give mode='windows'")
    if mode == "sentences" and model is not None:
        raise InputError("an embedding model was given, but the mode is sentences", "give mode='windows'")
    return windows if mode == "windows" else None


def reduce_texts(  # noqa: PLR0913 - each is a choice of its own
    handle: FileHandle,
    question: str,
    texts: Sequence[str],
    *,
    cut: float,
    windows: Windows | None,
    embedder: Embedder | None,
    reorder: bool,
) -> list[tuple[int, str, list[list[int]]]]:
    """Reduce texts, which need not be from the file, to the sentences that a question needs.

    Returns (index of the text in ``texts``, kept text, [start, end] of each kept span) for every text that is not
    blank. They are in the order of ``texts`` or, with ``reorder``, of their best sentence or window. The other
    arguments and the errors are those of :meth:`monograph.Monograph.reduce`.
    """
    hits = [
        Hit(Chunk(f"{index}", f"{index}", text, 0, len(text), 0), 0.0, index, "", "", {}, ())
        for index, text in enumerate(texts)
        if text.strip()
    ]
    reduced = handle.monograph.reduce(question, hits, cut=cut, windows=windows, embedder=embedder)
    if reorder:
        reduced.sort(key=lambda item: -item.value)
    return [(item.hit.rank, item.text, [[span.start, span.end] for span in item.spans]) for item in reduced]


def _is_given(archive: Archive) -> bool:
    """Return whether callers supply all vectors of an archive."""
    try:
        return is_given(archive.embedder)
    except ModelError:
        return False


def _refuse_key(key: str | None, source: Archive | str | os.PathLike[str]) -> None:
    if key is None:
        return
    if not isinstance(source, str | os.PathLike):
        raise InputError(
            "a key was given, but the file is already open",
            "give its path with the key, or use Monograph.open(path, key=...)",
        )
    if is_shelf(source):
        raise InputError(f"{source} is a shelf, which has no key", "leave out the key")


def whole_documents(handle: FileHandle, names: Iterable[str] | None = None) -> Iterator[Document]:
    """Yield the documents that have the ids or uris ``names``, with their texts, in the order of ``names``.

    If ``names`` is None, all documents are yielded, in order of uri, then id. If the handle was made from a path, the
    file is opened for this call and closed at the end. Raises NotFound if a name matches no document, or more than one.
    """
    # Copy the handle, so that concurrent readers do not close each other's file.
    with contextlib.closing(copy.copy(handle)) as file:
        identifiers = [document.id for document in file.monograph.documents()] if names is None else names
        for name in identifiers:
            yield file.monograph.document(name)
