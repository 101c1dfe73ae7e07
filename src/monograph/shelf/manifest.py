"""Manifests: each lists the objects of one version of a shelf."""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeAlias

from monograph.errors import (
    InputError,
    NewerFormat,
    NotFound,
    ObjectDamaged,
    ObjectMissing,
    ShelfConflict,
    ShelfUnreachable,
)
from monograph.regex import regex
from monograph.shelf.storage import OBJECTS, ObjectName, ShelfPlace, Storage, digest_in, name_of

VERSIONS = "versions"
"""Name of the folder of manifests in storage. Each manifest is named by the number of its version."""

FORMAT = 1
MOST_SHARDS = 10_000
MOST_BYTES = 8 << 20
"""Limit on the size of a manifest in bytes. Every valid manifest is smaller."""

LAST_VERSION = 99_999_999
DAY = 24 * 60 * 60
"""Seconds in a day. After a publication, :func:`forget` removes only objects older than a day: a younger object may
belong to a version that another writer is about to publish."""

_LATEST_TRIES = 5
_VERSION = regex(rf"{VERSIONS}/([0-9]{{8}})\.json", re.ASCII)


Pair: TypeAlias = tuple[ObjectName, ObjectName]
"""(name of a shard, name of its contents file) in storage."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """List of the objects that one version of a shelf consists of.

    Raises InputError if a value is out of bounds.

    Parameters
    ----------
    version:
        Number of the version. The first version is 1, and each next version is one higher.
    shards:
        The sealed files that contain the documents.
    contents:
        The contents file of each shard, in order: a small file that lists its documents, source files and names.
    catalogue:
        The file with the names of all shards.
    made:
        When the version was published: seconds since 1970, UTC, by the writer's clock.
    """

    version: int
    shards: tuple[ObjectName, ...]
    contents: tuple[ObjectName, ...]
    catalogue: ObjectName
    made: int

    def __post_init__(self) -> None:
        faults = {
            f"version {self.version!r}": type(self.version) is not int or not 1 <= self.version <= LAST_VERSION,
            f"time {self.made!r}": type(self.made) is not int or not 0 <= self.made <= 1 << 40,
            f"{len(self.shards):,} shards": not 1 <= len(self.shards) <= MOST_SHARDS,
            "the same shard twice": len(set(self.shards)) != len(self.shards),
            "different numbers of shards and contents files": len(self.contents) != len(self.shards),
        }
        for fault, is_so in faults.items():
            if is_so:
                raise InputError(f"a manifest cannot have {fault}", "give values within the limits")

    @property
    def pairs(self) -> list[Pair]:
        """(shard, its contents file) for each shard, in order."""
        return list(zip(self.shards, self.contents, strict=True))

    @property
    def objects(self) -> frozenset[ObjectName]:
        """Names of all objects of the version: shards, contents files and catalogue."""
        return frozenset((*self.shards, *self.contents, self.catalogue))

    @property
    def name(self) -> str:
        """The manifest's name in storage: see :func:`version_name`."""
        return version_name(self.version)

    def to_json(self) -> bytes:
        """Return the manifest as JSON. Equal manifests give equal bytes."""
        stored = {"format": FORMAT, **asdict(self)}
        return json.dumps(stored, indent=1, sort_keys=True, ensure_ascii=False).encode() + b"\n"

    @classmethod
    def from_json(cls, data: bytes) -> Manifest:
        """Read a manifest from JSON.

        Raises ObjectDamaged if it is invalid, and NewerFormat if a later version of Monograph wrote it.
        """
        try:
            stored = json.loads(data)
            format_number = stored.pop("format")
            if type(format_number) is not int or format_number < FORMAT:
                raise ValueError(f"its format is {format_number!r}")
            if format_number > FORMAT:
                raise NewerFormat(f"it has format {format_number}, this Monograph reads {FORMAT}", "update Monograph")
            object_names = {
                key: tuple(ObjectName(**fields) for fields in stored[key]) for key in ("shards", "contents")
            }
            return cls(**{**stored, **object_names, "catalogue": ObjectName(**stored["catalogue"])})
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError, InputError) as error:
            why = error.message if isinstance(error, InputError) else str(error)
            raise ObjectDamaged(
                f"it is not a manifest: {why[:300]}", "remove it: the previous version is then the newest"
            ) from error


def version_name(version: int) -> str:
    """Return the name in storage of a version's manifest, such as ``versions/00000001.json``.

    Raises InputError if the number is out of range.
    """
    if not 1 <= version <= LAST_VERSION:
        raise InputError(f"{version} is not a version number", f"give a number from 1 to {LAST_VERSION:,}")
    return f"{VERSIONS}/{version:08d}.json"


def versions(storage: Storage) -> list[int]:
    """Return the numbers of the versions in storage, ascending."""
    matches = (_VERSION.fullmatch(stored.name) for stored in storage.listed(VERSIONS))
    return sorted(int(match[1]) for match in matches if match and int(match[1]))


def latest(storage: Storage) -> Manifest | None:
    """Return the manifest of the newest version, or None if there is no version.

    The errors are those of :func:`load`. ObjectMissing is raised only if other writers keep removing the newest version
    while it is being read.
    """
    for tries in reversed(range(_LATEST_TRIES)):
        numbers = versions(storage)
        try:
            return load(storage, numbers[-1]) if numbers else None
        except ObjectMissing:
            # Other writers have removed this version since the listing, so there is a newer one.
            if not tries:
                raise
    return None


def version_of(place: ShelfPlace, version: int | None = None) -> Manifest:
    """Return the manifest of a version of a shelf; None means the newest version.

    Raises NotFound if ``version`` is None and there is no shelf at the place. The other errors are those of
    :func:`load`.
    """
    manifest = latest(place.objects) if version is None else load(place.objects, version)
    if manifest is None:
        raise NotFound(f"there is no shelf at {place.url}", f"monograph shelf build {place.url} FOLDER")
    return manifest


def load(storage: Storage, version: int) -> Manifest:
    """Read the manifest of a version from storage.

    Raises ObjectMissing if there is no such version, ObjectDamaged if the manifest is invalid, and NewerFormat if a
    later version of Monograph wrote it.
    """
    name = version_name(version)
    try:
        manifest = Manifest.from_json(storage.read(name, MOST_BYTES))
        if manifest.version != version:
            raise ObjectDamaged(f"it says that it is version {manifest.version}", "remove it, then build again")
    except (ObjectDamaged, NewerFormat) as error:
        raise type(error)(f"{name} of {storage.address}: {error.message}", error.hint) from error
    return manifest


def put_file(storage: Storage, path: Path) -> ObjectName:
    """Put a closed file into storage under its digest, and return its name.

    If storage has an object of this name and size already, nothing is put. An object of this name with another size is
    damaged, and is replaced.
    """
    name = name_of(path)
    sizes = {stored.name: stored.bytes for stored in storage.listed(OBJECTS)}
    if sizes.get(name.name, name.bytes) != name.bytes:  # The stored object was damaged after it was put.
        storage.remove([name.name])
    storage.put_new(name.name, path)
    return name


def publish(storage: Storage, pairs: Sequence[Pair], catalogue: Path, before: Manifest | None) -> Manifest:
    """Publish the next version of a shelf, and return its manifest.

    ``pairs`` are the shards and contents files of the new version, which are in storage already. ``catalogue`` is its
    catalogue, a closed local file. ``before`` is the manifest of the previous version; None for the first version.

    The catalogue is put first. The manifest is put last, and only if no other writer has put one for this version.
    Readers see either the previous version or the new one, even if the process is killed in between.

    Raises
    ------
    ShelfConflict
        If another writer has published this version meanwhile, or has removed an object of this version.
    ObjectMissing
        If a shard or contents file is not in storage.
    InputError
        If a value is out of bounds, or the previous version does not exist.
    ShelfUnreachable
        If the storage does not answer. When the first version is published, also if the storage overwrites an existing
        object where it must refuse to.
    """
    version = 1 if before is None else before.version + 1
    shards, contents = tuple(shard for shard, _ in pairs), tuple(contents for _, contents in pairs)
    manifest = Manifest(version, shards, contents, name_of(catalogue), int(time.time()))
    data = manifest.to_json()
    newest = max(versions(storage), default=0)
    if newest >= version:
        raise _conflict_error(storage, newest)
    if newest < version - 1:
        raise InputError(f"the previous version {version - 1} is not in {storage.address}", "build again")
    put_file(storage, catalogue)
    absent = missing(storage, manifest.objects)
    if absent:
        raise ObjectMissing(f"{absent[0]} is not in {storage.address}", "build again: only missing objects are built")
    if not storage.put_new(manifest.name, data) and not _is_stored(storage, manifest.name, data):
        raise _conflict_error(storage, version)
    if before is None and storage.put_new(manifest.name, data):
        raise ShelfUnreachable(
            f"{storage.address} cannot put an object only if it is absent: two writers would overwrite each other",
            "use a bucket that supports If-None-Match, or a folder",
        )
    if missing(storage, manifest.objects):  # Another process removed objects that no version named yet.
        storage.remove([manifest.name])
        raise ShelfConflict(f"another process removed objects of {storage.address}", "build again")
    return manifest


def missing(storage: Storage, names: Iterable[ObjectName]) -> list[str]:
    """Return the names of the missing objects, sorted.

    ``names`` are the names and sizes of objects. An object is missing if storage has no object of this name and size.
    """
    sizes = {stored.name: stored.bytes for stored in storage.listed(OBJECTS)}
    return sorted(item.name for item in names if sizes.get(item.name) != item.bytes)


def _is_stored(storage: Storage, name: str, data: bytes) -> bool:
    """Return whether storage has an object of this name with exactly these bytes."""
    # If so, this process put it: the client repeats a put whose answer was lost, and then finds the name taken.
    try:
        return storage.read(name, len(data)) == data
    except (ObjectDamaged, ObjectMissing):
        return False


def _conflict_error(storage: Storage, version: int) -> ShelfConflict:
    return ShelfConflict(
        f"another writer has published version {version} of {storage.address}",
        "run the same command again: it starts from that version and keeps finished shards",
    )


@dataclass(frozen=True, slots=True)
class Forgotten:
    """Result of :func:`forget`.

    ``kept`` is the manifest of the newest version; None if there is no version. ``removed`` has the names in storage of
    the removed manifests and objects.
    """

    kept: Manifest | None
    removed: tuple[str, ...]

    @property
    def digests(self) -> frozenset[str]:
        """The digests of the removed objects."""
        return frozenset(filter(None, map(digest_in, self.removed)))


def forget(storage: Storage, keep: int = 1, age: float = 0.0) -> Forgotten:
    """Remove all versions except the last ``keep``, and the objects that belong to no kept version.

    Objects and unfinished files younger than ``age`` seconds stay. Raises ObjectDamaged, and removes nothing, if the
    manifest of a kept version is invalid.

    With ``age=DAY``, the function may run while another process publishes a version. The function lists the objects
    first, then the manifests. So it also keeps the objects of a manifest that is published between the two lists. If an
    object that a publication needs is removed nevertheless, the publication fails, and the previous version stays: see
    :func:`publish`.

    A bucket may keep copies of removed objects (versioning, locks). The bucket's owner must delete these copies.
    """
    stored = storage.listed(OBJECTS)
    numbers = versions(storage)
    kept = [load(storage, version) for version in numbers[-keep:]]
    needed = {name.name for manifest in kept for name in manifest.objects}
    before = time.time() - age if age else math.inf
    removed = [version_name(version) for version in numbers[:-keep]]
    removed += [
        item.name for item in stored if digest_in(item.name) and item.name not in needed and item.since <= before
    ]
    storage.remove(removed)  # Manifests first, so that no manifest names a removed object.
    storage.remove_staged(age)
    return Forgotten(kept[-1] if kept else None, tuple(removed))
