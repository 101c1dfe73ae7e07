"""Repair of a damaged file: derived data that is wrong is deleted and derived again."""

from __future__ import annotations

from monograph.store.check import rules, words
from monograph.store.check.rules import Checked
from monograph.store.documents import documents
from monograph.store.file.database import Database
from monograph.store.graph.extractions import documents_lacking
from monograph.write import check, rebuild_graph
from monograph.write.graph import complete_codes
from monograph.write.pipeline import Pipeline
from monograph.write.rebuild_vectors import assign, derive_vectors
from monograph.write.tree import update


def repair(pipeline: Pipeline) -> None:
    """Apply the remedies of all rules, then derive what is missing: vectors, indexes, the graph, the tree.

    A graph that has a fault is made anew as a whole, from remembered extractions, and so is the tree from remembered
    summaries. A document that is not what was stored stays damaged, and keeps what was derived while it was right.
    """
    with pipeline.database.write() as connection:
        checked = Checked(connection)
        is_graph_wrong = rules.mend(checked, check.of_rows(checked, pipeline.settings))
        rules.mend(checked, [check.of_index(index) for index in pipeline.indexes])
        for index in pipeline.indexes:
            index.settle(connection)
        wanting = set(documents_lacking(connection, "vector"))
        rows = [row for row in documents.every(connection) if row.row in wanting]
        unread = documents_lacking(connection, "extraction")
    if _words_are_wrong(pipeline.database):
        with pipeline.database.write() as connection:
            words.rebuild(connection)
    derive_vectors(pipeline, rows)
    with pipeline.database.write() as connection:
        for row in rows:
            assign(connection, pipeline, row.row, only_missing=True)
        for index in pipeline.indexes:
            index.settle(connection)
    if is_graph_wrong:
        rebuild_graph.derive_extractions(pipeline, unread)  # The graph that is there stands until this is done.
        rebuild_graph.rebuild(pipeline)
    else:
        rebuild_graph.catch_up(pipeline)
    complete_codes(pipeline)
    update(pipeline)


def _words_are_wrong(database: Database) -> bool:
    """Whether the inverted index has a fault."""
    with database.read() as connection:
        wrong = any(rules.findings(Checked(connection), words.RULES))
    if not wrong:
        with database.write() as connection:
            wrong = words.own_fault(connection) is not None
    return wrong
