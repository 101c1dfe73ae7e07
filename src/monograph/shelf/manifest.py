"""Manifests: each names the objects of one version of a shelf."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from monograph.errors import InputError, NewerFormat, ObjectDamaged, ObjectMissing
from monograph.shelf.storage import Storage

OBJECTS = "objects"
"""The folder of shards, lists of contents and catalogues, each named by its digest."""

VERSIONS = "versions"
"""The folder of manifests, each named by its version."""

FORMAT = 1
MOST_SHARDS = 10_000
MOST_BYTES = 8 << 20
"""The largest manifest."""

LAST_VERSION = 99_999_999
_LATEST_TRIES = 5
_DIGEST = re.compile(r"[0-9a-f]{64}", re.ASCII)
_OBJECT = re.compile(rf"{OBJECTS}/([0-9a-f]{{64}})\.mono", re.ASCII)
_VERSION = re.compile(rf"{VERSIONS}/([0-9]{{8}})\.json", re.ASCII)


@dataclass(frozen=True, slots=True)
class ObjectName:
    """The name of an object: the SHA-256 of its bytes, in hexadecimal digits, and their number."""

    digest: str
    bytes: int

    def __post_init__(self) -> None:
        if type(self.digest) is not str or not _DIGEST.fullmatch(self.digest):
            raise InputError(f"{str(self.digest)[:200]!r} is no SHA-256", "give 64 hexadecimal digits in lower case")
        if type(self.bytes) is not int or self.bytes < 0:
            raise InputError(f"an object cannot have {self.bytes!r} bytes", "give the number of its bytes")

    @property
    def name(self) -> str:
        """The object's name in storage."""
        return f"{OBJECTS}/{self.digest}.mono"


@dataclass(frozen=True, slots=True)
class Manifest:
    """A version of a shelf.

    Parameters
    ----------
    version:
        From 1, each one more than the one before.
    shards:
        The sealed files that hold the documents.
    contents:
        For each shard, the small file that lists its documents, source files and names.
    catalogue:
        The names over all shards.
    settings:
        The settings and models that all shards share.
    made:
        When it was published, in seconds UTC by the writer's clock.

    Raises
    ------
    InputError
        If a value is out of bounds.
    """

    version: int
    shards: tuple[ObjectName, ...]
    contents: tuple[ObjectName, ...]
    catalogue: ObjectName
    settings: dict[str, str] = field(hash=False)
    made: int

    def __post_init__(self) -> None:
        texts = [*self.settings, *self.settings.values()] if isinstance(self.settings, dict) else [None]
        faults = {
            f"version {self.version!r}": not _within(self.version, 1, LAST_VERSION),
            f"made at {self.made!r}": not _within(self.made, 0, 1 << 40),
            f"{len(self.shards):,} shards": not 1 <= len(self.shards) <= MOST_SHARDS,
            "another number of lists of contents than of shards": len(self.contents) != len(self.shards),
            "settings that are no texts": not all(type(one) is str and _is_unicode(one) for one in texts),
        }
        for fault, is_so in faults.items():
            if is_so:
                raise InputError(f"a version of a shelf cannot have {fault}", "give values within the bounds")

    @property
    def objects(self) -> frozenset[ObjectName]:
        """All objects that it names."""
        return frozenset((*self.shards, *self.contents, self.catalogue))

    @property
    def name(self) -> str:
        """Its name in storage."""
        return version_name(self.version)

    def to_json(self) -> bytes:
        """Return the manifest as it is stored: equal bytes for equal values."""
        stored = {
            "format": FORMAT,
            "version": self.version,
            "made": self.made,
            "shards": [
                {**_stored(shard), "contents": _stored(contents)}
                for shard, contents in zip(self.shards, self.contents, strict=True)
            ],
            "catalogue": _stored(self.catalogue),
            "settings": self.settings,
        }
        return json.dumps(stored, indent=1, sort_keys=True, ensure_ascii=False).encode() + b"\n"

    @classmethod
    def from_json(cls, data: bytes) -> Manifest:
        """Read a manifest as it is stored.

        Raises
        ------
        ObjectDamaged
            If the bytes are no manifest.
        NewerFormat
            If a later version of Monograph wrote it.
        """
        try:
            stored = json.loads(data)
            if isinstance(stored, dict) and isinstance(stored.get("format"), int) and stored["format"] > FORMAT:
                raise NewerFormat(
                    f"it has format {stored['format']}, this Monograph knows {FORMAT}", "update Monograph"
                )
            if type(stored["format"]) is not int or stored["format"] != FORMAT:
                raise ValueError(f"its format is {stored['format']!r}")
            shards = [(_loaded(one), _loaded(one["contents"])) for one in stored["shards"][: MOST_SHARDS + 1]]
            return cls(
                stored["version"],
                tuple(shard for shard, _ in shards),
                tuple(contents for _, contents in shards),
                _loaded(stored["catalogue"]),
                stored["settings"],
                stored["made"],
            )
        except (ValueError, TypeError, KeyError, RecursionError, InputError) as error:
            why = error.message if isinstance(error, InputError) else str(error)
            raise ObjectDamaged(
                f"it is no manifest: {why[:300]}", "remove it: the version before it is then the newest"
            ) from error


def version_name(version: int) -> str:
    """Return the name of a version's manifest in storage. Raises InputError if there can be no such version."""
    if not 1 <= version <= LAST_VERSION:
        raise InputError(f"{version} is no version of a shelf", f"give a number from 1 to {LAST_VERSION:,}")
    return f"{VERSIONS}/{version:08d}.json"


def digest_in(name: str) -> str:
    """Return the digest in the name of an object; empty for other names."""
    found = _OBJECT.fullmatch(name)
    return found[1] if found else ""


def versions(storage: Storage) -> list[int]:
    """Return the versions that are there, ascending."""
    found = (_VERSION.fullmatch(one.name) for one in storage.listed(VERSIONS))
    return sorted(int(one[1]) for one in found if one and int(one[1]))


def latest(storage: Storage) -> Manifest | None:
    """Return the newest version, or None where there is none. Raises as :func:`load`."""
    for attempt in range(_LATEST_TRIES):
        there = versions(storage)
        if not there:
            return None
        try:
            return load(storage, there[-1])
        except ObjectMissing:
            # Others have published so often since it was listed that it is swept: there is a newer one.
            if attempt == _LATEST_TRIES - 1:
                raise
    return None


def load(storage: Storage, version: int) -> Manifest:
    """Return a version.

    Raises
    ------
    ObjectMissing
        If it is not there.
    ObjectDamaged
        If its manifest cannot be understood.
    NewerFormat
        If a later version of Monograph wrote it.
    """
    name = version_name(version)
    try:
        manifest = Manifest.from_json(storage.read(name, MOST_BYTES))
        if manifest.version != version:
            raise ObjectDamaged(f"it says that it is version {manifest.version}", "remove it, then build again")
    except (ObjectDamaged, NewerFormat) as error:
        raise type(error)(f"{name} of {storage.address}: {error.message}", error.mend) from error
    return manifest


def _stored(one: ObjectName) -> dict[str, str | int]:
    return {"sha256": one.digest, "bytes": one.bytes}


def _loaded(stored: Mapping[str, Any]) -> ObjectName:
    return ObjectName(stored["sha256"], stored["bytes"])


def _within(value: object, least: int, most: int) -> bool:
    return type(value) is int and least <= value <= most


def _is_unicode(text: str) -> bool:
    return not any("\ud800" <= one <= "\udfff" for one in text)
