"""How long a search goes on, and how much it keeps: as the calibration says, found out once for each k."""

from __future__ import annotations

from monograph.vectors.calibrate import stretched
from monograph.vectors.curve import Point
from monograph.vectors.memory import State
from monograph.vectors.search import Effort, Query


class Efforts:
    """Of one index, at one recall. Safe for use by many threads.

    Parameters
    ----------
    target:
        Recall@k at which searches stop, on average.
    """

    __slots__ = ("_known", "_target")

    def __init__(self, target: float) -> None:
        self._target = target
        self._known: dict[tuple[int, int, float], tuple[Effort, Point | None]] = {}

    def of(self, state: State, query: Query) -> Effort:
        """When a search ends, and how many times k more results it keeps."""
        calibration, target = state.calibration, self._target
        asked = (state.structure, query.k, query.stretch)
        known = self._known.get(asked)
        if known is None:
            point = calibration.point(query.k, target)
            width = max(state.space.design.widths) if point is None else point.width
            # Not more than there may be, however many are asked for.
            width = min(width, 2 * calibration.vectors // max(1, query.k) + 1) if width else 0
            falls_short = point is not None and point.recall < target
            known = Effort(stretched(point, query.stretch), width, falls_short), point
            self._known = {asked: known}
        usual, point = known
        if query.stop is not None:
            return Effort(query.stop, usual.width)
        allowed = query.count_allowed()
        if allowed:
            # A load brings so much less of what is allowed.
            stretch = query.stretch * max(1.0, (calibration.vectors / allowed) ** 0.5)
            return Effort(stretched(point, stretch), usual.width, usual.falls_short)
        return usual
