"""A new version of a shelf becomes visible at once, or not at all."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from monograph.errors import InputError, ObjectMissing, ShelfConflict, ShelfUnreachable
from monograph.shelf.versions.manifest import MOST_BYTES, Manifest, versions
from monograph.shelf.versions.names import OBJECTS, ObjectName
from monograph.shelf.versions.objects import Objects, put_alone
from monograph.shelf.versions.pieces import Named, name_of


def publish(
    objects: Objects,
    shards: Sequence[Path | Named | ObjectName],
    catalogue: Path,
    before: Manifest | None,
    settings: Mapping[str, str],
) -> Manifest:
    """Put the next version.

    First the objects are put that are not there yet, then the manifest, only if there is none of its version: it is the
    manifest alone that makes a version, so that a reader sees the old one or the new one. At last the objects are
    looked for once more, and put again if a sweep took them meanwhile (:mod:`monograph.shelf.versions.sweep`).

    Parameters
    ----------
    objects:
        Where.
    shards, catalogue:
        Closed files, with what their bytes are called where that is known, or what was put already. What is there by
        its digest is not put again.
    before:
        The version that these files were made from; None for the first.
    settings:
        The facts that all shards share.

    Raises
    ------
    ShelfConflict
        If another writer has published since ``before``. What was put then is removed by a later sweep.
    InputError
        If a file cannot be read, or is open, or the version would be out of its bounds.
    ObjectDamaged
        If a file changed meanwhile.
    ObjectMissing
        If what was put already is not there.
    ShelfUnreachable
        If the place does not answer, or cannot put only if absent.
    StorageFull
        If there is no room.
    """
    version = 1 if before is None else before.version + 1
    _refuse_if_behind(objects, version)
    given = [Named(one, name_of(one)) if isinstance(one, Path) else one for one in (*shards, catalogue)]
    *names, last = (one.name if isinstance(one, Named) else one for one in given)
    manifest = Manifest(version, tuple(names), last, dict(settings), int(time.time()))
    data = manifest.to_json()
    if len(data) > MOST_BYTES:
        raise InputError(f"the manifest would have more than {MOST_BYTES:,} bytes", "give shorter settings")
    files = {
        name: one.path if isinstance(one, Named) else None for name, one in zip((*names, last), given, strict=True)
    }
    _put(objects, files)
    if not put_alone(objects, manifest.name, data):
        raise _conflict(objects, version)
    if before is None and objects.put_new(manifest.name, data):
        raise ShelfUnreachable(
            f"{objects.address} cannot put an object only if it is absent: two writers would overwrite each other",
            "put the shelf into a store that can (If-None-Match), or into a folder",
        )
    _put(objects, files)
    return manifest


def _put(objects: Objects, files: Mapping[ObjectName, Path | None]) -> None:
    """Have every object there, whole; None stands for one that must be."""
    there = {one.name: one.bytes for one in objects.listed(OBJECTS)}
    for name, path in files.items():
        if there.get(name.name) == name.bytes:
            continue
        if path is None:
            raise ObjectMissing(f"{name.name} is not in {objects.address}, or not whole", "make it again, then publish")
        if name.name in there:  # Damaged after it was put: nobody can read it.
            objects.remove([name.name])
        objects.put_new(name.name, path)


def _refuse_if_behind(objects: Objects, version: int) -> None:
    there = versions(objects)
    newest = there[-1] if there else 0
    if newest >= version:
        raise _conflict(objects, newest)
    if newest < version - 1:
        raise InputError(
            f"{objects.address} has no version {version - 1}, after which this was to be published",
            "give the version that the shelf has, or none if it has none",
        )


def _conflict(objects: Objects, version: int) -> ShelfConflict:
    return ShelfConflict(
        f"version {version} of {objects.address} has been published by another writer meanwhile",
        "open the shelf anew, bring it up to date again (monograph shelf sync), then publish",
    )
