"""Which documents have a chunk of which something is not made."""

from __future__ import annotations

from typing import Literal

from monograph.store.database import Connection

_CHUNKS = {
    "vector": "SELECT chunk FROM vectors",
    "extraction": "SELECT chunk FROM extractions",
    "graph": "SELECT chunk FROM chunk_graphs",
    "trigrams": "SELECT id FROM trigrams_docsize",
}
"""The chunks of which each is made."""
BEFORE_ALL = -(1 << 63)
"""A row number below that of every document."""


def documents_lacking(
    connection: Connection,
    what: Literal["vector", "extraction", "graph", "trigrams"],
    after: int = BEFORE_ALL,
    most: int = -1,
) -> list[int]:
    """Their row numbers, ascending: those ``after`` one of them, and at most so many."""
    found = connection.execute(
        f"""SELECT DISTINCT document FROM chunks WHERE document > ? AND chunk NOT IN ({_CHUNKS[what]})
        ORDER BY document LIMIT ?""",  # noqa: S608 - constants
        (after, most),
    )
    return [int(row) for (row,) in found]
