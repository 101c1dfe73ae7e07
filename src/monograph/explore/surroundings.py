"""Interface for exploring the graph without a question: of one file, or of many."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from monograph.dates.span import Span
from monograph.store.documents.chunks import LoadedChunk
from monograph.store.file.database import Connection
from monograph.store.graph.graphs import Records
from monograph.store.graph.neighbours import Place, Titled
from monograph.values import Document, Extraction, Float32, Told, ToldNode


@dataclass(frozen=True, slots=True)
class ToldRelations:
    """Relations as callers told them: (source, label, target) and rows of the chunks that say it; and keys of ends."""

    said: tuple[tuple[str, str, str, frozenset[int]], ...]
    called: Mapping[str, Collection[str]]


class Surroundings(Protocol):
    """The graph of one state, read. Rows of chunks, documents and names are true of this reading.

    Where a method takes ``members``, that is the row of an entity's head for every row of a name.
    """

    @property
    def names(self) -> Connection:
        """A connection with the names of all entities."""
        ...

    @property
    def place(self) -> str:
        """The path or the address, for messages."""
        ...

    def total(self) -> int:
        """Chunks in the graph."""
        ...

    def every_chunk(self) -> list[int]:
        """The chunks in the graph, ascending."""
        ...

    def titled(self, members: Mapping[int, int]) -> list[Titled]:
        """See :func:`monograph.store.graph.neighbours.titled`."""
        ...

    def chunk_counts(self, members: Mapping[int, int]) -> dict[int, int]:
        """See :func:`monograph.store.graph.neighbours.chunk_counts`."""
        ...

    def seen(self, members: Mapping[int, int]) -> dict[int, Span]:
        """See :func:`monograph.store.graph.neighbours.seen`."""
        ...

    def seen_in(self, chunks: Iterable[int]) -> Span | None:
        """See :func:`monograph.store.graph.neighbours.seen_in`."""
        ...

    def chunks_naming(self, members: Mapping[int, int], most: int) -> dict[int, list[int]]:
        """See :func:`monograph.store.graph.neighbours.chunks_naming`."""
        ...

    def first_chunks(self, documents: Iterable[int], most: int) -> dict[int, list[int]]:
        """See :func:`monograph.store.graph.neighbours.first_chunks`."""
        ...

    def linked(self, chunks: Collection[int]) -> Mapping[int, tuple[Records, Records]]:
        """See :func:`monograph.store.graph.graphs.linked`."""
        ...

    def documents_of(self, chunks: Iterable[int]) -> dict[int, int]:
        """The document of each chunk."""
        ...

    def extractions(self, chunks: Sequence[int]) -> dict[int, Extraction]:
        """Return the extractions of those chunks that have one, in order."""
        ...

    def places(self, chunks: Iterable[int]) -> dict[int, Place]:
        """Return the documents of chunks, and their places in them."""
        ...

    def chunks(self, rows: Sequence[int]) -> dict[int, LoadedChunk]:
        """Chunks, in the order of their rows."""
        ...

    def chunks_of(self, name: str) -> list[int]:
        """The chunks of a document, by its id or uri, in reading order. Raises NotFound if there is not one."""
        ...

    def documents(self, ids: Collection[str]) -> dict[str, Document]:
        """Documents without their texts, for those ids that are there."""
        ...

    def stating(self, keys: Sequence[str]) -> dict[tuple[str, str], list[str]]:
        """See :func:`monograph.store.graph.neighbours.stating`."""
        ...

    def written(self, where: Mapping[int, int]) -> dict[int, tuple[str, str]]:
        """(entity id, name as it is written) of names, each looked for in one chunk."""
        ...

    def told(self, keys: Collection[str]) -> ToldRelations:
        """The relations that callers told of things of which a name has one of some keys."""
        ...

    def told_nodes(self, ids: Sequence[str]) -> dict[str, ToldNode]:
        """See :func:`monograph.store.graph.assertions.nodes`."""
        ...

    def told_embeddings(self, dimension: int) -> tuple[list[str], Float32]:
        """See :func:`monograph.store.graph.assertions.embeddings`."""
        ...

    def told_around(self, ids: Sequence[str] | None) -> Told:
        """See :func:`monograph.store.graph.assertions.around`."""
        ...
