"""Who makes shards: this process, or tasks on many machines."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

from monograph.errors import MonographError, ShardLost
from monograph.library.given import Given
from monograph.shelf.engines import Engine, Local
from monograph.shelf.fill.recipe import Made, Recipe, make_of_documents, make_of_files
from monograph.shelf.place import Place
from monograph.shelf.ray_engine import Held, OnRay, ray_module, start
from monograph.shelf.versions.names import ObjectName
from monograph.values import Document, Plan

RETRIES = 5
"""How often a task is begun anew whose process or machine died."""


class Makers(Protocol):
    """Who makes shards."""

    def keep(self, documents: Sequence[Document]) -> Any:
        """Put documents aside until their shard is made; what is returned stands for them."""
        ...

    def of_documents(self, work: Sequence[tuple[Recipe, str, Sequence[Any]]]) -> Iterator[Made]:
        """Shards, in order, of what was put aside, by recipe and key; raises what is raised where one is made."""
        ...

    def of_files(self, work: Sequence[tuple[Recipe, str, Plan]]) -> Iterator[Made]:
        """Shards, in order, of files, by recipe and key; raises what is raised where one is made."""
        ...

    def engine(self, place: Place, shards: tuple[ObjectName, ...]) -> Engine:
        """What asks shards that were put, where they can be had without bringing them all here."""
        ...


class Here:
    """Shards are made in this process, one after the other, each by as many processes as a file is made by."""

    def keep(self, documents: Sequence[Document]) -> Sequence[Document]:
        """See :class:`Makers`."""
        return documents

    def of_documents(self, work: Sequence[tuple[Recipe, str, Sequence[Any]]]) -> Iterator[Made]:
        """See :class:`Makers`."""
        return (make_of_documents(*one) for one in work)

    def of_files(self, work: Sequence[tuple[Recipe, str, Plan]]) -> Iterator[Made]:
        """See :class:`Makers`."""
        return (make_of_files(*one) for one in work)

    def engine(self, place: Place, shards: tuple[ObjectName, ...]) -> Engine:
        """See :class:`Makers`; they are brought here all the same."""
        return Local([Given(place.cache.path(place.objects, name), read_only=True) for name in shards])


HERE = Here()


class Tasks:
    """Shards are made by tasks of Ray's; one whose machine is taken away is begun anew.

    Files that are to be read must lie under the same paths on all machines. Where one fails, or whoever waits is
    interrupted, the others go on while this process runs; what they make is not made again.

    Parameters
    ----------
    cpus:
        What a task takes of a machine.

    Raises
    ------
    MissingExtra
        If Ray is not installed.
    ShelfUnreachable
        If no Ray can be had.
    """

    def __init__(self, cpus: float = 1.0) -> None:
        start()
        self._ray = ray_module()
        self._cpus = cpus

    def keep(self, documents: Sequence[Document]) -> Any:
        """See :class:`Makers`. They lie with Ray, which writes to disk what its memory does not hold."""
        return self._ray.put(documents)

    def of_documents(self, work: Sequence[tuple[Recipe, str, Sequence[Any]]]) -> Iterator[Made]:
        """See :class:`Makers`; raises ShardLost if a task was begun anew too often."""
        return self._make(_of_documents, work)

    def of_files(self, work: Sequence[tuple[Recipe, str, Plan]]) -> Iterator[Made]:
        """See :class:`Makers`; raises ShardLost if a task was begun anew too often."""
        return self._make(make_of_files, work)

    def engine(self, place: Place, shards: tuple[ObjectName, ...]) -> Engine:
        """See :class:`Makers`."""
        return OnRay(Held(place.objects.address, shards, place.elsewhere))

    def _make(self, function: Callable[..., Made], work: Sequence[tuple[Any, ...]]) -> Iterator[Made]:
        task = self._ray.remote(_task).options(
            num_cpus=self._cpus, max_retries=RETRIES, retry_exceptions=False, scheduling_strategy="SPREAD"
        )
        # Where one fails the others are not cancelled: Ray ends a process that cancels a task just when that ends.
        for shard, ref in enumerate([task.remote(function, given) for given in work]):
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
                "look whether the machines have enough memory; build again: what was made is not made twice",
            ) from error
        if isinstance(found, MonographError):
            raise found
        return found


def _task(function: Callable[..., Made], given: tuple[Any, ...]) -> bytes:
    """What a function makes, or an error of ours, pickled: Ray would make another error of it."""
    try:
        return pickle.dumps(function(*given))
    except MonographError as error:
        return pickle.dumps(error)


def _of_documents(recipe: Recipe, key: str, kept: Sequence[Any]) -> Made:
    ray = ray_module()
    return make_of_documents(recipe, key, (ray.get(one) for one in kept))
