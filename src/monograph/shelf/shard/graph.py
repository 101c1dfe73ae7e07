"""What of one of many files is looked round in: names go by keys, and each answers for its own chunks."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from monograph.dates.span import Span
from monograph.explore.one_file import OneFile
from monograph.search.one_file.snapshot import FileSnapshot
from monograph.store import chunks, documents, names, neighbours
from monograph.store.neighbours import Place, Titled
from monograph.values import Document, Extraction


class GraphOfShard:
    """The part of what a shard can be asked that no search asks.

    Where a method takes ``members``, that is what an entity goes by for every key of a name.
    """

    __slots__ = ()
    snapshot: FileSnapshot

    @property
    def _around(self) -> OneFile:
        return OneFile(self.snapshot.connection)

    def _members(self, members: Mapping[str, int]) -> dict[int, int]:
        rows = names.rows(self.snapshot.connection, members)
        return {row: members[key] for key, row in rows.items()}

    def graph_size(self) -> int:
        """Chunks in the graph."""
        return self._around.total()

    def every_chunk(self) -> list[int]:
        """The chunks in the graph, ascending."""
        return self._around.every_chunk()

    def titled(self, members: Mapping[str, int]) -> list[Titled]:
        """See :func:`monograph.store.neighbours.titled`."""
        return self._around.titled(self._members(members))

    def chunk_counts(self, members: Mapping[str, int]) -> dict[int, int]:
        """See :func:`monograph.store.neighbours.chunk_counts`."""
        return self._around.chunk_counts(self._members(members))

    def seen(self, members: Mapping[str, int]) -> dict[int, Span]:
        """See :func:`monograph.store.neighbours.seen`."""
        return self._around.seen(self._members(members))

    def seen_in(self, rows: Sequence[int]) -> Span | None:
        """See :func:`monograph.store.neighbours.seen_in`."""
        return self._around.seen_in(rows)

    def chunks_naming(self, members: Mapping[str, int], most: int) -> list[tuple[int, int, str, int]]:
        """See :func:`monograph.store.neighbours.chunks_naming`."""
        return neighbours.chunks_naming(self.snapshot.connection, self._members(members), most)

    def first_chunks(self, rows: Sequence[int], most: int) -> dict[int, list[int]]:
        """The first chunks of documents, at most so many of each."""
        return self._around.first_chunks(rows, most)

    def documents_of(self, rows: Sequence[int]) -> dict[int, int]:
        """The document of each chunk."""
        return self._around.documents_of(rows)

    def extractions(self, rows: Sequence[int]) -> dict[int, Extraction]:
        """What was found in chunks that have that."""
        return self._around.extractions(rows)

    def places(self, rows: Sequence[int]) -> dict[int, Place]:
        """Where chunks come from."""
        return self._around.places(rows)

    def chunks_of(self, name: str) -> list[list[int]]:
        """The chunks of each document that an id, a uri or a path means, in reading order."""
        found, _ = documents.resolve(self.snapshot.connection, [name])
        return [chunks.rows_of_document(self.snapshot.connection, one.row) for one in found]

    def untold(self, ids: Collection[str]) -> dict[str, Document]:
        """Documents without their texts, for those ids that are there."""
        return self._around.documents(ids)

    def stated(self, keys: Sequence[str]) -> list[tuple[str, str, str, str]]:
        """See :func:`monograph.store.neighbours.stated`."""
        return neighbours.stated(self.snapshot.connection, keys)
