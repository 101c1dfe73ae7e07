"""Writer of batches and removals: reads the stored rows that they affect, and writes the changes table by table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count

from monograph.derive.derivation import vectors
from monograph.errors import MonographError, NotFound
from monograph.store import versions
from monograph.store.documents import chunks, documents, sources
from monograph.store.file import memo
from monograph.store.file.database import Connection, Database
from monograph.store.file.rows import next_row
from monograph.store.graph import assertions, graphs, names
from monograph.store.words import terms
from monograph.values import Report
from monograph.vectors.index import EcoVectorIndex
from monograph.write.batch import BATCH_CHARACTERS, PreparedDocument, grouped
from monograph.write.changes import (
    NOTHING_SEEN,
    Changes,
    PreparedParcel,
    ReadState,
    State,
    StoredDocument,
    Tally,
    Target,
    decide,
)
from monograph.write.graph import DerivedValues, store_graph
from monograph.write.pipeline import Pipeline, WriteGuard, flush


def store(
    connection: Connection,
    pipeline: Pipeline,
    batch: Sequence[PreparedParcel],
    derived: DerivedValues,
    seen: ReadState = NOTHING_SEEN,
    *,
    strict: bool,
) -> Tally:
    """Compare a batch with the stored documents, write the changes, and return their tally.

    ``seen`` has the hashes of the stored documents from which the batch was computed. Raises ConcurrentChange if a
    stored document now has another hash. Raises MissingValue if a derived value has been deleted from the memo. With
    ``strict``, raises the error of the first document that cannot be stored.
    """
    changes = decide(batch, read(connection, batch, seen), seen)
    if strict and changes.refuse:
        raise changes.refuse[0]
    write(connection, pipeline, changes, derived)
    if seen.gone:
        sources.remove_empty(connection)
    return changes.tally


def read(connection: Connection, batch: Sequence[PreparedParcel], seen: ReadState = NOTHING_SEEN) -> State:
    """Return the stored state that :func:`monograph.write.changes.decide` compares a batch with."""
    prepared = [item for ready in batch for item in ready.prepared]
    rows = documents.of_ids(connection, list({*(item.document.id for item in prepared), *seen.hashes}))
    replaced = {item.document.id for item in prepared if rows.get(item.document.id, item).sha256 != item.sha256}
    uris = list({ready.parcel.source.uri for ready in batch if ready.parcel.source is not None})
    files = sources.rows(connection, uris)
    for parcel in (ready.parcel for ready in batch):
        if parcel.source is not None and parcel.source.uri in files and parcel.last and not parcel.broken:
            listed = parcel.before | {document.id for document in parcel.documents}
            of_file = documents.of_source(connection, files[parcel.source.uri])
            rows = {row.id: row for row in of_file if row.id not in listed} | rows
    file_of = sources.uris(connection, [row.source for row in rows.values() if row.source is not None])
    stored = {}
    for name, row in rows.items():
        file = None if row.source is None else file_of.get(row.source)
        spans = chunks.named_spans(connection, row.row)
        try:
            text = documents.text(connection, row.row, 0, row.characters) if name in replaced else ""
            stored[name] = StoredDocument(row, file, spans, text)
        except MonographError as error:
            stored[name] = StoredDocument(row, file, spans, fault=error)
    owners = chunks.owners(connection, [chunk.id for item in prepared for chunk in item.chunks])
    return State(stored, owners, sources.faulty(connection, uris))


def write(connection: Connection, pipeline: Pipeline, changes: Changes, derived: DerivedValues) -> None:
    """Write the changes of a batch, table by table.

    The inverted index is written last: a later statement that SQLite may have to roll back would make FTS5 flush its
    pending entries. A flush costs more than all other rows of a document.
    """
    ending = versions.ending(connection, pipeline.database.clock, forgotten=pipeline.forgets)
    remove_rows(connection, [stored.row for stored in changes.remove], ending)
    for target in changes.replace:
        if target.stored is not None:
            versions.end(connection, target.stored.row, ending)
    files = sources.put(connection, [state.source for state in changes.files])
    placed = _assign_rows(
        connection, [*changes.insert, *changes.replace], files, None if ending is None else ending.moment
    )
    replaced = placed[len(changes.insert) :]
    uses = names.NameCounts()
    _remove_chunks(connection, [row for placement in replaced for row in placement.gone], uses)
    if derived.parts is None:
        graphs.remove(
            connection,
            [row for placement in replaced for row in placement.kept],
            [placement.row for placement in replaced],
            uses,
        )
    documents.put(
        connection, [(placement.columns, placement.checksum, placement.prepared.document.text) for placement in placed]
    )
    chunks.put(connection, (pair for placement in placed for pair in placement.chunk_columns))
    keys = [pair for placement in placed for pair in zip(placement.rows, placement.prepared.keys, strict=True)]
    vector_rows = vectors(pipeline.embedder).rows(connection, derived.vectors, derived.waiting)
    memo.assign(connection, "vectors", [(row, vector_rows[key]) for row, key in keys])
    if derived.parts is None:
        names.use(connection, uses)
    else:
        parts = [
            (placement.row, placement.rows, derived.parts[placement.prepared.document.id, placement.prepared.sha256])
            for placement in placed
        ]
        store_graph(connection, pipeline, parts, derived, uses, [placement.row for placement in replaced])
    sources.date_documents(connection, files.values())
    for file in changes.files:
        if file.faulty or file.unfinished:
            sources.mark_incomplete(connection, files[file.source.uri], faulty=file.faulty)
    terms.remove(connection, [entry for placement in replaced for entry in placement.outdated])
    fresh = (entry for placement in placed for entry in placement.fresh)
    terms.add(connection, fresh, trigrams=terms.has_trigrams(connection))


@dataclass(frozen=True, slots=True)
class _Placed:
    """Document with its row number and the row numbers of its chunks, in reading order.

    ``kept`` has the rows of unchanged chunks, and ``gone`` the rows of removed chunks. ``outdated`` has the entries to
    remove from the inverted index, and ``fresh`` the entries to add.
    """

    prepared: PreparedDocument
    row: int
    rows: Sequence[int]
    columns: documents.Columns
    chunk_columns: Sequence[tuple[int, chunks.Columns]]
    kept: frozenset[int]
    gone: Sequence[int]
    outdated: Sequence[terms.Entry]
    fresh: Sequence[terms.Entry]

    @property
    def checksum(self) -> int:
        """Checksum of the stored document: see :func:`monograph.store.documents.documents.stored_checksum`."""
        given_keys = (key if key in self.prepared.given else None for key in self.prepared.keys)
        chunk_contents = (
            (name, *where, metadata, key)
            for (_, (name, _, *where, metadata, _)), key in zip(self.chunk_columns, given_keys, strict=True)
        )
        return documents.content_checksum(self.columns[1:8], self.prepared.document.text, chunk_contents)


def _assign_rows(
    connection: Connection, targets: Sequence[Target], files: Mapping[str, int], since: int | None
) -> list[_Placed]:
    """Assign rows to documents and chunks. A chunk with the same id and text as before keeps its row."""
    free_documents, free_chunks = count(next_row(connection, "documents")), count(next_row(connection, "chunks"))
    placed = []
    for target in targets:
        prepared, document, stored = target.prepared, target.prepared.document, target.stored
        row = next(free_documents) if stored is None else stored.row.row
        old_title = document.title if stored is None else stored.row.title
        texts = {} if stored is None else stored.texts
        chunk_rows = {} if stored is None else {name: chunk for name, (chunk, _, _) in stored.chunks.items()}
        kept = {chunk.id for chunk in prepared.chunks if texts.get(chunk.id) == chunk.text}
        unchanged = kept if old_title == document.title else set()
        rows = [chunk_rows[chunk.id] if chunk.id in kept else next(free_chunks) for chunk in prepared.chunks]
        pairs = list(zip(rows, prepared.chunks, strict=True))
        source = None if target.file is None else files[target.file]
        placed.append(
            _Placed(
                prepared,
                row,
                rows,
                # ``since`` (seconds since 1970) is when the new version begins; None if no previous versions are kept.
                documents.columns(row, document, prepared.sha256, source, since),
                [(chunk, chunks.columns(row, document.metadata, new_chunk)) for chunk, new_chunk in pairs],
                frozenset(chunk_rows[name] for name in kept),
                [chunk_rows[name] for name in texts if name not in kept],
                [
                    terms.Entry(chunk_rows[name], old_title, text)
                    for name, text in texts.items()
                    if name not in unchanged
                ],
                [
                    terms.Entry(chunk, document.title, new_chunk.text)
                    for chunk, new_chunk in pairs
                    if new_chunk.id not in unchanged
                ],
            )
        )
    return placed


def remove_rows(
    connection: Connection, rows: Sequence[documents.DocumentRow], ending: versions.VersionEnding | None
) -> int:
    """Remove documents and everything derived from them. Return the number of chunks removed.

    ``ending`` says what happens to their versions. Usually the removed documents become previous versions. If
    ``ending`` is ``forgotten``, their previous versions are deleted, and no new ones are stored. With None, versions
    are left unchanged. The rows of the documents' files stay in ``sources``.
    """
    removed = 0
    for batch in grouped(rows, (lambda row: row.characters, BATCH_CHARACTERS)):
        entries = []
        for row in batch:
            versions.end(connection, row, ending)
            text = documents.text(connection, row.row, 0, row.characters)
            spans = chunks.spans_of(connection, row.row)
            entries += [terms.Entry(chunk, row.title, text[start:end]) for chunk, start, end in spans]
        terms.remove(connection, entries)
        numbers, uses = [row.row for row in batch], names.NameCounts()
        _remove_chunks(connection, [entry.chunk for entry in entries], uses)
        graphs.remove(connection, [], numbers, uses)
        names.use(connection, uses)
        assertions.remove_assertions_of(connection, "document", numbers)
        documents.remove(connection, numbers)
        removed += len(entries)
    return removed


def _remove_chunks(connection: Connection, rows: Sequence[int], uses: names.NameCounts) -> None:
    """Remove chunks from all tables but the inverted index. The caller must store the changes added to ``uses``."""
    if rows:
        graphs.remove(connection, rows, [], uses)
        assertions.remove_assertions_of(connection, "chunk", rows)
        chunks.remove(connection, rows)


def remove(
    database: Database,
    indexes: Sequence[EcoVectorIndex],
    names: Sequence[str],
    guard: WriteGuard | None = None,
    *,
    forgets: bool = False,
) -> Report:
    """Remove documents by their ids, uris or paths. A uri removes every document that came from it.

    On an error, no document is removed. With a guard, documents outside of its view are treated as missing. With
    ``forgets``, the previous versions of the documents are deleted, too. Then ``names`` may contain documents that have
    only previous versions, except in a view. Raises NotFound if a name matches no document.
    """
    tally = Tally()
    with database.write() as connection:
        rows, unknown = sources.resolve(connection, names)
        if guard is not None:
            allowed = guard.among(connection, [row.row for row in rows])
            rows = [row for row in rows if row.row in allowed]
            named = [sources.resolve(connection, [name])[0] for name in names]
            unknown = [
                name
                for name, matches in zip(names, named, strict=True)
                if allowed.isdisjoint(row.row for row in matches)
            ]
        if forgets and guard is None:
            numbers = {name: versions.numbers_of(connection, name) for name in unknown}
            versions.drop(connection, [number for found in numbers.values() for number in found])
            unknown = [name for name, found in numbers.items() if not found]
            tally.removed = len(numbers) - len(unknown)
        if unknown:
            listed = ", ".join(repr(name) for name in unknown)
            raise NotFound(f"{database.path} contains no document {listed}", f"monograph show {database.path}")
        ending = versions.ending(connection, database.clock, forgotten=forgets)
        _remove_documents(connection, indexes, rows, ending, tally)
    return tally.report()


def drop_versions(database: Database, names: Sequence[str] | None, before: int | None) -> Report:
    """Delete previous versions: see :meth:`monograph.Monograph.forget_versions`.

    In the report, ``removed`` counts the deleted versions.
    """
    tally = Tally()
    with database.write() as connection:
        numbers = None if before is None else set(versions.ended_by(connection, before))
        if names is not None:
            named = {number for name in names for number in versions.numbers_of(connection, name)}
            numbers = named if numbers is None else numbers & named
        versions.drop(connection, sorted(numbers or ()))
        tally.removed = len(numbers or ())
    return tally.report()


def remove_root(database: Database, indexes: Sequence[EcoVectorIndex], name: str, *, forgets: bool = False) -> Report:
    """Remove a root and all its documents: see :meth:`monograph.library.files.Files.remove`."""
    tally = Tally()
    with database.write() as connection:
        stored = sources.rows(connection, list(sources.states(connection, name))).values()
        rows = [row for source in stored for row in documents.of_source(connection, source)]
        ending = versions.ending(connection, database.clock, forgotten=forgets)
        _remove_documents(connection, indexes, rows, ending, tally)
        if forgets:
            previous = versions.versions_under(connection, name)
            versions.drop(connection, list(previous))
            tally.removed += len({*previous.values()} - {row.id for row in rows})
        sources.remove_root(connection, name)
    return tally.report()


def _remove_documents(
    connection: Connection,
    indexes: Sequence[EcoVectorIndex],
    rows: Sequence[documents.DocumentRow],
    ending: versions.VersionEnding | None,
    tally: Tally,
) -> None:
    tally.removed += len(rows)
    tally.chunks_removed += remove_rows(connection, rows, ending)
    sources.remove_empty(connection)
    flush(connection, indexes)
