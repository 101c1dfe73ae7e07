"""Several rankings made one.

``z_score`` (the default, chosen by measurement: docs/measuring.md) standardises each retriever's scores over the
candidates, so that a retriever that is sure of itself counts for more than one whose scores are all alike.
``reciprocal_rank`` (Cormack et al., SIGIR 2009) looks at ranks alone. Both lift chunks with a word-for-word match
above all others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from monograph.retrieve.ranking import Ranking
from monograph.values import Origin

Method: TypeAlias = Literal["z_score", "reciprocal_rank"]

EXACT_LIFT = 1000.0
"""What a full word-for-word match adds to a score: more than any other score reaches."""

RANK_CONSTANT = 60.0
"""The k of reciprocal rank fusion, as in its paper."""


@dataclass(frozen=True, slots=True)
class Fused:
    """A chunk's row number, its fused score, and what it scored where."""

    row: int
    score: float
    origins: tuple[Origin, ...]


def fuse(
    rankings: Sequence[Ranking], exact: Ranking, weights: Mapping[str, float], method: Method = "z_score"
) -> list[Fused]:
    """Fuse rankings; chunks by fused score, highest first, ties by row number.

    Parameters
    ----------
    rankings:
        One a retriever. A chunk that a ranking lacks counts there as its lowest (z_score) or not at all
        (reciprocal_rank).
    exact:
        Word-for-word matches: each adds EXACT_LIFT times its score.
    weights:
        By retriever; 1 where not named.
    method:
        How scores are made comparable.
    """
    totals: dict[int, float] = {row: EXACT_LIFT * score for row, score in zip(exact.rows, exact.scores, strict=True)}
    every = sorted({row for one in (*rankings, exact) for row in one.rows})
    for one in rankings:
        weight = weights.get(one.retriever, 1.0)
        share = standardised(one) if method == "z_score" else reciprocal(one)
        least = min(share.values(), default=0.0) if method == "z_score" else 0.0
        for row in every:
            totals[row] = totals.get(row, 0.0) + weight * share.get(row, least)
    origins = origins_of([*rankings, exact])
    fused = [Fused(row, totals[row], origins[row]) for row in every]
    return sorted(fused, key=lambda one: (-one.score, one.row))


def origins_of(rankings: Sequence[Ranking]) -> dict[int, tuple[Origin, ...]]:
    """Where each chunk was found: by row number, in the order of the rankings."""
    found: dict[int, tuple[Origin, ...]] = {}
    for one in rankings:
        for rank, (row, score) in enumerate(zip(one.rows, one.scores, strict=True)):
            found[row] = (*found.get(row, ()), Origin(one.retriever, rank, score))
    return found


def standardised(one: Ranking) -> dict[int, float]:
    """(score - mean) / standard deviation by row number; 0 where all scores are alike."""
    scores = np.asarray(one.scores, dtype=np.float64)
    spread = float(scores.std()) if len(scores) else 0.0
    centred = (scores - scores.mean()) / spread if spread > 0 else np.zeros(len(scores))
    return dict(zip(one.rows, centred.tolist(), strict=True))


def reciprocal(one: Ranking) -> dict[int, float]:
    """1 / (60 + rank) by row number, ranks from 1."""
    return {row: 1.0 / (RANK_CONSTANT + rank) for rank, row in enumerate(one.rows, start=1)}
