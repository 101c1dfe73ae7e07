"""Rows of ``documents`` and ``texts``: sources' texts, and where they came from."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from monograph.errors import InvalidDocument
from monograph.store import graphs
from monograph.store.database import Connection
from monograph.store.places import owner_of
from monograph.store.roots import every as every_root
from monograph.values import Document, Section

BLOCK_CHARACTERS = 4096
"""A text is cut into blocks of this many characters: a row of them fits a page, and a chunk is read from one or two."""

_BLOCK_BITS = 24
_MOST_BLOCKS = 1 << _BLOCK_BITS


@dataclass(frozen=True, slots=True)
class Row:
    """A document's row, without its text. ``sha256`` is the hash of all that the document is made of."""

    row: int
    id: str
    source: int | None
    uri: str
    title: str
    sha256: bytes
    characters: int


_COLUMNS = "document, id, source, uri, title, sha256, characters"


def find(connection: Connection, document_id: str) -> Row | None:
    """A document by its id."""
    found = connection.execute(f"SELECT {_COLUMNS} FROM documents WHERE id = ?", (document_id,)).fetchone()  # noqa: S608
    return None if found is None else Row(*found)


def by_uri(connection: Connection, uri: str) -> list[Row]:
    """The documents that came from a uri, in order of id."""
    query = f"SELECT {_COLUMNS} FROM documents WHERE uri = ? ORDER BY id"  # noqa: S608
    return [Row(*found) for found in connection.execute(query, (uri,))]


def of_source(connection: Connection, source: int) -> list[Row]:
    """The documents that one file holds, in order of id."""
    query = f"SELECT {_COLUMNS} FROM documents WHERE source = ? ORDER BY id"  # noqa: S608
    return [Row(*found) for found in connection.execute(query, (source,))]


def every(connection: Connection) -> Iterator[Row]:
    """All documents, by row number."""
    query = f"SELECT {_COLUMNS} FROM documents ORDER BY document"  # noqa: S608
    return (Row(*found) for found in connection.execute(query))


def put(connection: Connection, document: Document, sha256: bytes, source: int | None) -> int:
    """Store a document, new or known by its id, without its chunks; returns its row number.

    Raises
    ------
    InvalidDocument
        If it has more than 68 thousand million characters.
    """
    if len(document.text) > BLOCK_CHARACTERS * _MOST_BLOCKS:
        raise InvalidDocument(f"document {document.id!r} has {len(document.text):,} characters", "cut it in parts")
    values = (
        source,
        document.uri,
        document.title,
        json.dumps(document.metadata, ensure_ascii=False),
        json.dumps([[section.start, *section.path] for section in document.sections], ensure_ascii=False),
        sha256,
        len(document.text),
        document.id,
    )
    # In two steps: SQLite opens a statement journal for an upsert, which costs many times the insert.
    known = find(connection, document.id)
    inserted = None
    if known is None:
        inserted = connection.execute(
            """INSERT INTO documents (source, uri, title, metadata, sections, sha256, characters, id)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?)""",
            values,
        ).lastrowid
    else:
        connection.execute(
            """UPDATE documents SET source = ?, uri = ?, title = ?, metadata = ?, sections = ?, sha256 = ?,
            characters = ? WHERE id = ?""",
            values,
        )
    row = int(inserted or 0) if known is None else known.row
    _put_text(connection, row, document.text)
    return row


def _put_text(connection: Connection, row: int, text: str) -> None:
    first, last = _blocks(row, 0, max(len(text), 1))
    connection.execute("DELETE FROM texts WHERE block > ? AND block < ?", (last, (row + 1) << _BLOCK_BITS))
    for block in range(first, last + 1):
        at = (block - first) * BLOCK_CHARACTERS
        # An unchanged block is not written again: an edit in a long document writes a few pages.
        connection.execute(
            """INSERT INTO texts VALUES (?, ?) ON CONFLICT (block) DO UPDATE SET text = excluded.text
            WHERE text IS NOT excluded.text""",
            (block, text[at : at + BLOCK_CHARACTERS]),
        )


def _blocks(row: int, start: int, end: int) -> tuple[int, int]:
    """First and last block that hold text[start:end]."""
    first = row << _BLOCK_BITS
    return first + start // BLOCK_CHARACTERS, first + max(start, end - 1) // BLOCK_CHARACTERS


def text(connection: Connection, row: int, start: int, end: int) -> str:
    """``document.text[start:end]``, reading only the blocks that hold it."""
    first, last = _blocks(row, start, end)
    blocks = connection.execute("SELECT text FROM texts WHERE block BETWEEN ? AND ? ORDER BY block", (first, last))
    skipped = start - start % BLOCK_CHARACTERS
    return "".join(block for (block,) in blocks)[start - skipped : end - skipped]


def load(connection: Connection, row: Row) -> Document:
    """A whole document, with its text and sections."""
    metadata, sections = connection.execute(
        "SELECT metadata, sections FROM documents WHERE document = ?", (row.row,)
    ).fetchone()
    return Document(
        text=text(connection, row.row, 0, row.characters),
        id=row.id,
        title=row.title,
        uri=row.uri,
        metadata=json.loads(metadata),
        sections=tuple(Section(start, tuple(path)) for start, *path in json.loads(sections)),
    )


def remove(connection: Connection, row: int) -> None:
    """Take out a document whose chunks are gone already."""
    graphs.remove_document(connection, row)
    connection.execute(
        "DELETE FROM texts WHERE block >= ? AND block < ?", (row << _BLOCK_BITS, (row + 1) << _BLOCK_BITS)
    )
    connection.execute("DELETE FROM documents WHERE document = ?", (row,))


def resolve(connection: Connection, names: Sequence[str]) -> tuple[list[Row], list[str]]:
    """Documents by id, by uri, or by the path of a file that is followed.

    Returns
    -------
    (found, unknown): the documents, each once, in the order asked for; the names that fit none.
    """
    found: dict[int, Row] = {}
    unknown = []
    for name in names:
        one = find(connection, name)
        rows = [one] if one is not None else by_uri(connection, name) or _by_path(connection, name)
        if not rows:
            unknown.append(name)
        found.update((row.row, row) for row in rows)
    return list(found.values()), unknown


def _by_path(connection: Connection, name: str) -> list[Row]:
    path = os.path.abspath(name)  # noqa: PTH100 - resolve() would follow links
    root = owner_of(every_root(connection), path)
    return [] if root is None else by_uri(connection, root.uri(path))
