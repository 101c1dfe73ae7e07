"""Reader of the entity graph of a shelf: chunks are read from the shards, names from the catalogue."""

from __future__ import annotations

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
from monograph.shelf.reader import ShelfReader, sum_counts
from monograph.shelf.shard import ShardReader
from monograph.store.documents.chunks import LoadedChunk
from monograph.store.file.database import Connection
from monograph.store.graph import graphs
from monograph.store.graph.graphs import ChunkPlace, Records, TitledDocument
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

    def _call_for_names(
        self,
        members: Mapping[int, int],
        read: Callable[[Connection, Mapping[int, int], *Arguments], R],
        *arguments: *Arguments,
    ) -> list[R]:
        """Call ``read`` on each shard after replacing catalogue rows in ``members`` by its rows; return the results."""
        if not members:
            return []
        _, keys = self.snapshot.names.entities(members)
        # Shards number names differently than the catalogue, so they get the keys of names and find their own rows.
        entities = {keys[row]: entity for row, entity in members.items() if row in keys}
        return self.snapshot.shards.all(ShardReader.of_names, entities, read, *arguments)

    def total(self) -> int:
        return sum(self.snapshot.shards.all(ShardReader.total))

    def every_chunk(self) -> list[int]:
        answers = enumerate(self.snapshot.shards.all(ShardReader.every_chunk))
        return sorted(row for shard, rows in answers for row in self.snapshot.rows.global_rows(shard, rows))

    def titled(self, members: Mapping[int, int]) -> list[TitledDocument]:
        merged = [
            replace(item, document=self.snapshot.rows.global_row(shard, item.document))
            for shard, items in enumerate(self._call_for_names(members, graphs.titled))
            for item in items
        ]
        return sorted(merged, key=lambda item: (item.id, item.qualifier))

    def chunk_counts(self, members: Mapping[int, int]) -> dict[int, int]:
        return sum_counts(self._call_for_names(members, graphs.chunk_counts))

    def seen(self, members: Mapping[int, int]) -> dict[int, TimeSpan]:
        spans: dict[int, TimeSpan] = {}
        for answer in self._call_for_names(members, graphs.seen):
            for entity, span in answer.items():
                spans[entity] = _join_spans(spans.get(entity, span), span)
        return spans

    def seen_in(self, chunks: Iterable[int]) -> TimeSpan | None:
        span: TimeSpan | None = None
        for _, _, shard_span in self.snapshot.shards.of(ShardReader.seen_in, chunks):
            if shard_span is not None:
                span = _join_spans(span or shard_span, shard_span)
        return span

    def chunks_naming(self, members: Mapping[int, int], most: int) -> dict[int, list[int]]:
        rows = self.snapshot.rows
        parts = [
            [(*item[:3], rows.global_row(shard, item[3])) for item in items]
            for shard, items in enumerate(self._call_for_names(members, graphs.chunks_naming, most))
        ]
        by_entity: dict[int, list[int]] = {}
        for entity, _, _, chunk in merge(*parts):
            chunks = by_entity.setdefault(entity, [])
            if len(chunks) < most:
                chunks.append(chunk)
        return by_entity

    def first_chunks(self, documents: Iterable[int], most: int) -> dict[int, list[int]]:
        rows = self.snapshot.rows
        answers = self.snapshot.shards.of(ShardReader.first_chunks, documents, most)
        merged = rows.merge((shard, answer) for shard, _, answer in answers)
        return {document: rows.global_rows(document % rows.shards, chunks) for document, chunks in merged.items()}

    def linked(self, chunks: Collection[int]) -> Mapping[int, tuple[Records, Records]]:
        return self.snapshot.linked(chunks)

    def extractions(self, chunks: Sequence[int]) -> dict[int, Extraction]:
        return self.snapshot.shards.by_row(ShardReader.extractions, chunks)

    def places(self, chunks: Iterable[int]) -> dict[int, ChunkPlace]:
        rows = self.snapshot.rows
        places = self.snapshot.shards.by_row(ShardReader.places, list(chunks))
        return {
            row: replace(place, document=rows.global_row(row % rows.shards, place.document))
            for row, place in places.items()
        }

    def chunks(self, rows: Sequence[int]) -> dict[int, LoadedChunk]:
        return self.snapshot.show(rows)[0]

    def chunks_of(self, name: str) -> list[int]:
        answers = [
            [self.snapshot.rows.global_rows(shard, rows) for rows in answer]
            for shard, answer in enumerate(self.snapshot.shards.all(ShardReader.rows_of, path_to_text(name)))
        ]
        return only(answers, self.place, name)

    def documents(self, ids: Collection[str]) -> dict[str, Document]:
        id_list = list(ids)
        answers = self.snapshot.shards.all(ShardReader.documents, id_list) if id_list else []
        return {name: document for answer in answers for name, document in answer.items()}

    def stated(self, keys: Sequence[str]) -> list[tuple[str, str, str, str]]:
        return sorted(row for answer in self.snapshot.shards.all(ShardReader.stated, keys) for row in answer)

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


def _join_spans(left: TimeSpan, right: TimeSpan) -> TimeSpan:
    return TimeSpan(min(left.first, right.first), max(left.last, right.last))
