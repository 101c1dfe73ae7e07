"""Storage of documents that a caller gives, of the files in the plan of a sync, and of an earlier state of a file.

Models run first. Each result of a model is stored in the memo as soon as it exists. Then one transaction stores a batch
of documents with their chunks, index rows and vectors. Results of quick models, such as the static vectors, are stored
only in that transaction. If the process is killed at any moment, the file holds complete batches, and the next run
finds the results of slow models in the memo.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace

from monograph import telemetry
from monograph.derive.derivation import MissingValue, extractions, retry, vectors
from monograph.errors import InvalidDocument
from monograph.read.limits import Limits
from monograph.store import versions
from monograph.store.documents import documents, sources
from monograph.store.file import memo, settings
from monograph.store.versions import PreviousVersion
from monograph.sync import rename
from monograph.sync.roots import remember
from monograph.values import Change, Document, OnProgress, Plan, Problem, Progress, Report
from monograph.write import describe, writer
from monograph.write.batch import (
    BATCH_DOCUMENTS,
    BATCH_FILES,
    Parcel,
    PreparedDocument,
    batches,
    changed,
    document_hash,
    prepare,
    read_plan,
    with_keys,
)
from monograph.write.changes import NOTHING_SEEN, PreparedParcel, ReadState, Tally
from monograph.write.configuration import EMBEDDER
from monograph.write.graph import NOTHING_PRECOMPUTED, DerivedValues, Precomputed, derive_graph
from monograph.write.pipeline import Pipeline, write
from monograph.write.tree import follow

WORTHWHILE = 1_000_000
"""Least amount of new or changed text, in characters or bytes of files, for which other processes are started.

A process takes half a second to start. In that time the writer derives the values of 500 texts of 300 words.
"""


@telemetry.traced("monograph.add")
def add(
    pipeline: Pipeline,
    given: Iterable[Document],
    on_progress: OnProgress | None = None,
    *,
    strict: bool = True,
) -> Report:
    """Store the new and changed documents among those that a caller gives.

    With ``strict``, a document that cannot be stored raises InvalidDocument. The batch that contains it is not stored;
    earlier batches are. Without ``strict``, such a document is skipped and becomes a problem in the report.
    """
    listed = list(given)

    def store_batch(batch: list[Document], precomputed: Precomputed) -> Tally:
        seen = NOTHING_SEEN
        if pipeline.guard is not None:
            with pipeline.database.read() as connection:
                seen = pipeline.guard.seen(connection, batch)
        parcels = [Parcel(None, (document,)) for document in batch]
        return store(pipeline, parcels, precomputed, strict=strict, seen=seen)

    expected = sum(len(document.text) for document in listed)
    return in_batches(pipeline, "add", listed, store_batch, on_progress, expected)


def in_batches(
    pipeline: Pipeline,
    phase: str,
    listed: Sequence[Document],
    store_batch: Callable[[list[Document], Precomputed], Tally],
    on_progress: OnProgress | None,
    expected: int = 0,
) -> Report:
    """Store the documents that a caller gave, one batch after the other, then update the tree.

    ``listed`` are the documents. ``store_batch`` stores one batch and returns its tally. Progress is reported with
    ``phase`` as the name of the work. ``expected`` is the number of characters in all documents. If it is at least
    WORTHWHILE, other processes derive values ahead.
    """
    tally, done = Tally(), 0
    parcels = batches((Parcel(None, (document,)) for document in listed), BATCH_DOCUMENTS)
    for batch, precomputed in _with_precomputed(pipeline, parcels, expected):
        given = [document for parcel in batch for document in parcel.documents]
        tally.include(store_batch(given, precomputed))
        done += len(given)
        if on_progress is not None:
            on_progress(Progress(phase, done, len(listed), "documents", given[-1].id))
    follow(pipeline, tally, on_progress)
    return tally.report()


@telemetry.traced("monograph.apply")
def apply(pipeline: Pipeline, plan: Plan, limits: Limits, on_progress: OnProgress | None = None) -> Report:
    """Carry out the plan of a sync: store new and changed files, and remove the documents of files that are gone.

    A source that cannot be read becomes a problem in the report, and its stored documents stay. ``limits`` bound the
    size of a source, and the time and memory for reading it.
    """
    tally = Tally(problems=list(plan.problems), moved=list(plan.moved))
    if pipeline.describer is not None:
        plan = describe.read_again(pipeline, pipeline.describer, plan)
    with pipeline.database.read() as connection:
        stored_roots = sources.roots(connection)
    if any(root not in stored_roots for root in plan.roots):
        with pipeline.database.write() as connection:
            for root in plan.roots:  # Roots are stored before their files.
                sources.put_root(connection, root)
    gone = plan.of("gone")
    if gone and plan.of("new"):
        rename.carry_over(pipeline.database, rename.same_vectors(pipeline.database, pipeline.embedder.key, plan))
    _remove_gone(pipeline, gone, tally)
    same = plan.of("same")
    tally.same += len(same)
    touched = [(change.uri, change.size, change.modified_ns) for change in same if change.touched]
    if touched:
        with pipeline.database.write() as connection:
            sources.touch(connection, touched)
    expected = sum(change.size or 0 for kind in ("new", "changed") for change in plan.of(kind))
    with ExitStack() as closing:
        pictured = None
        if pipeline.describer is not None:
            pictured = describe.PictureReplacer(pipeline.database, pipeline.describer, limits, closing, tally)
        parcels = read_plan(plan, limits, tally.problems, on_progress, pictured)
        for batch, precomputed in _with_precomputed(pipeline, batches(parcels, BATCH_FILES), expected):
            tally.include(store(pipeline, batch, precomputed, strict=False))
    follow(pipeline, tally, on_progress)
    describer = "" if pipeline.describer is None else pipeline.describer.key
    remember(pipeline.database, plan, tally.problems, describer)
    return tally.report()


def _with_precomputed(
    pipeline: Pipeline, batches: Iterator[list[Parcel]], expected: int
) -> Iterator[tuple[list[Parcel], Precomputed]]:
    """Return batches, with values that other processes precompute if ``expected`` is at least WORTHWHILE."""
    if expected < WORTHWHILE:
        return ((batch, NOTHING_PRECOMPUTED) for batch in batches)
    from monograph.write.parallel import with_precomputed

    return with_precomputed(pipeline, batches)


def store(
    pipeline: Pipeline,
    batch: Sequence[Parcel],
    precomputed: Precomputed = NOTHING_PRECOMPUTED,
    *,
    strict: bool,
    seen: ReadState = NOTHING_SEEN,
) -> Tally:
    """Derive the missing values of a batch, then store the batch in one transaction.

    Both steps are repeated if another process deletes a needed value from the memo between them. With ``strict``, the
    error of the first document that cannot be stored is raised, and nothing is stored. Otherwise such a document is
    skipped and becomes a problem. Raises ConcurrentChange, and stores nothing, if the stored documents differ from
    ``seen``.
    """
    ready = _prepare(pipeline, batch, precomputed)
    if strict:
        for problem in (problem for parcel in ready for problem in parcel.failed):
            raise InvalidDocument(problem.reason, problem.hint)
    tally = Tally()
    work = [prepared for parcel in ready for prepared in parcel.prepared]
    if pipeline.guard is not None:
        for prepared in work:
            pipeline.guard.check(prepared)
    waiting = {key: value for prepared in work for key, value in prepared.given.items()}
    texts = {key: text for prepared in work for key, text in prepared.texts.items()}

    def derive_and_store() -> Tally:
        with telemetry.span("monograph.derive.vectors"):
            embedded = vectors(pipeline.embedder).derive_missing(pipeline.database, texts, waiting, precomputed.values)
        tally.embedded += len(embedded)
        tally.reused += len(texts) - len(embedded)
        with telemetry.span("monograph.derive.graph"):
            with pipeline.database.read() as connection:
                has_graph = settings.has_graph(connection)
            if has_graph:
                derived = derive_graph(pipeline, work, tally, waiting, precomputed)
            else:
                derived = DerivedValues(waiting, [key for prepared in work for key in prepared.keys])
        with write(pipeline.database, pipeline.indexes) as connection:
            # Another process may have changed the file's embedder, or built the graph, since this process read it.
            EMBEDDER.check(pipeline.database, pipeline.embedder)
            if settings.has_graph(connection) != has_graph:
                raise MissingValue
            return writer.store(connection, pipeline, ready, derived, seen, strict=strict)

    tally.include(retry(pipeline.database, derive_and_store))
    return tally


@telemetry.traced("monograph.derive.chunks")
def _prepare(pipeline: Pipeline, batch: Sequence[Parcel], precomputed: Precomputed) -> list[PreparedParcel]:
    """Cut the changed documents of a batch into chunks, and return each parcel with its prepared documents."""
    with pipeline.database.read() as connection:
        work = [list(changed(connection, parcel, pipeline.settings)) for parcel in batch]
    missing = [
        (document, sha256)
        for pairs in work
        for document, sha256 in pairs
        if (document.id, sha256) not in precomputed.prepared
    ]
    cut = iter(prepare(missing, pipeline.embedder, pipeline.settings))
    ready = []
    for parcel, pairs in zip(batch, work, strict=True):
        results = [precomputed.prepared.get((document.id, sha256)) or next(cut) for document, sha256 in pairs]
        good = tuple(result for result in results if isinstance(result, PreparedDocument))
        ready.append(PreparedParcel(parcel, good, tuple(result for result in results if isinstance(result, Problem))))
    return ready


def _remove_gone(pipeline: Pipeline, gone: tuple[Change, ...], tally: Tally) -> None:
    for first in range(0, len(gone), BATCH_DOCUMENTS):
        with write(pipeline.database, pipeline.indexes) as connection:
            ending = versions.ending(connection, pipeline.database.clock, forgotten=pipeline.forgets)
            files = sources.rows(connection, [change.uri for change in gone[first : first + BATCH_DOCUMENTS]]).values()
            rows = [row for source in files for row in documents.of_source(connection, source)]
            tally.chunks_removed += writer.remove_rows(connection, rows, ending)
            tally.removed += len(rows)
            sources.remove(connection, files)


def restore(pipeline: Pipeline, second: int) -> None:
    """Change a copy of a file back to an earlier state, and delete all previous versions from the copy.

    The copy gets the state at the end of ``second``, in seconds since 1970. Documents stored later are removed, and
    the versions that were valid at that time are stored again. Missing values are derived. Two things are
    not changed back: assertions, and a caller's decisions to merge names or to keep them apart. Raises DamagedFile if a
    previous version cannot be read, and ModelError if a model is needed and does not answer.
    """
    database = pipeline.database
    with database.read() as connection:
        previous = list(versions.load(connection, versions.valid_at(connection, second)))
    with write(database, pipeline.indexes) as connection:
        writer.remove_rows(connection, documents.begun_after(connection, second), None)
        sources.remove_empty(connection)
    for first in range(0, len(previous), BATCH_DOCUMENTS):
        batch = previous[first : first + BATCH_DOCUMENTS]
        hashes = [(version.document.id, document_hash(version.document, pipeline.settings)) for version in batch]
        prepared = replace(
            NOTHING_PRECOMPUTED, prepared=dict(zip(hashes, _prepare_versions(pipeline, batch), strict=True))
        )
        store(pipeline, [Parcel(None, tuple(version.document for version in batch))], prepared, strict=True)
    with database.write() as connection:
        versions.mark(connection, previous)
        versions.clear(connection)


def derive_missing(pipeline: Pipeline, second: int) -> None:
    """Derive the vectors and extractions that previous versions lack, and store them with these versions.

    A previous version lacks these values if a model of the file was changed after the version was stored. Versions
    that were not valid at the end of ``second`` (seconds since 1970) are left unchanged.
    """
    database = pipeline.database
    with database.read() as connection:
        graph = settings.has_graph(connection)
        numbers = versions.incomplete_at(connection, second, graph=graph)
        previous = list(versions.load(connection, numbers))
    if not previous:
        return
    prepared = _prepare_versions(pipeline, previous)
    texts = {key: text for version in prepared for key, text in version.texts.items()}
    vectors(pipeline.embedder).derive_missing(database, texts)
    extracting = extractions(pipeline.extractor)
    if graph:
        extracting.derive_missing(database, extracting.keyed(chunk for version in previous for chunk in version.chunks))
    with database.write() as connection:
        for number, version in zip(numbers, prepared, strict=True):
            extraction_keys = [extracting.key(chunk) for chunk in version.chunks]
            vector_rows = memo.rows(connection, memo.VECTOR, version.keys)
            extraction_rows = memo.rows(connection, memo.EXTRACTION, extraction_keys) if graph else {}
            rows = zip(version.chunks, version.keys, extraction_keys, strict=True)
            values = (
                (chunk.ordinal, vector_rows.get(key), extraction_rows.get(extraction))
                for chunk, key, extraction in rows
            )
            versions.assign(connection, number, values)


def _prepare_versions(pipeline: Pipeline, previous: Sequence[PreviousVersion]) -> list[PreparedDocument]:
    """Prepare previous versions with their stored chunks: another version of the package might cut them differently."""
    return [
        with_keys(version.document, version.sha256, version.chunks, version.given, pipeline.embedder)
        for version in previous
    ]
