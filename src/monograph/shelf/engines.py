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
    """Interface that calls the shards of one version of a shelf.

    The number of a shard is its index in :attr:`monograph.shelf.manifest.Manifest.shards`.
    """

    def ask(self, calls: Mapping[int, Call]) -> dict[int, Any]:
        """Run a call on each of these shards, and return the results by shard, in the same order.

        Raises ShardLost, which names the shard, if a shard cannot be reached.
        """
        ...

    def close(self) -> None:
        """Close the shards. Later calls raise ClosedFile."""
        ...


Engines: TypeAlias = Callable[[ShelfPlace, Manifest, OpenOptions], Engine]
"""Function that creates an engine from the shelf's place, the version, and the options to open its files with."""


class Local:
    """Shards in files of this machine, called by threads of this process.

    ``files`` has the options to open the file of each shard with.
    """

    def __init__(self, files: Sequence[OpenOptions]) -> None:
        self._shards: list[WholeFile] = []
        try:
            for options in files:
                self._shards.append(WholeFile.open(replace(options, create=False, read_only=True)))
        except BaseException:
            self.close()
            raise
        self._threads = ThreadPoolExecutor(min(MOST_THREADS, max(1, len(files))), "monograph-shard")

    def ask(self, calls: Mapping[int, Call]) -> dict[int, Any]:
        """See :class:`Engine`."""
        pending = {shard: self._threads.submit(call.answer, self._shards[shard]) for shard, call in calls.items()}
        return {shard: future.result() for shard, future in pending.items()}

    def close(self) -> None:
        """See :class:`Engine`."""
        if hasattr(self, "_threads"):
            self._threads.shutdown()
        for shard in self._shards:
            shard.close()


def local(place: ShelfPlace, version: Manifest, options: OpenOptions) -> Local:
    """Fetch the shards of a version and open them in this process."""
    return Local([replace(options, path=place.file_of(name)) for name in version.shards])


@dataclass(frozen=True, slots=True, eq=False)
class Shards:
    """The shards of a version, called by methods of :class:`ShardReader`.

    Rows in arguments and results of this class are numbered over all shards (:class:`monograph.shelf.pools.Rows`),
    except where a method says otherwise.
    """

    engine: Engine
    rows: Rows

    def all(self, method: Callable[[ShardReader, *Arguments], R], *arguments: *Arguments) -> list[R]:
        """Call a method on every shard, and return the results in the order of the shards."""
        return list(self.some(range(self.rows.shards), method, *arguments).values())

    def some(
        self, shards: Iterable[int], method: Callable[[ShardReader, *Arguments], R], *arguments: *Arguments
    ) -> dict[int, R]:
        """Call a method on these shards, and return the results by shard."""
        return self.engine.ask(dict.fromkeys(shards, Call(method, arguments)))

    def of(
        self,
        method: Callable[[ShardReader, Sequence[int], *Arguments], R],
        rows: Iterable[int],
        *arguments: *Arguments,
    ) -> list[tuple[int, list[int], R]]:
        """Call a method on each shard that has any of these rows, with the shard's own numbers of its rows.

        Returns (shard, its own row numbers, result) for each of these shards. Without rows no shard is called.
        """
        split = self.rows.split(rows)
        if not split:
            return []
        answers = self.engine.ask({shard: Call(method, (own_rows, *arguments)) for shard, own_rows in split.items()})
        return [(shard, own_rows, answers[shard]) for shard, own_rows in split.items()]

    def by_row(
        self, method: Callable[[ShardReader, Sequence[int]], Mapping[int, R]], rows: Sequence[int]
    ) -> dict[int, R]:
        """Call a method that returns {row: value} on the shards of these rows; merge the results in order of rows."""
        merged = self.rows.merge((shard, answer) for shard, _, answer in self.of(method, rows))
        return {row: merged[row] for row in rows if row in merged}


def only(answers: Sequence[Sequence[R]], place: str, name: str) -> R:
    """Return the only item in the results of all shards.

    Raises NotFound if no document, or more than one, has this ``name`` in the shelf at ``place``.
    """
    items = [item for answer in answers for item in answer]
    if len(items) != 1:
        count = "has no document" if not items else f"has {len(items)} documents called"
        raise NotFound(f"{place or 'the shelf'} {count} {name!r}", "give the id of one")
    return items[0]
