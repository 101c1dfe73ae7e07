"""The catalogue of a version follows from that of the version before, by what is another in the shards."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path

from monograph.errors import MonographError
from monograph.shelf import catalogue
from monograph.shelf.catalogue import Origin
from monograph.shelf.place import Place
from monograph.shelf.versions.manifest import Manifest
from monograph.shelf.versions.names import ObjectName
from monograph.shelf.versions.pieces import verify
from monograph.store import catalogue_changes, names, replacing
from monograph.store.catalogue import Share, share
from monograph.store.catalogue_changes import Difference
from monograph.store.database import Database
from monograph.write.resolve import resolve


def make(path: Path, place: Place, files: Mapping[Path, ObjectName], before: Manifest | None) -> Origin:
    """Write the catalogue of closed shards to a file, in place of what lies there.

    It is a copy of that of the version before, brought up to date, where that has as many shards, made alike; else it
    is made anew. Both have the same rows, but for their numbers.

    Parameters
    ----------
    path:
        Of the catalogue.
    place:
        Where the version before lies.
    files:
        The shards, in their order, and what their bytes are called.
    before:
        The version that they were copied from and then written to; None where they were not.

    Returns
    -------
    What the shards were made with.
    """
    replacing.drop(path)
    with ExitStack() as opened:
        shards = [opened.enter_context(closing(Database(one, read_only=True))) for one in files]
        with shards[0].read() as connection:
            of = catalogue.origin(connection)
        if before is None or not _followed(path, place, of, dict(zip(shards, files.values(), strict=True)), before):
            replacing.drop(path)
            catalogue.make(path, of, (_share(one) for one in shards), len(shards))
    return of


def _share(shard: Database) -> Share:
    with shard.read() as connection:
        return share(connection)


def _followed(path: Path, place: Place, of: Origin, shards: Mapping[Database, ObjectName], before: Manifest) -> bool:
    """Whether the catalogue could be had from that of the version before."""
    if len(before.shards) != len(shards):
        return False
    try:
        held = place.cache.path(place.objects, before.catalogue)
        verify(held, before.catalogue, place.url)
        shutil.copyfile(held, path)
        made = {}
        for number, (shard, name) in enumerate(shards.items()):
            if name != before.shards[number]:
                found = catalogue_changes.difference(shard, place.file_of(before.shards[number]))
                if found is None:
                    return False
                if not found.is_none:
                    made[number] = found
        return bring(path, of, made, list(shards))
    except MonographError:
        return False  # What is not there, or damaged, is not needed.


def bring(path: Path, of: Origin, made: Mapping[int, Difference], shards: Sequence[Database]) -> bool:
    """Bring a catalogue up to date with what is another in some of its shards, by their numbers.

    False where it cannot be: it was made otherwise, or of other shards. Then it is of no use any more.
    """
    database = Database(path)
    try:
        with database.read() as connection:
            if catalogue.origin(connection) != of:
                return False
        if not made:
            return True
        with database.write() as connection:
            if not catalogue_changes.lay(connection, made, shards):
                return False
            resolve(connection)
            names.drop_unused(connection)
        if any(one.takes_out for one in made.values()):
            database.rewrite()  # What is forgotten is not to be left in its free space.
    finally:
        database.close()
    return True
