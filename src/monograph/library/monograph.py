"""The class that users hold: one open file, for reading and writing."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from monograph import where as filters
from monograph.errors import InputError
from monograph.library.opened import OpenOptions, WholeFile, spends
from monograph.library.reader import Writable, document_names
from monograph.read.limits import DEFAULT_LIMITS, Limits
from monograph.values import arguments
from monograph.vectors.index import DEFAULT_CACHE_BYTES, DEFAULT_TARGET_RECALL
from monograph.write import configuration

if TYPE_CHECKING:
    from monograph.library.files import Files
    from monograph.library.graph import EntityGraph
    from monograph.library.tree import SummaryTree
    from monograph.models import Describer, Embedder, Extractor, LanguageModel, Reranker, Summarizer, Trusted
    from monograph.settings import Settings
    from monograph.values import Cost, Finding, LedgerEntry, OnProgress, Report, Version
    from monograph.vectors.design import Kind
    from monograph.where import Moment


class Monograph(Writable):
    """One open .mono file; :meth:`open` returns it. Safe for use by many threads; a context manager.

    A copy shares the open file and is closed with it. Unpickling opens the file again by its path. An encrypted file
    cannot be pickled.
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
        """Open a file, or create it if it is missing.

        Parameters
        ----------
        embedder, extractor, summarizer:
            Models that embed chunks, find names in them, and write summaries. Default: the models that the file was
            built with; for a new file static word vectors and patterns, which need no network, and no tree. Once a
            summarizer is given, every write updates a tree of summaries.
        model:
            Language model for :meth:`ask`; it is not stored. Without one, ``ask`` returns passages that may contain the
            answer.
        reranker:
            Reorders the first hits of every search that names no other reranker; it is not stored.
        describer:
            Describes pictures in synced files (:mod:`monograph.derive.describe`); its name is stored. Another describer
            replaces it, ``"none"`` removes it. Without one, words in pictures are recognised if the extra ``ocr`` is
            installed.
        settings:
            Settings of a new file; ``Settings(graph=False)`` for a file that is only a vector store.
        vector_index:
            Design of a new file's vector index: ``"codes"`` (the default) or ``"graph"``; see
            docs/explanation/vector-index.md.
        create, read_only:
            Whether to create a missing file; whether to refuse writes.
        key:
            Encryption key of the file, or of a new file (extra ``encrypt``); it is stored nowhere.
        target_recall:
            Average share of the nearest vectors that a search finds before it stops, above 0, at most 1. The stop
            conditions are calibrated on the file's own vectors; in a small file every vector is compared.
        cache_bytes:
            Memory for vectors and clusters of the vector index, in bytes; 0 reads them from the file for every search.
        trusted:
            Addresses (servers, folders, hub names) that models named by the file may open, or a function that returns
            whether to trust, given the file's id and an address. Any other address raises ModelUntrusted. Models passed
            to this method are not limited.
        clock:
            Function that returns the present time in seconds since 1970. A file that keeps previous versions of
            documents stores this time with each change.

        Raises
        ------
        FileError
            If the file is not a Monograph file, was written by a newer package, is damaged, or has another key. The
            file is unchanged.
        ModelMismatch
            If the file was built with another model than the given one. ``vectors.rebuild``, ``graph.rebuild`` and
            ``tree.rebuild`` change the model.
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
        """Synced files and folders, and the original files of documents."""
        from monograph.library.files import Files

        return Files(self._file)

    @property
    def graph(self) -> EntityGraph:
        """The entity–chunk graph."""
        from monograph.library.graph import EntityGraph

        return EntityGraph(self._file)

    @property
    def tree(self) -> SummaryTree:
        """The tree of summaries."""
        from monograph.library.tree import SummaryTree

        return SummaryTree(self._file)

    @property
    def vectors(self) -> Vectors:
        """The vectors of chunks."""
        return Vectors(self._file)

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
        """Update the file from files and folders: see :meth:`monograph.library.files.Files.sync`."""
        return self.files.sync(
            *sources, verify=verify, prune=prune, forget=forget, follow_links=follow_links,
            limits=limits, progress=progress,
        )  # fmt: skip

    def forget_versions(self, names: Iterable[str] | None = None, *, before: Moment | None = None) -> int:
        """Delete previous versions of documents, and erase their text from the bytes of the file.

        ``names`` (ids or uris) limits this to versions of these documents, ``before`` to versions that ended before
        that moment. Documents without previous versions are skipped; present documents stay. Returns the number of
        deleted versions. Raises InputError if neither argument is given, and BusyFile as :meth:`remove`.
        """
        from monograph.write import writer

        if names is None and before is None:
            raise InputError(
                "neither documents nor a date was given for the versions to delete",
                'name documents, or give a date: --versions-before 2026-01-01; in Python: before="2026-01-01"',
            )
        file, named = self._file, None if names is None else document_names(names)
        first = None if before is None else filters.time_of(before, "before").first
        self._require_history()
        report = file.forgetting(lambda _: writer.drop_versions(file.database, named, first), True, strict=True)
        return report.removed

    def versions(self, name: str) -> list[Version]:
        """Return the versions of a document, by its id or uri, oldest first; the present one is last.

        A removed document has its previous versions. Raises NotFound if there is no version, and InputError if the file
        keeps no previous versions.
        """
        from monograph.explore import lookup

        self._require_history()
        with self._file.database.read() as connection:
            return lookup.versions_of(connection, name)

    def costs(self) -> list[LedgerEntry]:
        """Return the number of model calls for this file and their tokens, by day, model and purpose.

        Reused results need no call and are not counted. Calls made while the file was open read-only are not counted
        either. The ledger does not contain the questions and answers themselves.
        """
        return self._file.database.ledger()

    @spends
    def check(self, *, repair: bool = False) -> list[Finding]:
        """Return the faults of the file, found by comparing every table with the others.

        With ``repair``, repair them first, and return the faults that remain.
        """
        from monograph.library import copies

        return copies.findings(self._file, repair=repair)

    def compact(self) -> None:
        """Delete stored model results that nothing uses, merge the inverted index and free disk space."""
        from monograph.write.forget import erase

        erase(self._file.database, self._file.indexes)

    def backup(
        self, path: str | os.PathLike[str], *, overwrite: bool = False, progress: OnProgress | None = None
    ) -> Path:
        """Copy one state of the file, and return the copy's path. The file may be read and written meanwhile.

        The copy is checked before it gets its name. The copy of an encrypted file has the same key.

        Raises InputError if the path exists and ``overwrite`` is False, BusyFile if the file to overwrite is open,
        DamagedFile if the copy has a fault, and StorageFull if there is no room. On an error no copy is left.
        """
        from monograph.library import copies

        return copies.backup(self._file, arguments.path(path, "the copy"), overwrite=overwrite, progress=progress)


class Vectors:
    """The vectors of a file's chunks: the value of :attr:`monograph.Monograph.vectors`."""

    def __init__(self, file: WholeFile) -> None:
        self._file = file

    def price(self, embedder: Embedder) -> Cost:
        """Return the cost of :meth:`rebuild` in texts to embed; the embedder is not called.

        For a file with a tree, the cost includes upper bounds of the summaries and of tokens of a language model.
        """
        from monograph.write import rebuild_vectors

        configuration.pass_dimension(self._file.database, embedder)
        return rebuild_vectors.price_reembed(self._file.pipeline(embedder))

    @spends
    def rebuild(self, embedder: Embedder, *, progress: OnProgress | None = None) -> Report:
        """Rebuild all vectors with another embedder, and the tree of summaries, which depends on them.

        The file uses the old vectors until the new ones are complete; one transaction then exchanges all of them.
        Raises ModelError if the embedder or the summarizer fails: the file is unchanged, and finished results are
        stored in the memo. Raises BusyFile if another process keeps emptying the memo (``compact``, ``remove(...,
        forget=True)``).
        """
        from monograph.write import rebuild_vectors

        configuration.pass_dimension(self._file.database, embedder)
        report = rebuild_vectors.reembed(self._file.pipeline(embedder), progress)
        self._file.models.given_embedder = embedder
        return report
