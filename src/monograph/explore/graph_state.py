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
    """Relations as callers asserted them.

    ``said`` has (source id, label, target id, rows of the chunks that it comes from) of each; ``called`` has the keys
    of the names of each source and target, by its id.
    """

    said: tuple[tuple[str, str, str, frozenset[int]], ...]
    called: Mapping[str, Collection[str]]


@dataclass(frozen=True, slots=True)
class GraphState:
    """The graph of one state of a file. Rows of chunks, documents and names are valid only in this state.

    ``names`` is a connection in a read transaction, from which the names of all entities can be read. An argument
    ``members`` has the row of the entity's head for each row of a name. A shelf's graph has the same methods:
    :class:`monograph.shelf.graph.ShelfGraphState`.
    """

    names: Connection

    @property
    def place(self) -> str:
        """Path of the file, or address of the shelf, for messages."""
        return path_of(self.names)

    def total(self) -> int:
        """Return the number of chunks in the graph."""
        return graphs.count_nodes(self.names)

    def every_chunk(self) -> list[int]:
        """Return the rows of all chunks in the graph, ascending."""
        return graphs.all_nodes(self.names)

    def titled(self, members: Mapping[int, int]) -> list[Titled]:
        """Return the documents whose titles name the entities, in order of id."""
        return graphs.titled(self.names, members)

    def chunk_counts(self, members: Mapping[int, int]) -> dict[int, int]:
        """Return the number of chunks that name each entity, by the row of its head."""
        return graphs.chunk_counts(self.names, members)

    def seen(self, members: Mapping[int, int]) -> dict[int, TimeSpan]:
        """Return the time span of the documents that name each entity, by the row of its head.

        Documents without a date of their own do not count.
        """
        return graphs.seen(self.names, members)

    def seen_in(self, chunks: Iterable[int]) -> TimeSpan | None:
        """Return the time span of the documents of chunks, as :meth:`seen` does; None if they have no dates."""
        return graphs.seen_in(self.names, chunks)

    def chunks_naming(self, members: Mapping[int, int], most: int) -> dict[int, list[int]]:
        """Return at most ``most`` chunks that name each entity, by the row of its head.

        Chunks of documents about the entity come first, then the others, each in order of id.
        """
        by_entity: dict[int, list[int]] = {}
        for entity, _, _, chunk in graphs.chunks_naming(self.names, members, most):
            by_entity.setdefault(entity, []).append(chunk)
        return by_entity

    def first_chunks(self, documents: Iterable[int], most: int) -> dict[int, list[int]]:
        """Return the first chunks of documents, at most ``most`` of each, by the row of the document."""
        return graphs.first_chunks(self.names, documents, most)

    def linked(self, chunks: Collection[int]) -> Mapping[int, tuple[Records, Records]]:
        """Return (names, links) of chunks by row: records NAMED and LINKED of :mod:`monograph.store.graph.graphs`."""
        return graphs.linked(self.names, chunks)

    def extractions(self, chunks: Sequence[int]) -> dict[int, Extraction]:
        """Return the extractions of chunks, by row, in order; chunks without one are left out."""
        values = graphs.extraction_values(self.names, chunks)
        rows = [row for row in chunks if row in values]
        result = {}
        for row, (_, text) in zip(rows, stored_chunks.titled_texts(self.names, rows), strict=True):
            with extractions.decoding_of(self.names, row):
                result[row] = extractions.unpack(values[row], text)
        return result

    def places(self, chunks: Iterable[int]) -> dict[int, ChunkPlace]:
        """Return the document of each chunk, and its place there, by row."""
        return graphs.places(self.names, chunks)

    def chunks(self, rows: Sequence[int]) -> dict[int, LoadedChunk]:
        """Return chunks by row, in the order of ``rows``."""
        return {chunk.row: chunk for chunk in stored_chunks.load(self.names, rows)}

    def chunks_of(self, name: str) -> list[int]:
        """Return the chunks of a document, by id or uri, in reading order. Raises NotFound if not exactly one fits."""
        return stored_chunks.rows_of_document(self.names, only(self.names, name).row)

    def documents(self, ids: Collection[str]) -> dict[str, Document]:
        """Return documents without their texts, by id; ids that do not exist are left out."""
        rows = (documents.find(self.names, document_id) for document_id in ids)
        return {row.id: Document(id=row.id, title=row.title, uri=row.uri) for row in rows if row is not None}

    def stated(self, keys: Sequence[str]) -> list[tuple[str, str, str, str]]:
        """Return (title, id, short key, full key) of the documents that state a short name of ``keys``, in order."""
        return names.stated(self.names, keys)

    def written(self, where: Mapping[int, int]) -> dict[int, tuple[str, str]]:
        """Return (entity id, spelling) of each name, by its row: see :meth:`monograph.search.names.Names.written`."""
        return Names(self.names).written(where)

    def asserted_relations(self, keys: Collection[str]) -> AssertedRelations:
        """Return the asserted relations from or to nodes that have a name with one of the keys."""
        if assertions.is_empty(self.names):
            return AssertedRelations((), {})
        relations = assertions.relations(self.names, list(assertions.by_keys(self.names, keys)))
        origins = assertions.origins(self.names, list({name for relation in relations for name in relation.origins}))
        rows = {name: origin.chunk for name, origin in origins.items() if origin.chunk is not None}
        asserted = []
        for relation in relations:
            chunks = frozenset(rows[name] for name in relation.origins if name in rows)
            asserted.append((relation.source, relation.label, relation.target, chunks))
        ends = {end for source, _, target, _ in asserted for end in (source, target)}
        return AssertedRelations(tuple(asserted), assertions.keys_of(self.names, list(ends)))

    def asserted_nodes(self, ids: Sequence[str]) -> dict[str, AssertedNode]:
        """Return asserted nodes by id, in the order in which they were added."""
        return assertions.nodes(self.names, ids)

    def asserted_embeddings(self, dimension: int) -> tuple[list[str], Float32]:
        """Return (ids, embeddings, float32 (n, dimension)) of the asserted nodes with such an embedding, by id."""
        return assertions.embeddings(self.names, dimension)

    def assertions(self, ids: Sequence[str] | None) -> Assertions:
        """Return asserted nodes by id, or all, their relations, and the nodes at the other ends of these."""
        return assertions.around(self.names, ids)
