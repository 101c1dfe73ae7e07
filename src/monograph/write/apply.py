"""Bring a file up to date with documents, with a plan, or with what it held at an earlier moment.

Model work comes first, and each result is stored in the memo as soon as it exists; then one transaction stores a batch
of documents with their chunks, index rows and vectors, and with values that are made as quickly as they are stored.
Killed at any moment, the file holds whole batches, and the next run finds in the memo what a model made.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace

from monograph import telemetry
from monograph.derive.derivation import MissingValue, extractions, retry, vectors
from monograph.errors import InvalidDocument
from monograph.read.limits import Limits
from monograph.store import versions
from monograph.store.documents import documents, sources
from monograph.store.file import memo, settings
from monograph.store.versions import Former
from monograph.sync import rename
from monograph.sync.roots import remember
from monograph.values import Change, Document, OnProgress, Plan, Problem, Progress, Report
from monograph.write import describe, tree, writer
from monograph.write.batch import (
    BATCH_DOCUMENTS,
    BATCH_FILES,
    Parcel,
    Prepared,
    batches,
    changed,
    document_hash,
    prepare,
    readings,
    with_keys,
)
from monograph.write.changes import NOTHING_SEEN, Ready, Seen, Tally
from monograph.write.configuration import EMBEDDER
from monograph.write.graph import NOTHING_PRECOMPUTED, Derived, Precomputed, derive_graph
from monograph.write.pipeline import Pipeline, write

WORTHWHILE = 1_000_000
"""Characters that are new or changed, or bytes of files, for which other processes are started.

To start takes each of them half a second of a processor: in that time the writer makes what 500 texts of 300 words
need. The writer does not wait for it.
"""


@telemetry.traced("monograph.add")
def add(
    pipeline: Pipeline,
    given: Iterable[Document],
    on_progress: OnProgress | None = None,
    *,
    strict: bool = True,
) -> Report:
    """Store documents that a caller hands over; one that is there already, unchanged, costs nothing.

    Unless it is ``strict``, one that cannot be stored is a problem in the report.

    Raises
    ------
    InvalidDocument
        If one cannot be stored. The documents of the batches before it are stored, its own batch is not.
    """
    started = time.perf_counter()
    tally = Tally()
    listed = list(given)
    done = 0
    parcels = (Parcel(None, (document,)) for document in listed)
    expected = sum(len(document.text) for document in listed)
    for batch, made in _with_precomputed(pipeline, batches(parcels, BATCH_DOCUMENTS), expected):
        seen = NOTHING_SEEN
        if pipeline.guard is not None:
            with pipeline.database.read() as connection:
                seen = pipeline.guard.seen(connection, [document for parcel in batch for document in parcel.documents])
        tally.include(store(pipeline, batch, made, strict=strict, seen=seen))
        done += len(batch)
        if on_progress is not None:
            on_progress(Progress("add", done, len(listed), "documents", batch[-1].documents[0].id))
    grow_tree(pipeline, tally, on_progress)
    return tally.report(started)


@telemetry.traced("monograph.apply")
def apply(pipeline: Pipeline, plan: Plan, limits: Limits, on_progress: OnProgress | None = None) -> Report:
    """Do what a plan says. A source that cannot be read is a problem in the report, and what is stored of it stays."""
    started = time.perf_counter()
    if pipeline.describer is not None:
        plan = describe.read_again(pipeline, pipeline.describer, plan)
    tally = Tally(problems=list(plan.problems), moved=list(plan.moved))
    with pipeline.database.read() as connection:
        known = sources.roots(connection)
    if any(root not in known for root in plan.roots):
        with pipeline.database.write() as connection:
            for root in plan.roots:  # Before anything that belongs to them.
                sources.put_root(connection, root)
    gone = plan.of("gone")
    if gone and plan.of("new"):
        rename.carry_over(pipeline.database, rename.same_vectors(pipeline.database, pipeline.embedder.key, plan))
    _apply_gone(pipeline, gone, tally)
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
            describing = describe.Describing(pipeline.database, pipeline.describer, limits, closing, tally)
            pictured = describing.documents
        parcels = readings(plan, limits, tally.problems, on_progress, pictured)
        for batch, made in _with_precomputed(pipeline, batches(parcels, BATCH_FILES), expected):
            tally.include(store(pipeline, batch, made, strict=False))
    grow_tree(pipeline, tally, on_progress)
    describer = "" if pipeline.describer is None else pipeline.describer.key
    remember(pipeline.database, plan, tally.problems, describer)
    return tally.report(started)


def _with_precomputed(
    pipeline: Pipeline, batches: Iterator[list[Parcel]], expected: int
) -> Iterator[tuple[list[Parcel], Precomputed]]:
    """Return batches with what other processes make for them, if so many characters are worth it."""
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
    seen: Seen = NOTHING_SEEN,
) -> Tally:
    """Derive what a batch needs, then store it in one transaction.

    Another process may forget a remembered vector between the two steps: then both are done again.

    Parameters
    ----------
    batch:
        Documents by source.
    precomputed:
        What of it is made already.
    strict:
        Raise on the first document that cannot be stored, and store nothing of the batch; else it is a problem.
    seen:
        What the batch was made from. Raises Overtaken, and stores nothing, if that is not so any more.
    """
    ready = _prepare(pipeline, batch, precomputed)
    if strict:
        for problem in (problem for one in ready for problem in one.failed):
            raise InvalidDocument(problem.reason, problem.hint)
    tally = Tally()
    work = [prepared for one in ready for prepared in one.prepared]
    if pipeline.guard is not None:
        for one in work:
            pipeline.guard.check(one)
    waiting = {key: value for one in work for key, value in one.given.items()}

    texts = {key: text for one in work for key, text in one.texts.items()}

    def derive_and_store() -> Tally:
        with telemetry.span("monograph.derive.vectors"):
            made = vectors(pipeline.embedder).derive_missing(pipeline.database, texts, waiting, precomputed.values)
        tally.embedded += len(made)
        tally.remembered += len(texts) - len(made)
        with telemetry.span("monograph.derive.graph"):
            with pipeline.database.read() as connection:
                has_graph = settings.has_graph(connection)
            if has_graph:
                derived = derive_graph(pipeline, work, tally, waiting, precomputed)
            else:
                derived = Derived(waiting, [key for one in work for key in one.keys])
        with write(pipeline.database, pipeline.indexes) as connection:
            # Another process may have given the file another embedder since this one was opened, or built its graph.
            EMBEDDER.check(pipeline.database, pipeline.embedder)
            if settings.has_graph(connection) != has_graph:
                raise MissingValue
            return writer.store(connection, pipeline, ready, derived, seen, strict=strict)

    tally.include(retry(pipeline.database, derive_and_store))
    return tally


@telemetry.traced("monograph.derive.chunks")
def _prepare(pipeline: Pipeline, batch: Sequence[Parcel], precomputed: Precomputed) -> list[Ready]:
    """The changed documents of a batch, cut all together."""
    with pipeline.database.read() as connection:
        work = [list(changed(connection, parcel, pipeline.settings)) for parcel in batch]
    lacking = [(one, sha256) for some in work for one, sha256 in some if (one.id, sha256) not in precomputed.prepared]
    cut = iter(prepare(lacking, pipeline.embedder, pipeline.settings))
    ready = []
    for parcel, some in zip(batch, work, strict=True):
        results = [precomputed.prepared.get((one.id, sha256)) or next(cut) for one, sha256 in some]
        good = tuple(one for one in results if isinstance(one, Prepared))
        ready.append(Ready(parcel, good, tuple(one for one in results if isinstance(one, Problem))))
    return ready


def grow_tree(pipeline: Pipeline, tally: Tally, on_progress: OnProgress | None = None) -> None:
    """Bring the tree of summaries, if there is one, up to date with what was stored."""
    if pipeline.summarizer is not None:
        made, problems = tree.follow(pipeline, on_progress)
        tally.summarized += made
        tally.problems.extend(problems)


def _apply_gone(pipeline: Pipeline, gone: tuple[Change, ...], tally: Tally) -> None:
    for first in range(0, len(gone), BATCH_DOCUMENTS):
        with write(pipeline.database, pipeline.indexes) as connection:
            ending = versions.ending(connection, pipeline.database.clock, forgotten=pipeline.forgets)
            files = sources.rows(connection, [change.uri for change in gone[first : first + BATCH_DOCUMENTS]]).values()
            rows = [row for source in files for row in documents.of_source(connection, source)]
            tally.chunks_removed += writer.remove_rows(connection, rows, ending)
            tally.removed += len(rows)
            sources.remove(connection, files)


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
        writer.remove_rows(connection, documents.begun_after(connection, second), None)
        sources.remove_empty(connection)
    for first in range(0, len(former), BATCH_DOCUMENTS):
        some = former[first : first + BATCH_DOCUMENTS]
        hashes = [(one.document.id, document_hash(one.document, pipeline.settings)) for one in some]
        prepared = replace(NOTHING_PRECOMPUTED, prepared=dict(zip(hashes, _prepared(pipeline, some), strict=True)))
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
    return [with_keys(one.document, one.sha256, one.chunks, one.given, pipeline.embedder) for one in some]
