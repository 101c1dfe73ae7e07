"""RAGdb's hybrid score: cosine of sublinear TF-IDF, lifted where codes or the whole query stand word for word.

RAGdb, Sec. 4: score = alpha * cos(v_query, v_chunk) + beta * [found word for word], with tf = 1 + ln f,
idf = ln(N / (1 + df)) + 1, vectors of unit length. The published code keeps whole vectors, which are wrong as soon as
one document changes N or df; here only the index's counts are stored and idf is computed at query time.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

from monograph.search import fusion, rerank, words
from monograph.store.words import terms

if TYPE_CHECKING:
    from monograph.search.query import Query
    from monograph.search.reader import Reader
    from monograph.values import Hit

CANDIDATES = 64
"""Chunks that are read and scored, or four times k if that is more: the best by BM25, and those that hold a code."""


def search(reader: Reader, query: Query, alpha: float, beta: float) -> list[Hit]:
    """Search with ``alpha`` as the cosine's weight, and ``beta`` as that of a word-for-word match."""
    counts = words.count(reader, query)
    k = rerank.most(query)
    pool = max(CANDIDATES, 4 * k)
    exact = words.word_for_word(reader, "exact", counts, words.codes(query.text), pool)
    lifted = dict(zip(exact.rows, exact.scores, strict=True))
    lifted.update((row, 1.0) for row in words.substring(reader, query.text, pool, query.filter).rows)
    _, (lexical,) = words.pool(reader, query, counts, pool)
    rows = list(dict.fromkeys([*lexical.rows, *lifted]))
    texts = [Counter(terms.words_of("\n".join(titled))) for titled in reader.titled_texts(rows)]
    asked = Counter(terms.words_of(query.text))
    vocabulary = {word for count in [asked, *texts] for word in count}
    idf = inverse_document_frequency(reader.document_frequency(vocabulary), counts.total)
    vector = unit_vector(asked, idf)
    scored = [
        (row, alpha * _cosine(vector, unit_vector(count, idf)) + beta * lifted.get(row, 0.0))
        for row, count in zip(rows, texts, strict=True)
    ]
    found = fusion.ranking(reader, "tfidf", scored, k)
    scores = dict(zip(found.rows, found.scores, strict=True))
    return rerank.hits(query, fusion.best_hits(reader, scores, [found], k))


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
