"""Documents held against their checksums."""

from __future__ import annotations

import json
from collections.abc import Iterator

from monograph.store.documents import chunks, documents
from monograph.store.file import checksums
from monograph.store.file.checksums import blocks_of
from monograph.store.file.database import Connection
from monograph.store.file.errors import UNDECODABLE, is_utf8
from monograph.store.file.rows import loaded_object
from monograph.values import Finding

MEND = "remove it, then sync or add it again"
_JSON = (("documents", "metadata"), ("documents", "sections"), ("chunks", "metadata"), ("chunks", "merged"))
_TEXTS = (
    ("documents", "document", "document = ?1", ("id", "uri", "title", "metadata", "sections")),
    ("chunks", "chunk", "document = ?1", ("id", "metadata", "merged")),
    ("texts", "block", "block >> 24 = ?1", ("text",)),
)
"""(table, what numbers its rows, which belong to a document, columns of text)."""


def findings(connection: Connection) -> Iterator[Finding]:
    """The documents that are not what was stored, a finding each."""
    for row in _wrong(connection):
        name = documents.name_of(connection, row)
        yield Finding("documents", f"document {name!r} is not what was stored", False, MEND)
    merged = sum(1 for _ in wrong_merged(connection))
    if merged:
        yield Finding("chunks", f"{merged} chunks whose merged metadata is not what theirs implies", repairable=True)


def wrong_merged(connection: Connection) -> Iterator[tuple[str | None, int]]:
    """Yield (merged metadata, row) of the chunks that have another than their document and they imply."""
    damaged = set(_wrong(connection))
    found = connection.execute(
        """SELECT chunk, document, d.metadata, c.metadata, merged FROM chunks AS c JOIN documents AS d USING (document)
        WHERE c.metadata != '{}' OR merged IS NOT NULL"""
    ).fetchall()
    for row, document, of_document, own, merged in found:
        if document not in damaged:
            wanted = chunks.merged_metadata(loaded_object(of_document), loaded_object(own))
            if wanted != merged:
                yield wanted, row


def chunks_of_wrong(connection: Connection) -> set[int]:
    """Rows of the chunks of documents that are not what was stored: they are held against no text."""
    wrong = json.dumps(list(_wrong(connection)))
    found = connection.execute(
        "SELECT chunk FROM chunks WHERE document IN (SELECT value FROM json_each(?))", (wrong,)
    ).fetchall()
    return {int(row) for (row,) in found}


def _wrong(connection: Connection) -> Iterator[int]:
    """Yield the row numbers of the documents that are not what was stored."""
    for (row,) in connection.execute("SELECT document FROM documents ORDER BY document").fetchall():
        if not checksums.is_sound(connection, row):
            yield row


def make_readable(connection: Connection) -> None:
    """Replace the bytes of damaged documents that cannot be decoded, so that what is derived can be made again.

    The documents stay damaged, and a check goes on reporting them.
    """
    for row in list(_wrong(connection)):
        _make_readable(connection, row)


def _make_readable(connection: Connection, row: int) -> None:
    """Replace what is no UTF-8 by the sign for that, and keep what is no JSON as a text in JSON."""
    (characters,) = connection.execute("SELECT characters FROM documents WHERE document = ?", (row,)).fetchone()
    for table, column, number, value in list(_not_utf8(connection, row)):
        text = value.decode("utf-8", "replace")
        if table == "texts":
            place = number - blocks_of(row)[0]
            text = _of_length(text, min(documents.BLOCK_CHARACTERS, characters - place * documents.BLOCK_CHARACTERS))
        key = {"documents": "document", "chunks": "chunk", "texts": "block"}[table]
        connection.execute(f"UPDATE {table} SET {column} = ? WHERE {key} = ?", (text, number))  # noqa: S608 - constants
    for table, column in _JSON:
        query = f"SELECT rowid, {column} FROM {table} WHERE document = ? AND {column} IS NOT NULL"  # noqa: S608
        for number, text in connection.execute(query, (row,)).fetchall():
            if not _is_readable(column, text):
                kept = "[]" if column == "sections" else json.dumps({"damaged": text}, ensure_ascii=False)
                connection.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (kept, number))  # noqa: S608


def _not_utf8(connection: Connection, document: int) -> Iterator[tuple[str, str, int, bytes]]:
    """Yield (table, column, row, value) of every text of a document that is no UTF-8."""
    for table, row, condition, columns in _TEXTS:
        for column in columns:
            query = f"SELECT {row}, CAST({column} AS BLOB) FROM {table} WHERE {condition}"  # noqa: S608 - constants
            for number, value in connection.execute(query, (document,)):
                if not is_utf8(value):
                    yield table, column, number, value


def _of_length(text: str, length: int) -> str:
    """A text with as many signs for what was replaced as bring it to its length, so that what follows stands right."""
    at = text.index("\ufffd")
    end = at
    while text[end : end + 1] == "\ufffd":
        end += 1
    missing = length - (len(text) - (end - at))
    return text[:at] + "\ufffd" * max(1, missing) + text[end:]


def _is_readable(column: str, text: str) -> bool:
    read = documents.loaded_sections if column == "sections" else loaded_object
    try:
        read(text)
    except UNDECODABLE:
        return False
    return True
