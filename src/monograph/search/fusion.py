"""Fusion of rankings: the weights of lexical and dense scores, z-scores, relevance, and the hits made of them.

A ranking has chunks by row number, best first. Equal scores are ordered by chunk id: a row number depends on the order
of insertion, an id only on the content, so the same chunks are ranked alike in every file.

Each retriever's scores are standardised over the candidates (chosen by measurement: docs/explanation/measuring.md). So
a retriever that separates the candidates clearly counts for more than one whose scores are all alike. A word-for-word
match of a code or a quoted phrase adds to a chunk's score (LIFTS).

The meaning of ``relevance`` depends on the search mode. In ``dense``, ``tree`` and MiniRAG's formulas it is the cosine,
or 0 if that is negative, so it can be compared across files and questions. In all other modes it compares the hits of
one question, as a share of the best hit's value:

- ``lexical`` and ``tfidf``: share of the best score.
- ``hybrid``: share of the best score's distance above the score of a chunk that neither words nor vectors find.
- ``graph``: share of the best hit's probability of being evidence. For a chunk that contains codes or quoted phrases
  word for word, that probability counts as at least the share of them that it contains.

The probabilities themselves would not do as relevance. They were fitted on files of thousands of chunks; in a small
file even a chunk that answers the question exactly seldom reaches 0.5.

Hits are not always in the order of their own worth: in a graph search each hit should add to those before it. A hit
that is worth more than one above it gets the relevance of that one, so that asking for more hits never changes the
first ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from monograph import telemetry
from monograph.search.reader import PoolRequest
from monograph.values import Hit, Origin

if TYPE_CHECKING:
    from monograph.graph.evidence import Float64
    from monograph.search.reader import Reader
    from monograph.store.documents.chunks import LoadedChunk
    from monograph.store.documents.filters import Allowed
    from monograph.values import Effort, Float32, Path

POOL = 100
"""Candidates that each retriever passes to a fusion, or k if that is more. Scores are relative to the candidates, and
asking for more hits must not change the first ones."""

LIFTS = {"exact": 1000.0, "phrase": 2.0}
"""Added to a chunk's score for a full match of the query's codes (``exact``) or of its quoted phrases (``phrase``).

A code names one thing: its chunks come first, whatever the scores. A quoted phrase often names one of several things
that are asked for, so it adds to the score without deciding the order.
"""

WEIGHTS = {"lexical": 1.0, "dense": 0.5}
"""Weight of each retriever's standardised score, chosen on dev sets with the static embedder
(docs/explanation/measuring.md)."""

NO_PATHS: Mapping[int, Path] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Ranking:
    """Chunks found by one retriever: row numbers and absolute scores, highest first, and the effort if it is known.

    ``is_exhaustive`` is true if every chunk that is not in the ranking is known to score 0.
    """

    retriever: str
    rows: tuple[int, ...]
    scores: tuple[float, ...]
    effort: Effort | None = None
    is_exhaustive: bool = False


def highest(reader: Reader, scores: Mapping[int, float], k: int | None = None) -> list[int]:
    """Return the rows of the k chunks of highest score, or of all, best first; ties by id.

    Ids are read only for chunks whose scores tie.
    """
    best = sorted(scores, key=scores.__getitem__, reverse=True)
    if k is not None and k < len(best):
        # Keep all chunks that tie with the k-th: their ids decide which are among the k.
        least = scores[best[k - 1]] if k > 0 else float("inf")
        while scores[best[-1]] < least:
            best.pop()
            if not best:
                return best
    tied: set[int] = set()
    for first, second in pairwise(best):
        if scores[first] == scores[second]:
            tied.update((first, second))
    if tied:
        ids = reader.ids(tied)
        best = [row for *_, row in sorted([(-scores[row], ids.get(row, ""), row) for row in best])]
    return best[:k]


def ranking(
    reader: Reader, retriever: str, scored: Iterable[tuple[int, float]], k: int, effort: Effort | None = None
) -> Ranking:
    """Return a ranking of the k best of (row, score) pairs, ties by id."""
    scores = dict(scored)
    rows = highest(reader, scores, k)
    return Ranking(retriever, tuple(rows), tuple(map(scores.__getitem__, rows)), effort)


def nearest(reader: Reader, vector: Float32, k: int, allowed: Allowed, *, stretch: float = 1.0) -> Ranking:
    """Return a ranking of the k chunks of highest cosine; empty for a zero vector. See PoolRequest on ``stretch``."""
    pool = reader.pool(PoolRequest(k, allowed, vector=vector, stretch=stretch))
    return ranking(reader, "dense", pool.dense, k, pool.effort)


def standardised(scores: Float64) -> Float64:
    """Return (score - mean) / standard deviation of scores, float64 (n,); 0 if all scores are equal."""
    if not len(scores):
        return np.zeros(0)
    # Equal to numpy's mean and std to the bit, but computes the mean once.
    centred: Float64 = scores - np.add.reduce(scores) / len(scores)
    spread = np.sqrt(np.add.reduce(centred * centred) / len(scores))
    return centred / spread if spread > 0 else np.zeros(len(scores))


def fuse(
    rankings: Sequence[Ranking], lifts: Sequence[Ranking], weights: Mapping[str, float] = WEIGHTS
) -> tuple[dict[int, float], float]:
    """Return (fused score of each chunk by row number, score of a chunk that no retriever finds).

    ``rankings`` has one a retriever, whose standardised scores count by its weight. A chunk that a ranking lacks gets
    its lowest score, or 0 if the ranking is exhaustive. ``lifts`` are rankings of word-for-word matches, which add
    their scores times LIFTS.
    """
    totals = {row: 0.0 for retrieved in (*rankings, *lifts) for row in retrieved.rows}
    unfound = 0.0
    for retrieved in with_zeros(rankings):
        shares = dict(
            zip(retrieved.rows, standardised(np.array(retrieved.scores, dtype=np.float64)).tolist(), strict=True)
        )
        least, weight = min(shares.values(), default=0.0), weights[retrieved.retriever]
        unfound += weight * least
        for row in totals:
            totals[row] += weight * shares.get(row, least)
    return lifted(totals, lifts), unfound


def lifted(totals: Mapping[int, float], lifts: Sequence[Ranking]) -> dict[int, float]:
    """Return scores by row, raised by the scores of word-for-word matches times LIFTS."""
    result = dict(totals)
    least = min(totals.values(), default=0.0)
    for lift in lifts:
        for row, score in zip(lift.rows, lift.scores, strict=True):
            result[row] = result.get(row, min(least, 0.0)) + LIFTS[lift.retriever] * score
    return result


def with_zeros(rankings: Sequence[Ranking]) -> list[Ranking]:
    """Return the rankings, with the chunks that only others found added to exhaustive ones at a score of 0.

    Without them, a single chunk that has a word of the question would have a z-score of 0, and would count as much as
    the chunks that have none. They are added in the order in which the other rankings found them, because the order of
    row numbers depends on when chunks were inserted.
    """
    found = [row for retrieved in rankings for row in retrieved.rows]
    filled = []
    for retrieved in rankings:
        rows = tuple(dict.fromkeys([*retrieved.rows, *found])) if retrieved.is_exhaustive else retrieved.rows
        zeros = (0.0,) * (len(rows) - len(retrieved.rows))
        filled.append(replace(retrieved, rows=rows, scores=retrieved.scores + zeros))
    return filled


def origins_of(rankings: Sequence[Ranking], wanted: Set[int]) -> dict[int, tuple[Origin, ...]]:
    """Return the origins of each wanted chunk by row number, in the order of the rankings."""
    origins: dict[int, tuple[Origin, ...]] = {}
    for retrieved in rankings:
        for rank, (row, score) in enumerate(zip(retrieved.rows, retrieved.scores, strict=True)):
            if row in wanted:
                origins[row] = (*origins.get(row, ()), Origin(retrieved.retriever, rank, score, retrieved.effort))
    return origins


def hits_of(
    loaded: Mapping[int, LoadedChunk],
    scores: Mapping[int, float],
    relevance: Mapping[int, float],
    origins: Mapping[int, tuple[Origin, ...]],
    paths: Mapping[int, Path] = NO_PATHS,
) -> list[Hit]:
    """Return a hit for each loaded chunk, in the order of ``relevance``, which must be best first.

    All mappings are by row number. Chunks that were not loaded are left out.
    """
    hits: list[Hit] = []
    for row, share in relevance.items():
        chunk = loaded.get(row)
        if chunk is not None:
            hits.append(
                Hit(
                    chunk.chunk, scores[row], len(hits), chunk.title, chunk.uri, chunk.metadata, origins[row],
                    paths.get(row), relevance=share, date=chunk.date, valid=chunk.valid,
                )
            )  # fmt: skip
    return hits


@telemetry.traced("monograph.search.hits")
def best_hits(
    reader: Reader, scores: Mapping[int, float], rankings: Sequence[Ranking], k: int, unfound: float = 0.0
) -> list[Hit]:
    """Return the k hits of highest score, ties by id.

    The relevance is the score's distance above ``unfound``, as a share of that of the best hit.
    """
    rows = highest(reader, scores, k)
    shares = shares_of([scores[row] for row in rows], unfound)
    return hits_of(reader.show(rows)[0], scores, dict(zip(rows, shares, strict=True)), origins_of(rankings, set(rows)))


@telemetry.traced("monograph.search.hits")
def cosine_hits(reader: Reader, found: Ranking, k: int) -> list[Hit]:
    """Return hits for the first k chunks of a ranking by cosine; the relevance is the cosine, at least 0."""
    scores = dict(zip(found.rows[:k], found.scores[:k], strict=True))
    relevance = {row: min(1.0, max(0.0, score)) for row, score in scores.items()}
    return hits_of(reader.show(list(scores))[0], scores, relevance, origins_of([found], scores.keys()))


def shares_of(scores: Sequence[float], unfound: float = 0.0) -> list[float]:
    """Return the distance of each score above ``unfound``, as a share of that of the first score, in [0, 1].

    ``unfound`` is the score of a chunk that no retriever finds. All shares are 1 if the first score is not above it.
    """
    if not scores or scores[0] <= unfound:
        return [1.0] * len(scores)
    return [min(1.0, max(0.0, (score - unfound) / (scores[0] - unfound))) for score in scores]


def with_falling_relevance(hits: Sequence[Hit]) -> list[Hit]:
    """Return the hits with relevances that never rise from one hit to the next.

    If the search mode set no relevance, each is the share of the best score.
    """
    relevances = [hit.relevance for hit in hits]
    if hits and not any(relevances) and hits[0].score > 0:
        relevances = shares_of([hit.score for hit in hits])
    result, least = [], 1.0
    for hit, relevance in zip(hits, relevances, strict=True):
        least = min(least, max(0.0, relevance))
        result.append(hit if hit.relevance == least else replace(hit, relevance=least))
    return result
