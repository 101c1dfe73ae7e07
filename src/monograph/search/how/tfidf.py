"""RAGdb's hybrid score: cosine of sublinear TF-IDF, lifted where codes or the whole query stand word for word.

RAGdb, Sec. 4: score = alpha * cos(v_query, v_chunk) + beta * [found word for word], with tf = 1 + ln f,
idf = ln(N / (1 + df)) + 1, vectors of unit length. The published code keeps whole vectors, which are wrong as soon as
one document changes N or df; here only the index's counts are stored and idf is computed at query time.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from monograph.search import fusion, hits, rerank, words
from monograph.search.ranking import ranking
from monograph.search.strategy import Corpus, Named, Query
from monograph.store.words import terms
from monograph.values import Hit, arguments

CANDIDATES = 64
"""Chunks that are read and scored, or four times k if that is more: the best by BM25, and those that hold a code."""


@dataclass(frozen=True, slots=True)
class Tfidf(Named):
    """RAGdb's hybrid score (Sec. 4.2).

    Parameters
    ----------
    alpha, beta:
        Weights of the cosine, and of a word-for-word match.

    Raises
    ------
    InputError
        If one is not finite.
    """

    needs_graph: ClassVar[bool] = True
    needs_vector: ClassVar[bool] = False

    alpha: float = 1.0
    beta: float = 1.0

    def __post_init__(self) -> None:
        for name in ("alpha", "beta"):
            object.__setattr__(self, name, arguments.finite(getattr(self, name), name))

    def search(self, corpus: Corpus, query: Query) -> list[Hit]:
        """Scores lie in [0, alpha + beta]."""
        with corpus.read() as snapshot:
            known = words.of_question(snapshot, query.text)
            wide = rerank.widened(corpus, query)
            pool = max(CANDIDATES, 4 * wide.k)
            exact = words.word_for_word(snapshot, "exact", words.codes(wide.text), pool, wide.allowed)
            lifted = dict(zip(exact.rows, exact.scores, strict=True))
            for row in words.substring(snapshot, wide.text, pool, wide.allowed).rows:
                lifted[row] = 1.0
            rows = list(dict.fromkeys([*words.bm25(snapshot, wide.text, pool, wide.allowed, known).rows, *lifted]))
            counts = [Counter(terms.words_of("\n".join(titled))) for titled in snapshot.titled_texts(rows)]
            asked = Counter(terms.words_of(wide.text))
            vocabulary = {word for count in [asked, *counts] for word in count}
            idf = inverse_document_frequency(snapshot.document_frequency(vocabulary), known.total)
            vector = unit_vector(asked, idf)
            scored = [
                (row, self.alpha * _cosine(vector, unit_vector(count, idf)) + self.beta * lifted.get(row, 0.0))
                for row, count in zip(rows, counts, strict=True)
            ]
            found = ranking(snapshot, "tfidf", scored, wide.k)
            best = fusion.best(snapshot, fusion.alone(found, []), wide.k)
            return rerank.hits(corpus, query, hits.load(snapshot, best))


def inverse_document_frequency(frequency: Mapping[str, int], total: int) -> dict[str, float]:
    """ln(N / (1 + df)) + 1 by word, for the words that stand in some chunk."""
    return {word: math.log(total / (1 + count)) + 1 for word, count in frequency.items()}


def unit_vector(counts: Mapping[str, int], idf: Mapping[str, float]) -> dict[str, float]:
    """(1 + ln f) * idf by word, of length 1; words without an idf are left out."""
    weights = {word: (1 + math.log(count)) * idf[word] for word, count in counts.items() if word in idf}
    length = math.sqrt(sum(weight * weight for weight in weights.values()))
    return {word: weight / length for word, weight in weights.items()} if length > 0 else {}


def _cosine(first: Mapping[str, float], second: Mapping[str, float]) -> float:
    return sum(weight * second.get(word, 0.0) for word, weight in first.items())
