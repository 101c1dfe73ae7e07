"""What a retriever returns: chunks by row number, best first."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from monograph.values import Effort

POOL = 100
"""Candidates that each retriever gives to a fusion, or k when that is more. Scores are relative to them: to ask for
more hits must not change the first ones."""


def pool_size(k: int) -> int:
    """Candidates of a retriever where k hits are asked for."""
    return max(POOL, k)


@dataclass(frozen=True, slots=True)
class Ranking:
    """One retriever's chunks: row numbers and absolute scores, highest first; and what the search took, if it says."""

    retriever: str
    rows: tuple[int, ...]
    scores: tuple[float, ...]
    effort: Effort | None = None


def ranking(retriever: str, scored: Iterable[tuple[int, float]], k: int) -> Ranking:
    """The k best of (row, score) pairs; ties by row number."""
    best = sorted(scored, key=lambda pair: (-pair[1], pair[0]))[:k]
    return Ranking(retriever, tuple(row for row, _ in best), tuple(score for _, score in best))
