"""The entity–chunk graph: rows of ``chunk_graphs``, ``mentions``, ``subjects`` and ``aliases``.

An entity is identified by the row of its head: the name that the entity's other names were merged into. A parameter
``members`` maps the row of each name to the row of its entity's head.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from struct import Struct
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from monograph.dates.span import TimeSpan
from monograph.store.documents.documents import DATED_BY_CONTENT, loaded_span, newest
from monograph.store.documents.filters import EVERYTHING, CompiledFilter
from monograph.store.file.database import Connection
from monograph.store.file.rows import column, group, integer, lookup, select
from monograph.store.graph.names import NameCounts
from monograph.values import EMBEDDED_KINDS, ENTITY_KINDS

NAMED = np.dtype([("name", "<i4"), ("first", "u1"), ("second", "u1"), ("kind", "u1")])
"""A record of a name in a chunk. ``name`` is the row of the name. ``first`` and ``second`` are the numbers of the first
two sentences of the chunk that have the name; ``second`` is 255 if only one sentence has it. ``kind`` is a position in
:data:`monograph.values.ENTITY_KINDS`."""

LINKED = np.dtype([("source", "<u2"), ("target", "<u2"), ("strength", "<f2")])
"""A record of a relation that a model found in a chunk. ``source`` and ``target`` are the positions of the relation's
two names among the chunk's NAMED records. ``strength`` is how strong the model considers the relation: above 0 and at
most 1."""

WORDS = np.dtype("<u4")
NO_DOCUMENT = -1
"""The document row that :func:`words` returns for a chunk that is not in the graph."""

Records: TypeAlias = npt.NDArray[Any]
_EMBEDDED = [ENTITY_KINDS.index(kind) for kind in sorted(EMBEDDED_KINDS)]
_NAMED_STRUCT = Struct("<iBBB")  # A NAMED record for struct, which is faster than NumPy for a few.
_PERSON = ENTITY_KINDS.index("person")
SUBJECT_CHUNKS = 12
"""Maximum number of chunks that :func:`subject_chunks` returns of a document whose title has a wanted name.

These are the first chunks of the document.
"""


class SubjectChunk(NamedTuple):
    """A chunk at the beginning of a document, and a name that the document is about.

    ``name`` and ``chunk`` are row numbers. ``by_title``: True if the title of the document has the name, False if the
    text begins with it. ``qualifier``: see :class:`TitledDocument`. ``documents``: the number of documents about the
    name that have the same ``by_title``. This is a tuple for speed.
    """

    name: int
    chunk: int
    by_title: bool
    qualifier: str
    documents: int


@dataclass(frozen=True, slots=True)
class TitledDocument:
    """A document whose title has a name of an entity.

    ``entity`` is the row of the entity's head, ``document`` the row of the document. ``qualifier`` is the
    comparison key of the part of the title in parentheses; empty if the title has no such part.
    """

    entity: int
    document: int
    id: str
    title: str
    qualifier: str


@dataclass(frozen=True, slots=True)
class ChunkPlace:
    """Place of a chunk: its id, its position in its document (``ordinal``), and the document's row, id and title."""

    id: str
    document: int
    document_id: str
    title: str
    ordinal: int


@dataclass(frozen=True, slots=True)
class DocumentGraph:
    """A document's part of the graph. Names are given by row number.

    ``chunks`` maps the row of each chunk to (hashes of words, names, links), as bytes of WORDS, NAMED and LINKED.
    ``subjects`` has (name, whether the title has the name, qualifier) for each name that the document is about.
    ``aliases`` has (short name, full name) for each short name that the document explains.
    """

    chunks: Mapping[int, tuple[bytes, bytes, bytes]]
    subjects: frozenset[tuple[int, bool, str]]
    aliases: frozenset[tuple[int, int]]


def extraction_values(connection: Connection, chunks: Iterable[int]) -> dict[int, bytes]:
    """Return the packed extractions of chunks, by chunk row; chunks without one are left out."""
    tables = "extractions AS e JOIN memo AS m USING (memo) WHERE e.chunk = w.value"
    return dict(lookup(connection, "e.chunk, m.value", tables, chunks))


def stored(connection: Connection, document: int) -> DocumentGraph:
    """Return a document's part of the graph, as it is stored."""
    queries = (
        """SELECT g.chunk, words, names, links FROM chunks AS c JOIN chunk_graphs AS g USING (chunk)
        WHERE c.document = ?""",
        "SELECT name, by_title, qualifier FROM subjects WHERE document = ?",
        "SELECT name, full FROM aliases WHERE document = ?",
    )
    chunks, subjects, aliases = (connection.execute(query, (document,)).fetchall() for query in queries)
    return DocumentGraph(
        {row: (words, names, links) for row, words, names, links in chunks},
        frozenset((name, bool(by_title), qualifier) for name, by_title, qualifier in subjects),
        frozenset(aliases),
    )


def documents_naming(connection: Connection, wanted: Iterable[int]) -> list[int]:
    """Return the rows of the documents that mention any of the given names, ascending."""
    tables = "mentions AS m CROSS JOIN chunks AS c WHERE m.name = w.value AND c.chunk = m.chunk ORDER BY c.document"
    return [int(row) for (row,) in lookup(connection, "DISTINCT c.document", tables, wanted)]


def words(connection: Connection, chunks: Sequence[int]) -> dict[int, tuple[int, bytes]]:
    """Return (document row, hashes of the chunk's words as bytes of WORDS) for each chunk, by chunk row.

    A chunk that is not in the graph has (NO_DOCUMENT, b"").
    """
    results = lookup(connection, "g.chunk, g.document, g.words", "chunk_graphs AS g WHERE g.chunk = w.value", chunks)
    stored_words = {chunk: (document, hashes) for chunk, document, hashes in results}
    return dict.fromkeys(chunks, (NO_DOCUMENT, b"")) | stored_words


def linked(connection: Connection, chunks: Iterable[int]) -> dict[int, tuple[Records, Records]]:
    """Return {chunk row: (names in the chunk, relations that a model found in it)}, as NAMED and LINKED records.

    Chunks that are not in the graph are left out.
    """
    results = lookup(connection, "g.chunk, g.names, g.links", "chunk_graphs AS g WHERE g.chunk = w.value", chunks)
    return {
        chunk: (np.frombuffer(names, dtype=NAMED), np.frombuffer(links, dtype=LINKED))
        for chunk, names, links in results
    }


def mentions(
    connection: Connection, wanted: Iterable[int], allowed: CompiledFilter = EVERYTHING
) -> dict[int, list[int]]:
    """Return {name row: rows of the allowed chunks that mention the name} for the wanted names.

    Names that no allowed chunk mentions are left out.
    """
    tables = f"mentions AS m WHERE m.name = w.value AND {allowed.on_each('m.chunk')}"
    return group(lookup(connection, "m.name, m.chunk", tables, wanted, *allowed.parameters))


def are_subjects(connection: Connection, wanted: Iterable[int]) -> set[int]:
    """Return the rows of the wanted names that a document is about."""
    return {name for (name,) in lookup(connection, "DISTINCT s.name", "subjects AS s WHERE s.name = w.value", wanted)}


def known_subjects(connection: Connection, keys: Iterable[str]) -> dict[str, int]:
    """Return the rows of the names that have the given keys and that a document is about, by key."""
    # Most keys belong to no name, and most names are no subjects. Two indexes answer this; no row of names is read.
    tables = "names AS n WHERE n.key = w.value AND EXISTS (SELECT 1 FROM subjects AS s WHERE s.name = n.name)"
    return dict(lookup(connection, "n.key, n.name", tables, keys))


def subject_chunks(
    connection: Connection, wanted: Iterable[int], allowed: CompiledFilter = EVERYTHING
) -> list[SubjectChunk]:
    """Return the first chunks of the documents that are about the wanted names.

    If the title of a document has the name, its first SUBJECT_CHUNKS chunks are returned. If only its text begins with
    the name, only its first chunk is returned. Chunks that the filter ``allowed`` excludes are left out.

    The result is in order of the chunks' positions in their documents. At an equal position, chunks of names that
    only one document is about come first, in order of name row. The other chunks follow in order of chunk id.
    """
    # Each id is in another page, so ids are looked up only for names that several documents are about.
    several = "EXISTS (SELECT 1 FROM subjects AS h WHERE h.name = s.name AND h.document != s.document)"
    rows = subject_rows(connection, wanted, allowed, f"CASE WHEN {several} THEN own.id END")
    counts = Counter((name, by_title) for name, by_title, _ in {(row[2], row[4], row[6]) for row in rows})
    return [
        SubjectChunk(name, chunk, bool(by_title), qualifier, counts[name, by_title])
        for _, _, name, chunk, by_title, qualifier, _ in sorted(row for row in rows if row[3])
    ]


def subject_rows(
    connection: Connection, wanted: Iterable[int], allowed: CompiledFilter, name: str = "own.id"
) -> list[tuple[int, str, int, int, int, str, int]]:
    """Return the rows that :func:`subject_chunks` sorts and counts, in no order.

    A row is (position of the chunk in its document, chunk id, name row, chunk row, 1 if the title has the name or else
    0, qualifier of the title, document row). A document without an allowed chunk has one row, with 0 as its chunk row.
    The SQL expression ``name`` gives the chunk id; if its value is NULL, the id is "".
    """
    columns = f"""COALESCE(own.ordinal, 0), COALESCE({name}, ''), s.name, COALESCE(own.chunk, 0), s.by_title,
        s.qualifier, s.document"""
    tables = f"""subjects AS s LEFT JOIN chunks AS own ON own.document = s.document
        AND own.ordinal < CASE s.by_title WHEN 1 THEN {SUBJECT_CHUNKS} ELSE 1 END AND {allowed.on_each("own.chunk")}
        WHERE s.name = w.value"""
    return lookup(connection, columns, tables, wanted, *allowed.parameters)


def chunks_that_name(connection: Connection, chunks: Iterable[int], wanted: Iterable[int]) -> list[tuple[int, int]]:
    """Return (name row, chunk row) for each wanted name that one of the given chunks mentions."""
    tables = "json_each(?) AS c CROSS JOIN mentions AS m WHERE m.name = w.value AND m.chunk = c.value"
    return lookup(connection, "m.name, m.chunk", tables, wanted, str(list(chunks)))


def count_nodes(connection: Connection) -> int:
    """Return the number of chunks in the graph."""
    return integer(connection, "SELECT count(*) FROM chunk_graphs")


def all_nodes(connection: Connection) -> list[int]:
    """Return the rows of all chunks in the graph, ascending."""
    return column(connection, "SELECT chunk FROM chunk_graphs ORDER BY chunk")


def chunk_counts(connection: Connection, members: Mapping[int, int]) -> dict[int, int]:
    """Return the number of chunks that mention each entity, by the row of the entity's head.

    ``members`` maps the row of each name to the row of its entity's head. Entities that no chunk mentions are left out.
    """
    query = """SELECT f.value, count(DISTINCT m.chunk) FROM json_each(?) AS f CROSS JOIN mentions AS m
        WHERE m.name = CAST(f.key AS INTEGER) GROUP BY f.value"""
    return dict(connection.execute(query, (json.dumps(members),)))


def seen(connection: Connection, members: Mapping[int, int]) -> dict[int, TimeSpan]:
    """Return the time span of the documents that mention each entity, by the row of the entity's head.

    ``members`` maps the row of each name to the row of its entity's head. Only dates from a document's text or metadata
    are used, not the dates of files. Entities without such a date are left out.
    """
    if newest(connection) is None:
        return {}
    query = f"""SELECT f.value, min(d.dated), max(d.dated_until) FROM json_each(?) AS f CROSS JOIN mentions AS m
        CROSS JOIN chunks AS c CROSS JOIN documents AS d
        WHERE m.name = CAST(f.key AS INTEGER) AND c.chunk = m.chunk AND d.document = c.document AND {DATED_BY_CONTENT}
        GROUP BY f.value"""  # noqa: S608 - a constant
    results = connection.execute(query, (json.dumps(members),)).fetchall()
    spans = ((entity, loaded_span(first, last)) for entity, first, last in results)
    return {entity: span for entity, span in spans if span is not None}


def seen_in(connection: Connection, chunks: Iterable[int]) -> TimeSpan | None:
    """Return the time span of the documents that the given chunks belong to.

    Only the dates that :func:`seen` counts are used. Returns None if no document has such a date.
    """
    tables = (
        "chunks AS c CROSS JOIN documents AS d"
        f" WHERE c.chunk = w.value AND d.document = c.document AND {DATED_BY_CONTENT}"
    )
    ((first, last),) = lookup(connection, "min(d.dated), max(d.dated_until)", tables, chunks)
    return loaded_span(first, last)


def chunks_naming(connection: Connection, members: Mapping[int, int], most: int) -> list[tuple[int, int, str, int]]:
    """Return (entity, rank, chunk id, chunk row) for at most ``most`` chunks that mention each entity.

    ``entity`` is the row of the entity's head: the name that the entity's other names were merged into. ``rank`` is 0
    if the chunk's document is about the entity, otherwise 1. ``members`` maps the row of each name to the row of its
    entity's head.

    The result is in order of entity, rank and chunk id. If more than ``most`` chunks mention an entity, the first in
    this order are returned. Ids are hashes. So the choice among chunks of equal rank is as good as random, but it is
    the same in every file with the same documents.
    """
    return connection.execute(
        """WITH named AS (
            SELECT f.value AS entity, c.chunk AS chunk, c.id AS id, max(EXISTS (
                SELECT 1 FROM subjects AS s WHERE s.name = m.name AND s.document = c.document)) AS about
            FROM json_each(?) AS f CROSS JOIN mentions AS m CROSS JOIN chunks AS c
            WHERE m.name = CAST(f.key AS INTEGER) AND c.chunk = m.chunk GROUP BY 1, 2)
        SELECT entity, 1 - about, id, chunk FROM (
            SELECT entity, about, id, chunk, row_number() OVER (
                PARTITION BY entity ORDER BY about DESC, id) AS place FROM named)
        WHERE place <= ? ORDER BY entity, place""",
        (json.dumps(members), most),
    ).fetchall()


def titled(connection: Connection, members: Mapping[int, int]) -> list[TitledDocument]:
    """Return the documents whose titles have a name of the given entities, in order of document id.

    ``members`` gives the entities. It maps the row of each of their names to the row of the entity's head, the name
    that the other names were merged into.
    """
    query = """SELECT f.value, s.document, d.id, d.title, s.qualifier
        FROM json_each(?) AS f CROSS JOIN subjects AS s CROSS JOIN documents AS d
        WHERE s.name = CAST(f.key AS INTEGER) AND s.by_title AND d.document = s.document ORDER BY d.id, s.qualifier"""
    return [TitledDocument(*row) for row in connection.execute(query, (json.dumps(members),))]


def first_chunks(connection: Connection, documents: Iterable[int], most: int) -> dict[int, list[int]]:
    """Return the rows of the first ``most`` chunks of each document, in reading order, by document row."""
    tables = "chunks AS c WHERE c.document = w.value AND c.ordinal < ? ORDER BY c.document, c.ordinal"
    return group(lookup(connection, "c.document, c.chunk", tables, documents, most))


def places(connection: Connection, chunks: Iterable[int]) -> dict[int, ChunkPlace]:
    """Return the ids, documents and positions of chunks, by chunk row; missing chunks are left out."""
    tables = "chunks AS c CROSS JOIN documents AS d WHERE c.chunk = w.value AND d.document = c.document"
    results = lookup(connection, "c.chunk, c.id, c.document, d.id, d.title, c.ordinal", tables, chunks)
    return {row[0]: ChunkPlace(*row[1:]) for row in results}


def put(
    connection: Connection, nodes: Mapping[int, DocumentGraph], uses: NameCounts, known: Iterable[int] = ()
) -> None:
    """Store each given document's part of the graph; write only rows that differ from the stored rows.

    ``nodes`` maps the row of each document to its part of the graph. All chunks of the documents must be stored.
    ``known`` lists the documents of ``nodes`` that may already have a stored part. If chunks of such a document were
    deleted, the caller must have removed these chunks from the graph with :func:`remove`.

    This function adds the changes of the names' counts to ``uses``. The caller must write these changes with
    :func:`monograph.store.graph.names.use` in the same transaction.
    """
    new_parts = dict(nodes)
    for document in known:
        previous, node = stored(connection, document), nodes[document]
        _remove_chunks(connection, [row for row, part in previous.chunks.items() if node.chunks.get(row) != part], uses)
        removed = previous.subjects - node.subjects
        gone = ((name, document) for name, _, _ in removed)
        connection.executemany("DELETE FROM subjects WHERE name = ? AND document = ?", gone)
        uses.uses.subtract(name for name, _, _ in removed)
        unstated = ((*pair, document) for pair in previous.aliases - node.aliases)
        connection.executemany("DELETE FROM aliases WHERE name = ? AND full = ? AND document = ?", unstated)
        changed = {row: part for row, part in node.chunks.items() if previous.chunks.get(row) != part}
        new_parts[document] = DocumentGraph(changed, node.subjects - previous.subjects, node.aliases - previous.aliases)
    parts = [(chunk, document, *part) for document, node in new_parts.items() for chunk, part in node.chunks.items()]
    connection.executemany(
        "INSERT INTO chunk_graphs (chunk, document, words, names, links) VALUES (?, ?, ?, ?, ?)", parts
    )
    mentions = []
    for chunk, _, _, packed, _ in parts:
        names, persons = _unpack_names(packed)
        uses.uses.update(names)
        uses.persons.update(persons)
        mentions += [(name, chunk) for name in names]
    connection.executemany("INSERT INTO mentions (name, chunk) VALUES (?, ?)", sorted(mentions))
    subjects = [(document, *subject) for document, node in new_parts.items() for subject in node.subjects]
    connection.executemany("INSERT INTO subjects (document, name, by_title, qualifier) VALUES (?, ?, ?, ?)", subjects)
    uses.uses.update(name for _, name, _, _ in subjects)
    aliases = [(document, *pair) for document, node in new_parts.items() for pair in node.aliases]
    connection.executemany("INSERT INTO aliases (document, name, full) VALUES (?, ?, ?)", aliases)


def remove(connection: Connection, chunks: Sequence[int], documents: Sequence[int], uses: NameCounts) -> None:
    """Delete chunks and their extractions from the graph; delete the subjects and aliases of documents.

    This function adds the changes of the names' counts to ``uses``. The caller must write these changes with
    :func:`monograph.store.graph.names.use` in the same transaction.
    """
    _remove_chunks(connection, chunks, uses)
    connection.executemany("DELETE FROM extractions WHERE chunk = ?", ((chunk,) for chunk in chunks))
    for document in documents:
        uses.uses.subtract(column(connection, "DELETE FROM subjects WHERE document = ? RETURNING name", document))
        connection.execute("DELETE FROM aliases WHERE document = ?", (document,))


def _remove_chunks(connection: Connection, chunks: Sequence[int], uses: NameCounts) -> None:
    mentions = []
    for chunk, packed in select(connection, "SELECT chunk, names FROM chunk_graphs WHERE chunk IN", chunks):
        names, persons = _unpack_names(packed)
        uses.uses.subtract(names)
        uses.persons.subtract(persons)
        mentions += [(name, chunk) for name in names]
    connection.executemany("DELETE FROM mentions WHERE name = ? AND chunk = ?", sorted(mentions))
    connection.executemany("DELETE FROM chunk_graphs WHERE chunk = ?", ((chunk,) for chunk in chunks))


def pack_named(records: Iterable[tuple[int, int, int, int]]) -> bytes:
    """Pack records (name row, first sentence, second sentence, kind) as bytes of NAMED."""
    return b"".join([_NAMED_STRUCT.pack(*record) for record in records])


def _unpack_names(packed: bytes) -> tuple[set[int], list[int]]:
    """Return (rows of all names, rows of the names that are a person's) from the NAMED records of a chunk."""
    records = list(_NAMED_STRUCT.iter_unpack(packed))
    return {record[0] for record in records}, [name for name, _, _, kind in records if kind == _PERSON]


def clear(connection: Connection) -> None:
    """Delete the graph and the heads of names; keep the extractions, the names and the signs of their embeddings."""
    for table in ("chunk_graphs", "mentions", "subjects", "aliases"):
        connection.execute(f"DELETE FROM {table}")  # noqa: S608 - constants
    connection.execute("UPDATE names SET uses = 0, persons = 0, head = NULL, reason = NULL")


def embedded_keys(connection: Connection) -> list[str]:
    """Return the keys, in order, of the names in use that get an embedding.

    A name gets one if its kind in some chunk is in EMBEDDED_KINDS, or if a document is about it. In both cases its key
    must have a letter: see :func:`is_embedded`.
    """
    rows = set(column(connection, "SELECT DISTINCT name FROM subjects"))
    for (packed,) in connection.execute("SELECT names FROM chunk_graphs"):
        # An incomplete record at the end is skipped here; the check of the file reports it.
        records = np.frombuffer(packed, dtype=NAMED, count=len(packed) // NAMED.itemsize)
        rows.update(records["name"][np.isin(records["kind"], _EMBEDDED)].tolist())
    tables = "names AS n WHERE n.name = w.value AND n.uses > 0 ORDER BY n.key"
    return [key for (key,) in lookup(connection, "n.key", tables, sorted(rows)) if is_embedded(key)]


def is_embedded(key: str) -> bool:
    """Return whether a key has a letter. Names that have only numbers and signs get no embedding."""
    return key[:1].isalpha() or any(letter.isalpha() for letter in key)
