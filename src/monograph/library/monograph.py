"""``Monograph``: one open file, for reading and writing."""

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
    from monograph.values import Cost, Document, Finding, LedgerEntry, OnProgress, Report, Version
    from monograph.vectors.design import Kind
    from monograph.where import Moment


class Monograph(Writable):
    """One open .mono file, for reading and writing. :meth:`open` returns it.

    It is safe for use by many threads, and is a context manager that closes the file. A copy of the object shares the
    open file, and is closed with it. An unpickled object opens the file again by its path. An encrypted file cannot be
    pickled.
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
            Models that embed chunks, find names in chunks, and write summaries. Default for an existing file: the
            models that it was built with. Default for a new file: static word vectors, patterns, and no summarizer,
            which need no network. Once a summarizer is given, every write updates a tree of summaries.
        model:
            Language model for :meth:`ask`. It is not stored. Without one, ``ask`` returns passages that may contain the
            answer.
        reranker:
            Model that reorders the first hits of every search that names no other reranker. It is not stored.
        describer:
            Model that describes pictures in synced files (:mod:`monograph.derive.describe`). Its name is stored.
            Another describer replaces it, and ``"none"`` removes it. Without a describer, words in pictures are
            recognised if the extra ``ocr`` is installed.
        settings:
            Settings of a new file. With ``Settings(graph=False)`` the file is only a vector store.
        vector_index:
            Design of a new file's vector index: ``"codes"`` (the default) or ``"graph"``; see
            docs/explanation/vector-index.md.
        create, read_only:
            ``create`` is whether to create a missing file. ``read_only`` is whether to refuse writes.
        key:
            Key of an encrypted file, or key to encrypt a new file with (extra ``encrypt``). It is stored nowhere.
        target_recall:
            Average share of the nearest vectors that a search finds before it stops, above 0, at most 1. The stop
            conditions are calibrated on the file's own vectors. In a small file every vector is compared.
        cache_bytes:
            Memory for vectors and clusters of the vector index, in bytes. With 0, every search reads them from the
            file.
        trusted:
            Addresses (servers, folders, hub names) that may be opened for the models whose names are stored in the
            file. It may also be a function that gets the file's id and an address, and returns whether to trust the
            address. Any other address raises ModelUntrusted. Models that you pass to this method are not restricted.
        clock:
            Function that returns the present time in seconds since 1970. A file that keeps previous versions of
            documents stores this time with each change.

        Raises
        ------
        FileError
            If the file is not a Monograph file, was written by a newer version of the package, is damaged, or has
            another key. The file is unchanged.
        ModelMismatch
            If the file was built with another embedder, extractor or summarizer than the given one.
            ``vectors.rebuild``, ``graph.rebuild`` and ``tree.rebuild`` change these models.
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
        """Read what changed in files and folders, and store it: see :meth:`monograph.library.files.Files.sync`."""
        return self.files.sync(
            *sources, verify=verify, prune=prune, forget=forget, follow_links=follow_links,
            limits=limits, progress=progress,
        )  # fmt: skip

    @spends
    def price(
        self,
        documents: Iterable[Document] = (),
        *,
        put: Iterable[Document] = (),
        remove: Iterable[str] = (),
        summarizer: Summarizer | None = None,
    ) -> Cost:
        """Return the cost of one change: :meth:`add`, :meth:`put` and :meth:`remove` of different documents.

        Nothing is written, and no model is called. The cost includes the update of the tree of summaries: see
        docs/explanation/tree.md.

        Parameters
        ----------
        documents:
            Documents to add. A document that is unchanged, or cannot be stored, costs nothing.
        put:
            Documents whose passages would be put. InvalidDocument is raised for the reasons that :meth:`put` has.
        remove:
            Ids, uris or paths of documents to remove. Unknown ones cost nothing.
        summarizer:
            Model of the tree. With None, the cost of a tree is included if the file has one, or a summarizer was given
            to :meth:`open`.
        """
        from monograph.write import price

        given, gone = list(put), document_names(remove)
        pipeline = self._file.pipeline(self._file.models.embedder_for(given), summarizer=summarizer)
        return price.price_change(pipeline, list(documents), given, gone)

    def forget_versions(self, names: Iterable[str] | None = None, *, before: Moment | None = None) -> int:
        """Delete previous versions of documents, and return the number of deleted versions.

        If ``names`` (ids or uris) is given, only versions of these documents are deleted. If ``before`` is given, only
        versions that ended before that moment are deleted. Present documents stay, and documents without previous
        versions are skipped. The deleted text is erased from the bytes of the file.

        Raises InputError if neither argument is given, or the file keeps no previous versions. Raises BusyFile if the
        text cannot be erased yet: see :meth:`remove`.
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
        """Return all versions of a document, oldest first; the last one is the present version.

        ``name`` is its id or uri. For a document that was removed, only the previous versions are returned. Raises
        NotFound if there is no version, and InputError if the file keeps no previous versions.
        """
        from monograph.explore import lookup

        self._require_history()
        with self._file.database.read() as connection:
            return lookup.versions_of(connection, name)

    def costs(self) -> list[LedgerEntry]:
        """Return the ledger: the numbers of model calls and of tokens for this file, by day, model and purpose.

        A stored result that is reused needs no call and is not counted. Calls made while the file was open read-only
        are not counted either. The ledger does not contain the questions and answers.
        """
        return self._file.database.ledger()

    @spends
    def check(self, *, repair: bool = False) -> list[Finding]:
        """Compare every table of the file with the others, and return the faults; an empty list if there are none.

        If ``repair`` is True, faults are repaired first, and only the faults that remain are returned.
        """
        from monograph.library import copies

        return copies.findings(self._file, repair=repair)

    def compact(self) -> None:
        """Rewrite the file without removed text, unused model results and free space."""
        from monograph.write.forget import erase

        erase(self._file.database, self._file.indexes)

    def backup(
        self, path: str | os.PathLike[str], *, overwrite: bool = False, progress: OnProgress | None = None
    ) -> Path:
        """Copy the file to ``path`` in the state at the start of the copy, and return the path.

        The file may be read and written meanwhile. The copy is checked before it gets its name. The copy of an
        encrypted file has the same key. ``overwrite`` is whether to replace a file that exists at the path.

        Raises InputError if the path exists and ``overwrite`` is False, BusyFile if the file to replace is open,
        DamagedFile if the copy has a fault, and StorageFull if the disk has no room. On an error no copy is left.
        """
        from monograph.library import copies

        return copies.backup(self._file, arguments.path(path, "the copy"), overwrite=overwrite, progress=progress)


class Vectors:
    """The vectors of a file's chunks: the value of :attr:`monograph.Monograph.vectors`."""

    def __init__(self, file: WholeFile) -> None:
        self._file = file

    def price(self, embedder: Embedder) -> Cost:
        """Return the cost of :meth:`rebuild` with this embedder: the texts to embed. The embedder is not called.

        If the file has a tree, the cost also has upper bounds of the number of summaries and of a language model's
        tokens.
        """
        from monograph.write import rebuild_vectors

        configuration.pass_dimension(self._file.database, embedder)
        return rebuild_vectors.price_reembed(self._file.pipeline(embedder))

    @spends
    def rebuild(self, embedder: Embedder, *, progress: OnProgress | None = None) -> Report:
        """Rebuild all vectors with another embedder, and the tree of summaries, which depends on the vectors.

        The file uses the old vectors until all new vectors are computed; then one transaction replaces all of them.

        Raises ModelError if the embedder or the summarizer fails; then the file still has the old vectors, and the memo
        keeps the finished results for the next call. Raises BusyFile if another process deletes these results again and
        again (with ``compact`` or ``remove(..., forget=True)``).
        """
        from monograph.write import rebuild_vectors

        configuration.pass_dimension(self._file.database, embedder)
        report = rebuild_vectors.reembed(self._file.pipeline(embedder), progress)
        self._file.models.given_embedder = embedder
        return report
