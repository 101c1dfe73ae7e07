"""Bringing the file up to date with documents, or with a plan.

Model work comes first, and each result is remembered as soon as it exists; then one transaction stores a batch of
documents with their chunks, index rows and vectors, and with what is as quickly made again. Killed at any moment, the
file holds whole batches, and the next run finds in the memo what a model made.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import fields

from monograph import telemetry
from monograph.read.limits import Limits
from monograph.store.documents import documents, roots, sources
from monograph.store.file.database import Database
from monograph.store.history import versions
from monograph.sync import rename
from monograph.sync.follow import remember
from monograph.values import Change, Document, OnProgress, Plan, Progress, Report
from monograph.write.batch import BATCH_DOCUMENTS, BATCH_FILES, Parcel, batches, readings
from monograph.write.changes import NOTHING_SEEN, Tally
from monograph.write.commit import store
from monograph.write.describe import describing, read_again
from monograph.write.parallel import with_precomputed
from monograph.write.pipeline import Pipeline
from monograph.write.transaction import write
from monograph.write.tree import follow
from monograph.write.writer import remove


@telemetry.traced("monograph.add")
def add(
    pipeline: Pipeline,
    given: Iterable[Document],
    on_progress: OnProgress | None = None,
    *,
    strict: bool = True,
) -> Report:
    """Store documents that a caller hands over; one that is there already, unchanged, costs nothing.

    Unless it is ``strict``, one that cannot be stored is a problem in the report. ``look`` tells of a batch what it is
    to find, and raises where that may not be written over.

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
    for batch, made in with_precomputed(pipeline, batches(parcels, BATCH_DOCUMENTS)):
        seen = NOTHING_SEEN
        if pipeline.guard is not None:
            with pipeline.database.read() as connection:
                seen = pipeline.guard.seen(connection, [document for parcel in batch for document in parcel.documents])
        tally.include(store(pipeline, batch, made, strict=strict, seen=seen))
        done += len(batch)
        if on_progress is not None:
            on_progress(Progress("add", done, len(listed), "documents", batch[-1].documents[0].id))
    grow_tree(pipeline, tally, on_progress)
    return report(tally, started)


@telemetry.traced("monograph.apply")
def apply(pipeline: Pipeline, plan: Plan, limits: Limits, on_progress: OnProgress | None = None) -> Report:
    """Do what a plan says. A source that cannot be read is a problem in the report, and what is stored of it stays."""
    started = time.perf_counter()
    plan = read_again(pipeline, plan)
    tally = Tally(problems=list(plan.problems), moved=list(plan.moved))
    _place_roots(pipeline.database, plan)
    rename.carry_over(pipeline.database, rename.same_vectors(pipeline.database, pipeline.embedder.key, plan))
    _apply_gone(pipeline, plan.of("gone"), tally)
    _apply_same(pipeline, plan.of("same"), tally)
    expected = sum(change.size or 0 for kind in ("new", "changed") for change in plan.of(kind))
    with describing(pipeline, limits) as pictured:
        parcels = readings(plan, limits, tally.problems, on_progress, pictured)
        for batch, made in with_precomputed(pipeline, batches(parcels, BATCH_FILES), expected):
            tally.include(store(pipeline, batch, made, strict=False))
    if pictured is not None:
        tally.described = pictured.described
    grow_tree(pipeline, tally, on_progress)
    describer = "" if pipeline.describer is None else pipeline.describer.key
    remember(pipeline.database, plan, tally.problems, describer)
    return report(tally, started)


def _place_roots(database: Database, plan: Plan) -> None:
    """Store the roots that are new or were moved, before anything that belongs to them."""
    with database.read() as connection:
        known = roots.every(connection)
    if any(root not in known for root in plan.roots):
        with database.write() as connection:
            for root in plan.roots:
                roots.put(connection, root)


def grow_tree(pipeline: Pipeline, tally: Tally, on_progress: OnProgress | None = None) -> None:
    """Bring the tree of summaries up to date with what was stored."""
    made, problems = follow(pipeline, on_progress)
    tally.summarized += made
    tally.problems.extend(problems)


def report(tally: Tally, started: float) -> Report:
    """A tally as a report; ``started`` by ``time.perf_counter``."""
    counts = {one.name: getattr(tally, one.name) for one in fields(tally) if one.name not in ("problems", "moved")}
    problems, moved = tuple(tally.problems), tuple(tally.moved)
    for outcome in ("added", "changed", "removed"):
        telemetry.count("monograph.documents", counts[outcome], "{document}", {"monograph.outcome": outcome})
    telemetry.count("monograph.problems", len(problems), "{problem}")
    return Report(**counts, seconds=time.perf_counter() - started, problems=problems, moved=moved)


def _apply_gone(pipeline: Pipeline, gone: tuple[Change, ...], tally: Tally) -> None:
    for first in range(0, len(gone), BATCH_DOCUMENTS):
        with write(pipeline.database, pipeline.indexes) as connection:
            ending = versions.ending(connection, pipeline.database.clock, forgotten=pipeline.forgets)
            files = sources.rows(connection, [change.uri for change in gone[first : first + BATCH_DOCUMENTS]]).values()
            rows = [row for source in files for row in documents.of_source(connection, source)]
            tally.chunks_removed += remove(connection, rows, ending)
            tally.removed += len(rows)
            sources.remove(connection, files)


def _apply_same(pipeline: Pipeline, same: tuple[Change, ...], tally: Tally) -> None:
    tally.same += len(same)
    touched = [(change.uri, change.size, change.modified_ns) for change in same if change.touched]
    if touched:
        with pipeline.database.write() as connection:
            sources.touch(connection, touched)
