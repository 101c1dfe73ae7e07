"""Graph of chunks that are stored already: for another extractor, or a repair."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from typing import Literal

from monograph.derive.derivation import TRIES, MissingValue, extractions
from monograph.errors import BusyFile, DamagedFile
from monograph.graph import GRAPH
from monograph.store.check import words
from monograph.store.documents import chunks, documents
from monograph.store.file import memo, settings
from monograph.store.file.database import Connection, Database
from monograph.store.graph import graphs
from monograph.store.graph.extractions import BEFORE_ALL, documents_lacking
from monograph.store.history import versions
from monograph.store.words import terms
from monograph.values import Cost, Document, OnProgress, Progress
from monograph.write.configuration import EXTRACTOR
from monograph.write.graph import Extracted, derive_graph, extract, rows_of, store_names, store_parts
from monograph.write.pipeline import Pipeline
from monograph.write.prepare import Prepared
from monograph.write.transaction import write

DOCUMENTS_AT_ONCE = 256

UNDER_WAY = -GRAPH
"""Stands for the number of a graph that is being made: killed before the end, the next write goes on from there.

In a file that has none it stands until the graph is built.
"""


def catch_up(pipeline: Pipeline, on_progress: OnProgress | None = None) -> None:
    """Give the graph what it lacks, and note which extractor makes it; nothing to do in a file that is up to date.

    A file whose graph was made with another extractor gets its graph here, if it has one.
    """
    stored = EXTRACTOR.known(pipeline.database)
    number = None if stored is None or stored.key != pipeline.extractor.key else stored.graph
    if number == GRAPH:
        with pipeline.database.read() as connection:
            again = settings.documents_again(connection)
        if again:
            end_again(pipeline, again)
        return
    if number != UNDER_WAY:
        _clear(pipeline)
    with pipeline.database.read() as connection:
        has_graph = settings.has_graph(connection)
    if has_graph:
        complete(pipeline, on_progress)


def build(pipeline: Pipeline, on_progress: OnProgress | None = None) -> Extracted:
    """Build the graph and the trigrams of a file that has none; from now on they are built with the documents."""
    with pipeline.database.read() as connection:
        has_graph = settings.has_graph(connection)
    return Extracted() if has_graph else complete(pipeline, on_progress)


def price(pipeline: Pipeline) -> Cost:
    """Return what building the graph would take: the chunks to extract, and what the extractor asks a model."""
    cost = Cost()
    priced: set[bytes] = set()
    derivation = extractions(pipeline.extractor)
    with pipeline.database.read() as connection:
        rows = documents_lacking(connection, "graph")
        for row in rows:
            wanted = derivation.keyed(one.chunk for one in chunks.of_document(connection, row))
            cost += derivation.price_missing(connection, wanted, priced)
    return replace(cost, documents=len(rows))


def complete(pipeline: Pipeline, on_progress: OnProgress | None = None) -> Extracted:
    """Give the graph and the trigrams what they lack, a batch of documents at a time; from now on every write does.

    Killed before the end, what is made stays. Others may write meanwhile, and may do the same.
    """
    extracted = Extracted()
    while not _finish(pipeline):
        for rows in lacking(pipeline.database, "trigrams", on_progress):
            index_trigrams(pipeline.database, rows)
        for rows in lacking(pipeline.database, "graph", on_progress):
            extracted += _make_some(pipeline, rows)
    return extracted


def lacking(
    database: Database, what: Literal["graph", "trigrams"], on_progress: OnProgress | None = None
) -> Iterator[list[int]]:
    """Yield the rows of documents that lack something, a batch at a time, and report progress after each batch."""
    with database.read() as connection:
        total = len(documents_lacking(connection, what))
    after, done = BEFORE_ALL, 0
    while True:
        with database.read() as connection:
            rows = documents_lacking(connection, what, after, DOCUMENTS_AT_ONCE)
        if not rows:
            return
        yield rows
        after, done = rows[-1], done + len(rows)
        _tell(on_progress, "substrings" if what == "trigrams" else what, done, max(done, total))


def index_trigrams(database: Database, rows: Sequence[int]) -> None:
    """Index the trigrams of documents, by row, that lack them; documents that are gone by now are skipped."""
    with database.write() as connection:
        there = [row for row in rows if chunks.rows_of_document(connection, row)]
        entries = [one for row in there for one in words.entries_of(connection, row)]
        held = terms.with_trigrams(connection, [one.chunk for one in entries])
        terms.add_trigrams(connection, [one for one in entries if one.chunk not in held])


def reextract(pipeline: Pipeline, on_progress: OnProgress | None = None) -> Extracted:
    """Make the graph anew with the pipeline's extractor, which becomes the file's own.

    Extractions that failed are asked for again. All are made and remembered first; then the graph is exchanged.
    """
    with pipeline.database.write() as connection:
        memo.drop_failed(connection)
        rows = [row.row for row in documents.every(connection)]
    total = derive_extractions(pipeline, rows, on_progress)
    _clear(pipeline)
    complete(pipeline, on_progress)
    return total


def _clear(pipeline: Pipeline) -> bool:
    """Delete the graph, and note that one by the pipeline's extractor is being made; returns whether there was any."""
    with pipeline.database.write() as connection:
        graphs.clear(connection)
        stored = None
        with suppress(DamagedFile):
            stored = settings.load_model(connection, "extractor")
        if stored is None or stored.key != pipeline.extractor.key:
            versions.drop_extractions(connection)
        _note(connection, pipeline, UNDER_WAY)
        return settings.has_graph(connection)


def derive_extractions(pipeline: Pipeline, rows: Sequence[int], on_progress: OnProgress | None = None) -> Extracted:
    """Derive the extractions of documents, by row, that the memo lacks."""
    total = Extracted()
    for first in range(0, len(rows), DOCUMENTS_AT_ONCE):
        with pipeline.database.read() as connection:
            some = _stored(connection, rows[first : first + DOCUMENTS_AT_ONCE])
        total += extract(pipeline, (chunk for one, _ in some for chunk in one.chunks))
        _tell(on_progress, "reextract", first + len(some), len(rows))
    return total


def rebuild(pipeline: Pipeline, on_progress: OnProgress | None = None) -> None:
    """Make the graph anew from what is remembered; what is not is extracted again. A file without a graph has none."""
    if _clear(pipeline):
        complete(pipeline, on_progress)


def begin_again(connection: Connection, rows: Sequence[int]) -> None:
    """Note documents, by row, to be made again: by :func:`end_again`, or else by the next write."""
    settings.save_documents_again(connection, {*settings.documents_again(connection), *rows})


def end_again(pipeline: Pipeline, rows: Sequence[int]) -> None:
    """Make the parts of documents again that were noted; those that are gone by now are passed over."""
    with pipeline.database.read() as connection:
        there = [row for row in rows if chunks.rows_of_document(connection, row)]
    make(pipeline, there)
    with pipeline.database.write() as connection:
        settings.save_documents_again(connection, set(settings.documents_again(connection)) - set(rows))


def _note(connection: Connection, pipeline: Pipeline, graph: int) -> None:
    stored = settings.StoredModel(pipeline.extractor.key, pipeline.extractor.spec, graph=graph)
    settings.save_model(connection, "extractor", stored)


def _finish(pipeline: Pipeline) -> bool:
    """Note that the graph is made, and from now on with the documents, if neither it nor the trigrams lack anything."""
    with pipeline.database.write() as connection:
        if documents_lacking(connection, "graph", most=1) or documents_lacking(connection, "trigrams", most=1):
            return False
        _note(connection, pipeline, GRAPH)
        settings.set_graph(connection)
    return True


def make(pipeline: Pipeline, rows: Sequence[int]) -> None:
    """Make the parts of some documents anew, by row."""
    for first in range(0, len(rows), DOCUMENTS_AT_ONCE):
        _make_some(pipeline, rows[first : first + DOCUMENTS_AT_ONCE])


def _make_some(pipeline: Pipeline, rows: Sequence[int]) -> Extracted:
    """Make the parts of some documents; where others keep changing them, these wait for the last try."""
    for left in reversed(range(TRIES)):
        with suppress(MissingValue), nullcontext() if left else pipeline.database.write():
            return _make_once(pipeline, rows)
    raise BusyFile(f"another process keeps changing {pipeline.database.path}", "try again when it is done")


def _make_once(pipeline: Pipeline, rows: Sequence[int]) -> Extracted:
    """Make the parts of documents. Raises MissingValue where one of them, or a name, changes meanwhile."""
    with pipeline.database.read() as connection:
        some = _stored(connection, rows)
    waiting: dict[bytes, bytes] = {}
    graph = derive_graph(pipeline, [one for one, _ in some], waiting)
    with write(pipeline.database, pipeline.indexes) as connection:
        if any(chunks.rows_of_document(connection, row) != held for row, (_, held) in zip(rows, some, strict=True)):
            raise MissingValue
        known = rows_of(connection, pipeline, graph, waiting)
        uses = graphs.Uses()
        parts = [(row, held, one) for row, (_, held), one in zip(rows, some, graph.parts, strict=True)]
        store_parts(connection, parts, known, uses, rows)
        store_names(connection, known, uses)
    return graph.extracted


def _stored(connection: Connection, rows: Sequence[int]) -> list[tuple[Prepared, list[int]]]:
    """Documents as they are stored, with the rows of their chunks."""
    result = []
    for row in rows:
        found = chunks.of_document(connection, row)
        title = found[0].title if found else ""
        prepared = Prepared(Document(id=str(row), title=title), b"", tuple(one.chunk for one in found), ())
        result.append((prepared, [one.row for one in found]))
    return result


def _tell(on_progress: OnProgress | None, phase: str, done: int, total: int) -> None:
    if on_progress is not None:
        on_progress(Progress(phase, done, total, "documents"))
