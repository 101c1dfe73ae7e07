"""Search by meaning: chunks whose vectors lie nearest to the query's."""

from __future__ import annotations

from monograph.search.ranking import Ranking, ranking
from monograph.store import vectors
from monograph.store.database import Connection
from monograph.store.filters import EVERYTHING, Allowed
from monograph.values import Effort, Float32
from monograph.vectors.index import EcoVectorIndex
from monograph.vectors.search import Query


def search(
    connection: Connection, index: EcoVectorIndex, vector: Float32, k: int, allowed: Allowed, *, stretch: float = 1.0
) -> Ranking:
    """The k chunks of highest cosine; none for a query without any known word, whose vector is zero.

    ``stretch`` is a factor on the window of the search's stop condition.
    """
    if not vector.any():
        return Ranking("dense", (), ())
    bits = None if allowed == EVERYTHING else index.allowed(connection, allowed)
    near = index.search(connection, vector, Query(k, bits, stretch=stretch, ties=True))
    found = vectors.chunks_of(connection, near.items)
    if bits is not None and any(len(chunks) > 1 for chunks in found.values()):
        # A vector is allowed where one of its chunks is: of several, not all need be.
        found = vectors.chunks_of(connection, near.items, allowed)
    # Chunks of one text share a vector.
    scored = ((chunk, score) for memo, score in zip(near.items, near.scores, strict=True) for chunk in found[memo])
    return ranking(connection, "dense", scored, k, Effort(near.loads, near.compared, near.stopped))
