"""Adding and removing single chunks (passages) of stored documents, as frameworks do.

A document to which a framework adds chunks consists of ready-made passages. Each passage is one chunk, and the text of
the document is its passages joined. A change has three steps: read the stored document, change its passages, and store
the document again. If another writer changes the document in between, the three steps are repeated.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from monograph.errors import InvalidDocument
from monograph.store.documents import chunks, documents
from monograph.store.documents.filters import CompiledFilter
from monograph.store.file.checksums import given_vector_key
from monograph.store.file.database import Connection
from monograph.store.vectors import vectors
from monograph.values import Document, OnProgress, Passage, Report, arguments, content_id
from monograph.write.apply import in_batches, store
from monograph.write.batch import Parcel, normalised
from monograph.write.changes import ConcurrentChange, ReadState, Tally
from monograph.write.graph import Precomputed
from monograph.write.pipeline import Pipeline, WriteGuard
from monograph.write.tree import follow

_TRIES = 50
_LONGEST_PAUSE = 0.02


_PassageChange: TypeAlias = tuple[list[Document], ReadState]
"""Changed documents, in the order in which they must be stored, and the stored state that they were computed from."""


def put(pipeline: Pipeline, given: Iterable[Document], on_progress: OnProgress | None = None) -> Report:
    """Add passages to documents, and keep the stored chunks: see :meth:`monograph.Monograph.put`."""

    def store_batch(batch: list[Document], _: Precomputed) -> Tally:
        return _carry_out(pipeline, lambda connection: _compose_addition(connection, batch, pipeline.guard))

    return in_batches(pipeline, "put", list(_merge_given(given)), store_batch, on_progress)


def remove(pipeline: Pipeline, ids: Sequence[str] | None, allowed: CompiledFilter) -> Report:
    """Remove the chunks that have one of the given ids and match a filter.

    ``ids`` are the ids of chunks; None for all chunks. ``allowed`` is the filter. See
    :meth:`monograph.Monograph.remove_chunks`.
    """
    tally = Tally()

    def compose(connection: Connection) -> _PassageChange:
        rows = list(chunks.rows_of(connection, ids, allowed))
        leaving: dict[str, set[str]] = {}
        for name, owner in chunks.owners(connection, rows).items():
            leaving.setdefault(owner, set()).add(name)
        return _compose_removal(connection, leaving)

    tally.include(_carry_out(pipeline, compose))
    follow(pipeline, tally)
    return tally.report()


def compose_put(connection: Connection, given: Iterable[Document]) -> tuple[list[Document], Sequence[str]]:
    """Return (documents as :func:`put` would store them, ids of documents that would lose all their passages)."""
    changed, seen = _compose_addition(connection, list(_merge_given(given)), None)
    return changed, seen.gone


def _carry_out(pipeline: Pipeline, compose: Callable[[Connection], _PassageChange]) -> Tally:
    for tries_left in reversed(range(_TRIES)):
        with pipeline.database.read() as connection:
            changed, seen = compose(connection)
        if not changed and not seen.gone:
            break
        try:
            return store(pipeline, [Parcel(None, (document,)) for document in changed], strict=True, seen=seen)
        except ConcurrentChange:
            if not tries_left:
                raise
            time.sleep(random.uniform(0, _LONGEST_PAUSE))  # noqa: S311 - only so that two do not meet again
    return Tally()


def _merge_given(given: Iterable[Document]) -> Iterator[Document]:
    """Merge given documents with the same id, and give every passage an id."""
    merged: dict[str, Document] = {}
    owner: dict[str, str] = {}
    for document in given:
        if not document.passages:
            raise InvalidDocument(
                f"document {document.id!r} has no passages", "add it as a whole; in Python: Monograph.add"
            )
        passages: dict[str, Passage] = {}
        for passage in document.passages:
            name = passage.id or content_id("chunk", document.id, passage.text, 1)
            vector = None if passage.vector is None else normalised(arguments.vector(passage.vector, "a vector"))
            # Its start is not known until it is joined with the document's other passages.
            passages[name] = replace(passage, id=name, vector=vector, start=None)
        for passage in passages.values():
            before = owner.setdefault(passage.id, document.id)
            if before != document.id:
                merged[before] = _drop_passages(merged[before], {passage.id})
                owner[passage.id] = document.id
        above = replace(document, text="", passages=tuple(passages.values()))
        below = merged.get(document.id)
        merged[document.id] = above if below is None else _overlay(below, above)
    return (document for document in merged.values() if document.passages)


def _overlay(below: Document, above: Document) -> Document:
    """Return the document ``below`` with its newer state ``above`` added. If both have a value, ``above`` wins."""
    return replace(
        below,
        text="",
        title=above.title or below.title,
        uri=above.uri or below.uri,
        metadata={**below.metadata, **above.metadata},
        passages=tuple({passage.id: passage for passage in (*below.passages, *above.passages)}.values()),
    )


def _drop_passages(document: Document, ids: set[str]) -> Document:
    return replace(document, text="", passages=tuple(passage for passage in document.passages if passage.id not in ids))


def _compose_addition(connection: Connection, given: Sequence[Document], guard: WriteGuard | None) -> _PassageChange:
    """Return the change that adds the passages of given documents to the stored documents."""
    if guard is not None:
        guard.seen(connection, given)
    target = {passage.id: document.id for document in given for passage in document.passages}
    leaving: dict[str, set[str]] = {}
    for name, owner in chunks.owners(connection, target).items():
        if owner != target[name]:
            leaving.setdefault(owner, set()).add(name)
    targets = set(target.values())
    others, seen = _compose_removal(connection, {name: ids for name, ids in leaving.items() if name not in targets})
    hashes = dict(seen.hashes)
    results = []
    for document in given:
        row = documents.find(connection, document.id)
        hashes[document.id] = None if row is None else row.sha256
        if row is None:
            results.append(document)
            continue
        stored = _drop_passages(_load_as_passages(connection, row), leaving.get(document.id, set()))
        results.append(_overlay(stored, document))
    # A document that loses a passage is stored before the document that gets it.
    results.sort(key=lambda document: document.id not in leaving)
    return others + results, ReadState(hashes, seen.gone)


def _compose_removal(connection: Connection, leaving: dict[str, set[str]]) -> _PassageChange:
    """Return the change that removes chunks. ``leaving`` has the chunk ids to remove, by document id."""
    hashes: dict[str, bytes | None] = {}
    removed, results = [], []
    for name, ids in leaving.items():
        row = documents.find(connection, name)
        if row is None:
            continue
        hashes[name] = row.sha256
        if chunks.named_spans(connection, row.row).keys() <= ids:
            removed.append(name)
            continue
        results.append(_drop_passages(_load_as_passages(connection, row), ids))
    return results, ReadState(hashes, removed)


def _load_as_passages(connection: Connection, row: documents.DocumentRow) -> Document:
    """Return a stored document with its chunks as passages. Raises InvalidDocument if it comes from a file."""
    if row.source is not None:
        raise InvalidDocument(
            f"document {row.id!r} was read from the file {row.uri}: its chunks cannot be changed one by one",
            "remove the whole document, or change the file and sync",
        )
    stored = documents.load(connection, row)
    stored_vectors = vectors.with_keys(connection, row.row)
    passages = []
    for loaded in chunks.of_document(connection, row.row):
        key, value = stored_vectors.get(loaded.chunk.id, (b"", b""))
        # A passage has the vector of its chunk only if a caller gave this vector.
        vector = (
            np.frombuffer(value, dtype=vectors.STORED).astype(np.float32) if key == given_vector_key(value) else None
        )
        passages.append(Passage(loaded.chunk.text, loaded.chunk.id, loaded.chunk.metadata, vector))
    return replace(stored, text="", sections=(), passages=tuple(passages))
