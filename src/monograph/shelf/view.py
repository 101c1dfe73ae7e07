"""A version of a shelf as a view has it: the views of its shards, and the names of these."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NoReturn

from monograph.errors import OutsideView, ShardLost
from monograph.library.opened import OpenFile
from monograph.library.view import ViewFile
from monograph.search.one_file.scores import Scores
from monograph.shelf.gather.asking import Asking
from monograph.shelf.gather.remembered import Memory
from monograph.shelf.hold.engine import Engine
from monograph.shelf.opened import OpenShelf
from monograph.shelf.shard.shard import Asked
from monograph.spending import Noted
from monograph.store.catalogue_view import CatalogueView, Part
from monograph.store.filters import Allowed
from monograph.where import Condition


@dataclass(frozen=True, slots=True, eq=False)
class Narrowed:
    """Asks shards what of them meets a condition: see :class:`~monograph.shelf.hold.engine.Engine`."""

    engine: Engine
    condition: Condition

    def ask(self, wanted: Mapping[int, Sequence[Asked]]) -> dict[int, list[Any]]:
        """See :class:`~monograph.shelf.hold.engine.Engine`."""
        asked: dict[int, Sequence[Asked]] = {
            shard: [("within", (self.condition, list(some)))] for shard, some in wanted.items()
        }
        return {shard: answer for shard, (answer,) in self.engine.ask(asked).items()}

    def close(self) -> None:
        """Nothing: the shards are let go with the shelf."""


class OpenView(ViewFile, OpenShelf):
    """The part of a version of a shelf of which every chunk meets a condition.

    Each shard has a view of its own file, and of the catalogue what they name can be read. It is closed with the shelf.
    """

    def over(self, whole: OpenFile, condition: Condition, allowed: Allowed) -> CatalogueView:
        """See :class:`~monograph.library.view.ViewFile`."""
        assert isinstance(whole, OpenShelf)  # noqa: S101 - what a view of a shelf is made of
        self.shards = asking = Asking(Narrowed(whole.shards.engine, condition), whole.shards.rows)
        self.read_before = Memory()
        self.url = whole.url

        def parts() -> Sequence[Part]:
            with whole._lenient() as lacking:
                found = asking.all("part")
            if lacking:  # What is found out now is true of the view as long as it is open.
                raise next(iter(lacking.values()))
            return found

        return CatalogueView(whole.database, allowed, parts)

    @contextmanager
    def _lenient(self) -> Iterator[dict[int, ShardLost] | None]:
        """As the shelf."""
        assert isinstance(self.whole, OpenShelf)  # noqa: S101 - see above
        with self.whole._lenient() as lacking:
            yield lacking

    @property
    def scores(self) -> Scores:
        """The shelf's, which it may open anew."""
        return self.whole.scores

    @scores.setter
    def scores(self, given: Scores) -> None:
        """Nothing: a view has none of its own."""

    @property
    def noted(self) -> Noted:
        """The shelf's."""
        return self.whole.noted

    def enter(self) -> None:
        """In the shelf's ledger."""
        self.whole.enter()

    def parts(self) -> Sequence[Part]:
        """What of each shard is in it."""
        assert isinstance(self.database, CatalogueView)  # noqa: S101 - see above
        return self.database.parts()

    def only_whole(self, what: str) -> NoReturn:
        """Raise OutsideView."""
        raise OutsideView(f"a view of {self.url} does no {what}", f"call {what} of the shelf itself")
