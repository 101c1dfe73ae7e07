"""A copy of a file is brought back to what the file was at a moment."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from monograph.derive.derivation import extractions, vectors
from monograph.store.documents import documents, sources
from monograph.store.file import memo, settings
from monograph.store.history import versions
from monograph.store.history.versions import Former
from monograph.store.vectors.vectors import STORED
from monograph.write.batch import BATCH_DOCUMENTS, Parcel
from monograph.write.commit import store
from monograph.write.parallel import Precomputed
from monograph.write.pipeline import Pipeline
from monograph.write.prepare import Prepared, document_hash, vectored
from monograph.write.transaction import write
from monograph.write.writer import remove


def bring_back(pipeline: Pipeline, second: int) -> None:
    """Take out what came after a second, and store what stood then and stands no more, as it was stored.

    What a model made of it is remembered still; but where the file has got another model since, that makes it now. The
    former versions themselves are taken out. What was told of things, set apart or joined is as it is now.

    Parameters
    ----------
    pipeline:
        Of the copy. Without a summarizer: summaries over what is taken out go, and no others come.
    second:
        Since 1970: what stood at its end.

    Raises
    ------
    DamagedFile
        If a former version cannot be read.
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
        _store(pipeline, former[first : first + BATCH_DOCUMENTS])
    with database.write() as connection:
        versions.mark(connection, former)
        versions.clear(connection)


def make_up_for(pipeline: Pipeline, second: int | None) -> None:
    """Make and remember what former versions that stood at the end of a second lack: another model came since.

    Without a second that of all.
    """
    database = pipeline.database
    with database.read() as connection:
        graph = settings.has_graph(connection)
        numbers = versions.lacking(connection, second, graph=graph)
        former = list(versions.load(connection, numbers))
    if not former:
        return
    prepared = [_prepared(pipeline, one) for one in former]
    texts = {key: text for one in prepared for key, text in one.texts.items()}
    vectors(pipeline.embedder).derive_missing(database, texts)
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


def _store(pipeline: Pipeline, former: Sequence[Former]) -> None:
    prepared = {
        (one.document.id, document_hash(one.document, pipeline.settings)): _prepared(pipeline, one) for one in former
    }
    parcel = Parcel(None, tuple(one.document for one in former))
    store(pipeline, [parcel], Precomputed(prepared=prepared), strict=True)


def _prepared(pipeline: Pipeline, one: Former) -> Prepared:
    """A former version as it was cut: another version of the package might cut it otherwise."""
    given = [None if value is None else np.frombuffer(value, dtype=STORED).astype(np.float32) for value in one.given]
    found = [
        vectored(one.document, chunk, vector, pipeline.embedder)
        for chunk, vector in zip(one.chunks, given, strict=True)
    ]
    return Prepared(one.document, one.sha256, one.chunks, tuple(found))
