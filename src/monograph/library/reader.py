"""``Reader``, the base class of a file, a view and a snapshot; and the classes ``View`` and ``Snapshot``."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from monograph import where as filters
from monograph.errors import InputError
from monograph.explore import lookup
from monograph.library.opened import FilePart, OpenFile, WholeFile, spends
from monograph.library.questions import Questions, allowed, keeps_no_versions
from monograph.read.paths import path_to_text
from monograph.store.file import settings
from monograph.values import arguments
from monograph.write import configuration

if TYPE_CHECKING:
    from collections.abc import Callable

    from monograph.library.graph import GraphReader, GraphWriter
    from monograph.library.original_files import OriginalFiles
    from monograph.library.tree import TreeReader
    from monograph.models import Embedder
    from monograph.settings import Settings
    from monograph.values import (
        Brief,
        Chunk,
        Document,
        Exported,
        Listed,
        OnProgress,
        Report,
        Stats,
        StoredChunk,
    )
    from monograph.where import Moment


class Reader(Questions):
    """The methods that read an open file: base of :class:`monograph.Monograph`, :class:`View` and :class:`Snapshot`.

    It is safe for use by many threads, and is a context manager. A copy of the object shares the open file, and is
    closed with it.
    """

    _file: WholeFile | FilePart

    def __init__(self, file: WholeFile | FilePart) -> None:
        self._file = file

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, filter(None, (str(self.path), self.view))))})"

    def close(self) -> None:
        """Do nothing: a view or a snapshot is closed with its file."""

    def _at(self, as_of: Moment) -> OpenFile:
        part = self._part_at(as_of)
        # The file keeps the last snapshot alive, because further searches often ask for the same moment.
        self._file.whole.last_snapshot = part.base if isinstance(part.base, FilePart) else part
        return part

    def _require_history(self) -> None:
        if not self._file.settings.history:
            raise keeps_no_versions(self._file)

    def _part_at(self, as_of: Moment) -> FilePart:
        self._require_history()
        return self._file.whole.part(self._file.condition, filters.time_of(as_of, "as_of").last)

    def within(self, where: Mapping[str, Any]) -> Reader:
        """Return a reader of the documents that match a filter: see :meth:`monograph.Monograph.within`."""
        part = self._narrowed(where)
        return View(part) if part.second is None else Snapshot(part)

    def _narrowed(self, where: Mapping[str, Any]) -> FilePart:
        condition = filters.parse(where)
        if condition is None:
            raise InputError(
                "a view needs a filter",
                'give one, such as collection=notes; in Python: archive.within({"collection": "notes"})',
            )
        if self._file.condition is not None:
            condition = filters.Combination("and", (self._file.condition, condition))
        return self._file.whole.part(condition, self._file.second)

    def as_of(self, moment: Moment) -> Snapshot:
        """Return a snapshot: the documents of the file or view at a moment, with the texts that they had then.

        The file must have been created with ``Settings(history=True)``. The snapshot is a copy of the file in memory,
        in which later changes are undone. It has every method that reads and no method that writes. Hits, citations and
        documents have the period in which they were in the file (``valid``). Assertions and the pairs of names that are
        kept apart come from the present file. The tree has only the summaries whose chunks are all in the snapshot.

        Making a snapshot takes the time and memory of copying the file. It also takes about the time of storing all
        documents that have changed since the moment; stored model results are reused. So reuse a snapshot instead of
        making one for each call. A snapshot is closed with its file, and cannot be read any more once the file has
        erased removed text (``forget``).

        The moment is a text as in :mod:`monograph.where`, a datetime or a date. A moment may be a period, such as a day
        or a year: then the snapshot shows the state at the end of the period. If this end is in the future, the
        snapshot shows the present state. Raises InputError if the file keeps no previous versions, or the moment is not
        a time, and StorageFull if the copy takes more than 1 GiB.
        """
        return Snapshot(self._part_at(moment))

    @property
    def files(self) -> OriginalFiles:
        """Methods for the original files that documents were read from."""
        from monograph.library.original_files import OriginalFiles

        return OriginalFiles(self._file)

    @property
    def graph(self) -> GraphReader:
        """The entity–chunk graph, for reading."""
        from monograph.library.graph import GraphReader

        return GraphReader(self._file)

    @property
    def tree(self) -> TreeReader:
        """The tree of summaries, for reading."""
        from monograph.library.tree import TreeReader

        return TreeReader(self._file)

    @property
    def view(self) -> str:
        """The name of the view or snapshot, from its filter or its moment; empty for a whole file."""
        return self._file.view

    @property
    def path(self) -> Path:
        """The file's path."""
        return self._file.database.path

    @property
    def settings(self) -> Settings:
        """The settings that the file was built with."""
        return self._file.settings

    @property
    def embedder(self) -> Embedder:
        """The model that makes the file's vectors; it is loaded when it embeds its first text.

        Raises ModelError if the model that the file was built with cannot be loaded here, or has changed.
        """
        return self._file.models.embedder

    def document(self, name: str, *, as_of: Moment | None = None) -> Document:
        """Return a document by id or uri, with its text. With ``as_of``, return its version at that moment.

        Raises NotFound if there is no such document, or several documents have that uri. With ``as_of``, also raises
        the errors of the method :meth:`as_of`.
        """
        file: OpenFile = self._file
        if as_of is not None:
            if isinstance(file, WholeFile) and file.settings.history:  # A single document needs no snapshot.
                second = filters.time_of(as_of, "as_of").last
                with file.database.read() as connection:
                    return lookup.document_as_of(connection, name, second)
            file = self._part_at(as_of)
        with file.database.read() as connection:
            return lookup.document(connection, name)

    def documents(self) -> list[Document]:
        """Return all documents without their texts, in order of uri, then id."""
        with self._file.database.read() as connection:
            return lookup.every_document(connection)

    def listed(self, like: str = "", start: int = 0, limit: int = 100) -> Listed:
        """Return a part of the list of :meth:`documents`, and the number of all documents that match.

        A document matches if its title, uri or id contains the text ``like``; upper and lower case are the same. An
        empty text matches every document. ``start`` is the position of the first document to return, from 0. ``limit``
        is the largest number of documents to return. Raises InputError if a number is negative.
        """
        with self._file.database.read() as connection:
            return lookup.listed(connection, like, start, limit)

    def chunks(self, name: str) -> list[Chunk]:
        """Return the chunks of a document in reading order. ``name`` and errors are as for :meth:`document`."""
        with self._file.database.read() as connection:
            return lookup.chunks_of(connection, name)

    def fetch(
        self,
        ids: Sequence[str] | None = None,
        *,
        where: Mapping[str, Any] | None = None,
        vectors: bool = False,
        as_of: Moment | None = None,
    ) -> list[StoredChunk]:
        """Return stored chunks by id, or all chunks that match a filter.

        With ``ids``, the chunks are in the order of the ids, and unknown ids are skipped. Without ``ids``, the chunks
        are grouped by document, in reading order. ``where`` and ``as_of`` are as for :meth:`search`.
        ``vectors`` is whether to return the chunks' vectors as well.
        """
        stored = configuration.EMBEDDER.known(self._file.database) if vectors else None
        file = self._file if as_of is None else self._at(as_of)
        with file.database.read() as connection:
            return lookup.fetch(connection, ids, allowed(where), None if stored is None else stored.dimension)

    def missing_keys(self, where: Mapping[str, Any] | None) -> dict[str, list[str]]:
        """Return {key: existing keys of similar spelling} for each key in a filter that no chunk or document has."""
        from difflib import get_close_matches

        from monograph.store.documents.filters import keys, values_of

        with self._file.database.read() as connection:
            missing = [key for key in filters.keys_of(where) if next(values_of(connection, key), None) is None]
            existing = keys(connection) if missing else []
        return {key: get_close_matches(key, existing) for key in missing}

    def export(
        self,
        path: str | os.PathLike[str],
        *,
        overwrite: bool = False,
        graph: bool = True,
        progress: OnProgress | None = None,
    ) -> Exported:
        """Write all contents into a new folder: JSON Lines, and the vectors as a NumPy array.

        The export shows one state of the file, even if other processes write meanwhile. It is never encrypted, even if
        the file is. The folder gets its name once it is complete. On an error, including an exception of ``progress``,
        no folder is left. ``docs/how-to/export.md`` describes the files in the folder.

        Parameters
        ----------
        path:
            The new folder.
        overwrite:
            Whether to replace an earlier export at this path. A folder with other contents is never replaced.
        graph:
            Whether to write the graph too, which takes most of the time.
        progress:
            Called after every few documents.

        Raises
        ------
        InputError
            If the folder exists, or cannot be created.
        DamagedFile
            If a row cannot be read, or does not match its checksum.
        StorageFull
            If the disk has no room.
        """
        from monograph.library import carrying

        folder = arguments.path(path, "the folder")
        return carrying.export_file(self._file, folder, overwrite=overwrite, graph=graph, progress=progress)

    def generation(self) -> int:
        """Return the file's write counter. Every write by any process increments it, so equal values mean no change."""
        with self._file.origin.read() as connection:
            return settings.generation(connection)

    def brief(self) -> Brief:
        """Return a quick overview: the format, the number of documents, and whether there is a tree."""
        from monograph.store import tree
        from monograph.store.documents import documents
        from monograph.store.file import schema
        from monograph.values import Brief

        with self._file.database.read() as connection:
            return Brief(schema.format_of(connection), documents.count(connection), tree.exists(connection))

    def stats(self) -> Stats:
        """Return counts and sizes of the contents.

        In a view or snapshot, values that describe only the whole file, such as its size in bytes, are 0 or empty.
        """
        from monograph.store.file import stats
        from monograph.tree.leaves import measure
        from monograph.values import IndexStats, Stats, TreeStats

        file, whole = self._file, not self._file.view
        with file.database.read() as connection:
            counts = stats.counts(connection)
            sizes = stats.sizes(connection) if whole else ()
            index = IndexStats(counts["vectors"], 0, 0, 0, 0, None, file.chunk_index.target_recall)
            index = file.chunk_index.stats(connection) if whole else index
            shape = measure(connection)
            has_graph = not whole or settings.has_graph(connection)
        if not whole:
            counts |= dict.fromkeys(("memo", "memo_unused", "terms", "file_bytes"), 0)
            shape = None if shape is None else TreeStats(shape.layers, shape.sizes, shape.cosine, 0, 0, 0, 0, 0)
        kinds = (configuration.EMBEDDER, configuration.EXTRACTOR, configuration.SUMMARIZER)
        unknown = settings.StoredModel("", "")
        embedder, extractor, summarizer = (kind.known(file.database) or unknown for kind in kinds)
        return Stats(
            path=str(file.database.path),
            **counts,
            tables=sizes,
            embedder=embedder.key,
            embedder_spec=embedder.spec if whole else "",
            extractor=extractor.key,
            extractor_spec=extractor.spec if whole else "",
            dimension=embedder.dimension,
            chunk_tokens=file.settings.chunk_tokens,
            chunk_overlap=file.settings.chunk_overlap,
            index=index,
            summarizer=summarizer.key,
            summarizer_spec=summarizer.spec if whole else "",
            tree=shape,
            id=configuration.identity(file.database) if whole else "",
            addresses=configuration.addresses_named(file.database) if whole else (),
            has_graph=has_graph,
        )


class Snapshot(Reader):
    """An open file, or a view of a file, as it was at a moment, for reading only: see :meth:`Reader.as_of`."""

    _file: FilePart

    def within(self, where: Mapping[str, Any]) -> Snapshot:
        """Return the documents of the snapshot that match a filter: see :meth:`monograph.Monograph.within`."""
        return Snapshot(self._narrowed(where))


class Writable(Reader):
    """The methods that write documents: base of :class:`monograph.Monograph` and :class:`View`."""

    def within(self, where: Mapping[str, Any]) -> View:
        """Return a view of the file: the documents whose chunks all match a filter.

        Every method of the view reads only these documents. A name that occurs only in other documents does not exist
        in the view. Paths go only through documents of the view. A summary is in the view only if all its chunks are in
        the view. If a ``where`` is given to a method of the view, both filters apply. A view of a view has the
        documents that match both filters. Two things come from the whole file: the number of chunks with each
        word, from which a search computes the word's weight, and which spellings are merged into one entity.

        Documents that are added to the view get the filter's values as metadata. A document outside of the view is
        neither overwritten nor removed, even if it has the same id. A view has no methods for the whole file (``sync``,
        ``compact``, ``backup``, ``check``, rebuilding).

        A view is closed with its file; closing the view does nothing. The view looks up its documents at first use and
        after every change of the file, so reuse a view instead of making one for each call. ``where`` is as for
        :meth:`search`. Raises InputError if the filter is empty or invalid.
        """
        return View(self._narrowed(where))

    @spends
    def add(self, documents: Iterable[Document], *, progress: OnProgress | None = None) -> Report:
        """Store documents. A document replaces the stored document of the same id; an unchanged document is skipped.

        Raises InvalidDocument if a document cannot be stored. Then no document of its batch (up to 1,024 documents) is
        stored, but earlier batches are. In a view, raises OutsideView in three cases: the view's filter does not give
        exact values for metadata, a document's metadata differ from these values, or a document outside of the view has
        the same id.
        """
        from monograph.write import apply

        guard = self._file.guard
        accepted = list(documents) if guard is None else guard.add_values(documents)
        pipeline = replace(self._file.whole.writing_pipeline(), guard=guard)
        return self._change(lambda forgets: apply.add(pipeline.forgetting(forgets), accepted, progress))

    @spends
    def put(self, documents: Iterable[Document], *, progress: OnProgress | None = None) -> Report:
        """Add passages (ready-made chunks) to documents, without removing the other chunks of these documents.

        A passage replaces the stored chunk of the same id, even if that chunk is in another document. The title, uri
        and metadata of a given document are merged into those of the stored document. If the file is new and all
        passages have vectors, the file accepts only given vectors from then on: see
        :class:`monograph.derive.embed.GivenVectors`.

        Raises InvalidDocument if a document has no passages, is part of a synced file, or cannot be stored. Then no
        document of its batch (up to 1,024 documents) is stored. For OutsideView, see :meth:`add`.
        """
        from monograph.write import passages

        guard = self._file.guard
        accepted = list(documents) if guard is None else guard.add_values(documents)
        pipeline = replace(self._file.whole.writing_pipeline(accepted), guard=guard)
        return self._change(lambda forgets: passages.put(pipeline.forgetting(forgets), accepted, progress))

    @spends
    def remove(self, ids: Iterable[str], *, forget: bool | None = None) -> Report:
        """Remove documents; ``ids`` are their ids or uris.

        If the file of a removed document is still in a synced folder, the next sync adds the document again.

        ``forget`` is whether to erase the documents' texts and previous versions from the bytes of the file and its
        write-ahead log before the method returns; None means ``files.always_forget``. If it is True, ``ids`` may also
        have documents of which only previous versions are left, except in a view.

        Raises NotFound, and removes no document, if an id or uri is unknown. Raises BusyFile if the text cannot be
        erased because another process still reads it. Then the documents are removed, and the next write erases the
        text.
        """
        from monograph.write import writer

        whole, named, guard = self._file.whole, document_names(ids), self._file.guard
        return self._change(
            lambda forgets: whole.update_tree(
                writer.remove(whole.database, whole.indexes, named, guard, forgets=forgets)
            ),
            forget,
            strict=True,
        )

    @spends
    def remove_chunks(self, ids: Iterable[str] | None = None, *, where: Mapping[str, Any] | None = None) -> Report:
        """Remove single chunks, by id, by a filter, or both. A document is removed with the last of its chunks.

        ``ids`` are ids of chunks; unknown ids are skipped. ``where`` is a filter as for :meth:`search`. If both are
        given, the chunks with these ids that match the filter are removed. Raises InputError if neither is given, and
        InvalidDocument if a chunk belongs to a synced file and other chunks of that file would stay.
        """
        from monograph.values import Report
        from monograph.write import passages

        if ids is None and not where:
            raise InputError("neither ids nor a filter was given", "give one; to clear the file, remove its documents")
        named = None if ids is None else arguments.names(ids, "an id")
        guard = self._file.guard
        narrowed = allowed(where) if guard is None else guard.chunks(allowed(where))
        if configuration.EMBEDDER.known(self._file.whole.database) is None:
            return Report()  # The file is empty. A writing pipeline would adopt an embedder, which it must not do yet.
        pipeline = self._file.whole.writing_pipeline()
        return self._change(lambda forgets: passages.remove(pipeline.forgetting(forgets), named, narrowed))

    def _change(self, work: Callable[[bool], Report], forget: bool | None = None, *, strict: bool = False) -> Report:
        """Run a write and return its report. The report of a view has no counts of derived values."""
        report = self._file.whole.forgetting(work, forget, strict=strict)
        if self._file.guard is None:
            return report
        # In a view, these counts would reveal contents outside of the view.
        return replace(report, embedded=0, reused=0, extracted=0, fell_back=0, summarized=0)


class View(Writable):
    """The documents of an open file that match a filter: see :meth:`monograph.Monograph.within`.

    Documents that are added get the filter's values as metadata. Documents outside of the view are neither overwritten
    nor removed. Reports do not count derived values, because these counts would reveal contents outside of the view.
    """

    _file: FilePart

    @property
    def graph(self) -> GraphWriter:
        """The entity–chunk graph of the view, to which assertions can be added."""
        from monograph.library.graph import GraphWriter

        return GraphWriter(self._file)


def document_names(ids: Iterable[str]) -> list[str]:
    """Return ids, uris or paths of documents as strings. Raises InputError if one is invalid, or ``ids`` is no list."""
    is_list = isinstance(ids, Iterable) and not isinstance(ids, str | bytes)
    return arguments.names(map(path_to_text, ids) if is_list else ids, "an id")
