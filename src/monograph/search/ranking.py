"""What a retriever returns: chunks by row number, best first, those that tie in order of id.

A row number tells when a chunk came, its id what it is: the same chunks are ranked alike in every file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from monograph.search.reader import PoolRequest

if TYPE_CHECKING:
    from monograph.graph.evidence import Float64
    from monograph.search.reader import Reader
    from monograph.store.documents.filters import Allowed
    from monograph.values import Effort, Float32

POOL = 100
"""Candidates that each retriever gives to a fusion, or k when that is more. Scores are relative to them: to ask for
more hits must not change the first ones."""


def pool_size(k: int) -> int:
    """Candidates of a retriever where k hits are asked for."""
    return max(POOL, k)


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
    """The k chunks of highest score, or all, by row number; ties by id. Ids are looked up where scores tie alone."""
    best = sorted(scores, key=scores.__getitem__, reverse=True)
    if k is not None and k < len(best):
        # All that tie with the last may be it.
        least = scores[best[k - 1]] if k > 0 else float("inf")
        best = [row for row in best if scores[row] >= least]
    tied = {row for pair in pairwise(best) if scores[pair[0]] == scores[pair[1]] for row in pair}
    if tied:
        ids = reader.ids(tied)
        best.sort(key=lambda row: (-scores[row], ids.get(row, "")))
    return best[:k]


def ranking(
    reader: Reader, retriever: str, scored: Iterable[tuple[int, float]], k: int, effort: Effort | None = None
) -> Ranking:
    """The k best of (row, score) pairs, ties by id."""
    scores = dict(scored)
    rows = highest(reader, scores, k)
    return Ranking(retriever, tuple(rows), tuple(scores[row] for row in rows), effort)


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
