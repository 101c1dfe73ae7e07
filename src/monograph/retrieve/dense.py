"""Search by meaning: chunks whose vectors lie nearest to the query's."""

from __future__ import annotations

from monograph.models import Float32
from monograph.retrieve.ranking import Ranking
from monograph.store.database import Connection
from monograph.store.filters import Allowed
from monograph.vectors.index import ExactIndex


def search(connection: Connection, index: ExactIndex, query: Float32, k: int, allowed: Allowed) -> Ranking:
    """The k chunks of highest cosine; none for a query without any known word, whose vector is zero."""
    if not query.any():
        return Ranking("dense", (), ())
    near = index.search(connection, query, k, allowed)
    return Ranking("dense", near.rows, near.cosines)
