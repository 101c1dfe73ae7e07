"""Publishing a version, and removing what no version needs."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from monograph.errors import InputError, ObjectDamaged, ObjectMissing, ShelfConflict, ShelfUnreachable
from monograph.shelf.manifest import (
    MOST_BYTES,
    OBJECTS,
    Manifest,
    ObjectName,
    digest_in,
    load,
    version_name,
    versions,
)
from monograph.shelf.place import name_of
from monograph.shelf.storage import Storage

DAY = 24 * 60 * 60
"""Seconds: longer than a publication takes, and than clocks differ."""


def put_file(storage: Storage, path: Path) -> ObjectName:
    """Put a closed file under its digest, unless it is there, and return its name."""
    name = name_of(path)
    there = {one.name: one.bytes for one in storage.listed(OBJECTS)}
    if there.get(name.name, name.bytes) != name.bytes:  # Damaged after it was put.
        storage.remove([name.name])
    storage.put_new(name.name, path)
    return name


def publish(
    storage: Storage,
    shards: Sequence[ObjectName],
    contents: Sequence[ObjectName],
    catalogue: Path,
    before: Manifest | None,
    settings: Mapping[str, str],
) -> Manifest:
    """Put the next version.

    The catalogue is put first, and the manifest last, only if there is none of its number: readers see the version
    before or this one. Killed at any step, this leaves the version before, or this one.

    Parameters
    ----------
    storage:
        The shelf's.
    shards, contents:
        Objects that were put already.
    catalogue:
        The file with the names of these shards.
    before:
        The version that this one follows; None for the first.
    settings:
        The settings and models that all shards share.

    Raises
    ------
    ShelfConflict
        If another writer has published meanwhile, or removed one of the objects.
    ObjectMissing
        If an object was not put.
    InputError
        If a value is out of bounds.
    ShelfUnreachable
        If the storage does not answer, or cannot put only if absent.
    """
    version = 1 if before is None else before.version + 1
    manifest = Manifest(version, tuple(shards), tuple(contents), name_of(catalogue), dict(settings), int(time.time()))
    data = manifest.to_json()
    if len(data) > MOST_BYTES:
        raise InputError(f"the manifest would have more than {MOST_BYTES:,} bytes", "use fewer shards")
    _require_newest(storage, version)
    put_file(storage, catalogue)
    missing = _missing(storage, manifest)
    if missing:
        raise ObjectMissing(f"{missing[0]} is not in {storage.address}", "build again: only what is missing is made")
    if not storage.put_new(manifest.name, data) and not _is(storage, manifest.name, data):
        raise _conflict(storage, version)
    if before is None and storage.put_new(manifest.name, data):
        raise ShelfUnreachable(
            f"{storage.address} cannot put an object only if it is absent: two writers would overwrite each other",
            "use a store that can (If-None-Match), or a folder",
        )
    if _missing(storage, manifest):  # Another process swept objects that no version named before.
        storage.remove([manifest.name])
        raise ShelfConflict(f"objects of {storage.address} were removed by another process meanwhile", "build again")
    return manifest


def _missing(storage: Storage, manifest: Manifest) -> list[str]:
    there = {one.name: one.bytes for one in storage.listed(OBJECTS)}
    return sorted(one.name for one in manifest.objects if there.get(one.name) != one.bytes)


def _is(storage: Storage, name: str, data: bytes) -> bool:
    """Whether these bytes are stored: a client that lost the first answer and asked again finds its own object."""
    try:
        return storage.read(name, len(data)) == data
    except (ObjectDamaged, ObjectMissing):
        return False


def _require_newest(storage: Storage, version: int) -> None:
    newest = max(versions(storage), default=0)
    if newest >= version:
        raise _conflict(storage, newest)
    if newest < version - 1:
        raise InputError(f"{storage.address} has no version {version - 1} to follow", "open the shelf again")


def _conflict(storage: Storage, version: int) -> ShelfConflict:
    return ShelfConflict(
        f"version {version} of {storage.address} has been published by another writer meanwhile",
        "give the same command again: it starts from that version, and makes nothing twice",
    )


@dataclass(frozen=True, slots=True)
class Forgotten:
    """The names of removed manifests and objects, the digests of these objects, and the version that was kept."""

    kept: Manifest | None
    removed: tuple[str, ...]
    digests: frozenset[str]


def sweep(storage: Storage, keep: int = 2, age: float = DAY) -> tuple[str, ...]:
    """Remove all but the last versions, and older objects that these do not name.

    A sweep may run during a publication: it lists the objects before the manifests, so that it knows every manifest
    that is put before it removes anything, and objects younger than ``age`` seconds stay. If it still removes an object
    that a publication found, that publication fails and leaves the version before (:func:`publish`).

    Returns
    -------
    The names of what was removed, manifests before objects.

    Raises
    ------
    ObjectDamaged
        If the manifest of a kept version cannot be understood; then nothing is removed.
    """
    if keep < 1 or age < 0:
        raise InputError(f"{keep} versions cannot be kept for {age} seconds", "keep at least one, for 0 or more")
    return _remove(storage, keep, age).removed


def forget(storage: Storage) -> Forgotten:
    """Remove everything but the newest version, however young, and what killed writers left unfinished.

    Copies that a bucket keeps of removed objects (versioning, locks) are its owner's to remove. Raises as
    :func:`sweep`.
    """
    return _remove(storage, 1, 0.0)


def _remove(storage: Storage, keep: int, age: float) -> Forgotten:
    there = storage.listed(OBJECTS)
    known = versions(storage)
    kept = [load(storage, version) for version in known[-keep:]]
    needed = {name.name for manifest in kept for name in manifest.objects}
    before = time.time() - age if age else math.inf
    removed = [version_name(version) for version in known[:-keep]]
    removed += [one.name for one in there if digest_in(one.name) and one.name not in needed and one.since <= before]
    storage.remove(removed)  # In this order: no manifest is there whose objects are not.
    storage.remove_staged(age)
    return Forgotten(kept[-1] if kept else None, tuple(removed), frozenset(filter(None, map(digest_in, removed))))
