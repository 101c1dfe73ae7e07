"""Rows over all shards: that of a shard, and which shard it is, in one number."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rows:
    """Row numbers over ``shards`` of them: row * shards + shard."""

    shards: int

    def whole(self, shard: int, row: int) -> int:
        """A row of a shard, over all."""
        return row * self.shards + shard

    def split(self, rows: Iterable[int]) -> dict[int, list[int]]:
        """Rows over all as those of each shard, by shard, in order."""
        found: dict[int, list[int]] = {}
        for row in rows:
            local, shard = divmod(row, self.shards)
            found.setdefault(shard, []).append(local)
        return found
