"""Fusion of rankings: the weights of lexical and dense scores, z-scores, relevance, and the hits made of them.

A retriever returns chunks by row number, best first, those that tie in order of id. A row number tells when a chunk
came, its id what it is: the same chunks are ranked alike in every file.

Each retriever's scores are standardised over the candidates (chosen by measurement: docs/measuring.md), so that a
retriever that is sure of itself counts for more than one whose scores are all alike. Chunks with a word-for-word match
are lifted above all others.

What a relevance means depends on the way to search. By meaning (``dense``, ``tree``, MiniRAG's formulas) it is the
cosine, or 0 where that is negative: the same in every file and for every question. All other ways say how the hits of
one question compare, and it is a share of what the best one has: of the score by words (``lexical``, ``tfidf``); in
``hybrid`` of how far the score is above that of a chunk which neither words nor vectors find; along the graph of the
probability that the chunk is evidence, which for codes and quoted phrases that stand in it word for word is at least
the share of them. Probabilities themselves would not do: they were fitted on files of thousands of chunks, and in a
small one even what answers the question exactly seldom comes to a half.

Hits are not always in the order of what they are worth alone: along the graph each is to add to those before it. One
that is worth more than a hit above it is told as worth as much as that one, so that more hits never change the first.
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
"""Candidates that each retriever gives to a fusion, or k when that is more. Scores are relative to them: to ask for
more hits must not change the first ones."""

LIFTS = {"exact": 1000.0, "phrase": 2.0}
"""What a full match of the query's codes, or of its quoted phrases, adds to a score.

A code names one thing: its chunks come first, whatever the scores. A quoted phrase often names one of several things
asked for, so it counts, and does not decide.
"""

WEIGHTS = {"lexical": 1.0, "dense": 0.5}
"""What each retriever's standardised score counts, chosen on dev sets with the static embedder (docs/measuring.md)."""

NO_PATHS: Mapping[int, Path] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Ranking:
    """One retriever's chunks: row numbers and absolute scores, highest first; and what the search took, if it says.

    It is exhaustive where every other chunk is known to score 0.
    """

    retriever: str
    rows: tuple[int, ...]
    scores: tuple[float, ...]
    effort: Effort | None = None
    is_exhaustive: bool = False


def highest(reader: Reader, scores: Mapping[int, float], k: int | None = None) -> list[int]:
    """Return the k chunks of highest score, or all, by row number; ties by id, which is read only where scores tie."""
    best = sorted(scores, key=scores.__getitem__, reverse=True)
    if k is not None and k < len(best):
        # All that tie with the last may be it.
        least = scores[best[k - 1]] if k > 0 else float("inf")
        while scores[best[-1]] < least:
            best.pop()
            if not best:
                return best
    tied: set[int] = set()
    for one, other in pairwise(best):
        if scores[one] == scores[other]:
            tied.update((one, other))
    if tied:
        ids = reader.ids(tied)
        best = [row for *_, row in sorted([(-scores[row], ids.get(row, ""), row) for row in best])]
    return best[:k]


def ranking(
    reader: Reader, retriever: str, scored: Iterable[tuple[int, float]], k: int, effort: Effort | None = None
) -> Ranking:
    """Return the k best of (row, score) pairs, ties by id."""
    scores = dict(scored)
    rows = highest(reader, scores, k)
    return Ranking(retriever, tuple(rows), tuple(map(scores.__getitem__, rows)), effort)


def nearest(reader: Reader, vector: Float32, k: int, allowed: Allowed, *, stretch: float = 1.0) -> Ranking:
    """Return the k chunks of highest cosine; none for a query without any known word, whose vector is zero.

    ``stretch`` is a factor on the window of the search's stop condition.
    """
    found = reader.pool(PoolRequest(k, allowed, vector=vector, stretch=stretch))
    return ranking(reader, "dense", found.dense, k, found.effort)


def standardised(scores: Float64) -> Float64:
    """Return (score - mean) / standard deviation of scores (n,), which makes them comparable; 0 where all are alike."""
    if not len(scores):
        return np.zeros(0)
    # As numpy's mean and std have it, to the bit, which make the mean twice.
    centred: Float64 = scores - np.add.reduce(scores) / len(scores)
    spread = np.sqrt(np.add.reduce(centred * centred) / len(scores))
    return centred / spread if spread > 0 else np.zeros(len(scores))


def fuse(
    rankings: Sequence[Ranking], lifts: Sequence[Ranking], weights: Mapping[str, float] = WEIGHTS
) -> tuple[dict[int, float], float]:
    """Return the fused score of each chunk by row number, and that of a chunk which no retriever finds.

    Parameters
    ----------
    rankings:
        One a retriever. A chunk that a ranking lacks counts there as its lowest, or as 0 where all others are known to
        score that.
    lifts:
        Word-for-word matches: each adds its score times LIFTS.
    weights:
        What each retriever's score counts.
    """
    totals = {row: 0.0 for one in (*rankings, *lifts) for row in one.rows}
    unfound = 0.0
    for one in with_zeros(rankings):
        shares = dict(zip(one.rows, standardised(np.array(one.scores, dtype=np.float64)).tolist(), strict=True))
        least, weight = min(shares.values(), default=0.0), weights[one.retriever]
        unfound += weight * least
        for row in totals:
            totals[row] += weight * shares.get(row, least)
    return lifted(totals, lifts), unfound


def lifted(totals: Mapping[int, float], lifts: Sequence[Ranking]) -> dict[int, float]:
    """Return scores by row, with what word-for-word matches add to them."""
    result = dict(totals)
    least = min(totals.values(), default=0.0)
    for one in lifts:
        for row, score in zip(one.rows, one.scores, strict=True):
            result[row] = result.get(row, min(least, 0.0)) + LIFTS[one.retriever] * score
    return result


def with_zeros(rankings: Sequence[Ranking]) -> list[Ranking]:
    """Return rankings to be standardised: an exhaustive one gets the chunks that others found, at a score of 0.

    Without these a single chunk that has a word of the question would lie no deviation above the mean, and count as
    much there as those that have none. They come in the order in which others found them: row numbers tell when a
    chunk came, and nothing may hang on that.
    """
    filled = []
    for one in rankings:
        if one.is_exhaustive:
            every = dict.fromkeys(one.rows)
            for other in rankings:
                every.update(dict.fromkeys(other.rows))
            filled.append(replace(one, rows=tuple(every), scores=one.scores + (0.0,) * (len(every) - len(one.rows))))
        else:
            filled.append(one)
    return filled


def origins_of(rankings: Sequence[Ranking], wanted: Set[int]) -> dict[int, tuple[Origin, ...]]:
    """Return where each wanted chunk was found: by row number, in the order of the rankings."""
    found: dict[int, tuple[Origin, ...]] = {}
    for one in rankings:
        for rank, (row, score) in enumerate(zip(one.rows, one.scores, strict=True)):
            if row in wanted:
                found[row] = (*found.get(row, ()), Origin(one.retriever, rank, score, one.effort))
    return found


def hits_of(
    loaded: Mapping[int, LoadedChunk],
    scores: Mapping[int, float],
    relevance: Mapping[int, float],
    origins: Mapping[int, tuple[Origin, ...]],
    paths: Mapping[int, Path] = NO_PATHS,
) -> list[Hit]:
    """Return hits of the loaded ones among some chunks, by row and in the order of their ``relevance``, best first."""
    hits: list[Hit] = []
    for row, share in relevance.items():
        one = loaded.get(row)
        if one is not None:
            hits.append(
                Hit(
                    one.chunk, scores[row], len(hits), one.title, one.uri, one.metadata, origins[row], paths.get(row),
                    relevance=share, date=one.date, valid=one.valid,
                )
            )  # fmt: skip
    return hits


@telemetry.traced("monograph.search.hits")
def best_hits(
    reader: Reader, scores: Mapping[int, float], rankings: Sequence[Ranking], k: int, unfound: float = 0.0
) -> list[Hit]:
    """Return the k hits of highest score, ties by id; the relevance is the share of the best, above ``unfound``."""
    rows = highest(reader, scores, k)
    shares = shares_of([scores[row] for row in rows], unfound)
    return hits_of(reader.show(rows)[0], scores, dict(zip(rows, shares, strict=True)), origins_of(rankings, set(rows)))


@telemetry.traced("monograph.search.hits")
def cosine_hits(reader: Reader, found: Ranking, k: int) -> list[Hit]:
    """Return the first k chunks of a ranking whose scores are cosines; the relevance is the cosine, at least 0."""
    scores = dict(zip(found.rows[:k], found.scores[:k], strict=True))
    relevance = {row: min(1.0, max(0.0, score)) for row, score in scores.items()}
    return hits_of(reader.show(list(scores))[0], scores, relevance, origins_of([found], scores.keys()))


def shares_of(scores: Sequence[float], unfound: float = 0.0) -> list[float]:
    """Return how far each score is above that of a chunk which nothing finds, as a share of the first one's."""
    if not scores or scores[0] <= unfound:
        return [1.0] * len(scores)
    return [min(1.0, max(0.0, (score - unfound) / (scores[0] - unfound))) for score in scores]


def with_falling_relevance(hits: Sequence[Hit]) -> list[Hit]:
    """Return hits with relevances that never rise; where a strategy told none, they are shares of the best score."""
    given = [hit.relevance for hit in hits]
    if hits and not any(given) and hits[0].score > 0:
        given = shares_of([hit.score for hit in hits])
    made, least = [], 1.0
    for hit, relevance in zip(hits, given, strict=True):
        least = min(least, max(0.0, relevance))
        made.append(hit if hit.relevance == least else replace(hit, relevance=least))
    return made
