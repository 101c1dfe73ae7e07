"""What asks shards: each is told what is wanted of it, and all of them answer at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, Protocol, TypeAlias

from monograph.library.given import Given
from monograph.shelf.place import Place
from monograph.shelf.shard.shard import Asked, Shard
from monograph.shelf.versions.manifest import Manifest

MOST_THREADS = 16


class Engine(Protocol):
    """Holds the shards of one version of a shelf, in their order."""

    def ask(self, wanted: Mapping[int, Sequence[Asked]]) -> dict[int, list[Any]]:
        """What shards answer, by shard.

        Raises ShardLost, which names it, where one cannot be had.
        """
        ...

    def close(self) -> None:
        """Let the shards go. What is asked for after that raises ClosedFile."""
        ...


Engines: TypeAlias = Callable[[Place, Manifest, Given], Engine]
"""What makes the engine of a version: where the shelf lies, which version, and how its files are opened."""


class Local:
    """Shards in files of this machine, asked by threads of this process.

    Parameters
    ----------
    files:
        Of the shards, in their order, and how each is opened.
    """

    def __init__(self, files: Sequence[Given]) -> None:
        self._shards: list[Shard] = []
        try:
            for one in files:
                self._shards.append(Shard(one))
        except BaseException:
            self.close()
            raise
        self._threads = ThreadPoolExecutor(min(MOST_THREADS, max(1, len(files))), "monograph-shard")

    def ask(self, wanted: Mapping[int, Sequence[Asked]]) -> dict[int, list[Any]]:
        """See :class:`Engine`."""
        made = {shard: self._threads.submit(self._shards[shard].answer, asked) for shard, asked in wanted.items()}
        return {shard: one.result() for shard, one in made.items()}

    def close(self) -> None:
        """See :class:`Engine`."""
        if hasattr(self, "_threads"):
            self._threads.shutdown()
        for one in self._shards:
            one.close()


def local(place: Place, version: Manifest, given: Given) -> Local:
    """Threads of this process over files of this machine."""
    files = [place.file_of(name) for name in version.shards]
    return Local([replace(given, path=path) for path in files])
