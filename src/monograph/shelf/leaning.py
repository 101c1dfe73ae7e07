"""An open shelf that leans on another: it is a part of that, or what that was."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from monograph.errors import ShardLost
from monograph.library.opened import OpenFile
from monograph.search.one_file.scores import Scores
from monograph.shelf.hold.engine import Engine
from monograph.shelf.opened import OpenShelf
from monograph.shelf.shard.shard import Asked
from monograph.spending import Noted


@dataclass(frozen=True, slots=True, eq=False)
class Through:
    """Asks shards by way of one of their methods: see :class:`~monograph.shelf.hold.engine.Engine`.

    Parameters
    ----------
    engine:
        What asks them.
    method, chosen:
        A method of theirs, and what it takes before the questions: it says what of them is asked.
    """

    engine: Engine
    method: str
    chosen: Any

    def ask(self, wanted: Mapping[int, Sequence[Asked]]) -> dict[int, list[Any]]:
        """See :class:`~monograph.shelf.hold.engine.Engine`."""
        asked: dict[int, Sequence[Asked]] = {
            shard: [(self.method, (self.chosen, list(some)))] for shard, some in wanted.items()
        }
        return {shard: answer for shard, (answer,) in self.engine.ask(asked).items()}

    def close(self) -> None:
        """Nothing: the shards are let go with the shelf."""


class LeaningShelf(OpenShelf):
    """What of it is the other's."""

    whole: OpenFile

    @contextmanager
    def _lenient(self) -> Iterator[dict[int, ShardLost] | None]:
        """As the shelf."""
        assert isinstance(self.whole, OpenShelf)  # noqa: S101 - what leans on a shelf
        with self.whole._lenient() as lacking:
            yield lacking

    @property
    def scores(self) -> Scores:
        """The shelf's, which it may open anew."""
        return self.whole.scores

    @scores.setter
    def scores(self, given: Scores) -> None:
        """Nothing: it has none of its own."""

    @property
    def noted(self) -> Noted:
        """The shelf's."""
        return self.whole.noted

    def enter(self) -> None:
        """In the shelf's ledger."""
        self.whole.enter()
