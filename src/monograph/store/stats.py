"""Counts and sizes of what a file holds."""

from __future__ import annotations

from dataclasses import dataclass

from monograph.store import memo
from monograph.store.database import Connection

_GROUPS = {
    "texts": "texts", "memo": "memo (vectors)", "sqlite_autoindex_memo_1": "memo (vectors)", "words": "words",
    "trigrams": "trigrams", "chunks": "chunks", "documents": "documents", "sources": "sources",
    "vectors": "memo (vectors)", "parts": "clusters (codes)", "cluster_graphs": "clusters (codes)",
    "clusters": "centroids", "centroids": "centroids", "vector_indexes": "centroids", "placements": "placements",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Counts:
    """Rows by table; ``terms`` counts different words, ``characters`` those of all texts; ``file_bytes`` has no log."""

    documents: int
    sources: int
    chunks: int
    vectors: int
    memo: int
    memo_unused: int
    terms: int
    characters: int
    file_bytes: int
    format: int


def counts(connection: Connection) -> Counts:
    """Count rows."""

    def number(query: str) -> int:
        return int(connection.execute(query).fetchone()[0] or 0)

    return Counts(
        documents=number("SELECT count(*) FROM documents"),
        sources=number("SELECT count(*) FROM sources"),
        chunks=number("SELECT count(*) FROM chunks"),
        vectors=number("SELECT count(*) FROM vectors"),
        memo=number("SELECT count(*) FROM memo"),
        memo_unused=memo.count_unused(connection),
        terms=number("SELECT count(*) FROM vocabulary"),
        characters=number("SELECT sum(characters) FROM documents"),
        file_bytes=number("PRAGMA page_count") * number("PRAGMA page_size"),
        format=number("PRAGMA user_version"),
    )


def sizes(connection: Connection) -> tuple[tuple[str, int], ...]:
    """Bytes by group of tables, largest first; empty where SQLite was built without ``dbstat``."""
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
    return tuple(sorted(totals.items(), key=lambda pair: -pair[1]))
