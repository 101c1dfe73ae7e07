"""A version of a shelf is a manifest that names its objects."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from monograph.errors import InputError, NewerFormat, ObjectDamaged, ObjectMissing
from monograph.shelf.versions.names import LAST_VERSION, VERSIONS, ObjectName, version_in, version_name
from monograph.shelf.versions.objects import Objects

FORMAT = 1
MOST_SHARDS = 10_000
MOST_SETTINGS = 1_000
LONGEST_SETTING = 100_000
"""Characters of a setting's value."""

MOST_BYTES = 8 << 20
"""Of a manifest."""

_LONGEST_KEY = 200
_LAST_SECOND = 1 << 40
_KEYS = {"format", "version", "made", "shards", "catalogue", "settings"}
_LATEST_TRIES = 5


@dataclass(frozen=True, slots=True)
class Manifest:
    """A version of a shelf.

    Parameters
    ----------
    version:
        From 1, each one more than the one before.
    shards:
        In their order; two may be the same.
    catalogue:
        The names over all shards.
    settings:
        The facts that all shards share, by name; in the order of their names when read.
    made:
        When, in seconds UTC by the writer's clock.

    Raises
    ------
    InputError
        If a value is out of its bounds.
    """

    version: int
    shards: tuple[ObjectName, ...]
    catalogue: ObjectName
    settings: dict[str, str] = field(hash=False)
    made: int

    def __post_init__(self) -> None:
        fault = _fault_of(self)
        if fault:
            raise InputError(f"a version of a shelf cannot be so: {fault}", "give what a version can hold")

    @property
    def objects(self) -> frozenset[ObjectName]:
        """All that it names."""
        return frozenset((*self.shards, self.catalogue))

    @property
    def name(self) -> str:
        """Under which it lies in the shelf."""
        return version_name(self.version)

    def to_json(self) -> bytes:
        """The manifest as it is stored: the same bytes for the same values."""
        said = {
            "format": FORMAT,
            "version": self.version,
            "made": self.made,
            "shards": [_stored(one) for one in self.shards],
            "catalogue": _stored(self.catalogue),
            "settings": self.settings,
        }
        return json.dumps(said, indent=1, sort_keys=True, ensure_ascii=False).encode() + b"\n"

    @classmethod
    def from_json(cls, data: bytes) -> Manifest:
        """The manifest that bytes stand for.

        Raises
        ------
        ObjectDamaged
            If they stand for none: the error says why, and knows no name.
        NewerFormat
            If a later version of Monograph wrote it.
        """
        mend = "ask for the version before it; and remove it, then publish again"
        if len(data) > MOST_BYTES:
            raise ObjectDamaged(f"it has more than {MOST_BYTES:,} bytes", mend)
        try:
            said = json.loads(data, object_pairs_hook=_once, parse_constant=_no_number)
            if isinstance(said, dict) and isinstance(said.get("format"), int) and said["format"] > FORMAT:
                raise NewerFormat(f"it has format {said['format']}, this Monograph knows {FORMAT}", "update Monograph")
            return _read(said)
        except (ValueError, TypeError, KeyError, RecursionError, InputError) as error:
            why = error.message if isinstance(error, InputError) else str(error)
            raise ObjectDamaged(f"it is no manifest: {why[:300]}", mend) from error


def versions(objects: Objects) -> list[int]:
    """The versions that are there, in their order."""
    return sorted(filter(None, (version_in(one.name) for one in objects.listed(VERSIONS))))


def latest(objects: Objects) -> Manifest | None:
    """The newest version; None of a shelf that has none.

    Raises
    ------
    ObjectDamaged
        If its manifest cannot be understood.
    NewerFormat
        If a later version of Monograph wrote it.
    """
    for attempt in range(_LATEST_TRIES):
        there = versions(objects)
        if not there:
            return None
        try:
            return load(objects, there[-1])
        except ObjectMissing:
            # Between the two looks others published so much that this version was swept: there is a newer one.
            if attempt == _LATEST_TRIES - 1:
                raise
    return None


def load(objects: Objects, version: int) -> Manifest:
    """A version that is there.

    Raises
    ------
    ObjectMissing
        If it is not.
    ObjectDamaged
        If its manifest cannot be understood.
    NewerFormat
        If a later version of Monograph wrote it.
    """
    name = version_name(version)
    try:
        manifest = Manifest.from_json(objects.read(name, MOST_BYTES))
        if manifest.version != version:
            raise ObjectDamaged(f"it says that it is version {manifest.version}", "remove it, then publish again")
    except (ObjectDamaged, NewerFormat) as error:
        raise type(error)(f"{name} of {objects.address}: {error.message}", error.mend) from error
    return manifest


def _stored(one: ObjectName) -> dict[str, str | int]:
    return {"sha256": one.digest, "bytes": one.bytes}


def _read(said: Any) -> Manifest:
    _exactly(said, _KEYS, "the manifest")
    if type(said["format"]) is not int or said["format"] != FORMAT:
        raise ValueError(f"its format is {said['format']!r}")
    if not isinstance(said["shards"], list):
        raise TypeError("its shards are no list")
    if len(said["shards"]) > MOST_SHARDS:
        raise ValueError(f"more than {MOST_SHARDS:,} shards")
    shards = tuple(map(_object, said["shards"]))
    return Manifest(said["version"], shards, _object(said["catalogue"]), said["settings"], said["made"])


def _object(said: Any) -> ObjectName:
    _exactly(said, {"sha256", "bytes"}, "an object")
    if type(said["sha256"]) is not str or type(said["bytes"]) is not int:
        raise TypeError("an object has no digest, or no number of bytes")
    return ObjectName(said["sha256"], said["bytes"])


def _exactly(said: Any, keys: set[str], what: str) -> None:
    if not isinstance(said, dict) or set(said) != keys:
        raise ValueError(f"{what} has not exactly {', '.join(sorted(keys))}")


def _once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands in it twice")
    return found


def _no_number(said: str) -> Any:
    raise ValueError(f"{said} is no number")


def _fault_of(manifest: Manifest) -> str:
    """What is out of its bounds; empty if nothing is."""
    if not _within(manifest.version, 1, LAST_VERSION):
        return f"version {manifest.version!r}"
    if not _within(manifest.made, 0, _LAST_SECOND):
        return f"made at {manifest.made!r}"
    if not 1 <= len(manifest.shards) <= MOST_SHARDS:
        return f"{len(manifest.shards):,} shards"
    return _fault_of_settings(manifest.settings)


def _within(value: object, least: int, most: int) -> bool:
    return type(value) is int and least <= value <= most


def _fault_of_settings(settings: Any) -> str:
    if not isinstance(settings, dict) or len(settings) > MOST_SETTINGS:
        return f"settings that are no names with values, or more than {MOST_SETTINGS:,}"
    for key, value in settings.items():
        if type(key) is not str or type(value) is not str or len(key) > _LONGEST_KEY or len(value) > LONGEST_SETTING:
            return f"the setting {str(key)[:_LONGEST_KEY]!r}, which is no text or too long a one"
        if not (key + value).isascii() and any("\ud800" <= one <= "\udfff" for one in key + value):
            return f"the setting {key!r}, which has half a character"
    return ""
