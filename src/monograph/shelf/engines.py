"""Engines that call methods of shards: the interface, and the engine that uses threads of this process."""

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
    """Interface of engines, which call the shards of one version of a shelf.

    Shards are given by number: the index in :attr:`monograph.shelf.manifest.Manifest.shards`, from 0.
    """

    def ask(self, calls: Mapping[int, Call]) -> dict[int, Any]:
        """Run calls on shards, and return their results.

        ``calls`` is {shard number: call}, the result is {shard number: result of its call}, in the same order. Raises
        ShardLost, with the shard in its message, if a shard cannot be reached.
        """
        ...

    def close(self) -> None:
        """Close the shards. :meth:`ask` raises ClosedFile from then on."""
        ...


Engines: TypeAlias = Callable[[ShelfPlace, Manifest, OpenOptions], Engine]
"""Function that creates an engine for a version of a shelf.

Its arguments are the shelf's place, the version's manifest, and the options to open the shards with."""


class Local:
    """Engine that opens the shards in this process and calls them in threads.

    ``files`` has the options for each shard, in order of shard; their ``path`` is the shard's file on this machine.
    Every shard is opened for reading only.
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
    """Fetch the shards of a version to this machine, open them, and return the engine that calls them."""
    return Local([replace(options, path=place.file_of(name)) for name in version.shards])


@dataclass(frozen=True, slots=True, eq=False)
class Shards:
    """The shards of one version of a shelf, on which methods of :class:`ShardReader` are called through an engine.

    Rows in arguments and results are global, numbered over all shards (see :class:`monograph.shelf.pools.Rows`), unless
    a method says that they are local.
    """

    engine: Engine
    rows: Rows

    def all(self, method: Callable[[ShardReader, *Arguments], R], *arguments: *Arguments) -> list[R]:
        """Call a method with the same arguments on every shard, and return the results in the order of the shards."""
        return list(self.some(range(self.rows.shards), method, *arguments).values())

    def some(
        self, shards: Iterable[int], method: Callable[[ShardReader, *Arguments], R], *arguments: *Arguments
    ) -> dict[int, R]:
        """Call a method with the same arguments on these shards, and return {shard: result}."""
        return self.engine.ask(dict.fromkeys(shards, Call(method, arguments)))

    def of(
        self,
        method: Callable[[ShardReader, Sequence[int], *Arguments], R],
        rows: Iterable[int],
        *arguments: *Arguments,
    ) -> list[tuple[int, list[int], R]]:
        """Call a method on each shard that has at least one of the given rows.

        ``rows`` are global. For each call, the rows of the shard are converted to local ones, which count within the
        shard. The method gets these local rows, then ``arguments``. Returns (shard, local rows, result) for each shard
        that was called. If ``rows`` is empty, no shard is called.
        """
        split = self.rows.split(rows)
        if not split:
            return []
        answers = self.engine.ask({shard: Call(method, (own_rows, *arguments)) for shard, own_rows in split.items()})
        return [(shard, own_rows, answers[shard]) for shard, own_rows in split.items()]

    def by_row(
        self, method: Callable[[ShardReader, Sequence[int]], Mapping[int, R]], rows: Sequence[int]
    ) -> dict[int, R]:
        """Call a method that returns {local row: value} on the shards that have these rows, and merge the results.

        Returns {global row: value} in the order of ``rows``. Rows for which the method returns no value are left out.
        """
        merged = self.rows.merge((shard, answer) for shard, _, answer in self.of(method, rows))
        return {row: merged[row] for row in rows if row in merged}


def only(answers: Sequence[Sequence[R]], place: str, name: str) -> R:
    """Return the single item in ``answers``, the results of all shards for one document.

    Raises NotFound if there is no item, or more than one. ``place`` is the shelf's address and ``name`` the document's
    name, for the message.
    """
    items = [item for answer in answers for item in answer]
    if len(items) != 1:
        count = "has no document" if not items else f"has {len(items)} documents called"
        raise NotFound(f"{place or 'the shelf'} {count} {name!r}", "give the id of one")
    return items[0]
