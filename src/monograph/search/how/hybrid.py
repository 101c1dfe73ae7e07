"""Search by words and by meaning."""

from __future__ import annotations

from dataclasses import dataclass

from monograph.search import fusion, hits, rerank, words
from monograph.search.frequencies import Frequencies
from monograph.search.how.dense import Dense
from monograph.search.how.lexical import Lexical
from monograph.search.ranking import nearest, pool_size
from monograph.search.snapshot import Opening, Pooling, Snapshot
from monograph.search.strategy import Corpus, Named, Query
from monograph.values import Hit, arguments


@dataclass(frozen=True, slots=True)
class Hybrid(Named):
    """BM25 and cosines, fused: see :mod:`monograph.search.fusion`.

    Parameters
    ----------
    alpha:
        What meaning counts beside words, from 0 (words alone) to 1 (vectors alone); None for the weights that did best
        on question sets.

    Raises
    ------
    InputError
        If ``alpha`` is out of range.
    """

    alpha: float | None = None

    def __post_init__(self) -> None:
        if self.alpha is not None:
            mend = "give 0 (words alone) to 1 (vectors alone)"
            object.__setattr__(self, "alpha", arguments.share(self.alpha, "alpha", mend))

    def search(self, corpus: Corpus, query: Query) -> list[Hit]:
        """Scores are fused ones; the origins have those of each retriever."""
        if self.alpha == 0:
            return Lexical().search(corpus, query)
        if self.alpha == 1:
            return Dense().search(corpus, query)
        with corpus.read() as snapshot:
            snapshot.expect(Opening(query.text, query.allowed, words.counted))
            known = words.of_question(snapshot, query.text)
            return by_both(corpus, snapshot, query, known, self.alpha)


def by_both(
    corpus: Corpus, snapshot: Snapshot, query: Query, known: Frequencies, alpha: float | None = None
) -> list[Hit]:
    """Search by words and by meaning for a query of whose words the frequencies are known already."""
    asked_for, query = query, rerank.widened(corpus, query)
    pool = pool_size(query.k)
    weights = fusion.WEIGHTS if alpha is None else {"lexical": 1 - alpha, "dense": alpha}
    vector = corpus.vector_of(query)
    snapshot.expect(Pooling(pool, query.allowed, vector))
    rankings = [
        words.bm25(snapshot, query.text, pool, query.allowed, known),
        nearest(snapshot, vector, pool, query.allowed),
    ]
    matches = words.matches(snapshot, query.text, pool, query.allowed)
    fused = fusion.fuse(rankings, matches, weights, query.k)
    return rerank.hits(corpus, asked_for, hits.load(snapshot, fusion.best(snapshot, fused, query.k)))
