"""One batch into the file: all it derives first, then its rows in one transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace

from monograph.errors import BusyFile, InvalidDocument, MonographError
from monograph.store import checksums, chunks, documents, graphs, memo, names, sources, terms
from monograph.store.database import Connection, savepoint
from monograph.values import Move, Problem
from monograph.write.batch import Parcel, changed
from monograph.write.configuration import EMBEDDER
from monograph.write.graph import Related, relate, remember_extractions, rows_of_names, store_part
from monograph.write.parallel import Precomputed
from monograph.write.pipeline import Pipeline
from monograph.write.prepare import Prepared, prepare
from monograph.write.transaction import write
from monograph.write.vectors import remember_vectors

_TRIES = 5


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
    for _ in range(_TRIES):
        embedded = remember_vectors(pipeline, work, precomputed.vectors)
        tally.embedded += embedded.embedded
        tally.remembered += embedded.remembered
        given = (chunk for one in work for chunk in one.chunks)
        extracted = remember_extractions(pipeline, given, precomputed.extractions)
        tally.extracted += extracted.extracted
        tally.fell_back += extracted.fell_back
        related = relate(pipeline, work, precomputed.parts)
        stored = None if related is None else _commit(pipeline, ready, related, seen, strict=strict)
        if stored is not None:
            tally.include(stored)
            return tally
    raise BusyFile(f"another process keeps emptying the memo of {pipeline.database.path}", "try again when it is done")


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
class _Derived:
    """What documents of a batch count on: memo rows of vectors by key, rows of names by key, and the graph's parts.

    ``uses`` and ``index`` collect what the documents change of how often names are used, and in the inverted index.
    """

    vectors: dict[bytes, int]
    names: dict[str, int]
    parts: dict[tuple[str, bytes], Related]
    uses: graphs.Uses = field(default_factory=graphs.Uses)
    index: terms.Changes = field(default_factory=terms.Changes)


def _commit(
    pipeline: Pipeline, ready: Sequence[_Ready], related: Sequence[Related], seen: Seen, *, strict: bool
) -> Tally | None:
    """Store a batch; None, and nothing stored, when something it counts on is not remembered any more."""
    work = [prepared for one in ready for prepared in one.prepared]
    keys = list({key for prepared in work for key in prepared.keys})
    tally = Tally()
    with write(pipeline.database, pipeline.indexes) as connection:
        # Another process may have given the file another embedder since this one was opened.
        EMBEDDER.check(pipeline.database, pipeline.embedder)
        held = memo.rows(connection, memo.VECTOR, keys)
        rows = rows_of_names(connection, pipeline, related)
        if len(held) < len(keys) or rows is None:
            return None
        parts = {(one.document.id, one.sha256): part for one, part in zip(work, related, strict=True)}
        derived = _Derived(held, rows, parts)
        _take_out(connection, seen, tally)
        for one in ready:
            _store_parcel(connection, one, derived, tally, strict=strict)
        names.use(connection, derived.uses.uses, derived.uses.persons)
        derived.index.write(connection)
    return tally


def _take_out(connection: Connection, seen: Seen, tally: Tally) -> None:
    """Take out what is to go with a batch, if all is still as it was seen."""
    rows = {name: documents.find(connection, name) for name in seen.hashes}
    for name, row in rows.items():
        if (None if row is None else row.sha256) != seen.hashes[name]:
            raise Overtaken(f"document {name!r} is being changed by others as well", "try again")
    for row in (rows[name] for name in seen.gone):
        if row is not None:
            tally.chunks_removed += remove_row(connection, row)
            tally.removed += 1
    if seen.gone:
        sources.remove_empty(connection)


def _store_parcel(connection: Connection, ready: _Ready, derived: _Derived, tally: Tally, *, strict: bool) -> None:
    parcel = ready.parcel
    # What an earlier part left behind.
    faulty = parcel.source is not None and bool(parcel.before) and sources.is_faulty(connection, parcel.source.uri)
    source = None if parcel.source is None else sources.put(connection, parcel.source)
    problems = list(ready.failed)
    for prepared in ready.prepared:
        # Counted only when the document is stored.
        own = replace(derived, uses=graphs.Uses(), index=terms.Changes())
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
        if parcel.last and not parcel.broken:
            _remove_left_out(connection, parcel, source, tally)
        faulty = faulty or bool(problems) or parcel.broken
        if faulty or not parcel.last:
            sources.doubt(connection, source, faulty=faulty)


def _remove_left_out(connection: Connection, parcel: Parcel, source: int, tally: Tally) -> None:
    """Take out documents that a file held before and holds no more."""
    listed = parcel.before | {document.id for document in parcel.documents}
    for row in documents.of_source(connection, source):
        if row.id not in listed:
            tally.chunks_removed += remove_row(connection, row)
            tally.removed += 1


def remove_row(connection: Connection, row: documents.Row) -> int:
    """Take a document and its chunks out of every table; returns how many chunks."""
    removed = chunks.remove_of(connection, row)
    documents.remove(connection, row.row)
    return removed


def _store_document(
    connection: Connection, prepared: Prepared, source: int | None, derived: _Derived, tally: Tally
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
        number = documents.put(connection, document, prepared.sha256, source)
        old_title = document.title
    else:
        number, old_title = known.row, known.title
    owner = chunks.Owner(number, document.id, document.title, old_title, document.metadata)
    swap = chunks.replace(
        connection, owner, prepared.chunks, [derived.vectors[key] for key in prepared.keys], derived.index
    )
    store_part(connection, number, derived.parts[document.id, prepared.sha256], derived.names, derived.uses)
    if known is not None:
        documents.put(connection, document, prepared.sha256, source)
    checksums.seal(connection, number)
    tally.added += known is None
    tally.changed += known is not None
    tally.chunks_added += swap.added
    tally.chunks_removed += swap.removed
