"""What documents and chunks one of many files has, as it is asked for by id or listed."""

from __future__ import annotations

from collections.abc import Sequence

from monograph.explore import lookup
from monograph.search.one_file.snapshot import FileSnapshot
from monograph.store import chunks, documents, settings
from monograph.store.filters import Allowed
from monograph.values import Chunk, Listed, StoredChunk


class DocumentsOfShard:
    """The part of what a shard can be asked that lists."""

    __slots__ = ()
    snapshot: FileSnapshot

    def listed(self, like: str, most: int) -> Listed:
        """At most so many documents, the first: see :meth:`monograph.Monograph.listed`."""
        return lookup.listed(self.snapshot.connection, like, 0, most)

    def read_chunks(self, name: str) -> list[list[Chunk]]:
        """The chunks of each document that an id, a uri or a path means, in reading order."""
        connection = self.snapshot.connection
        found, _ = documents.resolve(connection, [name])
        return [[one.chunk for one in chunks.of_document(connection, row.row, strict=True)] for row in found]

    def fetch(self, ids: Sequence[str] | None, allowed: Allowed, vectors: bool) -> list[StoredChunk]:
        """Stored chunks of those ids that are there, or all, with their vectors where they are asked for."""
        connection = self.snapshot.connection
        stored = settings.load_model(connection, settings.StoredEmbedder) if vectors else None
        return lookup.fetch(connection, ids, allowed, None if stored is None else stored.dimension)
