"""A shelf looked round in without a question: what it holds, and what is wrong with it."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from monograph.library.questions import Questions
from monograph.library.searches import allowed
from monograph.models import Embedder
from monograph.read import path_to_text
from monograph.settings import Settings
from monograph.shelf.engines import only
from monograph.shelf.graph import ShelfGraph
from monograph.shelf.manifest import Manifest
from monograph.shelf.opened import OpenShelf
from monograph.shelf.place import Place
from monograph.shelf.shard import ShardReader
from monograph.shelf.stats import ShelfStats, measure
from monograph.values import Brief, Chunk, Document, Finding, LedgerEntry, Listed, StoredChunk, arguments


class Looking(Questions):
    """Documents and counts of a version; :class:`monograph.shelf.Shelf` is one."""

    _file: OpenShelf
    _place: Place
    _version: Manifest

    @property
    def url(self) -> str:
        """Its address."""
        return self._place.url

    @property
    def version(self) -> int:
        """The version that is searched, from 1."""
        return self._version.version

    @property
    def embedder(self) -> Embedder:
        """What makes the vectors; raises ModelError if it cannot be made here."""
        return self._file.embedder

    @property
    def settings(self) -> Settings:
        """The numbers that all shards are built with."""
        return self._file.settings

    @property
    def graph(self) -> ShelfGraph:
        """The named things, and how they hang together."""
        return ShelfGraph(self._file)

    def document(self, name: str) -> Document:
        """A document by id or uri, with its text. Raises NotFound where none, or several, are meant."""
        return self._file.document(name)

    def documents(self) -> list[Document]:
        """All documents without their texts, in order of uri, then id."""
        return list(self.listed("", 0, sys.maxsize).documents)

    def listed(self, like: str = "", start: int = 0, limit: int = 100) -> Listed:
        """A part of :meth:`documents`: parameters and errors as for :meth:`monograph.Monograph.listed`."""
        start, limit = arguments.whole_number(start, "start", 0), arguments.whole_number(limit, "limit", 0)
        answers = self._file.shards.all(ShardReader.listed, like, start + limit)
        every = sorted((one for some in answers for one in some.documents), key=lambda one: (one.uri, one.id))
        return Listed(sum(one.count for one in answers), start, tuple(every[start : start + limit]))

    def chunks(self, name: str) -> list[Chunk]:
        """The chunks of a document, by its id or uri, in reading order. Raises as :meth:`document`."""
        return only(self._file.shards.all(ShardReader.read_chunks, path_to_text(name)), self.url, name)

    def fetch(
        self, ids: Sequence[str] | None = None, *, where: Mapping[str, Any] | None = None, vectors: bool = False
    ) -> list[StoredChunk]:
        """Stored chunks by id, or all that meet a filter: parameters as for :meth:`monograph.Monograph.fetch`.

        Those of given ids that are there come in the order of the ids, all others document by document, in order of
        the documents' ids.
        """
        asked = None if ids is None else arguments.names(ids, "an id")
        answers = self._file.shards.all(ShardReader.fetch, asked, allowed(where), vectors)
        every = [one for some in answers for one in some]
        if asked is None:
            return sorted(every, key=lambda one: (one.chunk.document_id, one.chunk.ordinal))
        found = {one.chunk.id: one for one in every}
        return [found[name] for name in asked if name in found]

    def brief(self) -> Brief:
        """What is quickly told of it; a shelf is of no format: 0."""
        return Brief(0, sum(one.documents for one in self._file.facts()), False)

    def stats(self) -> ShelfStats:
        """What the version holds and weighs."""
        return measure(self.url, self._version, self._file)

    def costs(self) -> list[LedgerEntry]:
        """What models were asked to make the shards, and through this machine, as :meth:`monograph.Monograph.costs`."""
        return self._file.costs()

    def check(self) -> list[Finding]:
        """Every fault in the shards of the version, and whether its catalogue is what their names make."""
        return self._file.findings()
