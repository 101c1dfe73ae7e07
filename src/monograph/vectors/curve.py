"""What each stop condition gives, by searches that went on to the end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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
_EQUAL = [1.0] * max(RESULTS)
WEIGHTS = [RANKED(rank) for rank in range(max(RESULTS))]
_FAR = 1 << 62


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


def stands_of(ids: npt.NDArray[np.int64], truth: list[int]) -> list[int]:
    """At which place each true result stands among those kept; behind all that may be kept where it is not."""
    places = {memo: place for place, memo in enumerate(ids.tolist())}
    return [places.get(memo, _FAR) for memo in truth]


def recalls_of(stands: Sequence[int], k: int, room: int) -> tuple[float, float]:
    """(recall@k, ranked recall@k) where so many results are kept: of those no true one is lost in the end."""
    found = [rank < room for rank in stands[:k]]
    return _share(found, _EQUAL), _share(found, WEIGHTS)


def _share(found: Sequence[bool], weights: Sequence[float]) -> float:
    some = weights[: len(found)]
    return sum(weight for one, weight in zip(found, some, strict=True) if one) / (sum(some) or 1.0)
