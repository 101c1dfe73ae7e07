"""The shards of a shelf are made of documents or folders, each by itself."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from monograph.shelf import catalogue
from monograph.shelf.catalogue import Origin
from monograph.shelf.fill.dataset import Dataset, documents_in
from monograph.shelf.fill.dealt import dealt, shard_count
from monograph.shelf.fill.looking import plans
from monograph.shelf.fill.makers import HERE, Makers
from monograph.shelf.fill.recipe import Made, Recipe
from monograph.shelf.place import Place
from monograph.shelf.shard import ShardReader, call
from monograph.shelf.versions.manifest import Manifest, latest
from monograph.shelf.versions.publish import publish
from monograph.shelf.versions.writer import writing
from monograph.values import Document, OnProgress, Progress


def make_shards(
    given: Iterable[Document] | Dataset,
    shards: int,
    recipe: Recipe,
    makers: Makers = HERE,
    progress: OnProgress | None = None,
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
    count = shard_count(shards)
    kept: list[list[Any]] = [[] for _ in range(count)]
    content: list[list[bytes]] = [[] for _ in range(count)]
    documents = documents_in(given) if isinstance(given, Dataset) else given
    for block in dealt(documents, count):
        for shard, mine in block.items():
            content[shard].append(recipe.hashes(mine))
            kept[shard].append(makers.keep(mine))
    work = [(recipe, recipe.key(shard, content[shard]), kept[shard]) for shard in range(count)]
    return _all(makers.of_documents(work), count, progress)


def make_shards_of_folders(
    sources: Sequence[str | os.PathLike[str]],
    shards: int,
    recipe: Recipe,
    makers: Makers = HERE,
    progress: OnProgress | None = None,
) -> tuple[Made, ...]:
    """The same of files and folders, as :meth:`monograph.Monograph.sync` takes them: a file is dealt out by its uri.

    What cannot be read is a problem in a report.

    Raises
    ------
    SourceMissing
        If a source does not exist.
    """
    count = shard_count(shards)
    work = [
        (recipe, recipe.key(shard, [repr((one.roots, one.changes)).encode("utf-8", "surrogatepass")]), one)
        for shard, one in enumerate(plans(sources, count, ()))
    ]
    return _all(makers.of_files(work), count, progress)


def _all(made: Iterable[Made], count: int, progress: OnProgress | None) -> tuple[Made, ...]:
    found: list[Made] = []
    for one in made:
        found.append(one)
        if progress is not None:
            progress(Progress("build", len(found), count, "shards"))
    return tuple(found)


def publish_shards(place: Place, made: Sequence[Made], makers: Makers = HERE) -> Manifest:
    """Publish shards that were made as the next version, with the catalogue of their names.

    Parameters
    ----------
    place:
        Where the shelf lies.
    made:
        The shards, in their order.
    makers:
        Who made them, and can open them.

    Raises
    ------
    ShelfConflict
        If another writer is at work.
    ObjectMissing
        If a shard is not there.
    ShardLost
        If one cannot be opened.
    """
    names = tuple(one.name for one in made)
    with writing(place.objects):
        engine = makers.engine(place, names)
        try:
            of: Origin = engine.ask({0: [call(ShardReader.origin)]})[0][0]
            shares = (engine.ask({shard: [call(ShardReader.share)]})[shard][0] for shard in range(len(names)))
            with TemporaryDirectory(prefix="monograph-") as folder:
                path = Path(folder) / "catalogue.mono"
                before = latest(place.objects)
                catalogue.make(path, of, shares, len(names))
                return publish(place.objects, names, path, before, of.said())
        finally:
            engine.close()
