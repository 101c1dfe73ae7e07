"""Rows of ``documents`` and ``texts``: sources' texts, and where they came from."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from monograph.errors import DamagedDocument, InvalidDocument
from monograph.store import graphs, unreadable
from monograph.store.checksums import BLOCK_BITS
from monograph.store.database import Connection, path_of
from monograph.store.places import owner_of
from monograph.store.roots import every as every_root
from monograph.store.unreadable import UNDECODABLE
from monograph.values import Document, Section

BLOCK_CHARACTERS = 4096
"""A text is cut into blocks of this many characters: a row of them fits a page, and a chunk is read from one or two."""

_MOST_BLOCKS = 1 << BLOCK_BITS


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
    return next(iter(_rows(connection, "WHERE id = ?", document_id)), None)


def by_uri(connection: Connection, uri: str) -> list[Row]:
    """The documents that came from a uri, in order of id."""
    return _rows(connection, "WHERE uri = ? ORDER BY id", uri)


def of_source(connection: Connection, source: int) -> list[Row]:
    """The documents that one file holds, in order of id."""
    return _rows(connection, "WHERE source = ? ORDER BY id", source)


def every(connection: Connection) -> list[Row]:
    """All documents, by row number."""
    return _rows(connection, "ORDER BY document")


def numbers(connection: Connection) -> list[int]:
    """Row numbers of all documents, ascending."""
    return [int(row) for (row,) in connection.execute("SELECT document FROM documents ORDER BY document")]


def by_number(connection: Connection, row: int) -> Row:
    """A document by its row number."""
    return _rows(connection, "WHERE document = ?", row)[0]


def _rows(connection: Connection, which: str, *parameters: str | int) -> list[Row]:
    query = f"SELECT {_COLUMNS} FROM documents {which}"  # noqa: S608 - constants
    try:
        return [Row(*found) for found in connection.execute(query, parameters)]
    except sqlite3.OperationalError as error:
        if not unreadable.is_undecodable(error):
            raise
        fault = unreadable.fault_of(connection, error)
        raise damaged(connection, None, str(fault)) from error


def damaged(connection: Connection, row: int | None, fault: str) -> DamagedDocument:
    """The error of a document, if it is known which, that cannot be read."""
    path = path_of(connection)
    name = "" if row is None else f"document {name_of(connection, row)!r} cannot be read: "
    return DamagedDocument(f"{path} is damaged: {name}{fault}", f"monograph check {path} --repair")


def name_of(connection: Connection, row: int) -> str:
    """A document's id, whatever its bytes are."""
    found = connection.execute("SELECT CAST(id AS BLOB) FROM documents WHERE document = ?", (row,)).fetchone()
    return f"row {row}" if found is None else bytes(found[0]).decode("utf-8", "replace")


def undecodable(connection: Connection, row: int, error: sqlite3.OperationalError) -> Exception:
    """What to raise over an error that SQLite met in the texts of a document."""
    if not unreadable.is_undecodable(error):
        return error
    faults = (
        f"the {column} of row {number} of {table} is no UTF-8"
        for table, column, number, _ in unreadable.in_document(connection, row)
    )
    return damaged(connection, row, next(faults, str(error)))


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
    connection.execute("DELETE FROM texts WHERE block > ? AND block < ?", (last, (row + 1) << BLOCK_BITS))
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
    first = row << BLOCK_BITS
    return first + start // BLOCK_CHARACTERS, first + max(start, end - 1) // BLOCK_CHARACTERS


def text(connection: Connection, row: int, start: int, end: int) -> str:
    """``document.text[start:end]``, reading only the blocks that hold it. Raises DamagedDocument."""
    start = min(max(start, 0), BLOCK_CHARACTERS * _MOST_BLOCKS - 1)
    first, last = _blocks(row, start, min(end, BLOCK_CHARACTERS * _MOST_BLOCKS))
    skipped = start - start % BLOCK_CHARACTERS
    try:
        blocks = connection.execute(
            "SELECT text FROM texts WHERE block BETWEEN ? AND ? ORDER BY block", (first, last)
        ).fetchall()
        return "".join(block for (block,) in blocks)[start - skipped : max(end - skipped, 0)]
    except sqlite3.OperationalError as error:
        raise undecodable(connection, row, error) from error


def titled(connection: Connection, row: int) -> tuple[str, str]:
    """(title, text) of a document; what is no UTF-8 is replaced."""
    (title,) = connection.execute("SELECT CAST(title AS BLOB) FROM documents WHERE document = ?", (row,)).fetchone()
    blocks = connection.execute(
        "SELECT CAST(text AS BLOB) FROM texts WHERE block >= ? AND block < ? ORDER BY block",
        (row << BLOCK_BITS, (row + 1) << BLOCK_BITS),
    )
    return title.decode("utf-8", "replace"), "".join(block.decode("utf-8", "replace") for (block,) in blocks)


def load(connection: Connection, row: Row) -> Document:
    """A whole document, with its text and sections. Raises DamagedDocument if a part of it cannot be read."""
    try:
        metadata, sections = connection.execute(
            "SELECT metadata, sections FROM documents WHERE document = ?", (row.row,)
        ).fetchone()
        found = text(connection, row.row, 0, row.characters)
        if len(found) != row.characters:
            raise ValueError(f"{len(found):,} of the {row.characters:,} characters of its text are there")
        return Document(
            text=found,
            id=row.id,
            title=row.title,
            uri=row.uri,
            metadata=loaded_object(metadata),
            sections=loaded_sections(sections),
        )
    except sqlite3.OperationalError as error:
        raise undecodable(connection, row.row, error) from error
    except (InvalidDocument, *UNDECODABLE) as error:
        raise damaged(connection, row.row, f"row {row.row} of documents: {error}") from error


def loaded_sections(text: str) -> tuple[Section, ...]:
    """Sections as they are stored. Raises one of UNDECODABLE if they are none."""
    return tuple(Section(int(start), tuple(map(str, path))) for start, *path in json.loads(text))


def loaded_object(text: str) -> dict[str, Any]:
    """A JSON object. Raises ValueError if it is none."""
    found = json.loads(text)
    if not isinstance(found, dict):
        raise ValueError(f"{text[:40]!r} is no JSON object")
    return found


def remove(connection: Connection, row: int) -> None:
    """Take out a document whose chunks are gone already."""
    graphs.remove_document(connection, row)
    connection.execute("DELETE FROM texts WHERE block >= ? AND block < ?", (row << BLOCK_BITS, (row + 1) << BLOCK_BITS))
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


def names(connection: Connection) -> list[tuple[int, str, str]]:
    """(row number, title, uri) of every document, in order; what is no UTF-8 is read as far as it goes."""
    found = connection.execute(
        "SELECT document, CAST(title AS BLOB), CAST(uri AS BLOB) FROM documents ORDER BY document"
    )
    return [(row, title.decode("utf-8", "replace"), uri.decode("utf-8", "replace")) for row, title, uri in found]
