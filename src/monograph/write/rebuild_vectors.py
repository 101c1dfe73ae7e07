"""Vectors for chunks that are stored already: another embedder, or vectors that were lost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from monograph.derive.embed.text import embedded_text
from monograph.store import checksums, chunks, documents, memo, names, settings, vectors
from monograph.store.database import Connection
from monograph.values import Document, OnProgress, Progress, content_hash
from monograph.write.graph import embed_names
from monograph.write.pipeline import Pipeline
from monograph.write.prepare import Prepared, Vectored
from monograph.write.transaction import write
from monograph.write.tree import update
from monograph.write.vectors import Embedded, remember_vectors

DOCUMENTS_AT_ONCE = 64


def reembed(pipeline: Pipeline, on_progress: OnProgress | None = None) -> Embedded:
    """Give every chunk a vector of the pipeline's embedder, and make that the file's embedder.

    All vectors are made and remembered first, then exchanged in one transaction: killed before its end, the file is
    as it was, and the next run pays only for what is missing. Vectors that came ready-made are replaced too.
    """
    with pipeline.database.read() as connection:
        rows = list(documents.every(connection))
    total = remember(pipeline, rows, on_progress)
    with write(pipeline.database, pipeline.indexes) as connection:
        # Documents may have come meanwhile: those are few, and their vectors are made inside.
        for row in documents.every(connection):
            sound = checksums.is_sound(connection, row.row)
            assign(connection, pipeline, row)
            if sound:
                checksums.seal(connection, row.row)  # Vectors that came with their chunks are gone.
        stored = settings.StoredEmbedder(pipeline.embedder.key, pipeline.embedder.spec, pipeline.embedder.dimension)
        settings.save_model(connection, stored)
        coded = names.drop_codes(connection)
    embed_names(pipeline, coded)
    update(pipeline, on_progress)
    return total


def remember(pipeline: Pipeline, rows: Sequence[documents.Row], on_progress: OnProgress | None = None) -> Embedded:
    """Make and remember the vectors of documents that the memo lacks."""
    embedded = remembered = 0
    for first in range(0, len(rows), DOCUMENTS_AT_ONCE):
        with pipeline.database.read() as connection:
            batch = [
                Prepared(
                    Document(id=row.id),
                    row.sha256,
                    (),
                    tuple(vector for _, vector in _wanted(connection, pipeline, row)),
                )
                for row in rows[first : first + DOCUMENTS_AT_ONCE]
            ]
        done = remember_vectors(pipeline, batch)
        embedded += done.embedded
        remembered += done.remembered
        if on_progress is not None:
            at = min(first + DOCUMENTS_AT_ONCE, len(rows))
            on_progress(Progress("reembed", at, len(rows), "documents", rows[at - 1].uri))
    return Embedded(embedded, remembered)


def _wanted(connection: Connection, pipeline: Pipeline, row: documents.Row) -> Iterator[tuple[int, Vectored]]:
    for found in chunks.of_document(connection, row.row):
        text = embedded_text(found.title, found.chunk.metadata, found.chunk.text)
        yield found.row, Vectored(content_hash("embed", pipeline.embedder.key, text), text, None)


def assign(connection: Connection, pipeline: Pipeline, row: documents.Row, *, only_missing: bool = False) -> None:
    """Give the chunks of a document their vectors, or only those that have none."""
    wanted = dict(_wanted(connection, pipeline, row))
    if only_missing:
        held = vectors.rows_with_vector(connection, row.row)
        wanted = {chunk: vector for chunk, vector in wanted.items() if chunk not in held}
    known = memo.rows(connection, memo.VECTOR, [vector.key for vector in wanted.values()])
    lacking = [vector for vector in wanted.values() if vector.key not in known]
    if lacking:
        made = pipeline.embedder.embed([vector.text for vector in lacking], "document")
        values = ((vector.key, vectors.pack(one), 0) for vector, one in zip(lacking, made, strict=True))
        memo.put(connection, memo.VECTOR, values)
        known = memo.rows(connection, memo.VECTOR, [vector.key for vector in wanted.values()])
    vectors.assign(connection, ((chunk, known[vector.key]) for chunk, vector in wanted.items()))
