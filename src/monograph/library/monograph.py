"""The class that users of a file hold: it reads and writes all of the file."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from monograph import where as filters
from monograph.errors import InputError
from monograph.library.file_models import OpenOptions
from monograph.library.opened import WholeFile, spends
from monograph.library.questions import allowed
from monograph.library.reader import Reader, View, chunk_names, document_names
from monograph.read.limits import DEFAULT_LIMITS, Limits
from monograph.values import arguments
from monograph.vectors.index import DEFAULT_CACHE_BYTES, DEFAULT_TARGET_RECALL
from monograph.write import configuration

if TYPE_CHECKING:
    from monograph.library.files import Files
    from monograph.library.graph import EntityGraph
    from monograph.library.tree import SummaryTree
    from monograph.library.vectors import Vectors
    from monograph.models import Describer, Embedder, Extractor, LanguageModel, Reranker, Summarizer, Trusted
    from monograph.settings import Settings
    from monograph.values import Document, Finding, LedgerEntry, OnProgress, Report, Version
    from monograph.vectors.design import Kind
    from monograph.where import Moment


class Monograph(Reader):
    """One open .mono file. Safe for use by many threads; a context manager. Made by :meth:`open`.

    A copy shares the open file, and is closed with it; one that is pickled opens the file of that path anew. An
    encrypted one cannot be pickled.
    """

    _file: WholeFile

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
        options = OpenOptions(
            arguments.path(path, "the file"), embedder, extractor, summarizer, model, settings, vector_index, create,
            read_only, target_recall, cache_bytes, trusted, key, reranker, describer, clock,
        )  # fmt: skip
        return cls(WholeFile.open(options))

    def close(self) -> None:
        """Close the file. Closing twice is allowed; any other use afterwards raises ClosedFile."""
        self._file.close()

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

    def within(self, where: Mapping[str, Any]) -> View:
        """A view of the file, which sees nothing but the documents of which every chunk meets a filter.

        What is found, listed, counted, drawn, cited and answered comes from these alone: a name that only others say
        is not there, a path leads over no other, and a summary is there where all that it stands over is. A ``where``
        given to a method of the view narrows it further, and a view of the view has what is in both. Words weigh what
        they do in the whole file, which shifts scores, and which spellings are one entity was decided there.

        What is added carries the filter's values among its metadata. A document of the same id outside of the view is
        neither overwritten nor removed. A view has no methods for what is done to the whole file (``sync``,
        ``compact``, ``backup``, ``check``, rebuilding).

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
        return View(self._narrowed(where))

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

        pipeline = self._file.writing_pipeline()
        return self._file.forgetting(lambda forgets: apply.add(pipeline.forgetting(forgets), documents, progress))

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

        listed = list(documents)
        pipeline = self._file.writing_pipeline(listed)
        return self._file.forgetting(lambda forgets: passages.put(pipeline.forgetting(forgets), listed, progress))

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

        file, named = self._file, document_names(ids)
        return file.forgetting(
            lambda forgets: file.update_tree(remove.remove(file.database, file.indexes, named, forgets=forgets)),
            forget,
            strict=True,
        )

    def forget_versions(self, names: Iterable[str] | None = None, *, before: Moment | None = None) -> int:
        """Leave no trace of former versions of documents: of some, of those that ended before a moment, or of both.

        ``names`` are ids or uris; those of documents that have none are passed over. What stands now stays. Returns how
        many were forgotten. Raises InputError if neither is given, and BusyFile as :meth:`remove` does.
        """
        from monograph.write import remove

        if names is None and before is None:
            raise InputError(
                "neither names nor a moment says which versions",
                'name them, or say until when: --versions-before 2026-01-01; in Python: before="2026-01-01"',
            )
        file, named = self._file, None if names is None else document_names(names)
        first = None if before is None else filters.time_of(before, "before").first
        self._require_history()
        report = file.forgetting(lambda _: remove.drop_versions(file.database, named, first), True, strict=True)
        return report.removed

    @spends
    def remove_chunks(self, ids: Iterable[str] | None = None, *, where: Mapping[str, Any] | None = None) -> Report:
        """Take single chunks out of every result; a document goes with the last of its chunks.

        ``ids`` that the file does not hold are passed over; ``where`` as for :meth:`search`. Raises InputError if
        neither is given, and InvalidDocument if a chunk is part of a synced file of which others are to stay.
        """
        from monograph.values import Report
        from monograph.write import passages

        named = chunk_names(ids, where)
        if configuration.EMBEDDER.known(self._file.database) is None:
            return Report()  # It holds nothing yet, and what its vectors come from is still open.
        pipeline, narrowed = self._file.writing_pipeline(), allowed(where)
        return self._file.forgetting(lambda forgets: passages.remove(pipeline.forgetting(forgets), named, narrowed))

    def versions(self, name: str) -> list[Version]:
        """The states that a document had, by its id or uri, oldest first, and last the one that stands.

        Those of a document that is not there any more as well. Raises NotFound if there is none, and InputError if the
        file keeps no former versions.
        """
        from monograph.explore import lookup

        self._require_history()
        with self._file.database.read() as connection:
            return lookup.versions_of(connection, name)

    def costs(self) -> list[LedgerEntry]:
        """What models were asked for the file and the tokens it took, by day, model and purpose.

        What was remembered was not asked for again, and is not in it. What was asked through a file that is open for
        reading only is not kept. Nothing of what was asked or answered stands in it.
        """
        from monograph.store.file import costs

        self._file.database.enter()
        with self._file.database.read() as connection:
            return costs.every(connection)

    @spends
    def check(self, *, repair: bool = False) -> list[Finding]:
        """The faults of the file, each table held against every other; with ``repair`` those left after mending."""
        from monograph.library import checks

        return checks.findings(self._file, repair=repair)

    def compact(self) -> None:
        """Drop remembered values that nothing uses, merge the index and give free space back to the disk."""
        from monograph.write.forget import erase

        erase(self._file.database, self._file.indexes)

    def backup(
        self, path: str | os.PathLike[str], *, overwrite: bool = False, progress: OnProgress | None = None
    ) -> Path:
        """Copy the file as it is now, while others read and write it; the copy is checked before it gets its name.

        A file that is there is not overwritten unless told. An encrypted file's copy has the same key.

        Raises InputError if the path is taken, BusyFile if what is to be overwritten is open, DamagedFile if the copy
        has a fault, and StorageFull if there is no room; then there is none.
        """
        from monograph.library import copies

        return copies.backup(self._file, arguments.path(path, "the copy"), overwrite=overwrite, progress=progress)
