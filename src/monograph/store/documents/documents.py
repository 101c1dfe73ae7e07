"""Tables ``documents`` and ``texts``; a row of ``texts`` is a block, a part of a document's text."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from monograph.dates.span import DATE_SOURCES, FILE, FIRST, LAST, Dated, TimeSpan, date_of
from monograph.store.file.checksums import Value, checksum
from monograph.store.file.database import Connection
from monograph.store.file.errors import decoding
from monograph.store.file.rows import column, integer, loaded_object, scalar
from monograph.store.file.schema import BLOCK_BITS, MOST_DOCUMENTS
from monograph.values import Document, Metadata, Section, Valid

BLOCK_CHARACTERS = 4096
"""Number of characters in a block of text. A block fits one page of the database if a character takes at most 3 bytes.
A chunk usually overlaps one or two blocks."""

LONGEST_TEXT = BLOCK_CHARACTERS << BLOCK_BITS
"""Maximum number of characters of a text. A document has too few block numbers for a longer text."""

Dates: TypeAlias = tuple[int | None, int | None, int | None]
"""Columns of a document's date: (dated, dated_until, dated_by), all None if the document has no date. ``dated`` and
``dated_until`` are the first and the last second of the date, since 1970. ``dated_by`` is the position of the date's
source in DATE_SOURCES."""
Columns: TypeAlias = tuple[
    int, str, str, str, str, str, bytes, int, int | None, int | None, int | None, int | None, int | None
]
"""Stored columns of a document: document, id, uri, title, metadata, sections, sha256, characters, source, dated,
dated_until, dated_by, valid_from. See :func:`columns`."""
BY_FILE = DATE_SOURCES.index(FILE)
DATED_BY_CONTENT = f"d.dated_by != {BY_FILE:d}"
"""SQL condition: the document ``d`` has a date from its metadata, title or text, not from its file's mtime."""
SEALED = """CAST(id AS BLOB), CAST(uri AS BLOB), CAST(title AS BLOB), CAST(metadata AS BLOB), CAST(sections AS BLOB),
    sha256, characters"""
"""Columns of the tables ``documents`` and ``versions`` (previous versions) that :func:`content_checksum` covers. The
checksum also covers the text and the chunks."""
SEALED_CHUNK = """CAST(c.id AS BLOB), c.ordinal, c.start, c."end", CAST(c.metadata AS BLOB),
    CASE WHEN m.key = given_vector_key(m.value) THEN m.key END"""
"""Columns of each chunk that :func:`content_checksum` covers. ``c`` is the chunk, ``m`` the memo row of its vector.

The last column is the memo key of the vector if the caller supplied the vector, else NULL. A vector that is derived
from the text is not content, because it can be derived again."""
_BLOCKS_QUERY = "SELECT CAST(text AS BLOB) FROM texts WHERE block BETWEEN ? AND ? ORDER BY block"
"""Query for the blocks of a text. They are read as bytes, because a damaged block may be no UTF-8."""


@dataclass(frozen=True, slots=True)
class DocumentRow:
    """Row of a document, without its text. ``sha256`` is the hash of all inputs that the document was made from."""

    row: int
    id: str
    source: int | None
    uri: str
    title: str
    sha256: bytes
    characters: int
    date: Dated | None = None
    valid: Valid | None = None


_COLUMNS = "document, id, source, uri, title, sha256, characters, dated, dated_until, dated_by, valid_from, valid_until"


def find(connection: Connection, document_id: str) -> DocumentRow | None:
    """Return the document with an id; None if the file has none."""
    return next(iter(_load_rows(connection, "WHERE id = ?", document_id)), None)


def of_ids(connection: Connection, ids: Sequence[str]) -> dict[str, DocumentRow]:
    """Return the documents with the given ids, by id; unknown ids are left out."""
    clause = "WHERE id IN (SELECT value FROM json_each(?))"
    return {row.id: row for row in _load_rows(connection, clause, json.dumps(list(ids), ensure_ascii=False))}


def by_uri(connection: Connection, uri: str) -> list[DocumentRow]:
    """Return the documents with a uri, in order of id."""
    return _load_rows(connection, "WHERE uri = ? ORDER BY id", uri)


def of_source(connection: Connection, source: int) -> list[DocumentRow]:
    """Return the documents that were read from a file, in order of id; ``source`` is the row of the file."""
    return _load_rows(connection, "WHERE source = ? ORDER BY id", source)


def begun_after(connection: Connection, second: int) -> list[DocumentRow]:
    """Return the documents whose present version began after ``second``, a time in seconds since 1970.

    If the file keeps no previous versions, the list is empty.
    """
    return _load_rows(connection, "WHERE valid_from > ? ORDER BY document", second)


def count(connection: Connection) -> int:
    """Return the number of documents."""
    return integer(connection, "SELECT count(*) FROM documents")


def listed(connection: Connection, start: int = 0, limit: int = -1) -> list[DocumentRow]:
    """Return at most ``limit`` documents (-1: all), from position ``start`` on, in order of uri, then of id."""
    # SQLite takes the order from the index of uris, and reads no rows before the first that is returned.
    clause = "WHERE document IN (SELECT document FROM documents ORDER BY uri, id LIMIT ? OFFSET ?) ORDER BY uri, id"
    return _load_rows(connection, clause, limit, start)


def numbers(connection: Connection) -> list[int]:
    """Return the row numbers of all documents, ascending."""
    return column(connection, "SELECT document FROM documents ORDER BY document")


def by_number(connection: Connection, row: int) -> DocumentRow:
    """Return the document with a row number, which must exist."""
    return _load_rows(connection, "WHERE document = ?", row)[0]


def _load_rows(connection: Connection, clause: str, *parameters: str | int) -> list[DocumentRow]:
    query = f"SELECT {_COLUMNS} FROM documents {clause}"  # noqa: S608 - constants
    return [DocumentRow(*(*row[:-5], *loaded_times(*row[-5:]))) for row in connection.execute(query, parameters)]


def date_columns(metadata: Iterable[Metadata], title: str, text: str) -> Dates:
    """Return the date of a document as columns; all are None if it has no date.

    ``metadata`` are the metadata of the document, followed by the metadata of its chunks. If they contain no date, the
    date is taken from the title or the text: see :func:`monograph.dates.span.date_of`.
    """
    dated = date_of(metadata, title, text)
    return (
        (None, None, None) if dated is None else (dated.when.first, dated.when.last, DATE_SOURCES.index(dated.source))
    )


def loaded_span(first: Any, last: Any) -> TimeSpan | None:
    """Return the time span from a stored first second to a stored last second, both since 1970.

    Returns None if a value is no valid second, or if the last second is before the first.
    """
    if not (isinstance(first, int) and isinstance(last, int) and FIRST <= first <= last <= LAST):
        return None
    return TimeSpan(first, last)


def loaded_times(first: Any, last: Any, dated_by: Any, since: Any, until: Any) -> tuple[Dated | None, Valid | None]:
    """Return (date, validity) of a document; each is None if its columns are missing or invalid.

    The columns are dated, dated_until and dated_by, then valid_from and valid_until.
    """
    when = None if first is None else loaded_span(first, last)
    date = Dated(when, DATE_SOURCES[dated_by]) if when is not None and dated_by in range(len(DATE_SOURCES)) else None
    if not isinstance(since, int) or not FIRST <= since <= LAST:
        return date, None
    if until is not None and not (isinstance(until, int) and since < until <= LAST):
        return date, None
    return date, Valid(since, until)


def newest(connection: Connection) -> int | None:
    """Return the latest end of a document's date, in seconds since 1970; None if no document has a date.

    A date that is only the mtime of the document's file does not count.
    """
    last = scalar(connection, f"SELECT max(d.dated_until) FROM documents AS d WHERE {DATED_BY_CONTENT}")  # noqa: S608
    return last if isinstance(last, int) and FIRST <= last <= LAST else None


def name_of(connection: Connection, row: int) -> str:
    """Return the id of a document, for messages.

    Bytes that are no UTF-8 are replaced. If the document is missing, return ``row N``.
    """
    name = scalar(connection, "SELECT CAST(id AS BLOB) FROM documents WHERE document = ?", row)
    return f"row {row}" if name is None else bytes(name).decode("utf-8", "replace")


def columns(row: int, document: Document, sha256: bytes, source: int | None, since: int | None = None) -> Columns:
    """Return the columns under which a document is stored.

    ``row`` is the row number of the document. ``source`` is the row number of the file that the document was read from;
    None if it was not read from a file. ``since`` (valid_from) is the second, since 1970, in which this version of
    the document begins; None if the .mono file keeps no previous versions.
    """
    metadata = (document.metadata, *(passage.metadata for passage in document.passages))
    return (
        row,
        document.id,
        document.uri,
        document.title,
        json.dumps(document.metadata, ensure_ascii=False),
        json.dumps([[section.start, *section.path] for section in document.sections], ensure_ascii=False),
        sha256,
        len(document.text),
        source,
        *date_columns(metadata, document.title, document.text),
        since,
    )


def put(connection: Connection, new: Sequence[tuple[Columns, int, str]]) -> None:
    """Store documents without their chunks: insert new documents, update known ones.

    Each document is (columns, content checksum, text).
    """
    connection.executemany(
        """INSERT INTO documents (document, id, uri, title, metadata, sections, sha256, characters, source, dated,
            dated_until, dated_by, valid_from, checksum, dates_checksum)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, checksum(?13, ?10, ?11, ?12))
        ON CONFLICT (document) DO UPDATE SET (uri, title, metadata, sections, sha256, characters, source, dated,
            dated_until, dated_by, valid_from, checksum, dates_checksum) = (?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12,
            ?13, ?14, excluded.dates_checksum)""",
        ((*values, seal) for values, seal, _ in new),
    )
    size, blocks = BLOCK_CHARACTERS, list[tuple[int, str]]()
    for (row, *_), _, text in new:
        first, last = blocks_of(row)
        blocks += [
            (first + position // size, text[position : position + size])
            for position in range(0, max(len(text), 1), size)
        ]
        connection.execute("DELETE FROM texts WHERE block > ? AND block <= ?", (blocks[-1][0], last))
    # An unchanged block is not written again: an edit in a long document writes a few pages.
    connection.executemany(
        """INSERT INTO texts VALUES (?, ?) ON CONFLICT (block) DO UPDATE SET text = excluded.text
        WHERE text IS NOT excluded.text""",
        blocks,
    )


def blocks_of(row: int) -> tuple[int, int]:
    """Return the first and the last block number that are reserved for a document's text.

    For a row number that no document can have, as in a damaged file, return numbers that no block has.
    """
    if not 0 <= row < MOST_DOCUMENTS:
        row = -1
    return row << BLOCK_BITS, (row + 1 << BLOCK_BITS) - 1


def text(connection: Connection, row: int, start: int, end: int) -> str:
    """Return ``document.text[start:end]``.

    Only the blocks with this part are read. Raises DamagedFile if a block cannot be decoded.
    """
    return texts(connection, [(row, start, end)])[0]


def texts(connection: Connection, spans: Sequence[tuple[int, int, int]]) -> list[str]:
    """Return ``document.text[start:end]`` for each (document row, start, end), by one query.

    Raises DamagedFile if a block cannot be decoded.
    """
    within = [
        (blocks_of(row)[0], min(max(start, 0), LONGEST_TEXT - 1), min(end, LONGEST_TEXT)) for row, start, end in spans
    ]
    size, blocks = BLOCK_CHARACTERS, [list[str]() for _ in spans]
    ranges = [[first + start // size, first + max(start, end - 1) // size] for first, start, end in within]
    with decoding(connection, "a text"):
        # Ranges are visited in their order, and in each the blocks by ascending row.
        for index, block in connection.execute(
            """SELECT w.key, t.text FROM json_each(?) AS w CROSS JOIN texts AS t
            WHERE t.block BETWEEN json_extract(w.value, '$[0]') AND json_extract(w.value, '$[1]')""",
            (str(ranges),),
        ):
            blocks[index].append(block)
    return [
        "".join(parts)[start % size : max(start % size + end - start, 0)]
        for parts, (_, start, end) in zip(blocks, within, strict=True)
    ]


def titled(connection: Connection, row: int) -> tuple[str, str]:
    """Return (title, text) of a document. Bytes that are no UTF-8 are replaced."""
    (title,) = column(connection, "SELECT CAST(title AS BLOB) FROM documents WHERE document = ?", row)
    blocks = column(connection, _BLOCKS_QUERY, *blocks_of(row))
    return title.decode("utf-8", "replace"), "".join(block.decode("utf-8", "replace") for block in blocks)


def load(connection: Connection, row: DocumentRow) -> Document:
    """Return a document with its text and sections. Raises DamagedFile if a part of it cannot be read."""
    with decoding(connection, f"row {row.row} of documents"):
        metadata, sections = connection.execute(
            "SELECT metadata, sections FROM documents WHERE document = ?", (row.row,)
        ).fetchone()
        return made_of(row, text(connection, row.row, 0, row.characters), metadata, sections)


def made_of(row: DocumentRow, text: str, metadata: str, sections: str) -> Document:
    """Return a document made from its row, text, and JSON columns.

    Raises one of :data:`monograph.store.file.errors.UNDECODABLE` if the columns cannot be decoded.
    """
    if len(text) != row.characters:
        raise ValueError(f"its text has {len(text):,} instead of {row.characters:,} characters")
    return Document(
        text=text,
        id=row.id,
        title=row.title,
        uri=row.uri,
        metadata=loaded_object(metadata),
        sections=loaded_sections(sections),
        date=row.date,
        valid=row.valid,
    )


def loaded_sections(text: str) -> tuple[Section, ...]:
    """Return sections from their stored JSON.

    Raises one of :data:`monograph.store.file.errors.UNDECODABLE` if they cannot be decoded.
    """
    return tuple(Section(int(start), tuple(map(str, path))) for start, *path in json.loads(text))


def remove(connection: Connection, rows: Sequence[int]) -> None:
    """Delete documents by row number. Their chunks must have been deleted before."""
    connection.executemany("DELETE FROM texts WHERE block BETWEEN ? AND ?", map(blocks_of, rows))
    connection.executemany("DELETE FROM documents WHERE document = ?", ((row,) for row in rows))


def names(connection: Connection) -> list[tuple[int, str, str]]:
    """Return (row number, title, uri) of all documents, in order of row number."""
    return connection.execute("SELECT document, title, uri FROM documents ORDER BY document").fetchall()


def content_checksum(own: Iterable[Value], text: str | bytes, chunks: Iterable[Iterable[Value]]) -> int:
    """Return the checksum of a document's content, from its columns, its text and its chunks.

    The checksum covers only the content: it stays the same if the document moves to another source file or becomes a
    previous version.

    ``own`` are the document's id, uri, title, metadata, sections, sha256 and number of characters. ``chunks`` are the
    chunks in reading order: (id, ordinal, start, end, metadata, memo key). The memo key is the key of the chunk's
    vector if the caller supplied the vector, else None.
    """
    crc = checksum(*own, text)
    for row in chunks:
        crc = checksum(crc, *row)
    return crc


def stored_checksum(connection: Connection, row: int) -> int:
    """Compute the content checksum of a document from its stored rows. Damaged texts raise no error."""
    query = f"SELECT {SEALED} FROM documents WHERE document = ?"  # noqa: S608 - a constant
    (values,) = connection.execute(query, (row,)).fetchall()
    text = b"".join(column(connection, _BLOCKS_QUERY, *blocks_of(row)))
    chunks_query = f"""SELECT {SEALED_CHUNK}
        FROM chunks AS c LEFT JOIN vectors AS v USING (chunk) LEFT JOIN memo AS m USING (memo)
        WHERE c.document = ? ORDER BY c.ordinal, c.chunk"""  # noqa: S608 - a constant
    return content_checksum(values, text, connection.execute(chunks_query, (row,)).fetchall())


def seal(connection: Connection, row: int) -> None:
    """Store the content checksum of a document. All of its content must be stored already."""
    connection.execute("UPDATE documents SET checksum = ? WHERE document = ?", (stored_checksum(connection, row), row))


def is_sound(connection: Connection, row: int) -> bool:
    """Return whether the content of a document matches its stored checksum."""
    stored = scalar(connection, "SELECT checksum FROM documents WHERE document = ?", row)
    return bool(stored == stored_checksum(connection, row))


def undamaged_with_given_vectors(connection: Connection) -> list[int]:
    """Return the rows of the undamaged documents that have vectors supplied by the caller, ascending."""
    query = """SELECT DISTINCT document FROM chunks JOIN vectors USING (chunk) JOIN memo USING (memo)
        WHERE key = given_vector_key(value) ORDER BY document"""
    return [row for row in column(connection, query) if is_sound(connection, row)]
