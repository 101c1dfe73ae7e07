"""``Shelf``: a version of a shelf, open for reading and searching."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

from monograph.errors import NotOnShelf
from monograph.library.monograph import Monograph
from monograph.library.opened import OpenFile, OpenOptions
from monograph.library.questions import Questions, allowed
from monograph.library.reader import Reader
from monograph.models import Embedder, Extractor, LanguageModel, Reranker, Trusted
from monograph.read.paths import path_to_text
from monograph.search.one_file.file_reader import FileReader
from monograph.settings import Settings
from monograph.shelf import catalogue
from monograph.shelf.engines import Engine, Engines, Shards, local, only
from monograph.shelf.graph import ShelfGraph, ShelfGraphState
from monograph.shelf.manifest import Manifest, latest, version_of
from monograph.shelf.pools import Rows
from monograph.shelf.reader import MOST_WORDS, ShelfReader, WordCounts
from monograph.shelf.shard import ShardReader
from monograph.shelf.storage import ShelfPlace, shelf_place
from monograph.store.catalogue import load_totals
from monograph.store.graph import names
from monograph.values import Brief, Chunk, Document, Finding, Listed, ShelfStats, StoredChunk, arguments
from monograph.vectors.index import DEFAULT_CACHE_BYTES, DEFAULT_TARGET_RECALL


class OpenShelf(OpenFile):
    """One open version of a shelf: its catalogue, its models and its shards."""

    shards: Shards
    url: str = ""
    """The address of the shelf."""

    def begin(self, engine: Engine) -> None:
        """Load the counts of each shard from the catalogue, and set the engine that calls the shards."""
        with self.database.read() as connection:
            self.totals = load_totals(connection)
        self.shards = Shards(engine, Rows(len(self.totals)))
        self.counted = WordCounts()

    @contextmanager
    def reading(self) -> Iterator[ShelfReader]:
        """Yield a reader for searches of all shards. Every reader shows the same state: a version never changes."""
        if len(self.counted.chunks) > MOST_WORDS:
            self.counted = WordCounts()
        with super().reading() as catalogue:
            assert isinstance(catalogue, FileReader)  # noqa: S101 - what a file gives
            yield ShelfReader(self.shards, catalogue, self.totals, self.counted)

    @contextmanager
    def reading_graph(self) -> Iterator[ShelfGraphState]:
        """Yield a reader of the graph over all shards."""
        with self.reading() as snapshot:
            yield ShelfGraphState(snapshot.catalogue.connection, snapshot, self.url)

    def require_graph(self) -> None:
        """Do nothing: every shard has its graph."""

    def close(self) -> None:
        """Close the shards and the catalogue."""
        if hasattr(self, "shards"):  # Missing if opening failed.
            self.shards.engine.close()
        super().close()


class Shelf(Questions):
    """Many files that are searched as one: a version of a shelf, open for reading.

    Create it with :meth:`open`; it is a context manager. :func:`monograph.shelf.build` builds and changes a shelf.
    With one exception, a search returns the same hits as a search of one file with the same documents. The exception
    is a search by vector in a shelf with many vectors: each shard chooses which of its own clusters it reads, so some
    hits may differ.
    """

    _file: OpenShelf
    _options: OpenOptions
    _engines: Engines

    def __init__(self, place: ShelfPlace, version: Manifest, given: OpenOptions, engines: Engines) -> None:
        self._place, self._options, self._engines = place, given, engines
        self._read(version)

    def _read(self, version: Manifest) -> None:
        """Fetch and open a version, and use it for all later calls. The previous version stays open."""
        options = replace(self._options, read_only=True, create=False, settings=None)
        path = self._place.file_of(version.catalogue)
        file = OpenShelf.open(replace(options, path=path))
        file.url = self.url
        try:
            shard_options = replace(options, model=None, reranker=None)
            file.begin(self._engines(self._place, version, shard_options))
        except BaseException:
            file.database.close()
            raise
        self._file, self._version = file, version

    @classmethod
    def open(  # noqa: PLR0913 - each is a choice of its own
        cls,
        url: str | os.PathLike[str],
        *,
        version: int | None = None,
        embedder: Embedder | None = None,
        extractor: Extractor | None = None,
        model: LanguageModel | None = None,
        reranker: Reranker | str | None = None,
        home: str | os.PathLike[str] | None = None,
        engines: Engines = local,
        target_recall: float = DEFAULT_TARGET_RECALL,
        cache_bytes: int = DEFAULT_CACHE_BYTES,
        trusted: Trusted = (),
    ) -> Shelf:
        """Open the newest version of a shelf, or the version before it.

        Parameters
        ----------
        url:
            A folder, or a bucket: ``s3://bucket/path``, ``gs://``, ``az://``.
        version:
            Number of the version; None for the newest.
        home:
            Folder on this machine for fetched objects of the shelf; by default a folder in ``~/.cache/monograph``.
        engines:
            Engine that searches the shards: in threads of this process (the default), or in Ray processes
            (:class:`monograph.shelf.OnRay`).
        embedder, extractor, model, reranker, target_recall, cache_bytes, trusted:
            As for :meth:`monograph.Monograph.open`.

        Raises
        ------
        NotFound
            If there is no shelf at the address.
        ShelfUnreachable, ObjectMissing, ObjectDamaged
            If the shelf cannot be read, or this version does not exist.
        """
        place = shelf_place(url, home)
        options = OpenOptions(
            Path(), embedder=embedder, extractor=extractor, model=model, reranker=reranker,
            target_recall=target_recall, cache_bytes=cache_bytes, trusted=trusted,
        )  # fmt: skip
        return cls(place, version_of(place, version), options, engines)

    @property
    def url(self) -> str:
        """The address of the shelf."""
        return self._place.url

    @property
    def version(self) -> int:
        """Number of the version that is searched; the first is 1."""
        return self._version.version

    @property
    def embedder(self) -> Embedder:
        """The model that computes vectors. Raises ModelError if it cannot be loaded on this machine."""
        return self._file.models.embedder

    @property
    def settings(self) -> Settings:
        """The settings of all shards."""
        return self._file.settings

    @property
    def graph(self) -> ShelfGraph:
        """The entity graph, for reading."""
        return ShelfGraph(self._file)

    def document(self, name: str) -> Document:
        """Return a document by id or uri, with its text.

        Raises NotFound if no document has this id or uri, or more than one has it.
        """
        return only(self._file.shards.all(ShardReader.documents_called, path_to_text(name)), self.url, name)

    def documents(self) -> list[Document]:
        """Return all documents without their texts, in order of uri, then id."""
        return list(self.listed("", 0, sys.maxsize).documents)

    def listed(self, like: str = "", start: int = 0, limit: int = 100) -> Listed:
        """Return a part of :meth:`documents`. Parameters and errors as for :meth:`monograph.Monograph.listed`."""
        start, limit = arguments.whole_number(start, "start", 0), arguments.whole_number(limit, "limit", 0)
        answers = self._file.shards.all(ShardReader.listed, like, start + limit)
        documents = sorted(
            (document for answer in answers for document in answer.documents),
            key=lambda document: (document.uri, document.id),
        )
        return Listed(sum(answer.count for answer in answers), start, tuple(documents[start : start + limit]))

    def chunks(self, name: str) -> list[Chunk]:
        """Return the chunks of a document in reading order. ``name`` is the id or uri of the document.

        Raises NotFound if no document has this id or uri, or more than one has it.
        """
        return only(self._file.shards.all(ShardReader.read_chunks, path_to_text(name)), self.url, name)

    def fetch(
        self, ids: Sequence[str] | None = None, *, where: Mapping[str, Any] | None = None, vectors: bool = False
    ) -> list[StoredChunk]:
        """Return stored chunks by id, or all chunks that match a filter.

        Parameters are as for :meth:`monograph.Monograph.fetch`. With ``ids``, the chunks are in the order of the ids,
        and ids that the shelf does not have are skipped. Without ``ids``, the chunks are in order of document id, then
        in reading order.
        """
        wanted_ids = None if ids is None else arguments.names(ids, "an id")
        answers = self._file.shards.all(ShardReader.fetch, wanted_ids, allowed(where), vectors)
        stored_chunks = [stored for answer in answers for stored in answer]
        if wanted_ids is None:
            return sorted(stored_chunks, key=lambda stored: (stored.chunk.document_id, stored.chunk.ordinal))
        by_id = {stored.chunk.id: stored for stored in stored_chunks}
        return [by_id[name] for name in wanted_ids if name in by_id]

    def brief(self) -> Brief:
        """Return a brief overview: the number of documents.

        A shelf has no file format of its own and no tree, so ``format`` is 0 and ``has_tree`` is False.
        """
        return Brief(0, sum(shard.documents for shard in self._file.totals), False)

    def stats(self) -> ShelfStats:
        """Return counts and sizes of the open version. Sizes are in bytes."""
        totals, version = self._file.totals, self._version
        with self._file.database.read() as connection:
            entities, merged = names.count(connection)
            origin = catalogue.origin(connection)
        return ShelfStats(
            url=self.url,
            version=version.version,
            shards=len(version.shards),
            documents=sum(shard.documents for shard in totals),
            chunks=sum(shard.chunks for shard in totals),
            entities=entities,
            merged=merged,
            bytes=sum(name.bytes for name in (*version.shards, version.catalogue)),
            documents_by_shard=tuple(shard.documents for shard in totals),
            embedder=origin.embedder.key if origin.embedder else "",
            extractor=origin.extractor.key if origin.extractor else "",
        )

    def check(self) -> list[Finding]:
        """Return the faults of each shard, and the differences between the catalogue and the shards' names and counts.

        Nothing is repaired.
        """
        shards = self._file.shards
        findings = [
            replace(finding, fault=f"shard {shard}: {finding.fault}")
            for shard, answer in enumerate(shards.all(ShardReader.findings))
            for finding in answer
        ]
        with self._file.database.read() as connection:
            return findings + catalogue.faults(connection, shards.all(ShardReader.share))

    def __enter__(self) -> Shelf:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __copy__(self) -> Shelf:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Shelf:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopen, (self.url, self._place.home, self.version, self._options, self._engines)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            """Raise NotOnShelf if Monograph has a public attribute of this name; otherwise raise AttributeError."""
            if not name.startswith("_") and hasattr(Monograph, name):
                hint = f"give a .mono file; in Python: Monograph.open(path).{name}"
                if name in ("add", "put", "remove", "sync"):
                    hint = "change a shelf with monograph.shelf.build(url, …) and monograph.shelf.remove(url, ids)"
                raise NotOnShelf(f"{self.url} is a shelf, which has no {name}", hint)
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def __repr__(self) -> str:
        return f"Shelf({self._place.url!r}, version={self.version})"

    def close(self) -> None:
        """Close the catalogue and the shards."""
        self._file.close()

    def refresh(self) -> int:
        """Switch to the newest version of the shelf, and return the number of this version.

        If the newest version is open already, nothing changes. Otherwise the shelf closes the version that was open
        before, and removes from this machine fetched objects that only other versions use. Searches that are still
        running in other threads may then fail.
        """
        newest = latest(self._place.objects)
        if newest is not None and newest.version != self.version:
            before = self._file
            self._read(newest)
            before.close()
            self._place.keep(self._version.objects)
        return self.version


def _reopen(url: str, home: Path, version: int, options: OpenOptions, engines: Engines) -> Shelf:
    place = shelf_place(url, home)
    return Shelf(place, version_of(place, version), options, engines)


Archive: TypeAlias = Reader | Shelf
"""A file, view, snapshot or shelf.

Each of these types can search and answer (:class:`~monograph.library.questions.Questions`), returns documents by id,
and has a method ``stats``.
"""
