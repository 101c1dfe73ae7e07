"""Where it is asked for, a shelf answers without the shards that cannot be had, and says without which."""

from __future__ import annotations

import functools
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from monograph.errors import ClosedFile, FileError, ShardLost, ShelfError
from monograph.library.given import Given
from monograph.shelf.hold.engine import MOST_THREADS, Engine, Engines
from monograph.shelf.place import Place
from monograph.shelf.shard.shard import Asked, Shard
from monograph.shelf.versions.manifest import Manifest
from monograph.store.database import Database

AGAIN = 30.0


def partially(engines: Engines, again: float = AGAIN) -> Engines:
    """Engines that go without the shards that cannot be had: ``Shelf.open(url, engines=partially(on_ray))``.

    ``again`` as for :class:`Partial`.
    """
    return functools.partial(_partial, engines, again)


def _partial(engines: Engines, again: float, place: Place, version: Manifest, given: Given) -> Partial:
    def engine_of(shard: int) -> Engine:
        return engines(place, replace(version, shards=(version.shards[shard],)), given)

    return Partial(engine_of, len(version.shards), again)


class Partial:
    """Shards of which each is held by an engine of its own: see :class:`monograph.shelf.hold.engine.Engine`.

    Within :meth:`lenient` an empty shard answers for one that cannot be had. Safe for use by many threads.

    Parameters
    ----------
    engine_of:
        Makes the engine of a shard, when it is first asked for, and again after it could not be had.
    shards:
        How many there are.
    again:
        Seconds after which one that could not be had is asked for again; ten times as long as that took, if more.
    """

    def __init__(self, engine_of: Callable[[int], Engine], shards: int, again: float = AGAIN) -> None:
        self._again = again
        self._engine_of = engine_of
        self._engines: dict[int, Engine] = {}
        self._locks = [threading.Lock() for _ in range(shards)]
        self._aside: dict[int, tuple[float, ShardLost]] = {}
        self._empty: tuple[Path, Shard] | None = None
        self._closing = threading.Lock()
        self._closed = False
        self._local = threading.local()
        self._threads = ThreadPoolExecutor(min(MOST_THREADS, shards), "monograph-partial")

    @contextmanager
    def lenient(self) -> Iterator[dict[int, ShardLost]]:
        """What this thread asks within is answered without the shards that cannot be had; gives these, and why.

        A shard that has once been lacking is lacking to the end.
        """
        outer: dict[int, ShardLost] | None = getattr(self._local, "lacking", None)
        lacking: dict[int, ShardLost] = {} if outer is None else outer
        self._local.lacking = lacking
        try:
            yield lacking
        finally:
            self._local.lacking = outer

    def ask(self, wanted: Mapping[int, Sequence[Asked]]) -> dict[int, list[Any]]:
        """See :class:`~monograph.shelf.hold.engine.Engine`."""
        lacking: dict[int, ShardLost] | None = getattr(self._local, "lacking", None)
        waiting = {
            shard: self._threads.submit(self._of, shard, asked)
            for shard, asked in wanted.items()
            if lacking is None or shard not in lacking
        }
        answers: dict[int, list[Any]] = {}
        for shard, asked in wanted.items():
            found = waiting[shard].result() if shard in waiting else None
            if isinstance(found, ShardLost):
                if lacking is None:
                    raise found
                lacking[shard] = found
                found = None
            answers[shard] = self._nothing().answer(asked) if found is None else found
        return answers

    def close(self) -> None:
        """See :class:`~monograph.shelf.hold.engine.Engine`."""
        self._threads.shutdown()
        with self._closing:
            self._closed = True
            for engine in self._engines.values():
                engine.close()
            if self._empty is not None:
                path, empty = self._empty
                empty.close()
                shutil.rmtree(path.parent, ignore_errors=True)
                self._empty = None

    def _of(self, shard: int, asked: Sequence[Asked]) -> list[Any] | ShardLost:
        """What a shard answers, or why it cannot be had."""
        begun = time.monotonic()
        until, known = self._aside.get(shard, (0.0, None))
        if known is not None and begun < until:
            return known
        try:
            found = self._engine(shard).ask({0: asked})[0]
        except ClosedFile:
            raise
        except (ShelfError, FileError) as error:
            why = error.message.rpartition("cannot be had: ")[
                2
            ]  # Where it is another's of the same, that counts from 0.
            lost = ShardLost(f"shard {shard} of {len(self._locks)} cannot be had: {why}", error.mend)
            now = time.monotonic()
            self._aside[shard] = now + max(self._again, 10 * (now - begun)), lost
            self._drop(shard)
            return lost
        self._aside.pop(shard, None)
        return found

    def _engine(self, shard: int) -> Engine:
        with self._locks[shard]:
            if self._closed:
                raise ClosedFile("the shelf is closed", "open it again")
            if shard not in self._engines:
                self._engines[shard] = self._engine_of(shard)
            return self._engines[shard]

    def _drop(self, shard: int) -> None:
        with self._locks[shard]:
            engine = self._engines.pop(shard, None)
        if engine is not None:
            engine.close()

    def _nothing(self) -> Shard:
        """A shard without documents."""
        with self._closing:
            if self._closed:
                raise ClosedFile("the shelf is closed", "open it again")
            if self._empty is None:
                path = Path(mkdtemp(prefix="monograph-")) / "empty.mono"
                Database(path).close()
                self._empty = path, Shard(Given(path))
            return self._empty[1]
