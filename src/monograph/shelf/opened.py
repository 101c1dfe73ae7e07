"""A version of a shelf, open: its catalogue is a file, and what is searched is gathered from its shards."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from monograph.library.opened import OpenFile
from monograph.search.one_file.snapshot import FileSnapshot
from monograph.search.snapshot import Snapshot
from monograph.shelf.engine import Engine
from monograph.shelf.gather import Gathered
from monograph.shelf.rows import Rows
from monograph.shelf.version import Memory
from monograph.store.settings import OnDemand


class OpenShelf(OpenFile):
    """One version of a shelf. Its models are those that its catalogue names, or that were given with that."""

    engine: Engine
    rows: Rows

    def begin(self, engine: Engine, shards: int) -> None:
        """Ask these shards from now on."""
        self.engine = engine
        self.rows = Rows(shards)
        self.read_before = Memory()

    @contextmanager
    def reading(self) -> Iterator[Snapshot]:
        """Begin a search of all shards: nothing of a version changes."""
        self.read_before = memory = self.read_before.for_search()
        with super().reading() as catalogue:
            assert isinstance(catalogue, FileSnapshot)  # noqa: S101 - what a file gives
            yield Gathered(self.engine, self.rows, catalogue, memory)

    def require(self, *what: OnDemand) -> None:
        """Nothing is made on demand: whatever is published is whole."""

    def close(self) -> None:
        """Let the shards go, and the catalogue."""
        self.engine.close()
        super().close()
