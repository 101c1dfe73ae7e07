"""Search by words alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from monograph.search import fusion, hits, rerank, words
from monograph.search.ranking import pool_size
from monograph.search.snapshot import Opening, Pooling
from monograph.search.strategy import Corpus, Named, Query
from monograph.values import Hit


@dataclass(frozen=True, slots=True)
class Lexical(Named):
    """BM25; codes and quoted phrases that stand there word for word come first."""

    needs_vector: ClassVar[bool] = False

    def search(self, corpus: Corpus, query: Query) -> list[Hit]:
        """Scores are BM25's, above 0, and what a match word for word adds."""
        asked_for, query = query, rerank.widened(corpus, query)
        pool = pool_size(query.k)
        with corpus.read() as snapshot:
            snapshot.expect(Opening(query.text, query.allowed, words.counted))
            snapshot.expect(Pooling(pool, query.allowed))
            known = words.of_question(snapshot, query.text)
            found = words.bm25(snapshot, query.text, pool, query.allowed, known)
            matches = words.matches(snapshot, query.text, pool, query.allowed)
            best = fusion.best(snapshot, fusion.alone(found, matches, query.k), query.k)
            return rerank.hits(corpus, asked_for, hits.load(snapshot, best))
