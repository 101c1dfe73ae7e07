"""Reading an open file: all of it, a view of it, or a snapshot."""

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
from monograph.store.documents.filters import compile_condition
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
    from monograph.write.fence import Fence


class Reader(Questions):
    """An open file, or a part of it, as it is read: :class:`monograph.Monograph`, :class:`View`, :class:`Snapshot`.

    Safe for use by many threads; a context manager. A copy shares the open file, and is closed with it.
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

    def _at(self, as_of: Moment | None) -> OpenFile:
        if as_of is None:
            return self._file
        part = self._part_at(as_of)
        # The snapshot is kept with the file, for searches that follow and ask for the same moment.
        self._file.whole.last_snapshot = part.base if isinstance(part.base, FilePart) else part
        return part

    def _require_history(self) -> None:
        if not self._file.settings.history:
            raise keeps_no_versions(self._file)

    def _part_at(self, as_of: Moment) -> FilePart:
        self._require_history()
        return self._file.whole.part(self._file.condition, filters.time_of(as_of, "as_of").last)

    def within(self, where: Mapping[str, Any]) -> Reader:
        """Return the documents of which every chunk meets a filter: see :meth:`monograph.Monograph.within`."""
        part = self._narrowed(where)
        return View(part) if part.second is None else Snapshot(part)

    def _narrowed(self, where: Mapping[str, Any]) -> FilePart:
        condition = filters.parse(where)
        if condition is None:
            raise InputError(
                "a view needs a filter",
                'say what is in it: collection=notes; in Python: archive.within({"collection": "notes"})',
            )
        if self._file.condition is not None:
            condition = filters.Combination("and", (self._file.condition, condition))
        return self._file.whole.part(condition, self._file.second)

    def as_of(self, moment: Moment) -> Snapshot:
        """Return what the file, or view, held at a moment: a reader of the documents that it held then, as they were.

        It is for files that were made with ``Settings(history=True)``. It is a copy in memory, in which the changes
        since then are undone, and is searched, looked round in and asked as any file; nothing is written to it. Hits,
        citations and documents say when what they show stood in the file (``valid``). What was told of things, set
        apart or joined is as it is now; a tree has the summaries that stand over nothing else.

        To make it takes time and memory as a copy of the file does, and for every document that has changed since about
        as much time as to store it; no model is asked for what the file remembers. Keep it as long as it is of use: it
        is closed with its file, and once that forgets something it can be read no more. Of a view, it is the same view
        of the file as it stood.

        Parameters
        ----------
        moment:
            A time as :mod:`monograph.where` has it, a datetime or a date: what stood at its end. What is not over yet
            is as the file stands now.

        Raises
        ------
        InputError
            If the file keeps no former versions, or the moment is no time.
        StorageFull
            If the copy takes more than 1 GiB.
        """
        return Snapshot(self._part_at(moment))

    @property
    def files(self) -> OriginalFiles:
        """The files that documents were read from."""
        from monograph.library.original_files import OriginalFiles

        return OriginalFiles(self._file)

    @property
    def graph(self) -> GraphReader:
        """The named things, and how they hang together."""
        from monograph.library.graph import GraphReader

        return GraphReader(self._file)

    @property
    def tree(self) -> TreeReader:
        """The summaries over the chunks."""
        from monograph.library.tree import TreeReader

        return TreeReader(self._file)

    @property
    def view(self) -> str:
        """The name of the view or snapshot; empty for a whole file."""
        return self._file.view

    @property
    def path(self) -> Path:
        """The file's path."""
        return self._file.database.path

    @property
    def settings(self) -> Settings:
        """How the file is built."""
        return self._file.settings

    @property
    def embedder(self) -> Embedder:
        """What makes this file's vectors. Loading its model waits for the first text.

        Raises ModelError if the one that the file was built with cannot be made here, or is another by now.
        """
        return self._file.models.embedder

    def document(self, name: str, *, as_of: Moment | None = None) -> Document:
        """A stored document by id or uri, with its text; as it stood at a moment, where one is given.

        Raises NotFound where none, or several, are meant; with ``as_of`` also as :meth:`Monograph.as_of`.
        """
        file: OpenFile = self._file
        if as_of is not None:
            if isinstance(file, WholeFile) and file.settings.history:  # One document takes no copy of the file.
                second = filters.time_of(as_of, "as_of").last
                with file.database.read() as connection:
                    return lookup.document_as_of(connection, name, second)
            file = self._part_at(as_of)
        with file.database.read() as connection:
            return lookup.document(connection, name)

    def documents(self) -> list[Document]:
        """All stored documents without their texts, in order of uri, then id."""
        with self._file.database.read() as connection:
            return lookup.every_document(connection)

    def listed(self, like: str = "", start: int = 0, limit: int = 100) -> Listed:
        """A part of :meth:`documents`, however many there are.

        Parameters
        ----------
        like:
            Only those whose title, uri or id contains this, whatever its case.
        start, limit:
            The first one, from 0, and how many.

        Raises
        ------
        InputError
            If a number is negative.
        """
        with self._file.database.read() as connection:
            return lookup.listed(connection, like, start, limit)

    def chunks(self, name: str) -> list[Chunk]:
        """The chunks of a document, by its id or uri, in reading order. Raises as :meth:`document`."""
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
        """Stored chunks by id, or all that meet a filter.

        Those of given ids that are there come in the order of the ids, all others in reading order, document by
        document; ``where`` and ``as_of`` as for :meth:`search`; with ``vectors`` their vectors come with them.
        """
        stored = configuration.EMBEDDER.known(self._file.database) if vectors else None
        with self._at(as_of).database.read() as connection:
            return lookup.fetch(connection, ids, allowed(where), None if stored is None else stored.dimension)

    def missing_keys(self, where: Mapping[str, Any] | None) -> dict[str, list[str]]:
        """Return the keys of a filter that no chunk or document has, each with the nearest keys that there are."""
        from difflib import get_close_matches

        from monograph.store.documents.filters import has_key, keys

        with self._file.database.read() as connection:
            missing = [key for key in filters.keys_of(where) if not has_key(connection, key)]
            known = keys(connection) if missing else []
        return {key: get_close_matches(key, known) for key in missing}

    def export(
        self,
        path: str | os.PathLike[str],
        *,
        overwrite: bool = False,
        graph: bool = True,
        progress: OnProgress | None = None,
    ) -> Exported:
        """Write all that the file holds into a new folder: JSON Lines, and its vectors as a plain array of numpy's.

        It is one state of the file, while others read and write it, and is plain even where the file is encrypted. The
        folder gets its name when it is whole; ``docs/export.md`` says what lies in it.

        Parameters
        ----------
        path:
            The folder.
        overwrite:
            Put it into the place of an export that is there; a folder that holds anything else stays.
        graph:
            Whether the graph is wanted too: what chunks name, which takes most of the time.
        progress:
            Told of every few documents; an exception raised in it leaves no folder.

        Raises
        ------
        InputError
            If the folder is there, or cannot be made.
        DamagedFile
            If a row cannot be read, or is not what was stored: nothing is left of the folder.
        StorageFull
            If there is no room for it.
        """
        from monograph.library import carrying

        place = arguments.path(path, "the folder")
        return carrying.exported(self._file, place, overwrite=overwrite, graph=graph, progress=progress)

    def generation(self) -> int:
        """A number that every write raises, of whatever process: the same number, the same file."""
        with self._file.origin.read() as connection:
            return settings.generation(connection)

    def brief(self) -> Brief:
        """What is quickly told of the file."""
        from monograph.library import contents

        with self._file.database.read() as connection:
            return contents.brief(connection)

    def stats(self) -> Stats:
        """Count and weigh what the file holds."""
        from monograph.library import contents

        return contents.stats_of(self._file)


class Snapshot(Reader):
    """An open file, or a view of one, as of a moment: see :meth:`monograph.Monograph.as_of`. It is only read."""

    _file: FilePart

    def within(self, where: Mapping[str, Any]) -> Snapshot:
        """Return the documents of which every chunk meets a filter: see :meth:`monograph.Monograph.within`."""
        return Snapshot(self._narrowed(where))


class View(Reader):
    """The part of an open file that meets a filter: see :meth:`monograph.Monograph.within`.

    What is added carries the filter's values among its metadata. A document of the same id outside of the view is
    neither overwritten nor removed. Reports do not tell what was remembered.
    """

    _file: FilePart

    @property
    def _fence(self) -> Fence:
        from monograph.write.fence import Fence

        condition = self._file.condition
        assert condition is not None  # noqa: S101 - a view has one
        return Fence(condition, compile_condition(condition))

    @property
    def graph(self) -> GraphWriter:
        """The named things, and how they hang together; what documents of the view say can be added."""
        from monograph.library.graph import GraphWriter

        return GraphWriter(self._file, self._fence)

    def within(self, where: Mapping[str, Any]) -> View:
        """Return the view of what is in both: see :meth:`monograph.Monograph.within`."""
        return View(self._narrowed(where))

    @spends
    def add(self, documents: Iterable[Document], *, progress: OnProgress | None = None) -> Report:
        """Store documents in the view: see :meth:`monograph.Monograph.add`.

        Raises OutsideView if the filter does not say exact values, a document has others, or its id is taken outside.
        """
        from monograph.write import apply

        whole, fence = self._file.whole, self._fence
        carried = fence.carried(documents)
        pipeline = replace(whole.writing_pipeline(), check=fence.check)
        return self._change(lambda forgets: apply.add(pipeline.forgetting(forgets), carried, progress, look=fence.seen))

    @spends
    def put(self, documents: Iterable[Document], *, progress: OnProgress | None = None) -> Report:
        """Store passages in the view: see :meth:`monograph.Monograph.put`. Raises OutsideView as :meth:`add`."""
        from monograph.write import passages

        whole, fence = self._file.whole, self._fence
        carried = fence.carried(documents)
        pipeline = replace(whole.writing_pipeline(carried), check=fence.check)
        return self._change(lambda forgets: passages.put(pipeline.forgetting(forgets), carried, progress, fence.seen))

    @spends
    def remove(self, ids: Iterable[str], *, forget: bool | None = None) -> Report:
        """Take documents of the view out of every result: see :meth:`monograph.Monograph.remove`."""
        from monograph.write import remove

        whole, named, fence = self._file.whole, document_names(ids), self._fence
        return self._change(
            lambda forgets: whole.update_tree(
                remove.remove(whole.database, whole.indexes, named, fence.inside, forgets=forgets)
            ),
            forget,
            strict=True,
        )

    @spends
    def remove_chunks(self, ids: Iterable[str] | None = None, *, where: Mapping[str, Any] | None = None) -> Report:
        """Take single chunks of the view out of every result: see :meth:`monograph.Monograph.remove_chunks`."""
        from monograph.values import Report
        from monograph.write import passages

        whole, named = self._file.whole, chunk_names(ids, where)
        narrowed = self._fence.chunks(allowed(where))
        if configuration.EMBEDDER.known(whole.database) is None:
            return Report()  # The file holds nothing yet.
        pipeline = whole.writing_pipeline()
        return self._change(lambda forgets: passages.remove(pipeline.forgetting(forgets), named, narrowed))

    def _change(self, work: Callable[[bool], Report], forget: bool | None = None, *, strict: bool = False) -> Report:
        """Write to the file; its report does not tell what was remembered, which others' documents may say."""
        report = self._file.whole.forgetting(work, forget, strict=strict)
        return replace(report, embedded=0, remembered=0, extracted=0, fell_back=0, summarized=0)


def document_names(ids: Iterable[str]) -> list[str]:
    """Check ids, uris or paths of documents."""
    return arguments.names(map(path_to_text, ids), "an id")


def chunk_names(ids: Iterable[str] | None, where: Mapping[str, Any] | None) -> list[str] | None:
    """Check ids of chunks. Raises InputError if there are neither ids nor a filter."""
    if ids is None and not where:
        raise InputError("neither ids nor a filter says which chunks", "name them; to clear the file, remove all")
    return None if ids is None else arguments.names(ids, "an id")
