"""Counts and sizes of what a file holds."""

from __future__ import annotations

from monograph.store.file import memo
from monograph.store.file.database import Connection
from monograph.store.graph import names

_MEMO = "memo"
_PLURALS = {"summary": "summaries"}
_GROUPS = {
    "texts": "texts", "memo": _MEMO, "words": "words", "trigrams": "trigrams", "chunks": "chunks",
    "documents": "documents", "sources": "sources", "vectors": "memo (vectors)", "names": "graph", "mentions": "graph",
    "chunk_graphs": "graph", "subjects": "graph", "aliases": "graph", "extractions": "graph", "apart": "graph",
    "unresolved": "graph", "told_nodes": "graph", "told_relations": "graph", "nodes": "tree", "trees": "tree",
    "unplanted": "tree", "uncut": "tree",
    "parts": "clusters (codes)", "cluster_graphs": "clusters (codes)", "codes": "clusters (codes)",
    "clusters": "centroids", "centroids": "centroids", "vector_indexes": "centroids", "placements": "placements",
}  # fmt: skip


def counts(connection: Connection) -> dict[str, int]:
    """Return the counts of :class:`monograph.values.Stats` by their names there; ``file_bytes`` without the log."""

    def number(query: str) -> int:
        return int(connection.execute(query).fetchone()[0] or 0)

    entities, merged = names.count(connection)
    tables = ("documents", "sources", "chunks", "vectors", "memo", "mentions")
    return {table: number(f"SELECT count(*) FROM {table}") for table in tables} | {  # noqa: S608 - constants
        "memo_unused": memo.count_unused(connection),
        "terms": number("SELECT count(*) FROM vocabulary"),
        "entities": entities,
        "merged": merged,
        "characters": number("SELECT sum(characters) FROM documents"),
        "file_bytes": number("PRAGMA page_count") * number("PRAGMA page_size"),
        "format": number("PRAGMA user_version"),
    }


def sizes(connection: Connection) -> tuple[tuple[str, int], ...]:
    """Return bytes by group of tables, largest first; empty if SQLite was built without ``dbstat``."""
    (has_dbstat,) = connection.execute(
        "SELECT count(*) FROM pragma_compile_options WHERE compile_options = 'ENABLE_DBSTAT_VTAB'"
    ).fetchone()
    if not has_dbstat:
        return ()
    totals: dict[str, int] = {}
    for name, size in connection.execute("SELECT name, sum(pgsize) FROM dbstat GROUP BY name"):
        group = _GROUPS.get(name) or next(
            (group for prefix, group in _GROUPS.items() if name.startswith((prefix, f"sqlite_autoindex_{prefix}"))),
            "other",
        )
        totals[group] = totals.get(group, 0) + int(size)
    for kind, share in _shares_of_memo(connection).items():
        totals[kind] = totals.get(kind, 0) + round(share * totals.get(_MEMO, 0))
    totals.pop(_MEMO, None)
    return tuple(sorted(totals.items(), key=lambda pair: -pair[1]))


def _shares_of_memo(connection: Connection) -> dict[str, float]:
    """Return the share of each kind of value in the bytes of the memo."""
    found = dict(connection.execute("SELECT kind, sum(length(key) + length(value)) FROM memo GROUP BY kind"))
    total = sum(found.values())
    return {f"memo ({_PLURALS.get(kind, kind + 's')})": size / total for kind, size in found.items()} or {
        "memo (vectors)": 1.0
    }
