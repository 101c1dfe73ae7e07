"""``GraphState``: the graph of one state of a file, read without a question."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from monograph.dates.span import TimeSpan
from monograph.explore.lookup import only
from monograph.search.names import Names
from monograph.store.documents import chunks as stored_chunks
from monograph.store.documents import documents
from monograph.store.documents.chunks import LoadedChunk
from monograph.store.file.database import Connection
from monograph.store.file.errors import path_of
from monograph.store.graph import assertions, extractions, graphs, names
from monograph.store.graph.graphs import ChunkPlace, Records, Titled
from monograph.values import AssertedNode, Assertions, Document, Extraction, Float32


@dataclass(frozen=True, slots=True)
class AssertedRelations:
    """Relations as callers told them: (source, label, target) and rows of the chunks that say it; and keys of ends."""

    said: tuple[tuple[str, str, str, frozenset[int]], ...]
    called: Mapping[str, Collection[str]]


@dataclass(frozen=True, slots=True)
class GraphState:
    """The graph of one state of a file. Rows of chunks, documents and names are true of this state.

    Where a method takes ``members``, that is the row of an entity's head for every row of a name. A shelf's graph
    answers the same methods: :class:`monograph.shelf.graph.ShelfGraphState`.

    Parameters
    ----------
    names:
        A read transaction, in which the names of all entities can be read.
    """

    names: Connection

    @property
    def place(self) -> str:
        """Return the path or the address, for messages."""
        return path_of(self.names)

    def total(self) -> int:
        """Return the number of chunks in the graph."""
        return graphs.count_nodes(self.names)

    def every_chunk(self) -> list[int]:
        """Return the chunks in the graph, ascending."""
        return graphs.all_nodes(self.names)

    def titled(self, members: Mapping[int, int]) -> list[Titled]:
        """See :func:`monograph.store.graph.graphs.titled`."""
        return graphs.titled(self.names, members)

    def chunk_counts(self, members: Mapping[int, int]) -> dict[int, int]:
        """See :func:`monograph.store.graph.graphs.chunk_counts`."""
        return graphs.chunk_counts(self.names, members)

    def seen(self, members: Mapping[int, int]) -> dict[int, TimeSpan]:
        """See :func:`monograph.store.graph.graphs.seen`."""
        return graphs.seen(self.names, members)

    def seen_in(self, chunks: Iterable[int]) -> TimeSpan | None:
        """See :func:`monograph.store.graph.graphs.seen_in`."""
        return graphs.seen_in(self.names, chunks)

    def chunks_naming(self, members: Mapping[int, int], most: int) -> dict[int, list[int]]:
        """See :func:`monograph.store.graph.graphs.chunks_naming`."""
        found: dict[int, list[int]] = {}
        for entity, _, _, chunk in graphs.chunks_naming(self.names, members, most):
            found.setdefault(entity, []).append(chunk)
        return found

    def first_chunks(self, documents: Iterable[int], most: int) -> dict[int, list[int]]:
        """See :func:`monograph.store.graph.graphs.first_chunks`."""
        return graphs.first_chunks(self.names, documents, most)

    def linked(self, chunks: Collection[int]) -> Mapping[int, tuple[Records, Records]]:
        """See :func:`monograph.store.graph.graphs.linked`."""
        return graphs.linked(self.names, chunks)

    def extractions(self, chunks: Sequence[int]) -> dict[int, Extraction]:
        """Return the extractions of those chunks that have one, in order."""
        values = graphs.extraction_values(self.names, chunks)
        held = [row for row in chunks if row in values]
        found = {}
        for row, (_, text) in zip(held, stored_chunks.titled_texts(self.names, held), strict=True):
            with extractions.decoding_of(self.names, row):
                found[row] = extractions.unpack(values[row], text)
        return found

    def places(self, chunks: Iterable[int]) -> dict[int, ChunkPlace]:
        """Return the documents of chunks, and their places in them."""
        return graphs.places(self.names, chunks)

    def chunks(self, rows: Sequence[int]) -> dict[int, LoadedChunk]:
        """Return chunks, in the order of their rows."""
        return {one.row: one for one in stored_chunks.load(self.names, rows)}

    def chunks_of(self, name: str) -> list[int]:
        """Return the chunks of a document, by its id or uri, in reading order. Raises NotFound if there is not one."""
        return stored_chunks.rows_of_document(self.names, only(self.names, name).row)

    def documents(self, ids: Collection[str]) -> dict[str, Document]:
        """Return documents without their texts, for those ids that are there."""
        found = (documents.find(self.names, one) for one in ids)
        return {row.id: Document(id=row.id, title=row.title, uri=row.uri) for row in found if row is not None}

    def stated(self, keys: Sequence[str]) -> list[tuple[str, str, str, str]]:
        """See :func:`monograph.store.graph.names.stated`."""
        return names.stated(self.names, keys)

    def written(self, where: Mapping[int, int]) -> dict[int, tuple[str, str]]:
        """Return (entity id, name as it is written) of names, each looked for in one chunk."""
        return Names(self.names).written(where)

    def asserted_relations(self, keys: Collection[str]) -> AssertedRelations:
        """Return the relations that callers asserted of things that have a name of some keys."""
        if assertions.is_empty(self.names):
            return AssertedRelations((), {})
        relations = assertions.relations(self.names, list(assertions.by_keys(self.names, keys)))
        origins = assertions.origins(self.names, list({name for one in relations for name in one.origins}))
        rows = {name: one.chunk for name, one in origins.items() if one.chunk is not None}
        said = tuple(
            (one.source, one.label, one.target, frozenset(rows[name] for name in one.origins if name in rows))
            for one in relations
        )
        ends = {end for source, _, target, _ in said for end in (source, target)}
        return AssertedRelations(said, assertions.keys_of(self.names, list(ends)))

    def asserted_nodes(self, ids: Sequence[str]) -> dict[str, AssertedNode]:
        """See :func:`monograph.store.graph.assertions.nodes`."""
        return assertions.nodes(self.names, ids)

    def asserted_embeddings(self, dimension: int) -> tuple[list[str], Float32]:
        """See :func:`monograph.store.graph.assertions.embeddings`."""
        return assertions.embeddings(self.names, dimension)

    def assertions(self, ids: Sequence[str] | None) -> Assertions:
        """See :func:`monograph.store.graph.assertions.around`."""
        return assertions.around(self.names, ids)
