"""What of a shelf is looked at: what meets a filter, or what stood at a moment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self
from weakref import WeakSet

from monograph import where as filters
from monograph.library.past import Moment
from monograph.library.view import within
from monograph.shelf.looking import Looking
from monograph.shelf.view import OpenView
from monograph.where import Condition


class Narrowing(Looking):
    """The part of :class:`monograph.shelf.Shelf` that gives parts of it."""

    _condition: Condition | None = None
    _moment: Moment | None = None
    _views: WeakSet[Any]

    def _part(self, condition: Condition | None, moment: Moment | None) -> Any:
        """What of the shelf meets a condition, and stood at a moment, where either is given."""
        raise NotImplementedError

    def within(self, where: Mapping[str, Any]) -> Self:
        """A view of the shelf, as :meth:`monograph.Monograph.within` gives one of a file.

        What is found, counted, cited and answered comes from the documents alone of which every chunk meets a filter.
        It is of the version that the shelf reads, and turns with it; to write, publish or turn raises OutsideView.
        What is in it is found out at its first use.

        Parameters
        ----------
        where:
            As for :meth:`search`, and not empty.

        Raises
        ------
        InputError
            If the filter is empty, or cannot be understood.
        """
        moment, rest = filters.parted(where)
        if moment is None:
            made: Self = self._part(within(self._file, where, OpenView).condition, self._moment)
            return made
        return self.as_of(moment).within(rest) if rest else self.as_of(moment)

    def as_of(self, moment: Moment) -> Self:
        """What the shelf held at a moment, as :meth:`monograph.Monograph.as_of` gives it of a file.

        It is of the version that the shelf reads, and turns with it. Every shard is copied in memory where it is held,
        and brought back; the names of all as they stood are laid together here. It has no tree of summaries. Of a
        view, it is the same view of the shelf as it stood.

        Raises
        ------
        InputError
            If the shelf was made without ``Settings(history=True)``, or the moment is no time.
        StorageFull
            If a shard takes more than 1 GiB.
        """
        made: Self = self._part(self._condition, moment)
        return made
