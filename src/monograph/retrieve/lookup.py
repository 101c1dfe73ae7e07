"""Chunks by id or by metadata: nothing is searched, and nothing scored."""

from __future__ import annotations

from collections.abc import Sequence

from monograph.store import chunks, vectors
from monograph.store.database import Connection
from monograph.store.filters import Allowed
from monograph.values import Stored


def fetch(
    connection: Connection, ids: Sequence[str] | None, allowed: Allowed, dimension: int | None = None
) -> list[Stored]:
    """Stored chunks.

    Parameters
    ----------
    connection:
        A read transaction.
    ids:
        Of chunks: those that are there come in this order. None asks for all, in reading order, document by document.
    allowed:
        Which of them.
    dimension:
        Of the vectors that are to come with them; None leaves them out.
    """
    rows = chunks.asked(connection, ids, allowed)
    held = {}
    if dimension is not None:
        numbers, values = vectors.of_chunks(connection, rows, dimension)
        held = dict(zip(numbers.tolist(), values, strict=True))
    return [
        Stored(one.chunk, one.title, one.uri, one.metadata, held.get(one.row)) for one in chunks.load(connection, rows)
    ]
