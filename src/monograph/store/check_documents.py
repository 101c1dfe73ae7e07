"""Documents held against their checksums, and what brings one back that is not as it was stored."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from monograph.store import checksums, documents, unreadable
from monograph.store.checksums import blocks_of
from monograph.store.database import Connection
from monograph.values import Finding

MEND = "remove it, then sync or add it again"
_JSON = (("documents", "metadata"), ("documents", "sections"), ("chunks", "metadata"), ("chunks", "merged"))
_STRAYS = "SELECT DISTINCT document FROM chunks WHERE document NOT IN (SELECT document FROM documents)"


@dataclass(frozen=True, slots=True)
class _Mend:
    """Of which file a document is, since when it stands, and rows of documents that are not there with its chunks."""

    source: int | None
    since: int | None
    strays: tuple[int, ...]


def findings(connection: Connection) -> Iterator[Finding]:
    """The documents that are not what was stored, a finding each."""
    for row, stored in _wrong(connection):
        name = documents.name_of(connection, row)
        said, mended = "is not what was stored", False
        if checksums.differ_by_a_byte(stored, checksums.of_document(connection, row)):
            said, mended = "has another checksum than was stored", True
        elif _mend(connection, row, stored) is not None:
            said, mended = "has lost its file, or chunks, or since when it stands", True
        yield Finding("documents", f"document {name!r} {said}", mended, "" if mended else MEND)


def chunks_of_wrong(connection: Connection) -> set[int]:
    """Rows of the chunks of documents that are not what was stored: they are held against no text."""
    wrong = [row for row, _ in _wrong(connection)]
    found = connection.execute(
        "SELECT chunk FROM chunks WHERE document IN (SELECT value FROM json_each(?))", (json.dumps(wrong),)
    )
    return {int(row) for (row,) in found}


def _wrong(connection: Connection) -> Iterator[tuple[int, int]]:
    """(row, checksum) of the documents that are not what was stored."""
    rows = connection.execute("SELECT document, checksum FROM documents WHERE checksum IS NOT NULL ORDER BY document")
    for row, stored in rows.fetchall():
        if checksums.of_document(connection, row) != stored:
            yield row, stored


def _mend(connection: Connection, row: int, stored: int) -> _Mend | None:
    """The one change of a reference with which a document is again what was stored; None if there is none such."""
    own, since = connection.execute("SELECT source, valid_from FROM documents WHERE document = ?", (row,)).fetchone()
    sources = [None, *(one for (one,) in connection.execute("SELECT source FROM sources"))]
    strays = [one for (one,) in connection.execute(_STRAYS)]
    for also in [(), *((one,) for one in strays)]:
        contents = checksums.of_contents(connection, row, also)
        for source in sources:
            if checksums.whole(contents, source, since) == stored:
                return _Mend(source, since, also)
        if also or not isinstance(since, int):
            continue
        for second in _neighbours(since):
            if checksums.whole(contents, own, second) == stored:
                return _Mend(own, second, ())
    return None


def _neighbours(number: int) -> Iterator[int]:
    """All numbers that differ from one in a byte of it."""
    data = number.to_bytes(8, "little", signed=True)
    for at, byte in enumerate(data):
        for other in range(256):
            if other != byte:
                yield int.from_bytes(data[:at] + bytes((other,)) + data[at + 1 :], "little", signed=True)


def bring_back(connection: Connection) -> None:
    """Give documents back the references that they have lost, and make readable what cannot be decoded."""
    for row, stored in list(_wrong(connection)):
        if checksums.differ_by_a_byte(stored, checksums.of_document(connection, row)):
            checksums.seal(connection, row)
            continue
        mend = _mend(connection, row, stored)
        if mend is None:
            _make_readable(connection, row)
            continue
        found = (mend.source, mend.since, row)
        connection.execute("UPDATE documents SET source = ?, valid_from = ? WHERE document = ?", found)
        for stray in mend.strays:
            connection.execute("UPDATE chunks SET document = ? WHERE document = ?", (row, stray))


def _make_readable(connection: Connection, row: int) -> None:
    """Replace what is no UTF-8 by the sign for that, and keep what is no JSON as a text in JSON."""
    (characters,) = connection.execute("SELECT characters FROM documents WHERE document = ?", (row,)).fetchone()
    for table, column, number, value in list(unreadable.in_document(connection, row)):
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


def _of_length(text: str, length: int) -> str:
    """A text with as many signs for what was replaced as bring it to its length, so that what follows stands right."""
    at = text.index("\ufffd")
    end = at
    while text[end : end + 1] == "\ufffd":
        end += 1
    missing = length - (len(text) - (end - at))
    return text[:at] + "\ufffd" * max(1, missing) + text[end:]


def _is_readable(column: str, text: str) -> bool:
    read = documents.loaded_sections if column == "sections" else documents.loaded_object
    try:
        read(text)
    except unreadable.UNDECODABLE:
        return False
    return True
