"""One batch into the file: all it derives first, then its rows in one transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace

from monograph import telemetry
from monograph.derive.derivation import Forgotten, retry, vectors
from monograph.errors import BusyFile, InvalidDocument, MonographError
from monograph.store.documents import chunks, dates, documents, sources
from monograph.store.file import checksums, settings
from monograph.store.file.database import Connection, savepoint
from monograph.store.graph import graph_changes
from monograph.store.graph import names as stored_names
from monograph.store.history import versions
from monograph.store.words import terms
from monograph.values import Move, Problem
from monograph.write import names
from monograph.write.batch import Parcel, changed
from monograph.write.configuration import EMBEDDER
from monograph.write.graph import Related, extract, relate, rows_of_extractions, store_part
from monograph.write.new_documents import Derived, new_ids, store_new
from monograph.write.parallel import Precomputed
from monograph.write.pipeline import Pipeline
from monograph.write.prepare import Prepared, prepare
from monograph.write.transaction import write


@dataclass(slots=True)
class Tally:
    """Counts of a :class:`~monograph.values.Report` that is still growing."""

    added: int = 0
    changed: int = 0
    removed: int = 0
    same: int = 0
    chunks_added: int = 0
    chunks_removed: int = 0
    embedded: int = 0
    remembered: int = 0
    extracted: int = 0
    fell_back: int = 0
    summarized: int = 0
    described: int = 0
    problems: list[Problem] = field(default_factory=list)
    moved: list[Move] = field(default_factory=list)

    def include(self, other: Tally) -> None:
        """Add another tally to this one."""
        for one in fields(self):
            setattr(self, one.name, getattr(self, one.name) + getattr(other, one.name))


@dataclass(frozen=True, slots=True)
class _Ready:
    """A parcel with its changed documents prepared, and those that could not be, as problems."""

    parcel: Parcel
    prepared: tuple[Prepared, ...]
    failed: tuple[Problem, ...]


class Overtaken(BusyFile):
    """Another writer changed a document between the reading of it and the writing."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What a batch was made from: the hashes of stored documents, None for one that was not there, by id.

    ``gone`` are ids of those among them that are to be taken out with the batch.
    """

    hashes: Mapping[str, bytes | None]
    gone: Sequence[str] = ()


NOTHING_SEEN = Seen({})
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
    if pipeline.check is not None:
        for one in work:
            pipeline.check(one)
    waiting = {key: value for one in work for key, value in one.given.items()}

    def derive_and_store() -> Tally:
        made = _derive(pipeline, work, precomputed, waiting, tally)
        return _commit(pipeline, ready, made, seen, strict=strict)

    tally.include(retry(pipeline.database, derive_and_store))
    return tally


def _derive(
    pipeline: Pipeline,
    work: Sequence[Prepared],
    precomputed: Precomputed,
    waiting: dict[bytes, bytes],
    tally: Tally,
) -> _Made:
    """Derive the vectors and, if the file has a graph, its parts. Raises Forgotten if the memo is emptied meanwhile."""
    texts = {key: text for one in work for key, text in one.texts.items()}
    with telemetry.span("monograph.derive.vectors"):
        made = vectors(pipeline.embedder).derive_missing(pipeline.database, texts, waiting, precomputed.values)
    tally.embedded += len(made)
    tally.remembered += len(texts) - len(made)
    with telemetry.span("monograph.derive.graph"):
        with pipeline.database.read() as connection:
            has_graph = settings.has_graph(connection)
        if not has_graph:
            return _Made(waiting, None, names.NO_NAMES)
        given = (chunk for one in work for chunk in one.chunks)
        extracted = extract(pipeline, given, waiting, precomputed.values)
        tally.extracted += extracted.extracted
        tally.fell_back += extracted.fell_back
        related = relate(pipeline, work, precomputed.parts, waiting)
        return _Made(waiting, related, names.name(pipeline, related, waiting, precomputed.values))


@telemetry.traced("monograph.derive.chunks")
def _prepare(pipeline: Pipeline, batch: Sequence[Parcel], precomputed: Precomputed) -> list[_Ready]:
    """The changed documents of a batch, cut all together."""
    with pipeline.database.read() as connection:
        work = [list(changed(connection, parcel, pipeline.settings)) for parcel in batch]
    lacking = [(one, sha256) for some in work for one, sha256 in some if (one.id, sha256) not in precomputed.prepared]
    cut = iter(prepare(lacking, pipeline.embedder, pipeline.settings))
    ready = []
    for parcel, some in zip(batch, work, strict=True):
        results = [precomputed.prepared.get((one.id, sha256)) or next(cut) for one, sha256 in some]
        good = tuple(one for one in results if isinstance(one, Prepared))
        ready.append(_Ready(parcel, good, tuple(one for one in results if isinstance(one, Problem))))
    return ready


@dataclass(frozen=True, slots=True)
class _Made:
    """What was derived for a batch: values that are stored with it, by key, the parts of the graph, and their names.

    The parts are None in a file without a graph.
    """

    waiting: Mapping[bytes, bytes]
    related: Sequence[Related] | None
    named: names.Named


def _commit(pipeline: Pipeline, ready: Sequence[_Ready], made: _Made, seen: Seen, *, strict: bool) -> Tally:
    """Store a batch. Raises Forgotten, and stores nothing, when something it counts on is not in the memo any more."""
    work = [prepared for one in ready for prepared in one.prepared]
    related = made.related or ()
    tally = Tally()
    with write(pipeline.database, pipeline.indexes) as connection:
        # Another process may have given the file another embedder since this one was opened.
        EMBEDDER.check(pipeline.database, pipeline.embedder)
        if settings.has_graph(connection) == (made.related is None):
            raise Forgotten
        keys = (key for prepared in work for key in prepared.keys)
        held = vectors(pipeline.embedder).rows(connection, keys, made.waiting)
        extracted = rows_of_extractions(connection, pipeline, related, made.waiting)
        named = names.numbered(connection, pipeline, made.named, made.waiting)
        ending = versions.ending(connection, pipeline.database.clock, forgotten=pipeline.forgets)
        derived = Derived(held, extracted, named.rows, _by_document(work, made.related), ending)
        _take_out(connection, seen, ending, tally)
        new = _store_new(connection, ready, derived, tally)
        names.store(connection, named, derived.uses)
        later = replace(derived, uses=graph_changes.Uses())
        for one in ready:
            _store_parcel(connection, one, new, later, tally, strict=strict)
        stored_names.use(connection, later.uses.uses, later.uses.persons)
        derived.index.write(connection)
    return tally


def _by_document(
    work: Sequence[Prepared], related: Sequence[Related] | None
) -> dict[tuple[str, bytes], Related] | None:
    if related is None:
        return None
    return {(one.document.id, one.sha256): part for one, part in zip(work, related, strict=True)}


@dataclass(frozen=True, slots=True)
class _New:
    """What of a batch is new and stored already: ids of documents, and rows by uri of files whose first part it is."""

    documents: frozenset[str]
    sources: dict[str, int]


def _store_new(connection: Connection, ready: Sequence[_Ready], derived: Derived, tally: Tally) -> _New:
    """Store the documents of a batch that are new, table by table."""
    new = new_ids(connection, [(one.parcel, one.prepared) for one in ready])
    files = [one.parcel.source for one in ready if one.parcel.source is not None]
    added = sources.add(connection, files)
    rows = sources.rows(connection, list({one.uri: None for one in files}))
    work = [
        (prepared, None if one.parcel.source is None else rows[one.parcel.source.uri])
        for one in ready
        for prepared in one.prepared
        if prepared.document.id in new
    ]
    store_new(connection, work, derived)
    tally.added += len(work)
    tally.chunks_added += sum(len(prepared.chunks) for prepared, _ in work)
    return _New(new, {uri: rows[uri] for uri in added})


def _take_out(connection: Connection, seen: Seen, ending: versions.Ending | None, tally: Tally) -> None:
    """Take out what is to go with a batch, if all is still as it was seen."""
    rows = {name: documents.find(connection, name) for name in seen.hashes}
    for name, row in rows.items():
        if (None if row is None else row.sha256) != seen.hashes[name]:
            raise Overtaken(f"document {name!r} is being changed by others as well", "try again")
    for row in (rows[name] for name in seen.gone):
        if row is not None:
            tally.chunks_removed += remove_row(connection, row, ending)
            tally.removed += 1
    if seen.gone:
        sources.remove_empty(connection)


def _store_parcel(
    connection: Connection, ready: _Ready, new: _New, derived: Derived, tally: Tally, *, strict: bool
) -> None:
    """Store what of a parcel is not stored yet."""
    parcel = ready.parcel
    # What an earlier part left behind.
    faulty = parcel.source is not None and bool(parcel.before) and sources.is_faulty(connection, parcel.source.uri)
    source = None if parcel.source is None else _source(connection, parcel.source, new)
    problems = list(ready.failed)
    for prepared in ready.prepared:
        if prepared.document.id in new.documents:
            continue
        # Counted only when the document is stored.
        own = replace(derived, uses=graph_changes.Uses(), index=terms.Changes())
        try:
            with savepoint(connection):
                _store_document(connection, prepared, source, own, tally)
            derived.uses.include(own.uses)
            derived.index.rows.extend(own.index.rows)
        except MonographError as error:
            if strict:
                raise
            problems.append(Problem(prepared.document.uri, error.message, error.mend))
    tally.same += len(parcel.documents) - len(ready.prepared) - len(ready.failed)
    tally.problems.extend(problems)
    if source is not None:
        dates.follow_file(connection, source)
        if parcel.last and not parcel.broken:
            _remove_left_out(connection, parcel, source, derived, tally)
        faulty = faulty or bool(problems) or parcel.broken
        if faulty or not parcel.last:
            sources.doubt(connection, source, faulty=faulty)


def _source(connection: Connection, source: sources.Source, new: _New) -> int:
    """The row of a file, whose state is stored; that of a new one is when its first part comes."""
    row = new.sources.pop(source.uri, None)
    return sources.put(connection, source) if row is None else row


def _remove_left_out(connection: Connection, parcel: Parcel, source: int, derived: Derived, tally: Tally) -> None:
    """Take out documents that a file held before and holds no more."""
    listed = parcel.before | {document.id for document in parcel.documents}
    gone = [row for row in documents.of_source(connection, source) if row.id not in listed]
    if gone:
        derived.index.write(connection)  # They may have come with this very batch.
    for row in gone:
        tally.chunks_removed += remove_row(connection, row, derived.ending)
        tally.removed += 1


def remove_row(connection: Connection, row: documents.Row, ending: versions.Ending | None) -> int:
    """Take a document and its chunks out of every table of the present; returns how many chunks."""
    versions.end(connection, row, ending)
    removed = chunks.remove_of(connection, row)
    documents.remove(connection, row.row)
    return removed


def _store_document(
    connection: Connection, prepared: Prepared, source: int | None, derived: Derived, tally: Tally
) -> None:
    document = prepared.document
    known = documents.find(connection, document.id)
    if known is not None and known.source != source:
        raise InvalidDocument(
            f"the id {document.id!r} from {document.uri or 'a caller'} is taken"
            f" by a document from {known.uri or 'a caller'}",
            "give it another id, or remove the other document",
        )
    if known is not None and known.sha256 == prepared.sha256:
        tally.same += 1  # Another process was faster.
        return
    if known is None:
        chunks.check_ids(connection, document.id, [chunk.id for chunk in prepared.chunks])
        store_new(connection, [(prepared, source)], derived)
        tally.added += 1
        tally.chunks_added += len(prepared.chunks)
    else:
        swap = _replace(connection, known, prepared, derived)
        tally.changed += 1
        tally.chunks_added += swap.added
        tally.chunks_removed += swap.removed


def _replace(connection: Connection, known: documents.Row, prepared: Prepared, derived: Derived) -> chunks.Swap:
    """Store another state of a document that is there."""
    document = prepared.document
    versions.end(connection, known, derived.ending)
    since = versions.moment_of(derived.ending)
    columns = documents.columns(known.row, document, prepared.sha256, known.source, since)
    owner = chunks.Owner(known.row, document.id, document.title, known.title, document.metadata)
    vectors = [derived.vectors[key] for key in prepared.keys]
    swap = chunks.replace(connection, owner, prepared.chunks, vectors, derived.index)
    if derived.parts is None:
        graph_changes.take_out(connection, known.row, chunks.rows_of_document(connection, known.row))
    else:
        part = derived.parts[document.id, prepared.sha256]
        store_part(connection, known.row, part, derived.names, derived.extractions, derived.uses)
    documents.update(connection, columns)
    checksums.seal(connection, known.row)
    return swap
