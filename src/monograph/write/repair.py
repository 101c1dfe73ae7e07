"""Repair of a damaged file: derived data that is wrong is deleted and derived again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import numpy as np

from monograph.derive.embed.given import GivenVectors
from monograph.graph.names import key_of, signature
from monograph.store.check import (
    check,
    check_documents,
    check_graph,
    check_sources,
    check_terms,
    check_told,
    check_versions,
)
from monograph.store.documents import dates, documents
from monograph.store.file import checksums, memo
from monograph.store.file.database import Connection, Database
from monograph.store.graph import names
from monograph.store.graph.extractions import documents_lacking
from monograph.store.tree import tree
from monograph.store.vectors import clusters, vectors
from monograph.tree.hash import Planes
from monograph.values import Finding
from monograph.vectors.index import EcoVectorIndex
from monograph.vectors.verify import damage, strays
from monograph.write import rebuild_graph, verify
from monograph.write.names import complete_codes
from monograph.write.pipeline import Pipeline
from monograph.write.rebuild_vectors import assign, derive_vectors
from monograph.write.transaction import write
from monograph.write.tree import update


def repair(pipeline: Pipeline, *, whole_tree: bool) -> None:
    """Delete derived data that is wrong, and derive it again: indexes, vectors, the graph, the tree.

    A graph that has a fault is made anew as a whole, from remembered extractions; and so is the tree, unless it is
    whole, from remembered summaries. A document that is not what was stored stays damaged, and keeps what was derived
    while it was right.
    """
    with pipeline.database.write() as connection:
        check_documents.make_readable(connection)
        merged = list(check_documents.wrong_merged(connection))
        connection.executemany("UPDATE chunks SET merged = ? WHERE chunk = ?", merged)
        check_sources.mend(connection)
        dates.rebuild(connection)
        check_versions.mend(connection)
        _part_with_values(connection, pipeline)
        whole_tree = whole_tree and not tree.stands_on_damaged(connection)
        if not whole_tree:
            clusters.clear(connection, clusters.SUMMARIES)
        if _planes_are_lost(connection):
            tree.clear(connection)
        check.drop_strays(connection)
        clusters.drop_strays(connection)
        check_told.mend(connection, key_of)
        _part_with_names(connection, pipeline.embedder.dimension)
        faulty = _part_with_wrong(connection, pipeline)
        wanting = set(documents_lacking(connection, "vector"))
        rows = [row for row in documents.every(connection) if row.row in wanting]
        unread = documents_lacking(connection, "extraction")
    if _words_are_wrong(pipeline.database):
        with pipeline.database.write() as connection:
            check_terms.rebuild(connection)
    derive_vectors(pipeline, rows)
    with pipeline.database.write() as connection:
        for row in rows:
            assign(connection, pipeline, row.row, only_missing=True)
        for index in pipeline.indexes if whole_tree else (pipeline.index,):
            _bring_up_to_date(connection, index)
    if faulty:
        rebuild_graph.derive_extractions(pipeline, unread)  # The graph that is there stands until this is done.
        rebuild_graph.rebuild(pipeline)
    else:
        rebuild_graph.catch_up(pipeline)
    complete_codes(pipeline)
    update(pipeline, afresh=not whole_tree)
    with write(pipeline.database, pipeline.indexes) as connection:
        memo.drop_disowned(connection)


class _Undone(Exception):
    """Ends a transaction that is not to be committed."""


def _words_are_wrong(database: Database) -> bool:
    """Whether the inverted index has a fault.

    It is found out in a transaction that is undone: at a commit, or with the next statement, FTS5 would read again what
    it could not.
    """
    wrong = False
    with suppress(_Undone), database.write() as connection:
        wrong = any(check.guarded(connection, "words", lambda: check_terms.findings(connection)))
        wrong = wrong or check.index_fault(connection) is not None
        raise _Undone
    return wrong


def _bring_up_to_date(connection: Connection, index: EcoVectorIndex) -> None:
    def wrong() -> Iterator[Finding]:
        for fault in (*damage(connection, index.space), *strays(connection, index.space)):
            yield Finding("clusters", fault, repairable=True)

    if any(check.guarded(connection, "clusters", wrong)):
        index.rebuild(connection)
    else:
        index.settle(connection)


def _part_with_values(connection: Connection, pipeline: Pipeline) -> None:
    """Disown remembered values that are not what was made, but for vectors that came with their chunks.

    Nobody can make these again: they stay as they are, and a check goes on reporting the documents of changed ones.
    """
    size = pipeline.embedder.dimension * vectors.STORED.itemsize
    lost = memo.vectors_of_other_length(connection, size)
    for row, key, value in memo.wrong(connection):
        usable = isinstance(value, bytes) and len(value) == size
        usable = usable and bool(np.isfinite(np.frombuffer(value, dtype=vectors.STORED)).all())
        if usable and (isinstance(pipeline.embedder, GivenVectors) or checksums.given_key(value) == key):
            memo.accept(connection, row, checksums.given_key(value))
        else:
            lost.append(row)
    memo.disown(connection, lost)


def _planes_are_lost(connection: Connection) -> bool:
    body = tree.planes(connection)
    if body is None:
        return False
    try:
        Planes.from_bytes(body)
    except ValueError:
        return True
    return not checksums.holds(connection, tree.PLANES, body)


def _part_with_names(connection: Connection, dimension: int) -> None:
    """Forget what is wrong of names."""
    check.drop_unusable(connection)
    check.mend_apart(connection)
    check.sign(connection, check.with_other_signature(connection, signature))
    check.forget_codes(connection, check.wrong_codes(connection, names.code_size(dimension)))
    names.drop_codes(connection, names.code_size(dimension))


def _part_with_wrong(connection: Connection, pipeline: Pipeline) -> bool:
    """Take vectors from chunks that have one of another text; returns whether the graph is to be made anew."""
    passed_over = check_documents.chunks_of_wrong(connection)
    wrong = verify.compared(connection, verify.made_by(connection), passed_over)
    vectors.take(connection, wrong.vectors)
    return wrong.graph or any(check_graph.findings(connection))
