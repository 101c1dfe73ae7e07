"""An open version of a shelf: its catalogue, which is a file, and an engine for its shards."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from monograph.library.opened import OpenFile
from monograph.read import path_to_text
from monograph.search.one_file.snapshot import FileSnapshot
from monograph.shelf import catalogue
from monograph.shelf.chunk_facts import Rows
from monograph.shelf.engines import Engine, Shards, only
from monograph.shelf.graph import ShelfSurroundings
from monograph.shelf.shard import ShardFacts, ShardReader
from monograph.shelf.snapshot import Memory, ShelfSnapshot
from monograph.values import Document, Finding


class OpenShelf(OpenFile):
    """One version of a shelf. Its models are those that its catalogue names, or that were given with that."""

    shards: Shards
    url: str = ""
    """Where the shelf lies."""

    def begin(self, engine: Engine, shards: int) -> None:
        """Ask these shards from now on."""
        self.shards = Shards(engine, Rows(shards))
        self.read_before = Memory()

    @contextmanager
    def reading(self) -> Iterator[ShelfSnapshot]:
        """Begin a search of all shards: nothing of a version changes."""
        self.read_before = memory = self.read_before.for_search()
        with super().reading() as catalogue:
            assert isinstance(catalogue, FileSnapshot)  # noqa: S101 - what a file gives
            yield ShelfSnapshot(self.shards, catalogue, memory)

    @contextmanager
    def around(self) -> Iterator[ShelfSurroundings]:
        """Begin to look round in the graph of all shards."""
        with self.reading() as snapshot:
            yield ShelfSurroundings(snapshot, self.url)

    def require_graph(self) -> None:
        """Nothing to do: every shard has its graph."""

    def facts(self) -> Sequence[ShardFacts]:
        """What stays the same of each shard while the version does."""
        return self.shards.all(ShardReader.facts)

    def document(self, name: str) -> Document:
        """See :meth:`monograph.shelf.Shelf.document`."""
        return only(self.shards.all(ShardReader.documents, path_to_text(name)), self.url, name)

    def findings(self) -> list[Finding]:
        """See :meth:`monograph.shelf.Shelf.check`."""
        found = [
            replace(one, fault=f"shard {shard}: {one.fault}")
            for shard, answer in enumerate(self.shards.all(ShardReader.findings))
            for one in answer
        ]
        with self.database.read() as connection:
            return found + catalogue.faults(connection, self.shards.all(ShardReader.share))

    def close(self) -> None:
        """Let the shards go, and the catalogue."""
        if hasattr(self, "shards"):  # Else it could not be opened.
            self.shards.engine.close()
        super().close()
