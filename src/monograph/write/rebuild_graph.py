"""Rebuild of the graph of stored chunks: for another extractor, for a repair, or after names were kept apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from typing import Literal

from monograph.derive.derivation import TRIES, MissingValue, extractions
from monograph.errors import BusyFile, DamagedFile, InputError, NotFound
from monograph.graph import GRAPH
from monograph.graph.chunk_names import is_short_form
from monograph.graph.names import key_of
from monograph.store import versions
from monograph.store.check import words
from monograph.store.documents import chunks, documents
from monograph.store.file import memo, settings
from monograph.store.file.database import Connection, Database
from monograph.store.graph import graphs, names
from monograph.store.graph.extractions import BEFORE_ALL, documents_without
from monograph.store.words import terms
from monograph.values import Cost, Document, OnProgress, Progress, Report, arguments
from monograph.write.batch import PreparedDocument
from monograph.write.changes import Tally
from monograph.write.configuration import EMBEDDER, EXTRACTOR
from monograph.write.graph import derive_graph, extract, store_graph
from monograph.write.pipeline import Pipeline, write

DOCUMENTS_AT_ONCE = 256

UNDER_WAY = -GRAPH
"""Number that is stored in place of the graph's version while the graph is not complete.

If a build is killed, this number remains, and the next write continues the build. A file without a graph, made with
``Settings(graph=False)``, also has this number.
"""


def catch_up(pipeline: Pipeline, on_progress: OnProgress | None = None) -> None:
    """Complete the graph if parts are missing; do nothing if it is up to date.

    A graph of another extractor or of another version of the code is rebuilt.
    """
    stored = EXTRACTOR.known(pipeline.database)
    number = None if stored is None or stored.key != pipeline.extractor.key else stored.graph
    if number == GRAPH:
        with pipeline.database.read() as connection:
            marked = settings.documents_to_rebuild(connection)
        if marked:
            rebuild_marked(pipeline, marked)
        return
    if number != UNDER_WAY:
        clear(pipeline)
    with pipeline.database.read() as connection:
        has_graph = settings.has_graph(connection)
    if has_graph:
        complete(pipeline, on_progress)


def build(pipeline: Pipeline, on_progress: OnProgress | None = None) -> Report:
    """Build the graph and the trigram index of a file without a graph. From then on, every write updates both."""
    with pipeline.database.read() as connection:
        has_graph = settings.has_graph(connection)
    return (Tally() if has_graph else complete(pipeline, on_progress)).report()


def price(pipeline: Pipeline) -> Cost:
    """Return the cost of building the graph: documents, chunks to extract, and model calls of the extractor."""
    cost = Cost()
    priced: set[bytes] = set()
    derivation = extractions(pipeline.extractor)
    with pipeline.database.read() as connection:
        rows = documents_without(connection, "graph")
        for row in rows:
            chunks_by_key = derivation.keyed(loaded.chunk for loaded in chunks.of_document(connection, row))
            cost += derivation.price_missing(connection, chunks_by_key, priced)
    return replace(cost, documents=len(rows))


def complete(pipeline: Pipeline, on_progress: OnProgress | None = None) -> Tally:
    """Build missing parts of the graph and missing trigrams, a batch of documents at a time, until none is missing.

    Other processes may write meanwhile, and may complete the graph too.
    """
    tally = Tally()
    while True:
        with pipeline.database.write() as connection:
            if not any(documents_without(connection, what, most=1) for what in ("graph", "trigrams")):
                _note(connection, pipeline, GRAPH)
                settings.set_graph(connection)
                return tally
        for rows in iterate_incomplete(pipeline.database, "trigrams", on_progress):
            index_trigrams(pipeline.database, rows)
        for rows in iterate_incomplete(pipeline.database, "graph", on_progress):
            make(pipeline, rows, tally)


def iterate_incomplete(
    database: Database, what: Literal["graph", "trigrams"], on_progress: OnProgress | None = None
) -> Iterator[list[int]]:
    """Yield the rows of documents that lack their part of the graph, or their trigrams, a batch at a time, ascending.

    ``what`` says which of the two is looked for. After each batch, ``on_progress`` is called with the number of
    documents so far.
    """
    with database.read() as connection:
        total = len(documents_without(connection, what))
    after, done = BEFORE_ALL, 0
    while True:
        with database.read() as connection:
            rows = documents_without(connection, what, after, DOCUMENTS_AT_ONCE)
        if not rows:
            return
        yield rows
        after, done = rows[-1], done + len(rows)
        if on_progress is not None:
            phase = "substrings" if what == "trigrams" else what
            on_progress(Progress(phase, done, max(done, total), "documents"))


def index_trigrams(database: Database, rows: Sequence[int]) -> None:
    """Index the missing trigrams of documents, which are given by row.

    Documents that were removed meanwhile are skipped.
    """
    with database.write() as connection:
        existing = [row for row in rows if chunks.rows_of_document(connection, row)]
        entries = [entry for row in existing for entry in words.entries_of(connection, row)]
        indexed = terms.with_trigrams(connection, [entry.chunk for entry in entries])
        terms.add_trigrams(connection, [entry for entry in entries if entry.chunk not in indexed])


def reextract(pipeline: Pipeline, on_progress: OnProgress | None = None) -> Report:
    """Rebuild the graph with the pipeline's extractor, which becomes the extractor of the file.

    Extractions that failed before are retried. The old graph is deleted when the memo has all new extractions; then the
    graph is built again.
    """
    tally = Tally()
    with pipeline.database.write() as connection:
        memo.drop_failed(connection)
        rows = documents.numbers(connection)
    derive_extractions(pipeline, rows, tally, on_progress)
    clear(pipeline)
    complete(pipeline, on_progress)
    return tally.report()


def clear(pipeline: Pipeline) -> bool:
    """Delete the graph, and store the pipeline's extractor in the file. Return whether to build the graph again."""
    with pipeline.database.write() as connection:
        graphs.clear(connection)
        stored = None
        with suppress(DamagedFile):
            stored = settings.load_model(connection, "extractor")
        # A file without a clock keeps no previous versions.
        if pipeline.database.clock is not None and (stored is None or stored.key != pipeline.extractor.key):
            versions.drop_extractions(connection)
        _note(connection, pipeline, UNDER_WAY)
        return settings.has_graph(connection)


def derive_extractions(
    pipeline: Pipeline, rows: Sequence[int], tally: Tally, on_progress: OnProgress | None = None
) -> None:
    """Derive the extractions that the memo lacks for documents, which are given by row."""
    for first in range(0, len(rows), DOCUMENTS_AT_ONCE):
        batch = rows[first : first + DOCUMENTS_AT_ONCE]
        with pipeline.database.read() as connection:
            batch_chunks = [loaded.chunk for row in batch for loaded in chunks.of_document(connection, row)]
        extract(pipeline, batch_chunks, tally)
        if on_progress is not None:
            on_progress(Progress("reextract", first + len(batch), len(rows), "documents"))


def rebuild_marked(pipeline: Pipeline, rows: Sequence[int]) -> None:
    """Rebuild the graph parts of documents that were marked for a rebuild, and remove the marks.

    ``rows`` are the rows of the documents. Documents that were removed meanwhile are skipped. :func:`keep_apart` and
    :func:`unite` mark documents.
    """
    with pipeline.database.read() as connection:
        existing = [row for row in rows if chunks.rows_of_document(connection, row)]
    make(pipeline, existing, Tally())
    with pipeline.database.write() as connection:
        settings.save_documents_to_rebuild(connection, set(settings.documents_to_rebuild(connection)) - set(rows))


def _note(connection: Connection, pipeline: Pipeline, graph: int) -> None:
    stored = settings.StoredModel(pipeline.extractor.key, pipeline.extractor.spec, graph=graph)
    settings.save_model(connection, "extractor", stored)


def make(pipeline: Pipeline, rows: Sequence[int], tally: Tally) -> None:
    """Rebuild the graph parts of documents, which are given by row.

    If another writer interferes, this is tried again. The last try locks the file, so that no writer can interfere.
    Raises BusyFile if the last try fails as well.
    """
    for first in range(0, len(rows), DOCUMENTS_AT_ONCE):
        for tries_left in reversed(range(TRIES)):
            with suppress(MissingValue), nullcontext() if tries_left else pipeline.database.write():
                _make_once(pipeline, rows[first : first + DOCUMENTS_AT_ONCE], tally)
                break
        else:
            raise BusyFile(f"another process keeps changing {pipeline.database.path}", "try again when it is done")


def _make_once(pipeline: Pipeline, rows: Sequence[int], tally: Tally) -> None:
    """Rebuild the graph parts of documents. Raises MissingValue if a document or a name changes meanwhile."""
    with pipeline.database.read() as connection:
        loaded = [chunks.of_document(connection, row) for row in rows]
    prepared = []
    for row, of_document in zip(rows, loaded, strict=True):
        document = Document(id=str(row), title=of_document[0].title if of_document else "")
        prepared.append(PreparedDocument(document, b"", tuple(chunk.chunk for chunk in of_document), (), {}))
    derived = derive_graph(pipeline, prepared, tally, {})
    chunk_rows = [[chunk.row for chunk in of_document] for of_document in loaded]
    with write(pipeline.database, pipeline.indexes) as connection:
        EMBEDDER.check(pipeline.database, pipeline.embedder)  # Another process may have changed the file's embedder.
        if chunk_rows != [chunks.rows_of_document(connection, row) for row in rows]:
            raise MissingValue
        parts = list(zip(rows, chunk_rows, (derived.parts or {}).values(), strict=True))
        store_graph(connection, pipeline, parts, derived, names.NameCounts(), rows)


def keep_apart(pipeline: Pipeline, name: str, other: str) -> None:
    """Keep two names apart: they are no longer merged into one entity.

    The graph parts of the documents that contain the names are rebuilt from the memo.
    """
    with write(pipeline.database, pipeline.indexes) as connection:
        pairs = _find_pairs(connection, pipeline, name, other)
        names.add_cannot_link(connection, pairs)
        touched = _mark_for_rebuild(connection, pairs)
    rebuild_marked(pipeline, touched)


def unite(pipeline: Pipeline, name: str, other: str) -> None:
    """Undo :func:`keep_apart`: the rules decide again whether the two names are merged.

    If one name is a short form, such as a surname, :func:`keep_apart` has also kept apart this name and its full forms
    in the other name's entity. This is undone, too. Raises NotFound if the two names were not kept apart.
    """
    with write(pipeline.database, pipeline.indexes) as connection:
        pairs = _find_pairs(connection, pipeline, name, other, known_only=False) & names.cannot_link(connection)
        if not pairs:
            path = pipeline.database.path
            raise NotFound(f"{name!r} and {other!r} were not kept apart", f"monograph entities {path} --why")
        names.remove_cannot_link(connection, pairs)
        touched = _mark_for_rebuild(connection, pairs)
    rebuild_marked(pipeline, touched)


def _find_pairs(
    connection: Connection, pipeline: Pipeline, name: str, other: str, *, known_only: bool = True
) -> set[tuple[str, str]]:
    """Return the pairs of keys by which two names are kept apart. ``known_only``: raise NotFound for unknown names."""
    keys = key_of(arguments.text(name, "a name")), key_of(arguments.text(other, "a name"))
    if not all(keys) or keys[0] == keys[1]:
        raise InputError(
            f"{name!r} and {other!r} are the same name: case, accents, signs and articles do not count",
            "give two different names",
        )
    stored = names.known(connection, keys)
    pairs, known = {keys}, set(stored)
    for full, short in (keys, keys[::-1]):
        members = names.members(connection, [stored[full].head])[stored[full].head] if full in stored else []
        full_forms = [member.key for member in members if is_short_form(short, member.key)]
        if full_forms:
            known.add(short)
            pairs.update((form, short) for form in full_forms)
    missing = [key for key in keys if key not in known]
    if missing and known_only:
        written = name if missing[0] == keys[0] else other
        path = pipeline.database.path
        raise NotFound(f"{path} contains no name like {written!r}", f"monograph entities {path}")
    return pairs


def _mark_for_rebuild(connection: Connection, pairs: set[tuple[str, str]]) -> list[int]:
    """Mark each document that contains a name of ``pairs``, so that its graph part is rebuilt. Return the rows."""
    rows = names.rows(connection, {key for pair in pairs for key in pair})
    touched = graphs.documents_naming(connection, rows.values())
    settings.save_documents_to_rebuild(connection, {*settings.documents_to_rebuild(connection), *touched})
    return touched
