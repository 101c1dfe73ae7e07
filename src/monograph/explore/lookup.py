"""Documents, versions and chunks by id, uri or metadata, without scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from monograph.dates.span import FIRST, TimeSpan
from monograph.errors import NotFound
from monograph.read.paths import path_to_text
from monograph.store.documents import chunks, documents, sources
from monograph.store.file.errors import path_of
from monograph.store.vectors import vectors
from monograph.values import Document, Listed, StoredChunk, Valid, Version, arguments

if TYPE_CHECKING:
    from monograph.store.documents.filters import CompiledFilter
    from monograph.store.file.database import Connection
    from monograph.values import Chunk


def fetch(
    connection: Connection, ids: Sequence[str] | None, allowed: CompiledFilter, dimension: int | None = None
) -> list[StoredChunk]:
    """Return the stored chunks that have the given ids and are allowed, in the order of the ids.

    Ids that do not exist are left out. Without ids, all allowed chunks are returned, document by document, in reading
    order. With a ``dimension``, the chunks are returned with their vectors. Vectors of another dimension are left out.
    """
    id_list = None if ids is None else arguments.names(ids, "an id")
    rows = list(chunks.rows_of(connection, id_list, allowed).values())
    embeddings = {}
    if dimension is not None:
        numbers, values = vectors.of_chunks(connection, rows, dimension)
        embeddings = dict(zip(numbers.tolist(), values, strict=True))
    loaded = chunks.load(connection, rows)
    return [
        StoredChunk(chunk.chunk, chunk.title, chunk.uri, chunk.metadata, embeddings.get(chunk.row)) for chunk in loaded
    ]


def document(connection: Connection, name: str) -> Document:
    """Return a document by its id or uri, with its text.

    Raises NotFound if no document, or more than one, has this id or uri.
    """
    return documents.load(connection, only(connection, name))


def document_as_of(connection: Connection, name: str, second: int) -> Document:
    """Return a document by its id or uri, in its state at a moment of the past.

    The moment is the end of ``second``, which counts seconds from 1970 in UTC. Raises NotFound if the document did not
    exist at that moment, or if more than one document had that uri.
    """
    name = arguments.names([path_to_text(name)], "an id")[0]
    rows, _ = sources.resolve(connection, [name])
    current = [row for row in rows if row.valid is None or row.valid.at(second)]
    from monograph.store import versions

    previous = versions.numbers_of(connection, name, second)
    if len(current) + len(previous) == 1:
        return documents.load(connection, current[0]) if current else next(versions.load(connection, previous)).document
    when, path = TimeSpan(second, second), path_of(connection)
    if not (current or previous):
        raise NotFound(f"{path} had no document {name!r} at {when}", f"monograph show {path} {name} --versions")
    ids = [row.id for row in current] + [version.id for version in versions.listed(connection, previous)]
    raise NotFound(f"{name!r} matches {len(ids)} documents in {path} at {when}", f"give one id: {', '.join(ids[:3])} …")


def versions_of(connection: Connection, name: str) -> list[Version]:
    """Return all versions of the documents that have an id or uri.

    Previous versions come first, from the oldest on, then the present ones. Raises NotFound if there is no version.
    """
    name = arguments.names([path_to_text(name)], "an id")[0]
    rows, _ = sources.resolve(connection, [name])
    present = [Version(row.id, row.title, row.uri, row.characters, row.valid or Valid(FIRST)) for row in rows]
    from monograph.store import versions

    previous = versions.listed(connection, versions.numbers_of(connection, name))
    if not (present or previous):
        path = path_of(connection)
        raise NotFound(f"{path} contains no document {name!r}", f"monograph show {path}")
    return [*previous, *present]


def every_document(connection: Connection) -> list[Document]:
    """Return all documents without their texts, in order of uri, then id."""
    return list(map(_strip_text, documents.listed(connection)))


def listed(connection: Connection, like: str, start: int, limit: int) -> Listed:
    """Return one page of the list of documents: ``limit`` documents from position ``start`` on, without their texts.

    With ``like``, only documents whose title, uri or id contains this text are listed. See
    :meth:`monograph.Monograph.listed`.
    """
    start, limit = arguments.whole_number(start, "start", 0), arguments.whole_number(limit, "limit", 0)
    if not like:
        rows = documents.listed(connection, start, limit)
        return Listed(documents.count(connection), start, tuple(map(_strip_text, rows)))
    folded = like.casefold()
    matching = [row for row in documents.listed(connection) if folded in f"{row.title}\0{row.uri}\0{row.id}".casefold()]
    return Listed(len(matching), start, tuple(map(_strip_text, matching[start : start + limit])))


def _strip_text(row: documents.DocumentRow) -> Document:
    return Document(id=row.id, title=row.title, uri=row.uri, date=row.date, valid=row.valid)


def chunks_of(connection: Connection, name: str) -> list[Chunk]:
    """Return the chunks of the document with an id or uri, in reading order.

    Raises NotFound if no document, or more than one, has this id or uri.
    """
    return [loaded.chunk for loaded in chunks.of_document(connection, only(connection, name).row, strict=True)]


def only(connection: Connection, name: str) -> documents.DocumentRow:
    """Return the row of the document with an id or uri.

    Raises NotFound if no document, or more than one, has this id or uri.
    """
    rows, _ = sources.resolve(connection, arguments.names([path_to_text(name)], "an id"))
    if len(rows) == 1:
        return rows[0]
    path = path_of(connection)
    if not rows:
        raise NotFound(f"{path} contains no document {name!r}", f"monograph show {path}")
    ids = ", ".join(row.id for row in rows[:3])
    raise NotFound(f"{name!r} matches {len(rows)} documents in {path}", f"give one id: {ids} …")
