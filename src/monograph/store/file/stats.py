"""Counts and sizes of what a file holds."""

from __future__ import annotations

from collections import Counter

from monograph.store.file import memo, schema
from monograph.store.file.database import Connection
from monograph.store.file.rows import integer
from monograph.store.graph import names

_GROUPS = {
    "texts": "texts", "memo": "memo", "words": "words", "trigrams": "trigrams", "chunks": "chunks",
    "documents": "documents", "sources": "sources", "vectors": "memo (vectors)", "names": "graph", "mentions": "graph",
    "chunk_graphs": "graph", "subjects": "graph", "aliases": "graph", "extractions": "graph", "cannot_link": "graph",
    "unresolved": "graph", "asserted_nodes": "graph", "asserted_relations": "graph", "nodes": "tree", "trees": "tree",
    "dirty_leaves": "tree", "dirty_segments": "tree",
    "parts": "clusters (codes)", "cluster_graphs": "clusters (codes)", "codes": "clusters (codes)",
    "clusters": "centroids", "centroids": "centroids", "vector_indexes": "centroids", "placements": "placements",
}  # fmt: skip
"""Group of a table in :func:`sizes`. Unlisted tables and indexes are grouped by prefix: ``words_data`` as ``words``."""


def counts(connection: Connection) -> dict[str, int]:
    """Return the counts for :class:`monograph.values.Stats`, by field name.

    ``file_bytes`` excludes the write-ahead log.
    """
    entities, merged = names.count(connection)
    tables = ("documents", "sources", "chunks", "vectors", "memo", "mentions")
    return {table: integer(connection, f"SELECT count(*) FROM {table}") for table in tables} | {  # noqa: S608 - constants
        "memo_unused": memo.count_unused(connection),
        "terms": integer(connection, "SELECT count(*) FROM vocabulary"),
        "entities": entities,
        "merged": merged,
        "characters": integer(connection, "SELECT sum(characters) FROM documents"),
        "file_bytes": integer(connection, "PRAGMA page_count") * integer(connection, "PRAGMA page_size"),
        "format": schema.format_of(connection),
    }


def sizes(connection: Connection) -> tuple[tuple[str, int], ...]:
    """Return (group of tables, bytes) of each group, largest first; empty if SQLite was built without ``dbstat``."""
    query = "SELECT 1 FROM pragma_compile_options WHERE compile_options = 'ENABLE_DBSTAT_VTAB'"
    if connection.execute(query).fetchone() is None:
        return ()
    totals: Counter[str] = Counter()
    for name, size in connection.execute("SELECT name, sum(pgsize) FROM dbstat GROUP BY name"):
        prefixes = (table for table in _GROUPS if name.startswith((table, f"sqlite_autoindex_{table}")))
        totals[_GROUPS.get(name) or _GROUPS.get(next(prefixes, ""), "other")] += size
    # dbstat counts the memo as one table. Its bytes are divided among the kinds in proportion to their values' lengths.
    query = "SELECT kind, sum(length(key) + length(value)) FROM memo GROUP BY kind"
    kinds = dict(connection.execute(query)) or {memo.VECTOR: 1}
    bytes_of_memo = totals.pop("memo", 0)
    for kind, size in kinds.items():
        plural = "summaries" if kind == memo.SUMMARY else f"{kind}s"
        totals[f"memo ({plural})"] += round(size / sum(kinds.values()) * bytes_of_memo)
    return tuple(totals.most_common())
