"""Several rankings made one, and a relevance from 0 to 1 that never rises from a hit to the next.

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

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import accumulate, takewhile
from typing import TYPE_CHECKING

import numpy as np

from monograph.search import ranking
from monograph.search.ranking import highest
from monograph.values import Hit, Origin

if TYPE_CHECKING:
    from monograph.search.ranking import Ranking
    from monograph.search.reader import Reader

LIFTS = {"exact": 1000.0, "phrase": 2.0}
"""What a full match of the query's codes, or of its quoted phrases, adds to a score.

A code names one thing: its chunks come first, whatever the scores. A quoted phrase often names one of several things
asked for, so it counts, and does not decide.
"""

WEIGHTS = {"lexical": 1.0, "dense": 0.5}
"""What each retriever's standardised score counts, chosen on dev sets with the static embedder (docs/measuring.md)."""


@dataclass(frozen=True, slots=True)
class Fused:
    """A chunk's row number, its fused score, what it scored where, and its relevance."""

    row: int
    score: float
    origins: tuple[Origin, ...]
    relevance: float


def fuse(
    rankings: Sequence[Ranking],
    lifts: Sequence[Ranking],
    weights: Mapping[str, float] = WEIGHTS,
    k: int | None = None,
) -> list[Fused]:
    """Fuse rankings; chunks by fused score, highest first. Those that tie :func:`best` puts in order.

    Parameters
    ----------
    rankings:
        One a retriever. A chunk that a ranking lacks counts there as its lowest, or as 0 where all others are known to
        score that.
    lifts:
        Word-for-word matches: each adds its score times LIFTS.
    weights:
        What each retriever's score counts.
    k:
        How many are wanted; all that tie with the last of them are given too. None for all.
    """
    shares = [standardised(one) for one in with_zeros(rankings)]
    totals = {row: 0.0 for one in (*rankings, *lifts) for row in one.rows}
    unfound = 0.0
    for one, share in zip(rankings, shares, strict=True):
        least = min(share.values(), default=0.0)
        unfound += weights[one.retriever] * least
        for row in totals:
            totals[row] += weights[one.retriever] * share.get(row, least)
    return _fused(lifted(totals, lifts), [*rankings, *lifts], unfound, k)


def alone(one: Ranking, lifts: Sequence[Ranking], k: int | None = None) -> list[Fused]:
    """One retriever's ranking under its own absolute scores, lifted as in :func:`fuse`; ``k`` as there."""
    totals = dict(zip(one.rows, one.scores, strict=True))
    return _fused(lifted(totals, lifts), [one, *lifts], 0.0, k)


def cosines(one: Ranking) -> list[Fused]:
    """The ranking of a retriever whose scores are cosines."""
    origins = origins_of([one])
    pairs = sorted(zip(one.rows, one.scores, strict=True), key=lambda pair: -pair[1])
    return [Fused(row, score, origins[row], of_cosine(score)) for row, score in pairs]


def _fused(totals: Mapping[int, float], rankings: Sequence[Ranking], unfound: float, k: int | None) -> list[Fused]:
    """Best first; the relevance is the share of the best score, counted from that of what no retriever found."""
    best = sorted(totals, key=totals.__getitem__, reverse=True)
    if k is not None and 0 < k < len(best):
        least = totals[best[k - 1]]
        best = best[:k] + list(takewhile(lambda row: totals[row] == least, best[k:]))
    origins = origins_of(rankings, set(best))
    return [Fused(row, totals[row], origins[row], share(totals[row], totals[best[0]], unfound)) for row in best]


def best(snapshot: Reader, fused: Sequence[Fused], k: int) -> list[Fused]:
    """The k of highest score, ties by id."""
    by_row = {one.row: one for one in fused}
    return [by_row[row] for row in highest(snapshot, {row: one.score for row, one in by_row.items()}, k)]


def lifted(totals: Mapping[int, float], lifts: Sequence[Ranking]) -> dict[int, float]:
    """Scores by row, and what word-for-word matches add to them."""
    result = dict(totals)
    least = min(totals.values(), default=0.0)
    for one in lifts:
        for row, score in zip(one.rows, one.scores, strict=True):
            result[row] = result.get(row, min(least, 0.0)) + LIFTS[one.retriever] * score
    return result


def with_zeros(rankings: Sequence[Ranking]) -> list[Ranking]:
    """Rankings to be standardised: to one that is exhaustive come the chunks that others found, at a score of 0.

    Without these a single chunk that has a word of the question would lie no deviation above the mean, and count as
    much there as those that have none.
    """
    return [_filled(one, rankings) if one.is_exhaustive else one for one in rankings]


def _filled(one: Ranking, rankings: Sequence[Ranking]) -> Ranking:
    """In the order in which others found them: row numbers tell when a chunk came, and nothing may hang on that."""
    found = set(one.rows)
    lacking = tuple(dict.fromkeys(row for other in rankings for row in other.rows if row not in found))
    return replace(one, rows=one.rows + lacking, scores=one.scores + (0.0,) * len(lacking))


def origins_of(rankings: Sequence[Ranking], wanted: Set[int] | None = None) -> dict[int, tuple[Origin, ...]]:
    """Where each chunk, or each of some, was found: by row number, in the order of the rankings."""
    found: dict[int, tuple[Origin, ...]] = {}
    for one in rankings:
        for rank, (row, score) in enumerate(zip(one.rows, one.scores, strict=True)):
            if wanted is None or row in wanted:
                found[row] = (*found.get(row, ()), Origin(one.retriever, rank, score, one.effort))
    return found


def standardised(one: Ranking) -> dict[int, float]:
    """(score - mean) / standard deviation by row number; 0 where all scores are alike."""
    return dict(zip(one.rows, ranking.standardised(np.array(one.scores, dtype=np.float64)).tolist(), strict=True))


def of_cosine(cosine: float) -> float:
    """A cosine, or 0 where it is negative."""
    return min(1.0, max(0.0, cosine))


def share(score: float, best: float, least: float = 0.0) -> float:
    """How far a score is above the least that there could be, as a share of how far the best one is."""
    return min(1.0, max(0.0, (score - least) / (best - least))) if best > least else 1.0


def settled(hits: Sequence[Hit]) -> list[Hit]:
    """Hits with relevances that never rise; where a strategy told none, they are shares of the best score."""
    given = [hit.relevance for hit in hits]
    if hits and not any(given) and hits[0].score > 0:
        given = [share(hit.score, hits[0].score) for hit in hits]
    falling = accumulate((min(1.0, max(0.0, one)) for one in given), min)
    return [
        hit if hit.relevance == relevance else replace(hit, relevance=relevance)
        for hit, relevance in zip(hits, falling, strict=True)
    ]
