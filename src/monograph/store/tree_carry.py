"""A tree is carried from one file into another, with what is remembered of its summaries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from monograph.store import checksums, memo, settings, tree
from monograph.store.checksums import checksum
from monograph.store.database import Connection

_AT_ONCE = 1_024
_USED = """memo IN (SELECT gist FROM nodes WHERE gist IS NOT NULL UNION
    SELECT vector FROM nodes WHERE vector IS NOT NULL)"""


def carry(source: Connection, target: Connection) -> None:
    """Take the tree of a file into one that has none; where it is damaged, only what is whole of its summaries.

    Leaves keep the rows of their chunks in the source.
    """
    planes, summarizer = tree.planes(source), settings.load_model(source, settings.StoredSummarizer)
    if planes is None or summarizer is None:
        return
    settings.save_model(target, summarizer)
    counts = settings.load_summary_counts(source)
    settings.count_summaries(target, counts.ever_made, counts.ever_tokens)
    rows = _remember(source, target, _USED)
    if not checksums.holds(source, tree.PLANES, planes):
        return
    found = source.execute(
        "SELECT node, layer, rank, key, parent, chunk, gist, vector, nearest FROM nodes ORDER BY node"
    ).fetchall()
    if any(one is not None and one not in rows for row in found for one in row[6:8]):
        return
    tree.begin(target, planes)
    target.executemany(
        "INSERT INTO nodes (node, layer, rank, key, parent, chunk, gist, vector, nearest) VALUES (?,?,?,?,?,?,?,?,?)",
        ((*row[:6], rows.get(row[6]), rows.get(row[7]), row[8]) for row in found),
    )
    target.execute("DELETE FROM uncut")
    target.executemany("INSERT INTO uncut VALUES (?, ?)", source.execute("SELECT layer, rank FROM uncut"))


def remember(source: Connection, target: Connection) -> None:
    """Remember the summaries that another file remembers, whatever they are of."""
    _remember(source, target, f"kind = '{memo.SUMMARY}'")


def _remember(source: Connection, target: Connection, which: str) -> dict[int, int]:
    """Rows of the target's memo by those of the source's, for what is whole of these."""
    found = source.execute(f"SELECT memo, kind, key, value, tokens, checksum FROM memo WHERE {which}")  # noqa: S608
    rows: dict[int, int] = {}
    while some := list(islice(found, _AT_ONCE)):
        for kind in (memo.SUMMARY, memo.VECTOR):
            held = {row: (key, value, tokens) for row, key, value, tokens in _whole(some, kind)}
            put = memo.put(target, kind, held.values())
            rows.update((row, put[key]) for row, (key, _, _) in held.items())
    return rows


def _whole(some: Sequence[tuple[Any, ...]], kind: str) -> Iterator[tuple[int, bytes, bytes, int]]:
    for row, of_kind, key, value, tokens, sealed in some:
        if of_kind == kind and sealed in (None, checksum(kind.encode(), key, value)):
            yield row, key, value, tokens
