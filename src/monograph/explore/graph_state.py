"""``GraphState``: read access to the graph in one state of a file, for functions that do not search."""

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
from monograph.store.graph.graphs import ChunkPlace, Records, TitledDocument
from monograph.values import AssertedNode, Assertions, Document, Extraction, Float32


@dataclass(frozen=True, slots=True)
class AssertedRelations:
    """Relations that callers asserted.

    ``relations`` has (id of the source node, label, id of the target node, rows of the chunks that state the relation)
    for each relation.
    ``called`` has the keys of the names of each source and target node, by the node's id.
    """

    relations: tuple[tuple[str, str, str, frozenset[int]], ...]
    called: Mapping[str, Collection[str]]


@dataclass(frozen=True, slots=True)
class GraphState:
    """The graph of one state of a file. Rows of chunks, documents and names are valid only in this state.

    ``names`` is a connection in a read transaction, from which the names of all entities can be read.

    The head of an entity is the name that stands for it; an entity is identified by the row of its head. In every
    method, the parameter ``members`` maps the row of each name to the row of its entity's head.

    The graph of a shelf has the same methods: :class:`monograph.shelf.graph.ShelfGraphState`.
    """

    names: Connection

    @property
    def place(self) -> str:
        """The path of the file, or the address of the shelf; it is shown in messages."""
        return path_of(self.names)

    def total(self) -> int:
        """Return the number of chunks in the graph."""
        return graphs.count_nodes(self.names)

    def every_chunk(self) -> list[int]:
        """Return the rows of all chunks in the graph, ascending."""
        return graphs.all_nodes(self.names)

    def titled(self, members: Mapping[int, int]) -> list[TitledDocument]:
        """Return the documents whose titles name one of the entities, in order of document id."""
        return graphs.titled(self.names, members)

    def chunk_counts(self, members: Mapping[int, int]) -> dict[int, int]:
        """Return the number of chunks that name each entity, by the row of the entity's head."""
        return graphs.chunk_counts(self.names, members)

    def seen(self, members: Mapping[int, int]) -> dict[int, TimeSpan]:
        """Return the time span of the documents that name each entity, by the row of the entity's head.

        Only dates from a document's text or metadata count, not the dates of files. Entities without such a date are
        left out.
        """
        return graphs.seen(self.names, members)

    def seen_in(self, chunks: Iterable[int]) -> TimeSpan | None:
        """Return the time span of the documents of some chunks; None if no document has a date.

        As in :meth:`seen`, the dates of files do not count.
        """
        return graphs.seen_in(self.names, chunks)

    def chunks_naming(self, members: Mapping[int, int], most: int) -> dict[int, list[int]]:
        """Return the rows of at most ``most`` chunks that name each entity, by the row of the entity's head.

        Chunks of documents about the entity come first, then the other chunks. Both groups are in order of chunk id.
        """
        by_entity: dict[int, list[int]] = {}
        for entity, _, _, chunk in graphs.chunks_naming(self.names, members, most):
            by_entity.setdefault(entity, []).append(chunk)
        return by_entity

    def first_chunks(self, documents: Iterable[int], most: int) -> dict[int, list[int]]:
        """Return the rows of the first ``most`` chunks of each document, by the row of the document."""
        return graphs.first_chunks(self.names, documents, most)

    def linked(self, chunks: Collection[int]) -> Mapping[int, tuple[Records, Records]]:
        """Return (names, links) of each chunk, by chunk row.

        The names are records of dtype NAMED. The links are the relations that a language model found in the chunk; they
        are records of dtype LINKED. See :mod:`monograph.store.graph.graphs`.
        """
        return graphs.linked(self.names, chunks)

    def extractions(self, chunks: Sequence[int]) -> dict[int, Extraction]:
        """Return the extraction of each chunk, by chunk row, in the given order.

        Chunks without an extraction are left out.
        """
        values = graphs.extraction_values(self.names, chunks)
        rows = [row for row in chunks if row in values]
        result = {}
        for row, (_, text) in zip(rows, stored_chunks.titled_texts(self.names, rows), strict=True):
            with extractions.decoding_of(self.names, row):
                result[row] = extractions.unpack(values[row], text)
        return result

    def places(self, chunks: Iterable[int]) -> dict[int, ChunkPlace]:
        """Return the document of each chunk, and the position of the chunk in it, by chunk row."""
        return graphs.places(self.names, chunks)

    def chunks(self, rows: Sequence[int]) -> dict[int, LoadedChunk]:
        """Return chunks by row, in the order of ``rows``."""
        return {chunk.row: chunk for chunk in stored_chunks.load(self.names, rows)}

    def chunks_of(self, name: str) -> list[int]:
        """Return the rows of the chunks of a document, in reading order.

        ``name`` is the id or uri of the document. Raises NotFound if no document, or more than one, has it.
        """
        return stored_chunks.rows_of_document(self.names, only(self.names, name).row)

    def documents(self, ids: Collection[str]) -> dict[str, Document]:
        """Return documents by id, without their texts. Ids that do not exist are left out."""
        rows = (documents.find(self.names, document_id) for document_id in ids)
        return {row.id: Document(id=row.id, title=row.title, uri=row.uri) for row in rows if row is not None}

    def stated(self, keys: Sequence[str]) -> list[tuple[str, str, str, str]]:
        """Return (title, id, short key, full key) for each alias that a document states, in order of title and id.

        Only aliases are returned whose short name has one of the ``keys``. If ``keys`` is empty, all are returned.
        """
        return names.stated(self.names, keys)

    def written(self, where: Mapping[int, int]) -> dict[int, tuple[str, str]]:
        """Return (entity id, spelling) of each name, by the row of the name.

        ``where`` maps the row of each name to the row of a chunk. The spelling is the one in this chunk: see
        :meth:`monograph.search.names.Names.written`.
        """
        return Names(self.names).written(where)

    def asserted_relations(self, keys: Collection[str]) -> AssertedRelations:
        """Return the asserted relations from or to the nodes that have a name with one of the keys."""
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
        """Return the asserted nodes with the given ids, by id, in the order in which they were added."""
        return assertions.nodes(self.names, ids)

    def asserted_embeddings(self, dimension: int) -> tuple[list[str], Float32]:
        """Return (ids, embeddings) of the asserted nodes that have an embedding of this dimension, in order of id.

        The embeddings are float32 (n, dimension).
        """
        return assertions.embeddings(self.names, dimension)

    def assertions(self, ids: Sequence[str] | None) -> Assertions:
        """Return the asserted nodes with the given ids, their relations, and the nodes at the relations' other ends.

        With ``ids`` None, return all asserted nodes and relations.
        """
        return assertions.around(self.names, ids)
