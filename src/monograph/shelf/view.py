"""A version of a shelf as a view has it: the views of its shards, and the names of these."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from monograph.errors import OutsideView
from monograph.library.opened import OpenFile
from monograph.library.view import ViewFile
from monograph.shelf.gather.asking import Asking
from monograph.shelf.gather.remembered import Memory
from monograph.shelf.leaning import LeaningShelf, Through
from monograph.shelf.opened import OpenShelf
from monograph.store.catalogue_view import CatalogueView, Part
from monograph.store.filters import Allowed
from monograph.where import Condition


class OpenView(ViewFile, LeaningShelf):
    """The part of a version of a shelf of which every chunk meets a condition.

    Each shard has a view of its own file, and of the catalogue what they name can be read. It is closed with the shelf.
    """

    def over(self, whole: OpenFile, condition: Condition, allowed: Allowed) -> CatalogueView:
        """See :class:`~monograph.library.view.ViewFile`."""
        assert isinstance(whole, OpenShelf)  # noqa: S101 - what a view of a shelf is made of
        self.shards = asking = Asking(Through(whole.shards.engine, "within", condition), whole.shards.rows)
        self.read_before = Memory()
        self.url = whole.url

        def parts() -> Sequence[Part]:
            with whole._lenient() as lacking:
                found = asking.all("part")
            if lacking:  # What is found out now is true of the view as long as it is open.
                raise next(iter(lacking.values()))
            return found

        return CatalogueView(whole.database, allowed, parts)

    def parts(self) -> Sequence[Part]:
        """What of each shard is in it."""
        assert isinstance(self.database, CatalogueView)  # noqa: S101 - see above
        return self.database.parts()

    def only_whole(self, what: str) -> NoReturn:
        """Raise OutsideView."""
        raise OutsideView(f"a view of {self.url} does no {what}", f"call {what} of the shelf itself")
