"""Rows of ``chunks``, and with them their rows in the inverted index and their vectors."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeAlias

from monograph.dates.dating import Dated
from monograph.store.documents import documents
from monograph.store.documents.filters import MERGED, Allowed
from monograph.store.file.database import Connection
from monograph.store.file.errors import damaged, decoding, path_of
from monograph.store.file.rows import loaded_object, select
from monograph.store.graph import graphs
from monograph.values import Chunk, Metadata, Valid


@dataclass(frozen=True, slots=True)
class LoadedChunk:
    """A chunk as it is read back: with its row number, and the title, uri and merged metadata of its document."""

    row: int
    chunk: Chunk
    title: str
    uri: str
    metadata: Metadata
    date: Dated | None = None
    valid: Valid | None = None


Columns: TypeAlias = tuple[str, int, int, int, int, str, str | None]
"""id, document, ordinal, start, end, metadata, merged."""


def columns(document: int, metadata: Metadata, chunk: Chunk) -> Columns:
    """Return the columns of a chunk, from the row and the metadata of its document."""
    own = json.dumps(chunk.metadata, ensure_ascii=False) if chunk.metadata else "{}"
    merged = merged_metadata(metadata, chunk.metadata)
    return chunk.id, document, chunk.ordinal, chunk.start, chunk.end, own, merged


def merged_metadata(document: Metadata, own: Metadata) -> str | None:
    """Return the metadata of a document with a chunk's laid over it, as JSON; None where that is one of the two."""
    return None if document.keys() <= own.keys() or not own else json.dumps({**document, **own}, ensure_ascii=False)


def add(connection: Connection, new: Iterable[tuple[int, Columns]]) -> None:
    """Store chunks whose ids are not there: (row, columns)."""
    connection.executemany(
        """INSERT INTO chunks (chunk, id, document, ordinal, start, "end", metadata, merged)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?)""",
        ((row, *values) for row, values in new),
    )


def update(connection: Connection, kept: Iterable[tuple[int, Columns]]) -> None:
    """Store other places and metadata of chunks that are there: (row, columns)."""
    connection.executemany(
        """UPDATE chunks SET ordinal = ?2, start = ?3, "end" = ?4, metadata = ?5, merged = ?6
        WHERE chunk = ?1 AND (ordinal, start, "end", metadata, merged) IS NOT (?2, ?3, ?4, ?5, ?6)""",
        ((row, *values[2:]) for row, values in kept),
    )


def remove(connection: Connection, rows: Sequence[int]) -> None:
    """Take out chunks, and which vectors are theirs; the inverted index and the graph no longer hold them."""
    connection.executemany("DELETE FROM vectors WHERE chunk = ?", ((row,) for row in rows))
    connection.executemany("DELETE FROM chunks WHERE chunk = ?", ((row,) for row in rows))


_AT_ONCE = 256
"""Chunks that are read by one query."""
_COLUMNS = f"""c.id, c.ordinal, c.metadata, {MERGED}, d.id, d.title, d.uri,
    d.dated, d.dated_until, d.dated_by, d.valid_from, d.valid_until"""


def load(connection: Connection, rows: Iterable[int]) -> list[LoadedChunk]:
    """Return chunks by row number, in the order asked for.

    Raises
    ------
    DamagedFile
        If one cannot be decoded, is not there, or reaches beyond its document's text.
    """
    return [_found(connection, *one, strict=True) for one in _read(connection, _COLUMNS, rows)]


def of_document(connection: Connection, document: int, *, strict: bool = False) -> list[LoadedChunk]:
    """Return the chunks of a document in reading order.

    Raises DamagedFile if one cannot be decoded; with ``strict`` also if it reaches beyond the document's text.
    """
    rows = rows_of_document(connection, document)
    return [_found(connection, *one, strict=strict) for one in _read(connection, _COLUMNS, rows)]


def titled_texts(connection: Connection, rows: Iterable[int]) -> list[tuple[str, str]]:
    """Return (title of the document, text) of chunks by row number, in the order asked for. Raises DamagedFile."""
    return [(title, text) for (*_, title), text in _read(connection, "d.title", rows)]


def named_texts(connection: Connection, rows: Iterable[int]) -> list[tuple[str, str, bytes, str]]:
    """Return (title, text) of chunks as :func:`titled_texts`, and what :func:`graphs.named_and_own` gives of them."""
    columns = f"d.title, {graphs.NAMES}, {graphs.OWN}"
    return [(title, text, names, own) for (*_, title, names, own), text in _read(connection, columns, rows)]


def _read(connection: Connection, columns: str, rows: Iterable[int]) -> Iterator[tuple[tuple[Any, ...], str]]:
    """Yield ((chunk, document, start, end, further columns), text) of chunks in the order asked for."""
    waiting = iter(rows)
    while some := list(islice(waiting, _AT_ONCE)):
        with decoding(connection, "a chunk"):
            found = {
                row[0]: row
                for row in connection.execute(
                    f"""SELECT c.chunk, c.document, c.start, c."end", {columns} FROM json_each(?) AS w
                    CROSS JOIN chunks AS c JOIN documents AS d USING (document) WHERE c.chunk = w.value""",  # noqa: S608
                    (json.dumps(some),),
                )
            }
        missing = next((row for row in some if row not in found), None)
        if missing is not None:
            raise damaged(path_of(connection), f"row {missing} of chunks, or its document, is not there")
        listed = [found[row] for row in some]
        yield from zip(listed, documents.texts(connection, [row[1:4] for row in listed]), strict=True)


def _found(connection: Connection, row: tuple[Any, ...], text: str, *, strict: bool) -> LoadedChunk:
    number, _, start, end, name, ordinal, metadata, merged, document, title, uri, *when = row
    with decoding(connection, f"row {number} of chunks"):
        if strict and not (0 <= start < end and len(text) == end - start):
            raise ValueError(f"it reaches from {start} to {end}, beyond its document's text")
        chunk = Chunk(name, document, text, start, end, ordinal, loaded_object(metadata))
        date, valid = documents.loaded_date(*when[:3]), documents.loaded_valid(*when[3:])
        return LoadedChunk(number, chunk, title, uri, loaded_object(merged), date, valid)


def rows_of(connection: Connection, ids: Iterable[str]) -> dict[str, int]:
    """Return the row numbers of the chunks that exist, by id, in the order asked for."""
    found = connection.execute(
        "SELECT c.id, c.chunk FROM json_each(?) AS w CROSS JOIN chunks AS c WHERE c.id = w.value",
        (json.dumps(list(ids)),),
    ).fetchall()
    return dict(found)


def ids(connection: Connection, rows: Iterable[int]) -> dict[int, str]:
    """Return the ids of chunks, by row."""
    found = connection.execute(
        "SELECT c.chunk, c.id FROM json_each(?) AS w CROSS JOIN chunks AS c WHERE c.chunk = w.value",
        (json.dumps(list(rows)),),
    ).fetchall()
    return dict(found)


def titled_extractions(connection: Connection, rows: Iterable[int]) -> dict[int, tuple[int, str]]:
    """Return (memo row of the extraction, title) by chunk row: the same for chunks of one title and text."""
    found = connection.execute(
        """SELECT e.chunk, e.memo, d.title FROM json_each(?) AS w CROSS JOIN extractions AS e
        JOIN chunks AS c ON c.chunk = e.chunk JOIN documents AS d ON d.document = c.document WHERE e.chunk = w.value""",
        (json.dumps(list(rows)),),
    ).fetchall()
    return {chunk: (memo, title) for chunk, memo, title in found}


def owners(connection: Connection, ids: Iterable[str]) -> dict[str, str]:
    """Return the ids of the documents of chunks by the ids of the chunks, for the chunks that exist."""
    query = "SELECT c.id, d.id FROM chunks AS c JOIN documents AS d USING (document) WHERE c.id IN"
    return dict(select(connection, query, list(ids)))


def asked(connection: Connection, ids: Sequence[str] | None, allowed: Allowed) -> list[int]:
    """Return the row numbers of the chunks that are allowed.

    Those of some ids come in their order, each once, and ids that are not there are passed over; without ids, all in
    reading order, document by document.
    """
    if ids is None:
        query = f"SELECT chunk FROM chunks WHERE {allowed.on('chunk')} ORDER BY document, ordinal"  # noqa: S608
        return [int(row) for (row,) in connection.execute(query, allowed.parameters)]
    found = dict(
        connection.execute(
            f"""SELECT own.id, own.chunk FROM json_each(?) AS asked CROSS JOIN chunks AS own
            WHERE own.id = asked.value AND {allowed.on_each("own.chunk")}""",  # noqa: S608
            (json.dumps(list(ids)), *allowed.parameters),
        )
    )
    return [found[name] for name in dict.fromkeys(ids) if name in found]


def by_document(connection: Connection, rows: Sequence[int]) -> dict[str, set[str]]:
    """Return the ids of chunks by the id of their document."""
    found: dict[str, set[str]] = {}
    for document, name in connection.execute(
        """SELECT d.id, c.id FROM json_each(?) AS asked CROSS JOIN chunks AS c JOIN documents AS d USING (document)
        WHERE c.chunk = asked.value""",
        (json.dumps(list(rows)),),
    ):
        found.setdefault(document, set()).add(name)
    return found


def spans_of(connection: Connection, document: int) -> list[tuple[int, int, int]]:
    """Return (row, start, end) of the chunks of a document, in reading order."""
    return connection.execute(
        'SELECT chunk, start, "end" FROM chunks WHERE document = ? ORDER BY ordinal', (document,)
    ).fetchall()


def named_spans(connection: Connection, document: int) -> dict[str, tuple[int, int, int]]:
    """Return (row, start, end) of the chunks of a document, by id."""
    found = connection.execute('SELECT id, chunk, start, "end" FROM chunks WHERE document = ?', (document,)).fetchall()
    return {name: (row, start, end) for name, row, start, end in found}


def rows_of_document(connection: Connection, document: int) -> list[int]:
    """Return the row numbers of a document's chunks, in reading order."""
    found = connection.execute("SELECT chunk FROM chunks WHERE document = ? ORDER BY ordinal", (document,)).fetchall()
    return [int(row) for (row,) in found]


def ids_of_document(connection: Connection, document: int) -> set[str]:
    """Return the ids of the chunks that a document has now."""
    return {name for (name,) in connection.execute("SELECT id FROM chunks WHERE document = ?", (document,))}


def count(connection: Connection) -> int:
    """Number of chunks."""
    (number,) = connection.execute("SELECT count(*) FROM chunks").fetchone()
    return int(number)


def of_which_documents(connection: Connection, allowed: Allowed, most: int) -> list[int]:
    """Return the row numbers of at most ``most`` documents with an allowed chunk, ascending."""
    query = f"SELECT DISTINCT document FROM chunks WHERE {allowed.on('chunk')} ORDER BY document LIMIT {most:d}"  # noqa: S608
    return [row for (row,) in connection.execute(query, allowed.parameters)]


def openings(connection: Connection, documents: Sequence[int], allowed: Allowed, most: int) -> list[int]:
    """Return at most ``most`` allowed chunks of documents in order of id: the first of each, then the second."""
    found = connection.execute(
        f"""SELECT own.chunk FROM json_each(?) AS w
        CROSS JOIN documents AS d ON d.document = w.value CROSS JOIN chunks AS own ON own.document = d.document
        WHERE {allowed.on_each("own.chunk")} ORDER BY own.ordinal, d.id LIMIT ?""",  # noqa: S608
        (json.dumps(list(documents)), *allowed.parameters, most),
    ).fetchall()
    return [row for (row,) in found]
