"""Fusion of rankings: the weights of lexical and dense scores, z-scores, relevance, and hits.

A ranking has chunks by row number, best first. Equal scores are ordered by chunk id: a row number depends on the order
of insertion, an id only on the content, so the same chunks are ranked alike in every file.

Each retriever's scores are standardised over the candidates (chosen by measurement: docs/explanation/measuring.md). So
a retriever that separates the candidates clearly counts for more than one whose scores are all alike. A word-for-word
match of a code or a quoted phrase adds to a chunk's score (LIFTS).

The meaning of ``relevance`` depends on the search mode. In ``dense`` and ``tree`` it is the cosine, or 0 for a negative
cosine. Such relevances can be compared across files and questions. In all other modes the relevance compares the hits
of one question, and the best hit has 1:

- ``lexical`` and ``tfidf``: score / best score.
- ``hybrid`` and MiniRAG's formulas: (score - floor) / (best score - floor). The floor is the score of a chunk that no
  retriever finds.
- ``graph``: probability of being evidence / the best hit's probability. If a chunk contains a share of the question's
  codes or of its quoted phrases word for word, this share replaces a lower probability.

In a graph search, the probabilities themselves cannot serve as relevance. They were fitted on files of thousands of
chunks. In a small file even a chunk that answers the question exactly seldom reaches 0.5.

A graph search does not order hits by relevance alone, because each hit should add facts to the hits before it. If a
hit's relevance is higher than that of the hit before, it is lowered to the relevance of the hit before. So a request
for more hits never changes the first hits.
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
    from monograph.store.documents.filters import CompiledFilter
    from monograph.values import Effort, Float32, Path
    from monograph.vectors.stop import RankedRecall, StopCondition

POOL = 100
"""Number of candidates that each retriever passes to a fusion. If k is larger than POOL, k candidates are passed.

Scores are relative to the candidates. All values of k up to POOL use the same candidates, so that a request for more
hits does not change the first hits.
"""

LIFTS = {"exact": 1000.0, "phrase": 2.0}
"""Values that word-for-word matches add to a chunk's score: ``exact`` for codes such as INV-2024, ``phrase`` for quoted
phrases.

A chunk that contains all codes of the query gets the full value for codes. A chunk that contains half of the codes gets
half of the value. The same holds for quoted phrases.

A code names one thing, so chunks that contain it come first, whatever their other scores. A quoted phrase is often only
one of several parts of a question. So it raises the score without deciding the order.
"""

WEIGHTS = {"lexical": 1.0, "dense": 0.5}
"""Default weight of each retriever's standardised score. The weights were chosen on dev sets with the static embedder
(docs/explanation/measuring.md)."""

NO_PATHS: Mapping[int, Path] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Ranking:
    """Chunks that one retriever found, best first.

    ``retriever`` is the name of the retriever. ``rows`` are the rows of the chunks, and ``scores`` their scores, not
    standardised. ``effort`` is the effort of the search; None if it is not known. ``is_exhaustive`` is true if every
    chunk that is not in the ranking is known to score 0.
    """

    retriever: str
    rows: tuple[int, ...]
    scores: tuple[float, ...]
    effort: Effort | None = None
    is_exhaustive: bool = False


def highest(reader: Reader, scores: Mapping[int, float], k: int | None = None) -> list[int]:
    """Return the rows of the k chunks with the highest scores, best first. If ``k`` is None, return all rows.

    ``scores`` has the score of each chunk by row. Equal scores are ordered by chunk id. The ids of chunks are only read
    if their scores are equal.
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
    """Return a ranking of the k chunks with the highest scores. Equal scores are ordered by chunk id.

    ``retriever`` is the name of the ranking. ``scored`` has (row, score) of each chunk.
    """
    scores = dict(scored)
    rows = highest(reader, scores, k)
    return Ranking(retriever, tuple(rows), tuple(map(scores.__getitem__, rows)), effort)


def nearest(
    reader: Reader,
    vector: Float32,
    k: int,
    allowed: CompiledFilter,
    *,
    window_factor: float = 1.0,
    stop: StopCondition | RankedRecall | None = None,
) -> Ranking:
    """Return a ranking of the k allowed chunks with the highest cosine to a vector; empty for a zero vector.

    ``window_factor`` and ``stop`` end the search: see :class:`monograph.search.reader.PoolRequest`.
    """
    pool = reader.pool(PoolRequest(k, allowed, vector=vector, window_factor=window_factor, stop=stop))
    return ranking(reader, "dense", pool.dense, k, pool.effort)


def standardised(scores: Float64) -> Float64:
    """Return (score - mean) / standard deviation of each score, float64 (n,); all 0 if the scores are equal."""
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

    ``rankings`` has one ranking for each retriever. Its scores are standardised and multiplied by the retriever's
    weight, then the products are added up for each chunk. A chunk that is not in a ranking counts with the lowest score
    of that ranking; if the ranking is exhaustive, it counts with a score of 0. ``lifts`` are rankings of word-for-word
    matches, which are added at the end: see :func:`add_lifts`.
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
    return add_lifts(totals, lifts), unfound


def add_lifts(totals: Mapping[int, float], lifts: Sequence[Ranking]) -> dict[int, float]:
    """Return the scores of chunks after adding the values of their word-for-word matches, by row.

    ``totals`` has the scores before the addition, by row. ``lifts`` are the rankings of word-for-word matches. A match
    adds its score, multiplied by the value in LIFTS for its ranking. If a matching chunk is missing in ``totals``, it
    starts from the lowest score in ``totals`` or from 0, whichever is lower.
    """
    result = dict(totals)
    least = min(totals.values(), default=0.0)
    for lift in lifts:
        for row, score in zip(lift.rows, lift.scores, strict=True):
            result[row] = result.get(row, min(least, 0.0)) + LIFTS[lift.retriever] * score
    return result


def with_zeros(rankings: Sequence[Ranking]) -> list[Ranking]:
    """Return the rankings after appending missing chunks, with score 0, to each exhaustive ranking.

    The missing chunks of a ranking are the chunks that only other rankings have. They are needed for the z-scores.
    Without them, the only chunk of a ranking would have a z-score of 0, and would count as much as the chunks that are
    not in the ranking. Missing chunks are appended in the order of the other rankings, because the order of row numbers
    depends on when chunks were inserted.
    """
    found = [row for retrieved in rankings for row in retrieved.rows]
    filled = []
    for retrieved in rankings:
        rows = tuple(dict.fromkeys([*retrieved.rows, *found])) if retrieved.is_exhaustive else retrieved.rows
        zeros = (0.0,) * (len(rows) - len(retrieved.rows))
        filled.append(replace(retrieved, rows=rows, scores=retrieved.scores + zeros))
    return filled


def origins_of(rankings: Sequence[Ranking], wanted: Set[int]) -> dict[int, tuple[Origin, ...]]:
    """Return the origins of each wanted chunk, by row number: one origin for each ranking that has the chunk.

    An origin has the name of the ranking, and the chunk's rank and score in it. The origins of a chunk are in the order
    of ``rankings``.
    """
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
    """Return a hit for each chunk of ``relevance`` that was loaded, in the order of ``relevance``.

    All mappings are by row number. The caller must order ``relevance`` best first. Chunks that were not loaded are left
    out.
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
    """Return hits for the k chunks with the highest scores. Equal scores are ordered by chunk id.

    The relevance of a hit is (score - ``unfound``) / (best score - ``unfound``), in [0, 1]. ``unfound`` is the score of
    a chunk that no retriever finds. ``rankings`` give each hit its origins.
    """
    rows = highest(reader, scores, k)
    shares = shares_of([scores[row] for row in rows], unfound)
    return hits_of(reader.show(rows)[0], scores, dict(zip(rows, shares, strict=True)), origins_of(rankings, set(rows)))


@telemetry.traced("monograph.search.hits")
def cosine_hits(reader: Reader, found: Ranking, k: int) -> list[Hit]:
    """Return hits for the first k chunks of a ranking by cosine.

    The relevance of a hit is its cosine, or 0 if the cosine is negative.
    """
    scores = dict(zip(found.rows[:k], found.scores[:k], strict=True))
    relevance = {row: min(1.0, max(0.0, score)) for row, score in scores.items()}
    return hits_of(reader.show(list(scores))[0], scores, relevance, origins_of([found], scores.keys()))


def shares_of(scores: Sequence[float], unfound: float = 0.0) -> list[float]:
    """Return (score - ``unfound``) / (first score - ``unfound``) of each score, limited to [0, 1].

    ``scores`` has the highest score first. ``unfound`` is the score of a chunk that no retriever finds. If the first
    score is not above ``unfound``, all shares are 1.
    """
    if not scores or scores[0] <= unfound:
        return [1.0] * len(scores)
    return [min(1.0, max(0.0, (score - unfound) / (scores[0] - unfound))) for score in scores]


def cap_relevances(hits: Sequence[Hit]) -> list[Hit]:
    """Return the hits with relevances that never rise from one hit to the next.

    If a hit's relevance is higher than the relevance of the hit before, it is lowered to that relevance. If the search
    mode set no relevance, the relevance of a hit is its score as a share of the first hit's score.
    """
    relevances = [hit.relevance for hit in hits]
    if hits and not any(relevances) and hits[0].score > 0:
        relevances = shares_of([hit.score for hit in hits])
    result, least = [], 1.0
    for hit, relevance in zip(hits, relevances, strict=True):
        least = min(least, max(0.0, relevance))
        result.append(hit if hit.relevance == least else replace(hit, relevance=least))
    return result
