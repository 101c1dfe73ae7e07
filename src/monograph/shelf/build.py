"""A shelf is built whole, of documents or of folders, here or by tasks on many machines."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from monograph.errors import InputError
from monograph.read.limits import DEFAULT_LIMITS, Limits
from monograph.settings import Settings
from monograph.shelf.fill.building import make_shards, make_shards_of_folders, publish_shards
from monograph.shelf.fill.dataset import Dataset
from monograph.shelf.fill.dealt import require_no_history
from monograph.shelf.fill.makers import HERE, Makers
from monograph.shelf.fill.recipe import Recipe
from monograph.shelf.place import place_of
from monograph.shelf.versions.manifest import latest
from monograph.shelf.write import working
from monograph.values import Document, OnProgress, Report, together


def build(  # noqa: PLR0913 - each is a choice of its own
    url: str | os.PathLike[str],
    documents: Iterable[Document] | Dataset | None = None,
    *,
    sources: Sequence[str | os.PathLike[str]] = (),
    shards: int = 8,
    embedder: str = "",
    extractor: str = "",
    settings: Settings | None = None,
    limits: Limits = DEFAULT_LIMITS,
    makers: Makers = HERE,
    replace: bool = False,
    home: str | os.PathLike[str] | None = None,
    progress: OnProgress | None = None,
) -> Report:
    """Build a shelf and publish it: one version holds what is given, and nothing else.

    Each shard is made of its documents alone. Ended before the end, the same call goes on: shards that were made are
    not made again, and a shard that was being made where it is begun anew goes on from what it holds.
    To change a shelf later, :meth:`monograph.shelf.Shelf.add` and ``sync`` write to the shards that change.

    Parameters
    ----------
    url:
        A folder, or a bucket: ``s3://bucket/path``, ``gs://``, ``az://``. By tasks, one that all machines reach.
    documents:
        Documents, or a ``ray.data.Dataset`` with a row for each: ``text``, and ``id``, ``title``, ``uri`` and
        ``metadata`` where it has them.
    sources:
        Files and folders, instead of documents. By tasks, they lie under the same paths on all machines.
    shards:
        How many files, 1 to 10,000; about one for each million chunks.
    embedder, extractor:
        Models by the texts that name them, as ``--embedder`` and ``--extractor`` do: whoever makes a shard makes its
        own. Keys of servers are taken from the environment there.
    settings, limits:
        The numbers that the shards are built with, and how much of a file is read.
    makers:
        Who makes the shards: this process, or :class:`monograph.shelf.Tasks` of Ray's.
    replace:
        Whether what is given is to take the place of a shelf that is there, as its next version.
    home:
        The folder of this machine for what is read and written here, as for :meth:`monograph.shelf.Shelf.open`.

    Returns
    -------
    What was stored, and the files that could not be read.

    Raises
    ------
    InputError
        If a shelf is there and is not to be replaced, or something was written to it here and not published; if both
        documents and sources are given, or none; if a value is out of range.
    ShelfConflict
        If another writer is at work when it is published, or has published meanwhile.
    ShardLost
        If a shard cannot be made, since machines die.
    MonographError
        Whatever :meth:`monograph.Monograph.add` raises.
    """
    require_no_history(settings)
    place = place_of(os.fspath(url), None if home is None else Path(home), create=True)
    if latest(place.objects) is not None and not replace:
        raise InputError(
            f"{place.url} is a shelf already",
            f"monograph shelf sync {place.url} FOLDER, or let it be replaced: replace=True, --replace",
        )
    working.refuse_unpublished(place)
    recipe = Recipe(place.url, place.building, settings, embedder, extractor, limits)
    if documents is None:
        made = make_shards_of_folders(sources, shards, recipe, makers, progress)
    elif not sources:
        made = make_shards(documents, shards, recipe, makers, progress)
    else:
        raise InputError("both documents and sources are given", "give one of them")
    publish_shards(place, made, makers)
    return together([one.report for one in made])
