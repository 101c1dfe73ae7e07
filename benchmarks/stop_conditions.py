"""Stop conditions of the literature, which the benchmark of the vector index compares with the one that searches use.

A condition is told, after each cluster, at which ranks of the best k new results entered, and says whether to go on.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

Ranks = Sequence[int]
"""Ranks from 0, ascending, at which one cluster brought new results."""


class StopCondition(Protocol):
    def after(self, loads: Sequence[Ranks]) -> bool:
        """Return whether a search is done after the clusters so far, oldest first."""
        ...


@dataclass(frozen=True)
class Exponential:
    """w(r) = exp(-(r / tau)^beta), r from 0 (Terminus, Eq. 2; Eq. 4 counts from 1, which is an erratum)."""

    tau: float = 1.8
    beta: float = 0.5

    def __call__(self, rank: int) -> float:
        return math.exp(-((rank / self.tau) ** self.beta))


def reciprocal_rank(rank: int) -> float:
    """w(r) = 1 / (r + 1)."""
    return 1.0 / (rank + 1)


def discounted_gain(rank: int) -> float:
    """w(r) = 1 / log2(r + 2), as in DCG."""
    return 1.0 / math.log2(rank + 2)


@dataclass(frozen=True)
class RankAware:
    """Stop when the last ``window`` clusters each brought a utility of at most ``epsilon`` (Terminus).

    The utility of a cluster is the sum of the weights of the ranks at which it brought new results.
    """

    weight: Callable[[int], float]
    epsilon: float
    window: int

    def after(self, loads: Sequence[Ranks]) -> bool:
        if len(loads) < self.window:
            return False
        return all(sum(map(self.weight, ranks)) <= self.epsilon for ranks in loads[-self.window :])


@dataclass(frozen=True)
class Budget:
    """Stop after a fixed number of clusters (nprobe; Terminus calls it IO-Budget)."""

    loads: int

    def after(self, loads: Sequence[Ranks]) -> bool:
        return len(loads) >= self.loads


@dataclass(frozen=True)
class VBase:
    """Stop when the last ``window`` clusters brought nothing among the best ``e`` (VBASE)."""

    e: int
    window: int

    def after(self, loads: Sequence[Ranks]) -> bool:
        if len(loads) < self.window:
            return False
        return not any(ranks and ranks[0] < self.e for ranks in loads[-self.window :])


def recall(found: Sequence[int], truth: Sequence[int], weight: Callable[[int], float] | None = None) -> float:
    """Return recall@k, or with the weight of a true result's rank the ranked recall@k (Terminus, Eq. 4)."""
    held = set(found)
    weights = [1.0 if weight is None else weight(rank) for rank in range(len(truth))]
    return sum(w for one, w in zip(truth, weights, strict=True) if one in held) / (sum(weights) or 1.0)
