"""Search by words, by meaning, or by both."""

from __future__ import annotations

from typing import TYPE_CHECKING

from monograph.search import fusion, hits, rerank, words
from monograph.search.ranking import nearest, pool_size

if TYPE_CHECKING:
    from monograph.search.query import Query
    from monograph.search.reader import Counts, Reader
    from monograph.values import Hit

LEAST = 10
"""Chunks that a dense search looks for, at least: up to here, a search for more hits finds the same ones first."""

STRETCH = 4.0
"""On the window of a dense search's stop condition. It is calibrated on texts, and questions lie elsewhere than those:
without, 86 % of the ten nearest to a question were found where 95 % were wanted; so, 91 %, as when a hundred are looked
for."""


def search_hybrid(reader: Reader, query: Query, alpha: float | None = None, counts: Counts | None = None) -> list[Hit]:
    """Search by words (``alpha`` 0), by meaning (1) or by both; ``counts`` are those of the query's words."""
    k = rerank.most(query)
    if alpha == 1:
        found = nearest(reader, query.vector_by(reader), max(k, LEAST), query.filter, stretch=STRETCH)
        return rerank.hits(query, hits.load(reader, fusion.cosines(found)[:k]))
    pool = pool_size(k)
    if counts is None:
        counts = words.count(reader, query)
    _, rankings = words.pool(reader, query, counts, pool, None if alpha == 0 else query.vector_by(reader))
    matches = words.matches(reader, query, counts, pool)
    if alpha == 0:
        fused = fusion.alone(rankings[0], matches, k)
    else:
        weights = fusion.WEIGHTS if alpha is None else {"lexical": 1 - alpha, "dense": alpha}
        fused = fusion.fuse(rankings, matches, weights, k)
    return rerank.hits(query, hits.load(reader, fusion.best(reader, fused, k)))
