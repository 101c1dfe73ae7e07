"""The one class users hold."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from monograph.errors import InputError
from monograph.library.given import Given
from monograph.library.ledger import spends
from monograph.library.lookups import Lookups
from monograph.library.opened import OpenFile
from monograph.library.questions import Questions
from monograph.read.limits import DEFAULT_LIMITS, Limits
from monograph.read.paths import path_to_text
from monograph.values import arguments
from monograph.vectors.index import DEFAULT_CACHE_BYTES, DEFAULT_TARGET_RECALL
from monograph.write import configuration

if TYPE_CHECKING:
    from monograph.library.files import Files
    from monograph.library.graph import EntityGraph
    from monograph.library.past import Moment
    from monograph.library.tree import SummaryTree
    from monograph.library.vectors import Vectors
    from monograph.models import Describer, Embedder, Extractor, LanguageModel, Reranker, Summarizer, Trusted
    from monograph.settings import Settings
    from monograph.values import Document, OnProgress, Report
    from monograph.vectors.design import Kind


class Monograph(Questions, Lookups):
    """One open .mono file. Safe for use by many threads; a context manager. Made by :meth:`open`.

    A copy shares the open file, and is closed with it; one that is pickled opens the file of that path anew. An
    encrypted one cannot be pickled.
    """

    @classmethod
    def open(  # noqa: PLR0913 - each is a choice of its own
        cls,
        path: str | os.PathLike[str],
        embedder: Embedder | None = None,
        extractor: Extractor | None = None,
        summarizer: Summarizer | None = None,
        model: LanguageModel | None = None,
        *,
        reranker: Reranker | str | None = None,
        describer: Describer | str | None = None,
        settings: Settings | None = None,
        vector_index: Kind | None = None,
        create: bool = True,
        read_only: bool = False,
        key: str | None = None,
        target_recall: float = DEFAULT_TARGET_RECALL,
        cache_bytes: int = DEFAULT_CACHE_BYTES,
        trusted: Trusted = (),
        clock: Callable[[], float] = time.time,
    ) -> Monograph:
        """Open the file of this path, or make it.

        Parameters
        ----------
        embedder, extractor, summarizer:
            Make vectors, find what chunks name, make the tree of summaries. By default those that the file was built
            with; for a new one static word vectors and patterns, which need no network, and no tree. Once a summarizer
            is given, every write keeps a tree in step.
        model:
            Answers :meth:`ask`; it is not stored. Without one, that shows the passages that may hold the answer.
        reranker:
            Puts the first hits of every search in order, unless that names another; it is not stored.
        describer:
            Describes pictures in files that are synced, and is remembered (:mod:`monograph.derive.describe`); one given
            later takes its place, and ``"none"`` gives it up. Without one, words in pictures are recognised, with the
            extra ``ocr``.
        settings:
            How a new file is built; ``Settings(graph=False)`` for a file that serves as a vector store only.
        vector_index:
            Design of a new file's vector index: ``"codes"`` (the default) or ``"graph"``, see docs/vector-index.md.
        create, read_only:
            Make the file if it is missing; never write.
        key:
            What the file is encrypted with, or a new one is to be (extra ``encrypt``); kept nowhere.
        target_recall:
            Share of the nearest vectors that a search finds on average before it stops, above 0, at most 1. What that
            takes is measured on the file's own vectors; in a file of few, every vector is compared.
        cache_bytes:
            Memory for vectors and clusters of the vector index; 0 reads them from the file for every search.
        trusted:
            Addresses (servers, folders, hub names) that the file's own models may open, or a function that says whether
            they may, by the file's id and an address. Opening another raises ModelUntrusted. Models that are given
            here are not limited.
        clock:
            Tells the seconds since 1970 at which documents come, change and go, in a file that keeps their versions.

        Raises
        ------
        FileError
            If it is not a monograph, newer than this version, damaged, or of another key: the file is left as it was.
        ModelMismatch
            If the file was built with another model than one given; ``vectors.rebuild``, ``graph.rebuild`` and
            ``tree.rebuild`` make anew what that made.
        InputError
            If the file was built with other settings or another vector index, or a number is out of range.
        """
        given = Given(
            arguments.path(path, "the file"), embedder, extractor, summarizer, model, settings, vector_index, create,
            read_only, target_recall, cache_bytes, trusted, key, reranker, describer, clock,
        )  # fmt: skip
        return cls(OpenFile.open(given))

    def __enter__(self) -> Monograph:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Monograph({str(self.path)!r})"

    @property
    def files(self) -> Files:
        """Files and folders that are kept in step."""
        from monograph.library.files import Files

        return Files(self._file)

    @property
    def graph(self) -> EntityGraph:
        """The named things, and how they hang together."""
        from monograph.library.graph import EntityGraph

        return EntityGraph(self._file)

    @property
    def tree(self) -> SummaryTree:
        """The summaries over the chunks."""
        from monograph.library.tree import SummaryTree

        return SummaryTree(self._file)

    @property
    def vectors(self) -> Vectors:
        """The vectors of the chunks."""
        from monograph.library.vectors import Vectors

        return Vectors(self._file)

    def within(self, where: Mapping[str, Any]) -> Monograph:
        """A view of the file: a Monograph that sees nothing but the documents of which every chunk meets a filter.

        What is found, listed, counted, drawn, cited and answered comes from these alone: a name that only others say
        is not there, a path leads over no other, and a summary is there where all that it stands over is. A ``where``
        given to a method of the view narrows it further, and a view of the view has what is in both. Words weigh what
        they do in the whole file, which shifts scores, and which spellings are one entity was decided there.

        What is added carries the filter's values among its metadata. A document of the same id outside of the view is
        neither overwritten nor removed. What is done to the whole file (``sync``, ``compact``, ``backup``, ``check``,
        rebuilding) raises OutsideView.

        A view is closed with its file; to close it does nothing. What is in it is found out at its first use and after
        every change of the file: keep it as long as it is of use.

        Parameters
        ----------
        where:
            As for :meth:`search`, and not empty.

        Raises
        ------
        InputError
            If the filter is empty, or cannot be understood.
        """
        from monograph.library.view import within

        return Monograph(within(self._file, where))

    def as_of(self, moment: Moment) -> Monograph:
        """The file as it stood at a moment: a Monograph of the documents that it held then, as they were.

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
        from monograph.library import past

        return Monograph(past.as_of(self._file, moment))

    def close(self) -> None:
        """Close the file. Closing twice is allowed; any other use afterwards raises ClosedFile."""
        self._file.close()

    def sync(
        self,
        *sources: str | os.PathLike[str],
        verify: bool = False,
        prune: bool = False,
        forget: bool | None = None,
        follow_links: bool | None = None,
        limits: Limits = DEFAULT_LIMITS,
        progress: OnProgress | None = None,
    ) -> Report:
        """Bring the file up to date with files and folders: see :meth:`monograph.library.files.Files.sync`."""
        return self.files.sync(
            *sources, verify=verify, prune=prune, forget=forget, follow_links=follow_links,
            limits=limits, progress=progress,
        )  # fmt: skip

    @spends
    def add(self, documents: Iterable[Document], *, progress: OnProgress | None = None) -> Report:
        """Store documents; one of a known id replaces that document, an unchanged one costs nothing.

        Raises InvalidDocument if one cannot be stored: nothing of its batch (at most 1,024 documents) is.
        """
        from monograph.write import apply

        fence, look = self._file.fence, None
        if fence is not None:
            documents, look = fence.carried(documents), fence.seen
        pipeline = self._file.adding_pipeline()
        return self._file.forgetting(
            lambda forgets: apply.add(pipeline.forgetting(forgets), documents, progress, look=look)
        )

    @spends
    def put(self, documents: Iterable[Document], *, progress: OnProgress | None = None) -> Report:
        """Store passages beside those that their documents hold, as frameworks hand them over.

        A passage whose id the file knows takes that chunk's place, in whichever document it stands; a document's other
        chunks stay. Title, uri and metadata are laid over what is stored. Where all passages of a new file bring their
        vectors, the file is one of given vectors: see :class:`monograph.derive.embed.GivenVectors`.

        Raises InvalidDocument if a document has no passages, is part of a synced file, or cannot be stored: nothing of
        its batch (at most 1,024 documents) is.
        """
        from monograph.write import passages

        fence, listed = self._file.fence, list(documents)
        if fence is not None:
            listed = fence.carried(listed)
        pipeline = self._file.adding_pipeline(listed)
        look = None if fence is None else fence.seen
        return self._file.forgetting(lambda forgets: passages.put(pipeline.forgetting(forgets), listed, progress, look))

    @spends
    def remove(self, ids: Iterable[str], *, forget: bool | None = None) -> Report:
        """Take documents out of every result, all of them or, on an error, none.

        They are named by id or uri. One whose file is still in a synced folder comes back with the next sync. With
        ``forget``, by default what the file is set to, it returns only when no trace of their text, or of what it was
        before, is left in the bytes of the file and its write-ahead log; documents of which there are only former
        versions may then be named too. Raises NotFound if an id fits no document, and BusyFile if another process still
        reads what is to be forgotten: then the next write forgets it.
        """
        from monograph.write import remove

        file, named = self._file, arguments.names(map(path_to_text, ids), "an id")
        inside = None if file.fence is None else file.fence.inside
        return file.forgetting(
            lambda forgets: file.followed(remove.remove(file.written, file.indexes, named, inside, forgets=forgets)),
            forget,
            strict=True,
        )

    def forget_versions(self, names: Iterable[str] | None = None, *, before: Moment | None = None) -> int:
        """Leave no trace of former versions of documents: of some, of those that ended before a moment, or of both.

        ``names`` are ids or uris; those of documents that have none are passed over. What stands now stays. Returns how
        many were forgotten. Raises InputError if neither is given, and BusyFile as :meth:`remove` does.
        """
        from monograph.library import past
        from monograph.write import remove

        self._file.only_whole("forget_versions")
        if names is None and before is None:
            raise InputError(
                "neither names nor a moment says which versions",
                'name them, or say until when: --versions-before 2026-01-01; in Python: before="2026-01-01"',
            )
        named = None if names is None else arguments.names(map(path_to_text, names), "an id")
        first = None if before is None else past.time_of(before, "before").first
        past.require_history(self._file)
        work = partial(remove.drop_versions, self._file.database, named, first)
        return self._file.forgetting(lambda _: work(), True, strict=True).removed

    @spends
    def remove_chunks(self, ids: Iterable[str] | None = None, *, where: Mapping[str, Any] | None = None) -> Report:
        """Take single chunks out of every result; a document goes with the last of its chunks.

        ``ids`` that the file does not hold are passed over; ``where`` as for :meth:`search`. Raises InputError if
        neither is given, and InvalidDocument if a chunk is part of a synced file of which others are to stay.
        """
        from monograph.library.searches import allowed
        from monograph.values import Report
        from monograph.write import passages

        if ids is None and not where:
            raise InputError("neither ids nor a filter says which chunks", "name them; to clear the file, remove all")
        named = None if ids is None else arguments.names(ids, "an id")
        if configuration.EMBEDDER.known(self._file.database) is None:
            return Report()  # It holds nothing yet, and what its vectors come from is still open.
        pipeline, narrowed = self._file.adding_pipeline(), allowed(where)
        if self._file.fence is not None:
            narrowed = self._file.fence.chunks(narrowed)
        return self._file.forgetting(lambda forgets: passages.remove(pipeline.forgetting(forgets), named, narrowed))

    def compact(self) -> None:
        """Drop remembered values that nothing uses, merge the index and give free space back to the disk."""
        from monograph.write.forget import erase

        self._file.only_whole("compact")
        erase(self._file.database, self._file.indexes)

    def backup(
        self, path: str | os.PathLike[str], *, overwrite: bool = False, progress: OnProgress | None = None
    ) -> Path:
        """Copy the file as it is now, while others read and write it; the copy is checked before it gets its name.

        A file that is there is not overwritten unless told. An encrypted file's copy has the same key.

        Raises InputError if the path is taken, BusyFile if what is to be overwritten is open, DamagedFile if the copy
        has a fault, and StorageFull if there is no room; then there is none.
        """
        from monograph.library import backup

        self._file.only_whole("backup")
        return backup.backup(self._file, arguments.path(path, "the copy"), overwrite=overwrite, progress=progress)
