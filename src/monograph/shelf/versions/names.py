"""What the objects of a shelf are called."""

from __future__ import annotations

import re
from dataclasses import dataclass

from monograph.errors import InputError

OBJECTS = "objects"
"""The folder of shards and catalogues, each named by its digest."""

VERSIONS = "versions"
"""The folder of manifests, each named by its version."""

WRITERS = "writers"
"""The folder that says who writes."""

LAST_VERSION = 99_999_999
_LONGEST = 200
_PART = r"[a-z0-9][a-z0-9._-]*"
_NAME = re.compile(rf"{_PART}(?:/{_PART})*", re.ASCII)
_DIGEST = re.compile(r"[0-9a-f]{64}", re.ASCII)
_OBJECT = re.compile(rf"{OBJECTS}/([0-9a-f]{{64}})\.mono", re.ASCII)
_VERSION = re.compile(rf"{VERSIONS}/([0-9]{{8}})\.json", re.ASCII)


@dataclass(frozen=True, slots=True)
class ObjectName:
    """What the bytes of a shard or a catalogue are: their SHA-256 in hexadecimal digits, and how many there are."""

    digest: str
    bytes: int

    def __post_init__(self) -> None:
        if not _DIGEST.fullmatch(self.digest):
            raise InputError(f"{self.digest[:_LONGEST]!r} is no SHA-256", "give 64 hexadecimal digits in lower case")
        if self.bytes < 0:
            raise InputError(f"an object cannot have {self.bytes} bytes", "give the number of its bytes")

    @property
    def name(self) -> str:
        """Under which it lies in the shelf."""
        return f"{OBJECTS}/{self.digest}.mono"


@dataclass(frozen=True, slots=True)
class Listed:
    """An object that is there: its name, how many bytes it has, and since when, in seconds UTC by the place's clock."""

    name: str
    bytes: int
    since: float


def version_name(version: int) -> str:
    """The name of a version's manifest.

    Raises
    ------
    InputError
        If there can be no such version.
    """
    if not 1 <= version <= LAST_VERSION:
        raise InputError(f"{version} is no version of a shelf", f"give a number from 1 to {LAST_VERSION:,}")
    return f"{VERSIONS}/{version:08d}.json"


def version_in(name: str) -> int:
    """The version whose manifest bears this name; 0 for any other name."""
    found = _VERSION.fullmatch(name)
    return int(found[1]) if found else 0


def digest_in(name: str) -> str:
    """The digest that this name says; empty for a name that says none."""
    found = _OBJECT.fullmatch(name)
    return found[1] if found else ""


def checked(name: str) -> str:
    """The name, which cannot lead out of the shelf.

    Raises
    ------
    InputError
        If it is not made of lower-case letters, digits, ``.``, ``_`` and ``-`` between slashes, or is too long.
    """
    if len(name) > _LONGEST or not _NAME.fullmatch(name):
        raise InputError(
            f"{name[:_LONGEST]!r} is no name for an object of a shelf",
            f"use at most {_LONGEST} of a to z, 0 to 9, dots and dashes between slashes, a letter or digit first",
        )
    return name
