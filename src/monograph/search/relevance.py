"""Scores as a relevance from 0 to 1 that never rises from a hit to the next: what frameworks are handed.

What it means hangs on the way to search. By meaning (``dense``, ``tree``, MiniRAG's formulas) it is the cosine, or 0
where that is negative: the same in every file and for every question. All other ways say how the hits of one question
compare, and it is a share of what the best one has: of the score by words (``lexical``, ``tfidf``); in ``hybrid`` of
how far the score is above that of a chunk which neither words nor vectors find; along the graph of the probability that
the chunk is evidence, which for codes and quoted phrases that stand in it word for word is at least the share of them.
Probabilities themselves would not do: they were fitted on files of thousands of chunks, and in a small one even what
answers the question exactly seldom comes to a half.

Hits are not always in the order of what they are worth alone: along the graph each is to add to those before it. One
that is worth more than a hit above it is told as worth as much as that one, so that more hits never change the first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate

from monograph.values import Hit


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
