"""The graph over all shards, read without a search: shards answer for chunks, the catalogue for names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import merge
from typing import TYPE_CHECKING, NoReturn, TypeVar, TypeVarTuple

from monograph.dates.span import TimeSpan
from monograph.errors import NotOnShelf
from monograph.explore.graph_state import GraphState
from monograph.library.graph import EntityGraph, GraphReader
from monograph.read.paths import path_to_text
from monograph.shelf.engines import only
from monograph.shelf.reader import ShelfReader
from monograph.shelf.shard import ShardReader
from monograph.store.documents.chunks import LoadedChunk
from monograph.store.file.database import Connection
from monograph.store.graph import graphs
from monograph.store.graph.graphs import ChunkPlace, Records, Titled
from monograph.values import Document, Extraction

Arguments = TypeVarTuple("Arguments")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class ShelfGraphState(GraphState):
    """The graph of one version of a shelf. Chunks are read from the shards, names from the catalogue."""

    snapshot: ShelfReader
    url: str

    @property
    def place(self) -> str:
        return self.url

    def _of_names(
        self,
        members: Mapping[int, int],
        read: Callable[[Connection, Mapping[int, int], *Arguments], R],
        *arguments: *Arguments,
    ) -> list[R]:
        """Call ``read``, a function of the store, in each shard; ``members`` are entities by name (catalogue rows)."""
        if not members:
            return []
        _, keys = self.snapshot.names.entities(members)
        held = {keys[row]: entity for row, entity in members.items() if row in keys}
        return self.snapshot.shards.all(ShardReader.of_names, held, read, *arguments)

    def total(self) -> int:
        return sum(self.snapshot.shards.all(ShardReader.total))

    def every_chunk(self) -> list[int]:
        every = enumerate(self.snapshot.shards.all(ShardReader.every_chunk))
        return sorted(row for shard, some in every for row in self.snapshot.rows.all_of(shard, some))

    def titled(self, members: Mapping[int, int]) -> list[Titled]:
        found = [
            replace(one, document=self.snapshot.rows.whole(shard, one.document))
            for shard, some in enumerate(self._of_names(members, graphs.titled))
            for one in some
        ]
        return sorted(found, key=lambda one: (one.id, one.qualifier))

    def chunk_counts(self, members: Mapping[int, int]) -> dict[int, int]:
        found: Counter[int] = Counter()
        for one in self._of_names(members, graphs.chunk_counts):
            found.update(one)
        return dict(found)

    def seen(self, members: Mapping[int, int]) -> dict[int, TimeSpan]:
        found: dict[int, TimeSpan] = {}
        for some in self._of_names(members, graphs.seen):
            for entity, one in some.items():
                found[entity] = _both(found.get(entity, one), one)
        return found

    def seen_in(self, chunks: Iterable[int]) -> TimeSpan | None:
        found: TimeSpan | None = None
        for _, _, one in self.snapshot.shards.of(ShardReader.seen_in, chunks):
            if one is not None:
                found = _both(found or one, one)
        return found

    def chunks_naming(self, members: Mapping[int, int], most: int) -> dict[int, list[int]]:
        rows = self.snapshot.rows
        parts = [
            [(*one[:3], rows.whole(shard, one[3])) for one in some]
            for shard, some in enumerate(self._of_names(members, graphs.chunks_naming, most))
        ]
        found: dict[int, list[int]] = {}
        for entity, _, _, chunk in merge(*parts):
            chunks = found.setdefault(entity, [])
            if len(chunks) < most:
                chunks.append(chunk)
        return found

    def first_chunks(self, documents: Iterable[int], most: int) -> dict[int, list[int]]:
        return {
            self.snapshot.rows.whole(shard, document): self.snapshot.rows.all_of(shard, rows)
            for shard, _, some in self.snapshot.shards.of(ShardReader.first_chunks, documents, most)
            for document, rows in some.items()
        }

    def linked(self, chunks: Collection[int]) -> Mapping[int, tuple[Records, Records]]:
        return self.snapshot.linked(chunks)

    def extractions(self, chunks: Sequence[int]) -> dict[int, Extraction]:
        return self.snapshot.shards.by_row(ShardReader.extractions, chunks)

    def places(self, chunks: Iterable[int]) -> dict[int, ChunkPlace]:
        rows = self.snapshot.rows
        found = self.snapshot.shards.by_row(ShardReader.places, list(chunks))
        return {row: replace(one, document=rows.whole(row % rows.shards, one.document)) for row, one in found.items()}

    def chunks(self, rows: Sequence[int]) -> dict[int, LoadedChunk]:
        return self.snapshot.show(rows)[0]

    def chunks_of(self, name: str) -> list[int]:
        found = [
            [self.snapshot.rows.all_of(shard, rows) for rows in some]
            for shard, some in enumerate(self.snapshot.shards.all(ShardReader.rows_of, path_to_text(name)))
        ]
        return only(found, self.place, name)

    def documents(self, ids: Collection[str]) -> dict[str, Document]:
        asked = list(ids)
        answers = self.snapshot.shards.all(ShardReader.documents, asked) if asked else []
        return {name: one for some in answers for name, one in some.items()}

    def stated(self, keys: Sequence[str]) -> list[tuple[str, str, str, str]]:
        return sorted(one for some in self.snapshot.shards.all(ShardReader.stated, keys) for one in some)

    def written(self, where: Mapping[int, int]) -> dict[int, tuple[str, str]]:
        return self.snapshot.show((), where)[1]


class ShelfGraph(GraphReader):
    """The entity graph of a shelf, returned by :attr:`monograph.shelf.Shelf.graph`."""

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            """Raise NotOnShelf for a method that a file's graph has and a shelf's graph lacks."""
            if not name.startswith("_") and hasattr(EntityGraph, name):
                raise NotOnShelf(
                    f"the graph of {self._file.url}, a shelf, has no {name}",
                    f"give a .mono file; in Python: Monograph.open(path).graph.{name}",
                )
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")


def _both(one: TimeSpan, other: TimeSpan) -> TimeSpan:
    return TimeSpan(min(one.first, other.first), max(one.last, other.last))
