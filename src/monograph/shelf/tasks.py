"""Making of shards by tasks of Ray on many machines."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from typing import Any

from monograph.errors import MonographError, ShardLost
from monograph.shelf.making import Made, Recipe, Work, make
from monograph.shelf.ray_engine import ray_module, start
from monograph.values import Document

RETRIES = 5
"""How often Ray starts a task again whose process or machine died."""


class Tasks:
    """Makes each shard by a task of Ray, which starts it again where its process or machine dies.

    Files and folders must have the same paths on all machines. When one task fails, the others go on while this process
    runs, and what they made is not made again.

    Parameters
    ----------
    cpus:
        Processors that a task takes of a machine.

    Raises
    ------
    MissingExtra
        If Ray is not installed.
    ShelfUnreachable
        If Ray does not start.
    """

    def __init__(self, cpus: float = 1.0) -> None:
        start()
        self._ray = ray_module()
        self._cpus = cpus

    def keep(self, documents: Sequence[Document]) -> Any:
        """Put documents into Ray's object store, which spills to disk, and return the reference."""
        return self._ray.put(documents)

    def make(self, recipe: Recipe, works: Sequence[Work]) -> Iterator[Made]:
        """Yield the shards in their order. Raises as :func:`monograph.shelf.making.make`, and ShardLost."""
        task = self._ray.remote(_task).options(
            num_cpus=self._cpus, max_retries=RETRIES, retry_exceptions=False, scheduling_strategy="SPREAD"
        )
        # Where one fails the others are not cancelled: Ray ends a process that cancels a task just when that ends.
        for shard, ref in enumerate([task.remote(recipe, work) for work in works]):
            yield self._made(shard, ref)

    def _made(self, shard: int, ref: Any) -> Made:
        errors = self._ray.exceptions
        try:
            found: Made | MonographError = pickle.loads(self._ray.get(ref))  # noqa: S301 - of our own processes
        except errors.RayTaskError:
            raise  # A fault of the program, which Ray shows as it was raised there.
        except errors.RayError as error:
            raise ShardLost(
                f"shard {shard} cannot be made: {str(error).strip().splitlines()[0]}",
                "check that the machines have enough memory, then build again: what was made is not made twice",
            ) from error
        if isinstance(found, MonographError):
            raise found
        return found


def _task(recipe: Recipe, work: Work) -> bytes:
    """Return the shard or an error of ours, pickled: Ray would wrap the error in its own."""
    try:
        return pickle.dumps(make(recipe, work, ray_module().get))
    except MonographError as error:
        return pickle.dumps(error)
