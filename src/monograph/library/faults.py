"""What is wrong with the rows of a file, the cheapest to find first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from monograph.settings import Settings
from monograph.store.check import (
    check,
    check_documents,
    check_graph,
    check_rows,
    check_sources,
    check_terms,
    check_told,
    check_versions,
)
from monograph.store.documents import dates
from monograph.store.file import settings as stored_settings
from monograph.store.file.database import Connection, Database
from monograph.tree import verify as tree_of_summaries
from monograph.values import Finding
from monograph.vectors import verify as clusters
from monograph.vectors.index import EcoVectorIndex
from monograph.write import tree
from monograph.write import verify as derived

_OF_SETTING = "the setting '"


def findings(connection: Connection, indexes: Sequence[EcoVectorIndex], chosen: Settings) -> Iterator[Finding]:
    """Every fault; ``chosen`` are the settings that the file was opened with."""
    parts: tuple[tuple[str, Callable[[], Iterable[Finding]]], ...] = (
        ("file", lambda: check.of_file(connection)),
        ("schema", lambda: check.of_schema(connection)),
        ("settings", lambda: check_rows.findings(connection)),
        ("sources", lambda: check_sources.findings(connection)),
        ("documents", lambda: check_documents.findings(connection)),
        ("documents", lambda: dates.findings(connection)),
        ("chunks", lambda: check.of_tables(connection, derived.made_by(connection).dimension)),
        ("texts", lambda: check.of_texts(connection)),
        ("chunk_graphs", lambda: check_graph.findings(connection)),
        ("versions", lambda: check_versions.findings(connection, history=chosen.history)),
        ("told_nodes", lambda: check_told.findings(connection)),
        ("clusters", lambda: _in_indexes(connection, indexes)),
        ("nodes", lambda: in_tree(connection, chosen)),
        ("chunk_graphs", lambda: _in_what_is_derived(connection)),
        ("words", lambda: check_terms.findings(connection)),
        ("settings", lambda: _to_be_forgotten(connection)),
    )
    told: set[str] = set()
    for table, part in parts:
        for one in check.guarded(connection, table, part):
            # What cannot be read may be needed for several parts, and a setting was held against its checksum.
            if one.fault in told or (_OF_SETTING in one.fault and "settings" in told):
                continue
            told |= {one.fault, one.table}
            yield one


def diagnosis(database: Database, indexes: Sequence[EcoVectorIndex], chosen: Settings) -> str | None:
    """The first fault of the rows, for an error that they have led to; None where there is none."""
    with database.read() as connection:
        return next((f"{one.table}: {one.fault}" for one in findings(connection, indexes, chosen)), None)


def _to_be_forgotten(connection: Connection) -> Iterator[Finding]:
    if stored_settings.owed_forgetting(connection):
        yield Finding("settings", "text that was to be forgotten is still in the bytes of the file", repairable=True)


def _in_indexes(connection: Connection, indexes: Sequence[EcoVectorIndex]) -> Iterator[Finding]:
    for index in indexes:
        for fault in (*clusters.faults(connection, index.space), *clusters.strays(connection, index.space)):
            yield Finding("clusters", fault, repairable=True)
    for fault in clusters.strays_of_none(connection):
        yield Finding("clusters", fault, repairable=True)


def in_tree(connection: Connection, chosen: Settings) -> Iterator[Finding]:
    """The faults of the tree of summaries."""
    stored = stored_settings.load_model(connection, stored_settings.StoredSummarizer)
    recipe = None if stored is None else tree.recipe(stored.key, chosen)
    embedder = derived.made_by(connection).embedder
    passed_over = check_documents.chunks_of_wrong(connection)
    for fault in tree_of_summaries.faults(connection, recipe, "" if embedder is None else embedder.key, passed_over):
        yield Finding("nodes", fault, repairable=True)


def _in_what_is_derived(connection: Connection) -> Iterator[Finding]:
    return derived.findings(connection, derived.made_by(connection), check_documents.chunks_of_wrong(connection))
