"""What each stop condition gives, by searches that went on to the end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from monograph.vectors.stop import Exponential, Weight

WINDOWS = (*range(1, 17), 18, 20, 22, 24, 28, 32, 40, 48, 56, 64, 80, 96, 128)
WIDE_WINDOWS = (*WINDOWS, 160, 192, 256, 384, 512)
"""Of searches that are cheap to follow for long."""
RESULTS = (10, 100)
"""The k that are calibrated; a search for others goes by the next larger one."""
RANKED = Exponential()
"""The weight of ranked recall@k."""
_FAR = np.iinfo(np.int32).max

Int64: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Point:
    """What a window gives: mean recall@k and ranked recall@k, and mean loads a query.

    ``width`` is how many times k more results are kept (:attr:`Design.widths`).
    """

    k: int
    window: int
    recall: float
    ranked_recall: float
    loads: float
    width: int = 0


@dataclass(frozen=True, slots=True)
class Trace:
    """One query searched to the end: whether each load brought something, and (recall, ranked recall) after it."""

    useful: tuple[bool, ...]
    recalls: tuple[tuple[float, float], ...]


def curve(traces: Sequence[Trace], k: int, width: int = 0, windows: Sequence[int] = WINDOWS) -> list[Point]:
    """What each window gives on some queries, narrowest first, up to the one with which nothing is missed."""
    points: list[Point] = []
    every = [ends_of(trace.useful, windows) for trace in traces]
    for place, window in enumerate(windows if traces else ()):
        ends = [one[place] for one in every]
        reached = [trace.recalls[end - 1] for trace, end in zip(traces, ends, strict=True)]
        found, ranked = (sum(values) / len(traces) for values in zip(*reached, strict=True))
        points.append(Point(k, window, round(found, 4), round(ranked, 4), round(sum(ends) / len(traces), 2), width))
        if found >= 1:
            break
    return points


def ends_of(useful: Sequence[bool], windows: Sequence[int]) -> list[int]:
    """After how many loads a search ends that stops when the last so many brought nothing, for ascending windows."""
    ends: list[int] = []
    idle = 0
    for place, one in enumerate(useful, start=1):
        idle = 0 if one else idle + 1
        if len(ends) < len(windows) and idle == windows[len(ends)]:
            ends.append(place)
    return ends + [len(useful)] * (len(windows) - len(ends))


def recall(found: Sequence[int], truth: Sequence[int], weight: Weight | None = None) -> float:
    """Recall@k, the share of the true results that were found; with a weight, ranked recall@k (Terminus, Eq. 4).

    Parameters
    ----------
    found:
        Ids that were found.
    truth:
        The true ids, nearest first.
    weight:
        Of a true result by its rank from 0; all count alike without.
    """
    held = set(found)
    weights = [1.0 if weight is None else weight(rank) for rank in range(len(truth))]
    return sum(w for one, w in zip(truth, weights, strict=True) if one in held) / (sum(weights) or 1.0)


class Recalls:
    """Recalls of one search after another, as each looks for several k at once.

    Parameters
    ----------
    kept:
        Each k, at least 1, with how many results are kept for it: of those no true one is lost in the end.
    rows:
        Above every id.
    """

    __slots__ = ("_first", "_rooms", "_stands", "ks", "most")

    def __init__(self, kept: Sequence[tuple[int, int]], rows: int) -> None:
        self.ks = [k for k, _ in kept]
        self.most = max(room for _, room in kept)
        """Results that are kept for the k that wants the most."""
        self._first, self._rooms = np.array(kept, dtype=np.int32).T[:, :, None]
        self._stands = np.full(rows, _FAR, dtype=np.int32)

    def of(self, ids: Int64, truth: Int64) -> list[tuple[float, float]]:
        """(recall@k, ranked recall@k) for each k, as :func:`recall` of what is kept: int64 (n,), int64 (m,)."""
        self._stands[ids] = np.arange(len(ids), dtype=np.int32)
        stands = self._stands[truth]
        self._stands[ids] = _FAR
        counted = np.arange(len(truth)) < self._first
        found = counted & (stands < self._rooms)
        weights = np.fromiter(map(RANKED, range(len(truth))), dtype=np.float64)
        return list(
            zip(
                (found.sum(axis=1) / counted.sum(axis=1)).tolist(),
                ((found * weights).sum(axis=1) / (counted * weights).sum(axis=1)).tolist(),
                strict=True,
            )
        )
