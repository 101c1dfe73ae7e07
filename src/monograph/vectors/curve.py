"""What each stop condition gives, by searches that went on to the end."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from itertools import pairwise
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from monograph.vectors.stop import Never, RankAware, StopCondition

WINDOWS = (*range(1, 17), 18, 20, 22, 24, 28, 32, 40, 48, 56, 64, 80, 96, 128)
WIDE_WINDOWS = (*WINDOWS, 160, 192, 256, 384, 512)
"""Of searches that are cheap to follow for long."""
RESULTS = (10, 100)
"""The k that are calibrated; a search for others goes by the next larger one."""
_FAR = np.iinfo(np.int32).max

Int32: TypeAlias = npt.NDArray[np.int32]
Int64: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Point:
    """What a window gives: mean recall@k and mean loads a query.

    ``width`` is how many times k more results are kept (:attr:`Design.widths`).
    """

    k: int
    window: int
    recall: float
    loads: float
    width: int = 0


@dataclass(frozen=True, slots=True)
class Calibration:
    """What was measured, and at how many vectors."""

    vectors: int = 0
    points: tuple[Point, ...] = ()

    def expected_loads(self, k: int, target: float) -> float | None:
        """Mean loads of a query that is stopped so; None where it is not stopped before the end."""
        found = self.point(k, target)
        return None if found is None else found.loads

    def point(self, k: int, target: float) -> Point | None:
        """Return the cheapest point that reaches a recall; where none does that was measured, the one nearest to it.

        None where every cluster is searched: nothing was measured, or all is wanted.

        Parameters
        ----------
        k:
            Results asked for.
        target:
            Recall@k to reach on average.
        """
        nearest = min(
            (one.k for one in self.points if one.k >= k), default=max((one.k for one in self.points), default=0)
        )
        enough = [one for one in self.points if one.k == nearest and one.recall >= target]
        if not enough and target < 1:
            # The widest there is: to search every cluster would take hundreds of times as long.
            return max((one for one in self.points if one.k == nearest), key=lambda one: one.recall, default=None)
        # A result that is kept is compared once more in the end, which takes about as long as a load.
        return min(enough, key=lambda one: one.loads + one.width * one.k, default=None)

    @property
    def likely(self) -> float | None:
        """Loads of a query of usual k and recall."""
        return self.expected_loads(RESULTS[0], 0.95)

    def to_json(self) -> str:
        """As it is stored."""
        return json.dumps([self.vectors, [astuple(point) for point in self.points]])

    @classmethod
    def from_json(cls, text: str) -> Calibration:
        """As it was stored."""
        vectors, points = json.loads(text)
        return cls(vectors, tuple(Point(*point) for point in points))


def stretched(point: Point | None, stretch: float) -> StopCondition:
    """Return the stop condition of a point, its window widened by a factor; Never where nothing was measured."""
    return Never() if point is None else RankAware(window=max(1, round(point.window * stretch)))


@dataclass(frozen=True, slots=True)
class Trace:
    """One query searched to the end: whether each load brought something, and the recall after it."""

    useful: tuple[bool, ...]
    recalls: tuple[float, ...]


def curve(traces: Sequence[Trace], k: int, width: int = 0, windows: Sequence[int] = WINDOWS) -> list[Point]:
    """What each window gives on some queries, narrowest first, up to the one with which nothing is missed."""
    points: list[Point] = []
    every = [ends_of(trace.useful, windows) for trace in traces]
    for place, window in enumerate(windows if traces else ()):
        ends = [one[place] for one in every]
        found = sum(trace.recalls[end - 1] for trace, end in zip(traces, ends, strict=True)) / len(traces)
        points.append(Point(k, window, round(found, 4), round(sum(ends) / len(traces), 2), width))
        if found >= 1:
            break
    return points


def ends_of(useful: Sequence[bool], windows: Sequence[int]) -> list[int]:
    """After how many loads a search ends that stops when the last so many brought nothing, for ascending windows."""
    ends: list[int] = []
    brought = [0, *(place for place, one in enumerate(useful, start=1) if one)]
    for last, following in pairwise([*brought, len(useful) + 1]):
        while len(ends) < len(windows) and windows[len(ends)] < following - last:
            ends.append(last + windows[len(ends)])
    return ends + [len(useful)] * (len(windows) - len(ends))


class Recalls:
    """Recalls of one search after another, as each looks for several k at once.

    Parameters
    ----------
    kept:
        Each k, at least 1, with how many results are kept for it: of those no true one is lost in the end.
    rows:
        Above every id.
    """

    __slots__ = ("_rooms", "_stands", "ks", "most")

    def __init__(self, kept: Sequence[tuple[int, int]], rows: int) -> None:
        self.ks = [k for k, _ in kept]
        self.most = max(room for _, room in kept)
        """Results that are kept for the k that wants the most."""
        self._rooms = [room for _, room in kept]
        self._stands = np.full(rows, _FAR, dtype=np.int32)

    def stands(self, ids: Int64, truth: Int64) -> Int32:
        """At which rank each true one, int64 (m,), was found among the ids, int64 (n,); very far where it was not."""
        self._stands[ids] = np.arange(len(ids), dtype=np.int32)
        stands = self._stands[truth]
        self._stands[ids] = _FAR
        return stands

    def of(self, stands: Sequence[Int32]) -> list[list[float]]:
        """Return recall@k of the results that are kept, from such ranks: for each k, of all."""
        ranks = np.stack(stands)
        true = np.arange(ranks.shape[1])
        every = []
        for first, room in zip(self.ks, self._rooms, strict=True):
            counted = true < first
            found = (ranks < room) & counted
            every.append((found.sum(axis=1) / counted.sum()).tolist())
        return every
