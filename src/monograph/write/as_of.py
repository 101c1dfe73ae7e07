"""Restore a copy of a file to what the file held at a moment."""

from __future__ import annotations

from collections.abc import Sequence

from monograph.derive.derivation import extractions, vectors
from monograph.store.documents import documents, sources
from monograph.store.file import memo, settings
from monograph.store.file.checksums import given_key
from monograph.store.history import versions
from monograph.store.history.versions import Former
from monograph.write.apply import store
from monograph.write.batch import BATCH_DOCUMENTS, Parcel
from monograph.write.parallel import Precomputed
from monograph.write.pipeline import Pipeline
from monograph.write.prepare import Prepared, Vectored, document_hash, vectored
from monograph.write.transaction import write
from monograph.write.writer import remove


def restore(pipeline: Pipeline, second: int) -> None:
    """Remove documents that came after a second, and store the previous versions of that second in their place.

    Values that models made of these are in the memo; values that are missing, because the file has another model now,
    are derived. All previous versions are deleted. Assertions, and names that were kept apart or joined, stay as they
    are now.

    Parameters
    ----------
    pipeline:
        Of the copy. Without a summarizer: summaries over removed chunks go, and no others come.
    second:
        Since 1970; the copy is as the file was at its end.

    Raises
    ------
    DamagedFile
        If a previous version cannot be read.
    ModelError
        If a model is needed and does not answer.
    """
    database = pipeline.database
    with database.read() as connection:
        former = list(versions.load(connection, versions.standing_at(connection, second)))
    with write(database, pipeline.indexes) as connection:
        remove(connection, documents.begun_after(connection, second), None)
        sources.remove_empty(connection)
    for first in range(0, len(former), BATCH_DOCUMENTS):
        some = former[first : first + BATCH_DOCUMENTS]
        hashes = [(one.document.id, document_hash(one.document, pipeline.settings)) for one in some]
        prepared = Precomputed(prepared=dict(zip(hashes, _prepared(pipeline, some), strict=True)))
        store(pipeline, [Parcel(None, tuple(one.document for one in some))], prepared, strict=True)
    with database.write() as connection:
        versions.mark(connection, former)
        versions.clear(connection)


def derive_missing(pipeline: Pipeline, second: int) -> None:
    """Derive the values that previous versions of a second lack, because the file has another model now."""
    database = pipeline.database
    with database.read() as connection:
        graph = settings.has_graph(connection)
        numbers = versions.lacking(connection, second, graph=graph)
        former = list(versions.load(connection, numbers))
    if not former:
        return
    prepared = _prepared(pipeline, former)
    vectors(pipeline.embedder).derive_missing(
        database, {key: text for one in prepared for key, text in one.texts.items()}
    )
    extracting = extractions(pipeline.extractor)
    if graph:
        extracting.derive_missing(database, extracting.keyed(chunk for one in former for chunk in one.chunks))
    with database.write() as connection:
        for number, one in zip(numbers, prepared, strict=True):
            wanted = [extracting.key(chunk) for chunk in one.chunks]
            held = memo.rows(connection, memo.VECTOR, one.keys)
            found = memo.rows(connection, memo.EXTRACTION, wanted) if graph else {}
            rows = zip(one.chunks, one.keys, wanted, strict=True)
            made = ((chunk.ordinal, held.get(key), found.get(other)) for chunk, key, other in rows)
            versions.assign(connection, number, made)


def _prepared(pipeline: Pipeline, some: Sequence[Former]) -> list[Prepared]:
    """Return previous versions with the chunks they had: another version of the package might cut them otherwise."""
    return [
        Prepared(
            one.document,
            one.sha256,
            one.chunks,
            tuple(
                vectored(one.document, chunk, None, pipeline.embedder)
                if value is None
                else Vectored(given_key(value), "", value)
                for chunk, value in zip(one.chunks, one.given, strict=True)
            ),
        )
        for one in some
    ]
