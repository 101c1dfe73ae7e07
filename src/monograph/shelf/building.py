"""A version of a shelf is made of documents or folders, every shard by itself: here, or by tasks on many machines."""

from __future__ import annotations

import json
import os
import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol, runtime_checkable

from monograph.errors import InputError, MonographError, ShardLost
from monograph.library.monograph import Monograph
from monograph.shelf.dealt import dealt, dealt_plan
from monograph.shelf.local_ray import ray_module, start
from monograph.shelf.manifest import MOST_SHARDS
from monograph.shelf.recipe import Made, Recipe, make_of_documents, make_of_files
from monograph.values import Document, Plan, arguments

RETRIES = 5
"""How often a task is begun anew whose process or machine died."""


@runtime_checkable
class Dataset(Protocol):
    """What of ``ray.data.Dataset`` is used: rows with ``text``, and at will ``id``, ``title``, ``uri``, ``metadata``."""

    def iter_rows(self) -> Iterable[Mapping[str, Any]]:
        """The rows, one after the other."""
        ...


class Makers(Protocol):
    """Who makes shards."""

    def keep(self, documents: Sequence[Document]) -> Any:
        """Put documents aside until their shard is made; what is returned stands for them."""
        ...

    def of_documents(self, work: Sequence[tuple[Recipe, str, Sequence[Any]]]) -> list[Made]:
        """Shards of what was put aside, by their recipes and keys; raises what is raised where one is made."""
        ...

    def of_files(self, work: Sequence[tuple[Recipe, str, Plan]]) -> list[Made]:
        """Shards of files, by their recipes and keys; raises what is raised where one is made."""
        ...


class Here:
    """Shards are made in this process, one after the other, each by as many processes as a file is made by."""

    def keep(self, documents: Sequence[Document]) -> Sequence[Document]:
        """See :class:`Makers`."""
        return documents

    def of_documents(self, work: Sequence[tuple[Recipe, str, Sequence[Any]]]) -> list[Made]:
        """See :class:`Makers`."""
        return [make_of_documents(*one) for one in work]

    def of_files(self, work: Sequence[tuple[Recipe, str, Plan]]) -> list[Made]:
        """See :class:`Makers`."""
        return [make_of_files(*one) for one in work]


HERE = Here()


class Tasks:
    """Shards are made by tasks of Ray's; one whose machine is taken away is begun anew.

    Files that are to be read must lie under the same paths on all machines.

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

    def of_documents(self, work: Sequence[tuple[Recipe, str, Sequence[Any]]]) -> list[Made]:
        """See :class:`Makers`; raises ShardLost if a task was begun anew too often."""
        return self._make(_of_documents, work)

    def of_files(self, work: Sequence[tuple[Recipe, str, Plan]]) -> list[Made]:
        """See :class:`Makers`; raises ShardLost if a task was begun anew too often."""
        return self._make(make_of_files, work)

    def _make(self, function: Callable[..., Made], work: Sequence[tuple[Any, ...]]) -> list[Made]:
        task = self._ray.remote(_task).options(
            num_cpus=self._cpus, max_retries=RETRIES, retry_exceptions=False, scheduling_strategy="SPREAD"
        )
        begun = [task.remote(function, given) for given in work]
        made: list[Made] = []
        try:
            for shard, ref in enumerate(begun):
                made.append(self._made(shard, ref))
        finally:
            for ref in begun[len(made) :]:
                self._ray.cancel(ref, force=True)
        return made

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


def make_shards(
    given: Iterable[Document] | Dataset, shards: int, recipe: Recipe, makers: Makers = HERE
) -> tuple[Made, ...]:
    """Make shards of documents, each dealt out by its id, and put them where the shelf lies; no version has them yet.

    Parameters
    ----------
    given:
        Documents, or a ``ray.data.Dataset`` with a row for each.
    shards:
        How many, 1 to 10,000.
    recipe, makers:
        How they are made, and by whom.

    Returns
    -------
    The shards, in their order.

    Raises
    ------
    InputError
        If there cannot be so many, or a row is no document.
    MonographError
        Whatever :meth:`monograph.Monograph.open` and ``add`` raise, and ShelfError if it cannot be put.
    """
    count = arguments.whole_number(shards, "shards", 1, MOST_SHARDS)
    kept: list[list[Any]] = [[] for _ in range(count)]
    content: list[list[bytes]] = [[] for _ in range(count)]
    documents = documents_in(given) if isinstance(given, Dataset) else given
    for block in dealt(documents, count):
        for shard, mine in block.items():
            content[shard].append(recipe.hashes(mine))
            kept[shard].append(makers.keep(mine))
    work = [(recipe, recipe.key(shard, content[shard]), kept[shard]) for shard in range(count)]
    return tuple(makers.of_documents(work))


def make_shards_of_folders(
    sources: Sequence[str | os.PathLike[str]], shards: int, recipe: Recipe, makers: Makers = HERE
) -> tuple[Made, ...]:
    """The same of files and folders, as :meth:`monograph.Monograph.sync` takes them: a file is dealt out by its uri.

    What cannot be read is a problem in a report.

    Raises
    ------
    SourceMissing
        If a source does not exist.
    """
    count = arguments.whole_number(shards, "shards", 1, MOST_SHARDS)
    with TemporaryDirectory(prefix="monograph-") as folder, Monograph.open(Path(folder) / "plan.mono") as empty:
        plan = empty.files.plan(*sources, price=False)
    plans = dealt_plan(plan, count)
    work = [
        (recipe, recipe.key(shard, [repr((one.roots, one.changes)).encode("utf-8", "surrogatepass")]), one)
        for shard, one in enumerate(plans)
    ]
    return tuple(makers.of_files(work))


def documents_in(rows: Dataset) -> Iterator[Document]:
    """The documents of a data set: of each row ``text``, and ``id``, ``title``, ``uri`` and ``metadata`` if they are there.

    Metadata is an object, or JSON of one; what of it is None is left out.

    Raises
    ------
    InputError
        If a row has no text, or is no document.
    """
    for number, row in enumerate(rows.iter_rows()):
        text, held = row.get("text"), row.get("metadata") or {}
        if not isinstance(text, str):
            raise InputError(f"row {number} of the data set has no text", "give it a column text, and in each row one")
        try:
            metadata = json.loads(held) if isinstance(held, str) else dict(held)
        except (ValueError, TypeError) as error:
            raise InputError(f"the metadata of row {number} is no object", "give an object, or JSON of one") from error
        named = {name: str(row[name]) for name in ("id", "title", "uri") if row.get(name) is not None}
        yield Document(text, metadata={key: one for key, one in metadata.items() if one is not None}, **named)
