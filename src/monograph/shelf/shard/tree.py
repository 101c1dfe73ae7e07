"""What of one of many files a tree over all is made from and read by: its chunks, by their rows."""

from __future__ import annotations

from collections.abc import Sequence

from monograph.answer import ground
from monograph.graph.evidence import Int64
from monograph.search.one_file.snapshot import FileSnapshot
from monograph.shelf.tree import leaves
from monograph.store import chunks, filters, vectors
from monograph.store.filters import Allowed
from monograph.values import Float32


class TreeOfShard:
    """The part of what a shard can be asked that a tree of summaries asks."""

    __slots__ = ()
    snapshot: FileSnapshot

    # What a tree over all shards is made from: see monograph.shelf.tree.leaves.

    def first_vectors(self, most: int, dimension: int) -> tuple[int, list[str], Float32]:
        """(how many chunks have a vector, ids of the first by id, their vectors)."""
        return leaves.first_vectors(self.snapshot.connection, most, dimension)

    def leaves(self, planes: bytes) -> leaves.Leaves:
        """Where its chunks stand by some planes."""
        return leaves.of(self.snapshot.connection, planes)

    def texts(self, rows: Sequence[int]) -> list[str]:
        """The texts of chunks, in order; fewer where one is not there. Raises DamagedDocument."""
        return [text for _, text in chunks.titled_texts(self.snapshot.connection, rows)]

    def vectors(self, rows: Sequence[int], dimension: int) -> tuple[Int64, Float32]:
        """(rows of those that have one, vectors) of chunks."""
        return vectors.of_chunks(self.snapshot.connection, rows, dimension)

    def let_in(self, allowed: Allowed, among: Sequence[int] | None = None) -> Int64:
        """The chunks that are allowed, of some documents alone where these are given, ascending."""
        return filters.rows(self.snapshot.connection, ground.scope(allowed, among))

    # Which summaries go with what was found: see monograph.answer.ground.Ground.

    def named_in_question(self, question: str) -> dict[str, list[int]]:
        """The documents that a question names, by name."""
        return ground.named_in(self.snapshot.connection, question)

    def of_which_documents(self, allowed: Allowed, most: int) -> list[int]:
        """At most so many documents of which a chunk is allowed."""
        return chunks.of_which_documents(self.snapshot.connection, allowed, most)

    def rows_of_documents(self, rows: Sequence[int]) -> list[int]:
        """All chunks of some documents."""
        return ground.FileGround(self.snapshot.connection).rows_of_documents(rows)

    def rows_of(self, ids: Sequence[str]) -> dict[str, int]:
        """Chunks by id."""
        return chunks.rows_of(self.snapshot.connection, ids)

    def openings(self, rows: Sequence[int], allowed: Allowed, most: int) -> list[tuple[int, str, int]]:
        """(ordinal, id of the document, row) of the first chunks of some documents."""
        return chunks.openings(self.snapshot.connection, rows, allowed, most)

    def allowed_ids(self, ids: Sequence[str], allowed: Allowed, among: Sequence[int] | None) -> set[str]:
        """Those of some chunks that are allowed, and of some documents."""
        return ground.allowed_ids(self.snapshot.connection, ids, ground.scope(allowed, among))
