"""How shards are asked, and their rows told from each other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from monograph.shelf.gather.rows import Rows
from monograph.shelf.hold.engine import Engine
from monograph.shelf.shard.shard import Asked


@dataclass(frozen=True, slots=True, eq=False)
class Asking:
    """The shards of a version: a method of :class:`monograph.shelf.shard.shard.Reading` is asked of all, or by rows."""

    engine: Engine
    rows: Rows

    def all(self, method: str, *arguments: Any) -> list[Any]:
        """What each shard answers, in their order."""
        answers = self.engine.ask({shard: [(method, arguments)] for shard in range(self.rows.shards)})
        return [answers[shard][0] for shard in range(self.rows.shards)]

    def each(self, asked: Sequence[Asked]) -> list[list[Any]]:
        """What each shard answers to several things that are asked together: for each of these, in their order."""
        answers = self.engine.ask(dict.fromkeys(range(self.rows.shards), asked))
        return [[answers[shard][place] for shard in range(self.rows.shards)] for place in range(len(asked))]

    def some(self, shards: Iterable[int], method: str, *arguments: Any) -> dict[int, Any]:
        """What each of some shards answers."""
        answers = self.engine.ask({shard: [(method, arguments)] for shard in shards})
        return {shard: answer for shard, (answer,) in answers.items()}

    def of(self, method: str, rows: Iterable[int], *arguments: Any) -> Iterator[tuple[int, list[int], Any]]:
        """(shard, rows of it, what it answers) of those of its own among some rows; nobody is asked of none."""
        split = self.rows.split(rows)
        if not split:
            return
        answers = self.engine.ask({shard: [(method, (some, *arguments))] for shard, some in split.items()})
        for shard, some in split.items():
            yield shard, some, answers[shard][0]

    def by_row(self, method: str, rows: Iterable[int], *arguments: Any) -> dict[int, Any]:
        """What shards answer by row, for their rows."""
        return {
            self.rows.whole(shard, row): value
            for shard, _, answer in self.of(method, rows, *arguments)
            for row, value in answer.items()
        }

    def in_order(self, method: str, rows: Sequence[int]) -> list[Any]:
        """What shards answer for each of their rows, in the order of the rows."""
        found = {
            self.rows.whole(shard, row): value
            for shard, some, answer in self.of(method, dict.fromkeys(rows))
            for row, value in zip(some, answer, strict=True)
        }
        return [found[row] for row in rows]

    def whole(self, shard: int, rows: Iterable[int]) -> list[int]:
        """Rows of a shard, over all."""
        return [self.rows.whole(shard, row) for row in rows]
