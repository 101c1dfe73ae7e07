"""Rows of ``chunks``: stored, deleted, and loaded with their texts and with values of their documents."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeAlias

from monograph.dates.span import Dated
from monograph.store.documents import documents
from monograph.store.documents.filters import EVERYTHING, MERGED, CompiledFilter
from monograph.store.file.database import Connection
from monograph.store.file.errors import damaged, decoding, path_of
from monograph.store.file.rows import column, loaded_object, lookup
from monograph.values import Chunk, Metadata, Valid


@dataclass(frozen=True, slots=True)
class LoadedChunk:
    """Stored chunk with its row number and with values of its document.

    ``metadata`` are the document's metadata updated with the chunk's metadata. ``title``, ``uri``, ``date`` and
    ``valid`` belong to the document.
    """

    row: int
    chunk: Chunk
    title: str
    uri: str
    metadata: Metadata
    date: Dated | None = None
    valid: Valid | None = None


Columns: TypeAlias = tuple[str, int, int, int, int, str, str | None]
"""Stored columns of a chunk: id, document (a row number), ordinal, start, end, metadata, merged.

``merged`` is the value of :func:`merged_metadata`."""


def columns(document: int, metadata: Metadata, chunk: Chunk) -> Columns:
    """Return the columns under which a chunk is stored.

    ``document`` is the row number of the chunk's document, ``metadata`` the metadata of the document.
    """
    own_metadata = json.dumps(chunk.metadata, ensure_ascii=False) if chunk.metadata else "{}"
    merged = merged_metadata(metadata, chunk.metadata)
    return chunk.id, document, chunk.ordinal, chunk.start, chunk.end, own_metadata, merged


def merged_metadata(document: Metadata, own: Metadata) -> str | None:
    """Return the metadata of a document updated with the metadata of its chunk, as JSON.

    ``document`` is the document's metadata, ``own`` the chunk's. Returns None if the result equals ``document``
    or ``own``: it is not stored again.
    """
    return None if document.keys() <= own.keys() or not own else json.dumps({**document, **own}, ensure_ascii=False)


def put(connection: Connection, new: Iterable[tuple[int, Columns]]) -> None:
    """Insert new chunks, and update the positions and metadata of chunks that are stored already.

    ``new`` are pairs (row number of the chunk, columns).
    """
    connection.executemany(
        """INSERT INTO chunks (chunk, id, document, ordinal, start, "end", metadata, merged)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT (chunk) DO UPDATE
        SET (ordinal, start, "end", metadata, merged) = (?4, ?5, ?6, ?7, ?8)
        WHERE (ordinal, start, "end", metadata, merged) IS NOT (?4, ?5, ?6, ?7, ?8)""",
        ((row, *values) for row, values in new),
    )


def remove(connection: Connection, rows: Sequence[int]) -> None:
    """Delete chunks and their rows of ``vectors``.

    The chunks must have been removed from the inverted index and the graph before.
    """
    connection.executemany("DELETE FROM vectors WHERE chunk = ?", ((row,) for row in rows))
    connection.executemany("DELETE FROM chunks WHERE chunk = ?", ((row,) for row in rows))


_CHUNKS_PER_QUERY = 256
"""Number of chunks that one query reads."""
_COLUMNS = f"""c.id, c.ordinal, c.metadata, {MERGED}, d.id, d.title, d.uri,
    d.dated, d.dated_until, d.dated_by, d.valid_from, d.valid_until"""


def load(connection: Connection, rows: Iterable[int], *, strict: bool = True) -> list[LoadedChunk]:
    """Return chunks by row number, in the order of the given rows.

    Raises DamagedFile if a chunk is missing or cannot be decoded. With ``strict``, it is also raised if a chunk extends
    beyond the text of its document.
    """
    loaded, number = [], 0
    with decoding(connection, lambda: f"row {number} of chunks"):
        for row, text in _load_with_texts(connection, _COLUMNS, rows):
            number, _, start, end, name, ordinal, metadata, merged, document, title, uri, *times = row
            if strict and not (0 <= start < end and len(text) == end - start):
                raise ValueError(f"its span, {start} to {end}, is not within its document's text")
            chunk = Chunk(name, document, text, start, end, ordinal, loaded_object(metadata))
            dates = documents.loaded_times(*times)
            loaded.append(LoadedChunk(number, chunk, title, uri, loaded_object(merged), *dates))
    return loaded


def of_document(connection: Connection, document: int, *, strict: bool = False) -> list[LoadedChunk]:
    """Return the chunks of a document in reading order.

    Raises DamagedFile if a chunk cannot be decoded. With ``strict``, it is also raised if a chunk extends beyond the
    text of the document.
    """
    return load(connection, rows_of_document(connection, document), strict=strict)


def titled_texts(connection: Connection, rows: Iterable[int]) -> list[tuple[str, str]]:
    """Return (title of the document, text) of each chunk, in the order of the given rows.

    Raises DamagedFile if a chunk is missing or cannot be decoded.
    """
    return [(title, text) for (*_, title), text in _load_with_texts(connection, "d.title", rows)]


def named_texts(connection: Connection, rows: Iterable[int]) -> list[tuple[str, str, bytes, str, bytes]]:
    """Return (document title, text, names, subjects, extraction) of each chunk, in the order of the given rows.

    ``names`` are the names in the chunk, as the bytes of records of dtype :data:`monograph.store.graph.graphs.NAMED`.
    ``subjects`` are the names that the document is about: names in its title or at the beginning of its text. They are
    a JSON list of row numbers in the table ``names``. ``extraction`` is the packed extraction of a chunk in which a
    model found relations; it is empty for other chunks.
    """
    columns = """d.title, COALESCE((SELECT g.names FROM chunk_graphs AS g WHERE g.chunk = c.chunk), x''),
        (SELECT json_group_array(s.name) FROM subjects AS s WHERE s.document = c.document),
        COALESCE((SELECT m.value FROM chunk_graphs AS g, extractions AS e, memo AS m
            WHERE g.chunk = c.chunk AND length(g.links) > 0 AND e.chunk = c.chunk AND m.memo = e.memo), x'')"""
    return [(row[4], text, *row[5:]) for row, text in _load_with_texts(connection, columns, rows)]


def _load_with_texts(
    connection: Connection, columns: str, rows: Iterable[int]
) -> Iterator[tuple[tuple[Any, ...], str]]:
    """Yield ((chunk, document, start, end, further columns), text) of each chunk, in the order of the rows."""
    remaining = iter(rows)
    while batch := list(islice(remaining, _CHUNKS_PER_QUERY)):
        with decoding(connection, "a chunk"):
            columns_of_all = f'c.chunk, c.document, c.start, c."end", {columns}'
            tables = "chunks AS c JOIN documents AS d USING (document) WHERE c.chunk = w.value"
            by_row = {row[0]: row for row in lookup(connection, columns_of_all, tables, batch)}
        missing = next((row for row in batch if row not in by_row), None)
        if missing is not None:
            raise damaged(path_of(connection), f"row {missing} of chunks, or its document, is missing")
        ordered = [by_row[row] for row in batch]
        yield from zip(ordered, documents.texts(connection, [row[1:4] for row in ordered]), strict=True)


def ids(connection: Connection, rows: Iterable[int]) -> dict[int, str]:
    """Return the ids of chunks, by row number; missing chunks are left out."""
    return dict(lookup(connection, "c.chunk, c.id", "chunks AS c WHERE c.chunk = w.value", rows))


def first_by_id(connection: Connection, k: int, allowed: CompiledFilter) -> list[tuple[str, int]]:
    """Return (id, row) of the k allowed chunks whose ids come first, in order of id."""
    query = f"SELECT id, chunk FROM chunks AS own WHERE {allowed.on_each('own.chunk')} ORDER BY own.id LIMIT ?"  # noqa: S608
    return connection.execute(query, (*allowed.parameters, k)).fetchall()


def titled_extractions(connection: Connection, rows: Iterable[int]) -> dict[int, tuple[int, str]]:
    """Return (memo row of the extraction, document title) of each chunk, by chunk row.

    Two chunks with equal texts and equal document titles have equal pairs, because equal texts share one extraction.
    Chunks without an extraction are left out.
    """
    tables = """extractions AS e JOIN chunks AS c ON c.chunk = e.chunk JOIN documents AS d USING (document)
        WHERE e.chunk = w.value"""
    return {row: (memo, title) for row, memo, title in lookup(connection, "e.chunk, e.memo, d.title", tables, rows)}


def owners(connection: Connection, ids: Iterable[str]) -> dict[str, str]:
    """Return the id of each chunk's document, by chunk id; unknown ids are left out."""
    tables = "chunks AS c JOIN documents AS d USING (document) WHERE c.id = w.value"
    return dict(lookup(connection, "c.id, d.id", tables, ids))


def rows_of(connection: Connection, ids: Iterable[str] | None, allowed: CompiledFilter = EVERYTHING) -> dict[str, int]:
    """Return the rows of the allowed chunks with the given ids: {id: row}, in the order of the ids.

    Unknown ids are left out. If ``ids`` is None, return all allowed chunks in reading order, document by document.
    """
    if ids is None:
        query = f"SELECT id, chunk FROM chunks WHERE {allowed.on('chunk')} ORDER BY document, ordinal"  # noqa: S608
        return dict(connection.execute(query, allowed.parameters).fetchall())
    tables = f"chunks AS own WHERE own.id = w.value AND {allowed.on_each('own.chunk')}"
    return dict(lookup(connection, "own.id, own.chunk", tables, dict.fromkeys(ids), *allowed.parameters))


def spans_of(connection: Connection, document: int) -> list[tuple[int, int, int]]:
    """Return (row, start, end) of the chunks of a document, in reading order.

    Ids are not read, because they may be damaged.
    """
    query = 'SELECT chunk, start, "end" FROM chunks WHERE document = ? ORDER BY ordinal'
    return connection.execute(query, (document,)).fetchall()


def named_spans(connection: Connection, document: int) -> dict[str, tuple[int, int, int]]:
    """Return (row, start, end) of the chunks of a document, by id."""
    query = 'SELECT id, chunk, start, "end" FROM chunks WHERE document = ?'
    return {name: (row, start, end) for name, row, start, end in connection.execute(query, (document,)).fetchall()}


def rows_of_document(connection: Connection, document: int) -> list[int]:
    """Return the row numbers of a document's chunks, in reading order."""
    return column(connection, "SELECT chunk FROM chunks WHERE document = ? ORDER BY ordinal", document)


def of_which_documents(connection: Connection, allowed: CompiledFilter, most: int) -> list[int]:
    """Return the rows of at most ``most`` documents that have an allowed chunk, ascending."""
    query = f"SELECT DISTINCT document FROM chunks WHERE {allowed.on('chunk')} ORDER BY document LIMIT {most:d}"  # noqa: S608
    return column(connection, query, *allowed.parameters)


def openings(connection: Connection, documents: Sequence[int], allowed: CompiledFilter, most: int) -> list[int]:
    """Return the rows of at most ``most`` allowed chunks of the given documents, in order of position.

    The position of a chunk counts the chunks before it in its document. So the first chunks of all documents come
    before the second chunks. Chunks with equal positions are in order of their documents' ids.
    """
    tables = f"""documents AS d ON d.document = w.value CROSS JOIN chunks AS own ON own.document = d.document
        WHERE {allowed.on_each("own.chunk")} ORDER BY own.ordinal, d.id LIMIT ?"""
    return [row for (row,) in lookup(connection, "own.chunk", tables, documents, *allowed.parameters, most)]
