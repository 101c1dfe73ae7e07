"""A part of a shelf is read as the shelf is: what meets a condition, what stood at a moment."""

from __future__ import annotations

from typing import Any

from monograph.library.given import Given
from monograph.library.past import Moment
from monograph.library.view import narrowed
from monograph.shelf.hold.engine import Engines
from monograph.shelf.narrowing import Narrowing
from monograph.shelf.past import as_of
from monograph.shelf.view import OpenView
from monograph.where import Condition


class Part(Narrowing):
    """What of a shelf meets a condition, or stood at a moment, or both.

    It turns with the shelf to another version, and is closed with it.
    """

    _whole: Any
    _given: Given
    _engines: Engines

    def __init__(self, whole: Any, condition: Condition | None, moment: Moment | None) -> None:
        # A part of a part is as well one of the shelf.
        self._whole = whole._whole if isinstance(whole, Part) else whole
        self._condition, self._moment, self._views = condition, moment, self._whole._views
        self._place, self._given, self._engines = whole._place, whole._given, whole._engines
        self.turn()
        self._views.add(self)

    def turn(self) -> None:
        """Read the version that the shelf reads."""
        self._version, file = self._whole._version, self._whole._file
        if self._moment is not None:
            file = as_of(file, self._moment)
        self._file = file if self._condition is None else narrowed(file, self._condition, OpenView)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._whole, self._condition, self._moment)

    def close(self) -> None:
        """Nothing: it is closed with the shelf."""
