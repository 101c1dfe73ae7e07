"""One batch into the file: all it derives first, then its rows in one transaction."""

from __future__ import annotations

from collections.abc import Sequence

from monograph import telemetry
from monograph.derive.derivation import MissingValue, retry, vectors
from monograph.errors import InvalidDocument
from monograph.store.file import settings
from monograph.store.history import versions
from monograph.values import Problem
from monograph.write import writer
from monograph.write.batch import Parcel, changed
from monograph.write.changes import NOTHING_SEEN, Ready, Seen, Tally
from monograph.write.configuration import EMBEDDER
from monograph.write.graph import NO_GRAPH, BatchGraph, derive_graph, rows_of
from monograph.write.parallel import Precomputed
from monograph.write.pipeline import Pipeline
from monograph.write.prepare import Prepared, prepare
from monograph.write.transaction import write

NOTHING_PRECOMPUTED = Precomputed()


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
    pipeline:
        The file, the embedder and the settings.
    batch:
        Documents by source.
    precomputed:
        What of it is made already.
    strict:
        Raise on the first document that cannot be stored, and store nothing of the batch; else it is a problem.
    seen:
        What the batch was made from.

    Raises
    ------
    Overtaken
        If what was seen is not so any more: nothing is stored.
    """
    ready = _prepare(pipeline, batch, precomputed)
    if strict:
        for problem in (problem for one in ready for problem in one.failed):
            raise InvalidDocument(problem.reason, problem.mend)
    tally = Tally()
    work = [prepared for one in ready for prepared in one.prepared]
    if pipeline.guard is not None:
        for one in work:
            pipeline.guard.check(one)
    waiting = {key: value for one in work for key, value in one.given.items()}

    def derive_and_store() -> Tally:
        graph = _derive(pipeline, work, precomputed, waiting, tally)
        with write(pipeline.database, pipeline.indexes) as connection:
            # Another process may have given the file another embedder since this one was opened, or built its graph.
            EMBEDDER.check(pipeline.database, pipeline.embedder)
            if settings.has_graph(connection) == (graph is None):
                raise MissingValue
            parts = None
            if graph is not None:
                parts = {(one.document.id, one.sha256): part for one, part in zip(work, graph.parts, strict=True)}
            keys = (key for one in work for key in one.keys)
            derived = writer.Derived(
                vectors(pipeline.embedder).rows(connection, keys, waiting),
                rows_of(connection, pipeline, graph or NO_GRAPH, waiting),
                parts,
            )
            ending = versions.ending(connection, pipeline.database.clock, forgotten=pipeline.forgets)
            return writer.store(connection, ready, derived, ending, seen, strict=strict)

    tally.include(retry(pipeline.database, derive_and_store))
    return tally


def _derive(
    pipeline: Pipeline,
    work: Sequence[Prepared],
    precomputed: Precomputed,
    waiting: dict[bytes, bytes],
    tally: Tally,
) -> BatchGraph | None:
    """Derive the vectors and, if the file has one, the graph. Raises MissingValue if the memo is emptied meanwhile."""
    texts = {key: text for one in work for key, text in one.texts.items()}
    with telemetry.span("monograph.derive.vectors"):
        made = vectors(pipeline.embedder).derive_missing(pipeline.database, texts, waiting, precomputed.values)
    tally.embedded += len(made)
    tally.remembered += len(texts) - len(made)
    with telemetry.span("monograph.derive.graph"):
        with pipeline.database.read() as connection:
            has_graph = settings.has_graph(connection)
        if not has_graph:
            return None
        graph = derive_graph(pipeline, work, waiting, precomputed.values, precomputed.parts)
        tally.extracted += graph.extracted.extracted
        tally.fell_back += graph.extracted.fell_back
        return graph


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
