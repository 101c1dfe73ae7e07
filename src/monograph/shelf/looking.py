"""A shelf looked round in without a question: what it holds, and what is wrong with it."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from monograph.dates.span import Span
from monograph.library.past import Moment, standing, time_of
from monograph.library.questions import Questions
from monograph.library.searches import allowed
from monograph.models import Embedder
from monograph.read import path_to_text
from monograph.settings import Settings
from monograph.shelf import past
from monograph.shelf.gather import listing
from monograph.shelf.graph import ShelfGraph
from monograph.shelf.opened import OpenShelf
from monograph.shelf.past import OpenPast
from monograph.shelf.place import Place
from monograph.shelf.stats import ShelfStats, measure
from monograph.shelf.versions.manifest import Manifest
from monograph.shelf.view import OpenView
from monograph.shelf.write.working import Working
from monograph.values import Brief, Chunk, Document, Finding, LedgerEntry, Listed, StoredChunk, Version


class Looking(Questions):
    """Documents and counts of a version; :class:`monograph.shelf.Shelf` is one."""

    _file: OpenShelf
    _place: Place
    _version: Manifest

    @property
    def view(self) -> str:
        """Names the view that this is, by what it holds; empty for the whole shelf. See :meth:`Shelf.within`."""
        return self._file.view

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
        """The named things, and how they hang together: looked at, and written for the next version."""
        return ShelfGraph(self._file, lambda: self._writer)

    @property
    def _writer(self) -> Working:
        """What writes the next version."""
        raise NotImplementedError

    def _standing(self, where: Mapping[str, Any] | None) -> tuple[OpenShelf, Mapping[str, Any] | None]:
        return standing(self._file, where, past.as_of)

    def document(self, name: str, *, as_of: Moment | None = None) -> Document:
        """A document by id or uri, with its text; as it stood at a moment, where one is given.

        Raises NotFound where none, or several, are meant; with ``as_of`` also as :meth:`Shelf.as_of`.
        """
        if as_of is None:
            return self._file.document(name)
        if self._file.view:
            return past.as_of(self._file, as_of).document(name)
        past.require_history(self._file)
        second = time_of(as_of).last
        found = self._file.shards.all("stood", path_to_text(name), second)
        made: Document = listing.the_one(found, f"{self.url} as it was at {Span(second, second)}", name)
        return made

    def versions(self, name: str) -> list[Version]:
        """The states that a document had, as :meth:`monograph.Monograph.versions` lists them of a file."""
        self._file.only_whole("versions")
        past.require_history(self._file)
        return listing.states(self._file.shards, self.url, name)

    def documents(self) -> list[Document]:
        """All documents without their texts, in order of uri, then id."""
        return list(self.listed("", 0, sys.maxsize).documents)

    def listed(self, like: str = "", start: int = 0, limit: int = 100) -> Listed:
        """A part of :meth:`documents`: parameters and errors as for :meth:`monograph.Monograph.listed`."""
        return listing.listed(self._file.shards, like, start, limit)

    def chunks(self, name: str) -> list[Chunk]:
        """The chunks of a document, by its id or uri, in reading order. Raises as :meth:`document`."""
        return listing.chunks_of(self._file.shards, self.url, name)

    def fetch(
        self, ids: Sequence[str] | None = None, *, where: Mapping[str, Any] | None = None, vectors: bool = False
    ) -> list[StoredChunk]:
        """Stored chunks by id, or all that meet a filter: parameters as for :meth:`monograph.Monograph.fetch`.

        Those of given ids that are there come in the order of the ids, all others document by document, in order of
        the documents' ids.
        """
        file, rest = self._standing(where)
        return listing.fetched(file.shards, ids, allowed(rest), vectors=vectors)

    def brief(self) -> Brief:
        """What is quickly told of it; a shelf is of no format: 0."""
        with self._file.reading() as gathered:
            return Brief(0, sum(one.documents for one in gathered.facts()), gathered.has_tree())

    def stats(self) -> ShelfStats:
        """What the version holds and weighs; of a view what is in it, and 0 for what it weighs."""
        found = measure(self.url, self._version, self._file)
        if isinstance(self._file, OpenView):
            # What words are counted in is the whole shelf.
            found = replace(found, chunks=sum(len(one.chunks) for one in self._file.parts()), bytes=0)
        return replace(found, bytes=0) if isinstance(self._file, OpenPast) else found

    def costs(self) -> list[LedgerEntry]:
        """What models were asked to make the shards, and through this machine, as :meth:`monograph.Monograph.costs`."""
        self._file.only_whole("costs")
        return self._file.costs()

    def check(self) -> list[Finding]:
        """Every fault in the shards of the version, and whether its catalogue is what their names make."""
        self._file.only_whole("check")
        return self._file.findings()
