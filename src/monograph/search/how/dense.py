"""Search by meaning alone."""

from __future__ import annotations

from dataclasses import dataclass

from monograph.search import fusion, hits, nearest
from monograph.search.strategy import Corpus, Named, Query
from monograph.values import Hit

LEAST = 10
"""Chunks that are looked for, at least: up to here, who asks for more hits finds the same ones first."""


@dataclass(frozen=True, slots=True)
class Dense(Named):
    """The chunks whose vectors lie nearest to the query's."""

    def search(self, corpus: Corpus, query: Query) -> list[Hit]:
        """Scores are cosines."""
        with corpus.read() as connection:
            vector = corpus.vector_of(query)
            found = nearest.search(connection, corpus.chunks, vector, max(query.k, LEAST), query.allowed)
            return hits.load(connection, fusion.cosines(found)[: query.k])
