"""The one class users hold: it composes the parts and decides nothing."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from monograph import where as filters
from monograph.errors import InputError, NotFound
from monograph.ingest import build, configuration, regraph, revector
from monograph.ingest import plan as planning
from monograph.ingest import remove as removal
from monograph.ingest.batch import DEFAULT_LIMITS, Limits
from monograph.ingest.prepare import Pipeline
from monograph.models import Embedder, Extractor
from monograph.retrieve import search as retrieval
from monograph.settings import Settings
from monograph.store import check, chunks, documents, stats
from monograph.store.database import Connection, Database
from monograph.store.filters import compile_condition
from monograph.values import Chunk, Document, Finding, Hit, Mode, Plan, Report, Stats, Watcher
from monograph.vectors import verify
from monograph.vectors.index import DEFAULT_CACHE_BYTES, DEFAULT_TARGET_RECALL, EcoVectorIndex


class Monograph:
    """One open .mono file. Safe for use by many threads; a context manager. Made by :meth:`open`."""

    def __init__(
        self,
        database: Database,
        index: EcoVectorIndex,
        settings: Settings,
        embedder: Embedder | None,
        extractor: Extractor | None,
    ) -> None:
        self._database = database
        self._index = index
        self._settings = settings
        self._embedder = embedder
        self._extractor = extractor

    @classmethod
    def open(  # noqa: PLR0913 - each is a choice of its own
        cls,
        path: str | os.PathLike[str],
        embedder: Embedder | None = None,
        extractor: Extractor | None = None,
        *,
        settings: Settings | None = None,
        create: bool = True,
        read_only: bool = False,
        target_recall: float = DEFAULT_TARGET_RECALL,
        cache_bytes: int = DEFAULT_CACHE_BYTES,
    ) -> Monograph:
        """Open a file, or make it.

        Parameters
        ----------
        path:
            The .mono file.
        embedder:
            Makes vectors. By default the one the file was built with; for a new file, static word vectors, which need
            no network.
        extractor:
            Finds what chunks name. By default the one the file's graph was made with; for a new file, patterns, which
            need no model.
        settings:
            The numbers a new file is built with.
        create:
            Make the file if it is missing.
        read_only:
            Never write.
        target_recall:
            Share of the nearest vectors that a search finds on average before it stops, above 0, at most 1. What that
            takes is measured on the file's own vectors; in a file of few, every vector is compared.
        cache_bytes:
            Memory for clusters of the vector index; 0 reads each from the file whenever it is searched.

        Raises
        ------
        FileError
            If it is not a monograph, newer than this version, or damaged: the file is left as it was.
        ModelMismatch
            If the file's vectors come from another embedder than the one given, or its graph from another extractor;
            :meth:`reembed` and :meth:`reextract` make them anew.
        InputError
            If the file was built with other settings, or a number is out of range.
        """
        index = EcoVectorIndex(target_recall=target_recall, cache_bytes=cache_bytes)
        database = Database(Path(path), create=create, read_only=read_only)
        try:
            monograph = cls(database, index, configuration.settle(database, settings), embedder, extractor)
            configuration.catch_up(database, index)
            if embedder is not None:
                configuration.check_embedder(database, embedder)
            if extractor is not None:
                configuration.check_extractor(database, extractor)
        except BaseException:
            database.close()
            raise
        return monograph

    def __enter__(self) -> Monograph:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Monograph({str(self.path)!r})"

    @property
    def path(self) -> Path:
        """The file."""
        return self._database.path

    @property
    def settings(self) -> Settings:
        """The numbers the file is built with."""
        return self._settings

    @property
    def embedder(self) -> Embedder:
        """What makes this file's vectors. Loading its model waits for the first text.

        Raises
        ------
        ModelUnavailable, MissingExtra
            If the embedder that the file was built with cannot be made again here.
        ModelMismatch
            If it can, but is another by now.
        """
        if self._embedder is None:
            self._embedder = configuration.make_embedder(self._database)
        return self._embedder

    @property
    def extractor(self) -> Extractor:
        """What finds the names in this file's chunks.

        Raises
        ------
        ModelUnavailable, MissingExtra
            If the extractor that the file's graph was made with cannot be made again here.
        ModelMismatch
            If it can, but is another by now.
        """
        if self._extractor is None:
            self._extractor = configuration.make_extractor(self._database)
        return self._extractor

    def close(self) -> None:
        """Close the file. Closing twice is allowed; any other use afterwards raises ClosedFile."""
        self._index.close()
        self._database.close()

    def plan(
        self,
        *sources: str | os.PathLike[str],
        verify: bool = False,
        prune: bool = False,
        price: bool = True,
        limits: Limits = DEFAULT_LIMITS,
        progress: Watcher | None = None,
    ) -> Plan:
        """Say what :meth:`apply` would do, and what it would cost; nothing is written.

        Parameters
        ----------
        sources:
            Files and folders.
        verify:
            Compare SHA-256 even where size and time of change are as they were.
        prune:
            Take documents out even when a folder that held some is now empty.
        price:
            Read what changed, to say exactly what would be derived. Without it the plan has no cost.
        limits:
            Bounds on what is read.
        progress:
            Told of every file.

        Raises
        ------
        SourceMissing
            If a source does not exist.
        """
        made = planning.make_plan(self._database, _paths(sources), verify=verify, prune=prune)
        return build.price(self._pipeline(), made, limits, progress) if price else made

    def apply(
        self,
        plan: Plan,
        *,
        limits: Limits = DEFAULT_LIMITS,
        progress: Watcher | None = None,
    ) -> Report:
        """Do what a plan says. A source that cannot be read is a problem in the report; what is stored of it stays."""
        return build.apply(self._writing_pipeline(), plan, limits, progress)

    def sync(
        self,
        *sources: str | os.PathLike[str],
        verify: bool = False,
        prune: bool = False,
        limits: Limits = DEFAULT_LIMITS,
        progress: Watcher | None = None,
    ) -> Report:
        """Plan and apply: bring the file up to date with files and folders. Parameters as for :meth:`plan`."""
        plan = self.plan(*sources, verify=verify, prune=prune, price=False)
        return self.apply(plan, limits=limits, progress=progress)

    def add(self, documents: Iterable[Document], *, progress: Watcher | None = None) -> Report:
        """Store documents; one of a known id replaces that document, an unchanged one costs nothing.

        Raises
        ------
        InvalidDocument
            If one cannot be stored: nothing of its batch (at most 256 documents) is.
        """
        return build.add(self._writing_pipeline(), documents, progress)

    def remove(self, ids: Iterable[str], *, forget: bool = False) -> Report:
        """Take documents out of every result, all of them or, on an error, none.

        A document whose file is still in a synced folder comes back with the next sync.

        Parameters
        ----------
        ids:
            Ids or uris of documents.
        forget:
            Return only when no trace of their text is left in the bytes of the file and its write-ahead log.

        Raises
        ------
        NotFound
            If an id fits no document.
        BusyFile
            If ``forget`` is asked and another process still reads an older state.
        """
        return removal.remove(self._database, self._index, [str(name) for name in ids], forget=forget)

    def compact(self) -> None:
        """Drop remembered values that nothing uses, merge the index and give free space back to the disk."""
        removal.erase(self._database, self._index)

    def search(
        self, query: str, k: int = 5, *, mode: Mode = "auto", where: Mapping[str, Any] | None = None
    ) -> list[Hit]:
        """Find chunks.

        Parameters
        ----------
        query:
            A question, words, a code; a part in quotation marks must stand word for word to be lifted above all else.
        k:
            Most hits to return.
        mode:
            ``lexical`` (BM25), ``tfidf`` (RAGdb's hybrid score), ``dense`` (cosine), ``hybrid`` (BM25 and dense,
            fused), ``graph`` (from these, hop by hop, to what is named together), ``auto`` (``graph``, or ``hybrid``
            where the file has no graph yet).
        where:
            Only chunks whose metadata meet this filter: see :mod:`monograph.where`.

        Returns
        -------
        At most k hits, best first.

        Raises
        ------
        InputError
            If k is negative, or the mode unknown.
        InvalidFilter
            If the filter cannot be understood.
        ModelError
            If the mode needs the query's vector, and the file's embedder cannot be made here or is another by now.
        """
        if k < 0:
            raise InputError(f"k is {k}", "give 0 or more")
        if mode not in retrieval.MODES:
            raise InputError(f"unknown mode {mode!r}", f"modes are {', '.join(retrieval.MODES)}")
        allowed = compile_condition(filters.parse(where))
        with self._database.read() as connection:
            chosen = configuration.chosen_mode(connection, mode)
            request = retrieval.Request(query, k, chosen, allowed=allowed)
            if retrieval.needs_vector(chosen):
                # Another process may have given the file another embedder since it was opened.
                configuration.check_embedder(self._database, self.embedder)
                request = retrieval.prepare(connection, self.embedder, request)
            return retrieval.search(connection, self._index, request)

    def document(self, name: str) -> Document:
        """A stored document by id or uri, with its text.

        Raises
        ------
        NotFound
            If there is none, or several came from that uri.
        """
        with self._database.read() as connection:
            return documents.load(connection, _only(connection, self.path, name))

    def documents(self) -> list[Document]:
        """All stored documents without their texts, in order of uri, then id."""
        with self._database.read() as connection:
            rows = list(documents.every(connection))
        listed = [Document(id=row.id, title=row.title, uri=row.uri) for row in rows]
        return sorted(listed, key=lambda document: (document.uri, document.id))

    def chunks(self, name: str) -> list[Chunk]:
        """The chunks of a document, by its id or uri, in reading order.

        Raises
        ------
        NotFound
            As for :meth:`document`.
        """
        with self._database.read() as connection:
            row = _only(connection, self.path, name)
            return [found.chunk for found in chunks.of_document(connection, row.row)]

    def find_chunk(self, chunk_id: str) -> Chunk | None:
        """A stored chunk by id, or None."""
        with self._database.read() as connection:
            found = chunks.find(connection, chunk_id)
        return None if found is None else found.chunk

    def stats(self) -> Stats:
        """Count and weigh what the file holds."""
        with self._database.read() as connection:
            counts = stats.counts(connection)
            sizes = stats.sizes(connection)
            index = self._index.stats(connection)
        embedder = configuration.known_embedder(self._database)
        return Stats(
            path=str(self.path),
            format=counts.format,
            documents=counts.documents,
            sources=counts.sources,
            chunks=counts.chunks,
            vectors=counts.vectors,
            memo=counts.memo,
            memo_unused=counts.memo_unused,
            terms=counts.terms,
            characters=counts.characters,
            file_bytes=counts.file_bytes,
            tables=sizes,
            embedder="" if embedder is None else embedder.key,
            embedder_spec="" if embedder is None else embedder.spec,
            dimension=0 if embedder is None else embedder.dimension,
            chunk_tokens=self._settings.chunk_tokens,
            chunk_overlap=self._settings.chunk_overlap,
            index=index,
        )

    def check(self, *, repair: bool = False) -> list[Finding]:
        """Hold every table against every other.

        Parameters
        ----------
        repair:
            Mend what can be mended, and check again.

        Returns
        -------
        The faults that are there (after the repair, when one was asked for); empty when all is well.
        """
        if repair:
            revector.repair(self._writing_pipeline())
        stored = configuration.known_embedder(self._database)
        with self._database.read() as connection:
            found = list(check.findings(connection, None if stored is None else stored.dimension))
            found += [
                Finding("clusters", fault, repairable=True) for fault in verify.faults(connection, self._index.space)
            ]
        if not self._database.read_only:
            with self._database.write() as connection:
                fault = check.index_fault(connection)
            found.extend([] if fault is None else [fault])
        return found

    def reembed(self, embedder: Embedder, *, progress: Watcher | None = None) -> Report:
        """Make every vector anew with another embedder. Until the end the file answers with the old one.

        Raises
        ------
        ModelError
            If the embedder fails: the file is as it was, and what was made is remembered.
        """
        made = revector.reembed(
            Pipeline(self._database, self._index, embedder, self.extractor, self._settings), progress
        )
        self._embedder = embedder
        return Report(embedded=made.embedded, remembered=made.remembered)

    def reextract(self, extractor: Extractor | None = None, *, progress: Watcher | None = None) -> Report:
        """Make the graph anew with another extractor; without one, ask again for the chunks that a model failed on.

        What the new extractor found in a chunk before is remembered, and costs nothing.
        """
        configuration.adopt_embedder(self._database, self.embedder)
        chosen = extractor or self.extractor
        made = regraph.reextract(Pipeline(self._database, self._index, self.embedder, chosen, self._settings), progress)
        self._extractor = chosen
        return Report(extracted=made.extracted, fell_back=made.fell_back)

    def _pipeline(self) -> Pipeline:
        return Pipeline(self._database, self._index, self.embedder, self.extractor, self._settings)

    def _writing_pipeline(self, progress: Watcher | None = None) -> Pipeline:
        """A pipeline whose embedder and extractor the file knows, and whose graph lacks nothing."""
        configuration.adopt_embedder(self._database, self.embedder)
        pipeline = self._pipeline()
        configuration.check_extractor(self._database, self.extractor)
        regraph.catch_up(pipeline, progress)
        return pipeline


def _paths(sources: Sequence[str | os.PathLike[str]]) -> list[Path]:
    if not sources:
        raise InputError("no file or folder was given", "name at least one")
    return [Path(source) for source in sources]


def _only(connection: Connection, path: Path, name: str) -> documents.Row:
    found, _ = documents.resolve(connection, [name])
    if not found:
        raise NotFound(f"{path} holds no document {name!r}", f"monograph show {path}")
    if len(found) > 1:
        raise NotFound(
            f"{name!r} holds {len(found)} documents", f"name one of {', '.join(row.id for row in found[:3])} …"
        )
    return found[0]
