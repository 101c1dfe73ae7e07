"""What holds shards on the machine where it runs, and answers for them."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from monograph.errors import MonographError
from monograph.library.given import Given
from monograph.shelf.place import Place
from monograph.shelf.shard.shard import Asked, Shard
from monograph.shelf.versions.names import ObjectName
from monograph.shelf.versions.objects import objects_at
from monograph.vectors.index import DEFAULT_CACHE_BYTES, DEFAULT_TARGET_RECALL


@dataclass(frozen=True, slots=True)
class Shards:
    """The shards of one version, and how a machine comes by them.

    Parameters
    ----------
    address:
        Where the shelf lies, as every machine can reach it.
    names:
        Of the shards, in their order.
    home:
        The folder on every machine that what is fetched is kept in; ``~`` is the home of whoever runs Ray there.
    target_recall, cache_bytes:
        As for :meth:`monograph.Monograph.open`, for each shard.
    """

    address: str
    names: tuple[ObjectName, ...]
    home: Path
    target_recall: float = DEFAULT_TARGET_RECALL
    cache_bytes: int = DEFAULT_CACHE_BYTES

    def open(self, shard: int) -> Shard:
        """A shard, fetched if it is not here.

        Raises
        ------
        ShelfError
            If it cannot be fetched.
        FileError
            If it is no monograph that this version of Monograph can read.
        """
        path = Place(self.address, objects_at(self.address), self.home.expanduser()).file_of(self.names[shard])
        return Shard(Given(path, read_only=True, target_recall=self.target_recall, cache_bytes=self.cache_bytes))


@dataclass(frozen=True, slots=True)
class Told:
    """What a holder tells: answers by shard, or why it has none.

    ``fault`` is what was raised; by a shard that could not be opened, it is that of ``unopened``.
    """

    answers: Mapping[int, list[Any]] = field(default_factory=dict)
    fault: MonographError | None = None
    unopened: int | None = None


class Holder:
    """Holds some shards of a version, each opened when it is first asked. Safe for use by many threads.

    What cannot be opened is tried again when it is next asked for.
    """

    def __init__(self, shards: Shards) -> None:
        self._shards = shards
        self._open: dict[int, Shard] = {}
        self._locks = [threading.Lock() for _ in shards.names]

    def answer(self, wanted: Mapping[int, Sequence[Asked]]) -> bytes:
        """What shards answer: a :class:`Told`, pickled, since it is ours to say how errors and arrays travel."""
        return pickle.dumps(self._told(wanted), pickle.HIGHEST_PROTOCOL)

    def _told(self, wanted: Mapping[int, Sequence[Asked]]) -> Told:
        for shard in wanted:
            try:
                self._opened(shard)
            except MonographError as fault:
                return Told(fault=fault, unopened=shard)
        try:
            return Told({shard: self._open[shard].answer(asked) for shard, asked in wanted.items()})
        except MonographError as fault:
            return Told(fault=fault)

    def _opened(self, shard: int) -> None:
        if shard not in self._open:
            with self._locks[shard]:
                if shard not in self._open:
                    self._open[shard] = self._shards.open(shard)
