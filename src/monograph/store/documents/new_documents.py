"""Documents that are not in the file yet: their rows are made in memory, and written table by table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from monograph.store.documents import chunks, documents
from monograph.store.file import assigned, checksums
from monograph.store.file.database import Connection
from monograph.store.file.row_numbers import next_row
from monograph.store.words import terms
from monograph.values import Chunk, Document


@dataclass(frozen=True, slots=True)
class NewDocument:
    """A document whose id is not there, and no id of its chunks.

    Parameters
    ----------
    document, sha256, source:
        The document, its hash, and the row of the file that it comes from.
    chunks:
        In reading order.
    vectors:
        Row of each chunk's vector in the memo.
    given:
        The memo's key of each vector that came with its chunk, None for one that was made of the text.
    """

    document: Document
    sha256: bytes
    source: int | None
    chunks: Sequence[Chunk]
    vectors: Sequence[int]
    given: Sequence[bytes | None]


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of a document, and of its chunks in reading order."""

    document: int
    chunks: Sequence[int]


def add(
    connection: Connection, new: Sequence[NewDocument], index: terms.Changes, since: int | None = None
) -> list[Rows]:
    """Store documents with their chunks; what the inverted index gets is collected.

    ``since`` is the second in which they come, in a file that keeps former versions.

    Raises
    ------
    InvalidDocument
        If one is too long.
    """
    numbered = _numbered(connection, new)
    columns = [
        documents.columns(rows.document, one.document, one.sha256, one.source, since)
        for rows, one in zip(numbered, new, strict=True)
    ]
    of_chunks = [_chunks(rows, one) for rows, one in zip(numbered, new, strict=True)]
    sums = (_checksum(*three) for three in zip(columns, of_chunks, (one.given for one in new), strict=True))
    documents.add(connection, list(zip(columns, sums, strict=True)))
    chunks.add(connection, (pair for some in of_chunks for pair in some))
    for rows, one in zip(numbered, new, strict=True):
        index.add(
            terms.Entry(row, one.document.title, chunk.text) for row, chunk in zip(rows.chunks, one.chunks, strict=True)
        )
    given = (zip(rows.chunks, one.vectors, strict=True) for rows, one in zip(numbered, new, strict=True))
    assigned.add(connection, "vectors", (pair for some in given for pair in some))
    return numbered


def _numbered(connection: Connection, new: Sequence[NewDocument]) -> list[Rows]:
    document, chunk = next_row(connection, "documents"), next_row(connection, "chunks")
    numbered = []
    for one in new:
        numbered.append(Rows(document, range(chunk, chunk + len(one.chunks))))
        document, chunk = document + 1, chunk + len(one.chunks)
    return numbered


def _chunks(rows: Rows, new: NewDocument) -> list[tuple[int, chunks.Columns]]:
    document = new.document
    owner = chunks.Owner(rows.document, document.id, document.title, document.title, document.metadata)
    return [(row, chunks.columns(owner, chunk)) for row, chunk in zip(rows.chunks, new.chunks, strict=True)]


def _checksum(
    document: documents.Columns, own: Sequence[tuple[int, chunks.Columns]], given: Sequence[bytes | None]
) -> int:
    """As :func:`monograph.store.file.checksums.of_document` finds it when all is stored."""
    return checksums.of_content(
        document.own,
        "".join(text for _, text in document.blocks),
        ((name, *where, metadata, key) for (_, (name, _, *where, metadata, _)), key in zip(own, given, strict=True)),
    )
