"""Bringing the file up to date with documents, and with a plan.

Model work comes first, and each result is remembered as soon as it exists; then one transaction stores a batch of
documents with their chunks, index rows and vectors. Killed at any moment, the file holds whole batches, and the next
run finds in the memo what was made.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field, fields, replace

from monograph.derive.tokens import count_tokens
from monograph.ingest import foresee, rename
from monograph.ingest.ahead import with_ahead
from monograph.ingest.batch import BATCH_DOCUMENTS, Parcel, batches, changed, readings
from monograph.ingest.commit import Tally, remove_row, store
from monograph.ingest.follow import remember
from monograph.ingest.grow import keep_up
from monograph.ingest.limits import Limits
from monograph.ingest.prepare import Pipeline, Prepared, missing, prepare
from monograph.ingest.relate import price_extractions
from monograph.ingest.settle import write
from monograph.store import chunks, documents, sources
from monograph.values import Change, Cost, Document, Plan, Problem, Progress, Report, Watcher


def add(pipeline: Pipeline, given: Iterable[Document], watcher: Watcher | None = None) -> Report:
    """Store documents that a caller hands over; one that is there already, unchanged, costs nothing.

    Raises
    ------
    InvalidDocument
        If one cannot be stored. The documents of the batches before it are stored, its own batch is not.
    """
    started = time.perf_counter()
    tally = Tally()
    listed = list(given)
    done = 0
    for batch, made in with_ahead(pipeline, batches(Parcel(None, (document,)) for document in listed)):
        tally.include(store(pipeline, batch, made, strict=True))
        done += len(batch)
        if watcher is not None:
            watcher(Progress("add", done, len(listed), "documents", batch[-1].documents[0].id))
    grow_tree(pipeline, tally, watcher)
    return report(tally, started)


def apply(pipeline: Pipeline, plan: Plan, limits: Limits, watcher: Watcher | None = None) -> Report:
    """Do what a plan says. A source that cannot be read is a problem in the report, and what is stored of it stays."""
    started = time.perf_counter()
    tally = Tally(problems=list(plan.problems))
    rename.carry_over(pipeline, rename.same_vectors(pipeline, plan))
    _apply_gone(pipeline, plan.of("gone"), tally)
    _apply_same(pipeline, plan.of("same"), tally)
    for batch, made in with_ahead(pipeline, batches(readings(_to_read(plan), limits, tally.problems, watcher))):
        tally.include(store(pipeline, batch, made, strict=False))
    grow_tree(pipeline, tally, watcher)
    remember(pipeline.database, plan, tally.problems)
    return report(tally, started)


def grow_tree(pipeline: Pipeline, tally: Tally, watcher: Watcher | None = None) -> None:
    """Bring the tree of summaries up to date with what was stored."""
    made, problems = keep_up(pipeline, watcher)
    tally.summarized += made
    tally.problems.extend(problems)


def report(tally: Tally, started: float) -> Report:
    """A tally as a report; ``started`` by ``time.perf_counter``."""
    counts = {one.name: getattr(tally, one.name) for one in fields(tally) if one.name != "problems"}
    return Report(**counts, seconds=time.perf_counter() - started, problems=tuple(tally.problems))


def _to_read(plan: Plan) -> list[Change]:
    return [change for change in plan.changes if change.kind in ("new", "changed")]


def _apply_gone(pipeline: Pipeline, gone: tuple[Change, ...], tally: Tally) -> None:
    for first in range(0, len(gone), BATCH_DOCUMENTS):
        with write(pipeline.database, pipeline.indexes) as connection:
            for change in gone[first : first + BATCH_DOCUMENTS]:
                source = sources.row_of(connection, change.uri)
                if source is None:
                    continue
                for row in documents.of_source(connection, source):
                    tally.chunks_removed += remove_row(connection, row)
                    tally.removed += 1
                sources.remove(connection, source)


def _apply_same(pipeline: Pipeline, same: tuple[Change, ...], tally: Tally) -> None:
    tally.same += len(same)
    touched = [(change.uri, change.size, change.modified_ns) for change in same if change.touched]
    if touched:
        with pipeline.database.write() as connection:
            sources.touch(connection, touched)


def price(pipeline: Pipeline, plan: Plan, limits: Limits, watcher: Watcher | None = None) -> Plan:
    """Add to a plan what it would derive: exact, because it reads and cuts all that changed, and writes nothing.

    Of the summaries, only the number of those over chunks is exact: see :mod:`monograph.ingest.foresee`.
    """
    problems: list[Problem] = list(plan.problems)
    cost = Cost()
    priced = _Priced(vectors=set(rename.same_vectors(pipeline, plan)))
    for batch in batches(readings(_to_read(plan), limits, problems, watcher)):
        cost = _price(pipeline, batch, cost, priced)
    with pipeline.database.read() as connection:
        if pipeline.summarizer is not None:
            priced.seen.take(connection, plan.of("gone"))
        above = foresee.price(connection, pipeline, priced.seen)
    whole = replace(
        cost,
        summaries=above.summaries,
        model_calls=cost.model_calls + above.model_calls,
        model_tokens=cost.model_tokens + above.model_tokens,
    )
    return Plan(plan.changes, tuple(problems), whole, plan.roots)


@dataclass(slots=True)
class _Priced:
    """What is in a cost already: keys of vectors and of extractions; and the chunks that would come and go."""

    vectors: set[bytes] = field(default_factory=set)
    extractions: set[bytes] = field(default_factory=set)
    seen: foresee.Foresight = field(default_factory=foresee.Foresight)


def _price(pipeline: Pipeline, batch: list[Parcel], cost: Cost, priced: _Priced) -> Cost:
    fresh = 0
    with pipeline.database.read() as connection:
        pairs = [pair for parcel in batch for pair in changed(connection, parcel, pipeline.settings)]
        made = prepare(pairs, pipeline.embedder, pipeline.settings)
        work = [one for one in made if isinstance(one, Prepared)]
        lacking = [one for one in missing(connection, work) if one.key not in priced.vectors and one.given is None]
        for prepared in work:
            row = documents.find(connection, prepared.document.id)
            held = set() if row is None else chunks.ids_of_document(connection, row.row)
            fresh += sum(chunk.id not in held for chunk in prepared.chunks)
        given = [chunk for prepared in work for chunk in prepared.chunks]
        extracting = price_extractions(connection, pipeline.extractor, given, priced.extractions)
        if pipeline.summarizer is not None:
            priced.seen.bring(connection, pipeline, work)
            priced.seen.leave_out(connection, batch)
    priced.vectors.update(vector.key for vector in lacking)
    return Cost(
        documents=cost.documents + len(work),
        chunks=cost.chunks + fresh,
        embeddings=cost.embeddings + len(lacking),
        embedding_tokens=cost.embedding_tokens + sum(count_tokens([vector.text for vector in lacking])),
        extractions=cost.extractions + extracting.chunks,
        model_calls=cost.model_calls + extracting.calls,
        model_tokens=cost.model_tokens + extracting.tokens,
    )
