"""Many files under one tree, as is read to tell which summaries go with what was found."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from monograph.shelf.gather.gathered import Gathered
from monograph.store import tree_leaves
from monograph.store.chunks import Found
from monograph.store.database import Connection
from monograph.store.filters import Allowed


@dataclass(frozen=True, slots=True, eq=False)
class ShelfGround:
    """One version of a shelf: see :class:`monograph.answer.ground.Ground`."""

    gathered: Gathered

    @property
    def connection(self) -> Connection:
        """See :class:`monograph.answer.ground.Ground`."""
        return self.gathered.catalogue.connection

    def has_tree(self) -> bool:
        """See :class:`monograph.answer.ground.Ground`."""
        return self.gathered.has_tree()

    def chunks(self, rows: Iterable[int]) -> Mapping[int, Found]:
        """See :class:`monograph.answer.ground.Ground`."""
        return self.gathered.chunks(rows)

    def ids(self, rows: Iterable[int]) -> Mapping[int, str]:
        """See :class:`monograph.answer.ground.Ground`."""
        return self.gathered.ids(rows)

    def named_in(self, question: str) -> dict[str, list[int]]:
        """See :class:`monograph.answer.ground.Ground`."""
        found: dict[str, list[int]] = {}
        for shard, some in enumerate(self.gathered.shards.all("named_in_question", question)):
            for name, rows in some.items():
                found.setdefault(name, []).extend(self.gathered.shards.whole(shard, rows))
        return found

    def of_which_documents(self, allowed: Allowed, most: int) -> list[int]:
        """See :class:`monograph.answer.ground.Ground`."""
        answers = enumerate(self.gathered.shards.all("of_which_documents", allowed, most))
        return sorted(row for shard, rows in answers for row in self.gathered.shards.whole(shard, rows))[:most]

    def rows_of_documents(self, documents: Sequence[int]) -> list[int]:
        """See :class:`monograph.answer.ground.Ground`."""
        found = self.gathered.shards.of("rows_of_documents", documents)
        return [row for shard, _, rows in found for row in self.gathered.shards.whole(shard, rows)]

    def rows_of(self, ids: Collection[str]) -> dict[str, int]:
        """See :class:`monograph.answer.ground.Ground`."""
        found = {
            name: self.gathered.rows.whole(shard, row)
            for shard, some in enumerate(self.gathered.shards.all("rows_of", list(ids)))
            for name, row in some.items()
        }
        return {name: found[name] for name in ids if name in found}

    def openings(self, documents: Sequence[int], allowed: Allowed, most: int) -> list[int]:
        """See :class:`monograph.answer.ground.Ground`."""
        found = [
            (ordinal, name, self.gathered.rows.whole(shard, row))
            for shard, _, some in self.gathered.shards.of("openings", documents, allowed, most)
            for ordinal, name, row in some
        ]
        return [row for _, _, row in sorted(found)[:most]]

    def allowed_ids(self, ids: Sequence[str], allowed: Allowed, documents: Sequence[int] | None) -> set[str]:
        """See :class:`monograph.answer.ground.Ground`."""
        return set().union(*self._within("allowed_ids", documents, list(ids), allowed).values())

    def barred(self, allowed: Allowed, documents: Sequence[int] | None) -> set[int]:
        """See :class:`monograph.answer.ground.Ground`."""
        answers = self._within("let_in", documents, allowed)
        found = (row for shard, rows in answers.items() for row in self.gathered.shards.whole(shard, rows.tolist()))
        return tree_leaves.over_others(self.connection, found)

    def _within(self, method: str, documents: Sequence[int] | None, *arguments: Any) -> dict[int, Any]:
        """What each shard answers, by shard; each is told of its own documents."""
        shards = self.gathered.shards
        split = None if documents is None else self.gathered.rows.split(documents)
        asked = {
            shard: [(method, (*arguments, None if split is None else split.get(shard, [])))]
            for shard in range(self.gathered.rows.shards)
        }
        return {shard: one[0] for shard, one in shards.engine.ask(asked).items()}
