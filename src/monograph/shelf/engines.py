"""Engines that call methods of shards, in threads of this process or by :mod:`monograph.shelf.ray_engine`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeAlias, TypeVar, TypeVarTuple

from monograph.errors import NotFound
from monograph.library.opened import OpenOptions, WholeFile
from monograph.shelf.manifest import Manifest
from monograph.shelf.pools import Rows
from monograph.shelf.shard import Call, ShardReader
from monograph.shelf.storage import ShelfPlace

Arguments = TypeVarTuple("Arguments")
R = TypeVar("R")
MOST_THREADS = 16


class Engine(Protocol):
    """Holds the shards of one version of a shelf, in their order."""

    def ask(self, wanted: Mapping[int, Call]) -> dict[int, Any]:
        """Make a call of each shard, and return the results by shard, in the same order.

        Raises ShardLost, which names the shard, if one cannot be reached.
        """
        ...

    def close(self) -> None:
        """Close the shards. Later calls raise ClosedFile."""
        ...


Engines: TypeAlias = Callable[[ShelfPlace, Manifest, OpenOptions], Engine]
"""Makes the engine of a version: from the shelf's place, the version, and how its files are opened."""


class Local:
    """Shards in files of this machine, called by threads of this process.

    Parameters
    ----------
    files:
        How the file of each shard is opened, in their order.
    """

    def __init__(self, files: Sequence[OpenOptions]) -> None:
        self._shards: list[WholeFile] = []
        try:
            for one in files:
                self._shards.append(open_shard(one))
        except BaseException:
            self.close()
            raise
        self._threads = ThreadPoolExecutor(min(MOST_THREADS, max(1, len(files))), "monograph-shard")

    def ask(self, wanted: Mapping[int, Call]) -> dict[int, Any]:
        """See :class:`Engine`."""
        made = {shard: self._threads.submit(one.answer, self._shards[shard]) for shard, one in wanted.items()}
        return {shard: one.result() for shard, one in made.items()}

    def close(self) -> None:
        """See :class:`Engine`."""
        if hasattr(self, "_threads"):
            self._threads.shutdown()
        for one in self._shards:
            one.close()


def open_shard(given: OpenOptions) -> WholeFile:
    """Open the file of a shard, for reading."""
    return WholeFile.open(replace(given, create=False, read_only=True))


def local(place: ShelfPlace, version: Manifest, given: OpenOptions) -> Local:
    """Open a version's shards in this process."""
    return Local([replace(given, path=place.file_of(name)) for name in version.shards])


@dataclass(frozen=True, slots=True, eq=False)
class Shards:
    """The shards of a version: calls a method of :class:`ShardReader` of all of them, or of those with some rows."""

    engine: Engine
    rows: Rows

    def all(self, method: Callable[[ShardReader, *Arguments], R], *arguments: *Arguments) -> list[R]:
        """Return the result of each shard, in their order."""
        return list(self.some(range(self.rows.shards), method, *arguments).values())

    def some(
        self, shards: Iterable[int], method: Callable[[ShardReader, *Arguments], R], *arguments: *Arguments
    ) -> dict[int, R]:
        """Return the results of some shards."""
        return self.engine.ask(dict.fromkeys(shards, Call(method, arguments)))

    def of(
        self,
        method: Callable[[ShardReader, Sequence[int], *Arguments], R],
        rows: Iterable[int],
        *arguments: *Arguments,
    ) -> list[tuple[int, list[int], R]]:
        """Return (shard, its own rows, result) of the shards that have some rows; without rows none is called."""
        split = self.rows.split(rows)
        if not split:
            return []
        answers = self.engine.ask({shard: Call(method, (some, *arguments)) for shard, some in split.items()})
        return [(shard, some, answers[shard]) for shard, some in split.items()]

    def by_row(
        self, method: Callable[[ShardReader, Sequence[int]], Mapping[int, R]], rows: Sequence[int]
    ) -> dict[int, R]:
        """Return what shards return by row, by row over all shards, in the order of the rows."""
        found = {
            self.rows.whole(shard, row): value
            for shard, _, answer in self.of(method, rows)
            for row, value in answer.items()
        }
        return {row: found[row] for row in rows if row in found}


def only(answers: Sequence[Sequence[R]], place: str, name: str) -> R:
    """Return the result of the shard with the document of a name. Raises NotFound if there is none, or several."""
    found = [one for some in answers for one in some]
    if len(found) != 1:
        count = "has no document" if not found else f"has {len(found)} documents called"
        raise NotFound(f"{place or 'the shelf'} {count} {name!r}", "give the id of one")
    return found[0]
