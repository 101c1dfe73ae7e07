"""Search by meaning alone."""

from __future__ import annotations

from dataclasses import dataclass

from monograph.search import fusion, hits, nearest
from monograph.search.ranking import pool_size
from monograph.search.strategy import Corpus, Named, Query
from monograph.values import Hit


@dataclass(frozen=True, slots=True)
class Dense(Named):
    """The chunks whose vectors lie nearest to the query's."""

    def search(self, corpus: Corpus, query: Query) -> list[Hit]:
        """Scores are cosines."""
        with corpus.read() as connection:
            vector = corpus.vector_of(query)
            found = nearest.search(connection, corpus.chunks, vector, pool_size(query.k), query.allowed)
            return hits.load(connection, fusion.best(connection, fusion.cosines(found), query.k))
