"""What no version needs is removed."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

from monograph.errors import InputError
from monograph.shelf.versions.manifest import Manifest, load, versions
from monograph.shelf.versions.names import OBJECTS, digest_in, version_name
from monograph.shelf.versions.objects import Objects

DAY = 24 * 60 * 60
"""Seconds. It covers a long publication, and clocks that do not agree."""


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What was removed so that nothing but the newest version is left.

    ``kept`` is that version, None where there is none. ``removed`` are the names of what was removed, manifests before
    objects; ``digests`` are those of the objects among them, which caches may still hold. To forget is complete when no
    cache does: ``Cache.keep`` of what ``kept`` names drops them on one machine, ``Cache.held`` tells what is there.
    """

    kept: Manifest | None
    removed: tuple[str, ...]
    digests: frozenset[str]


def sweep(objects: Objects, keep: int = 2, age: float = DAY) -> tuple[str, ...]:
    """Remove the manifests of all but the last versions, and the objects that these do not name.

    A sweep may meet a publication. The order of the steps of both keeps every version whole:

    - A publication puts objects, then the manifest, then looks whether all its objects are there, and puts again what
      is not.
    - A sweep lists the objects first and the manifests after them, so that it knows every manifest that was put before
      the first thing it removes; and it leaves what is younger than an age, which a publication under way may have put.

    So only an object can be lost that is older than the age, that no kept version names, and that the publication did
    not put because it was there: what a failed publication left, or a swept version. The last look puts it again.
    Between that and the manifest, readers of the new version get ObjectMissing, and never other bytes. Only if the
    publisher is killed in that moment does the version stay incomplete; readers are told so, and publishing once more
    makes a version that is whole. A writer that holds :func:`monograph.shelf.versions.writer.writing` meets no sweep
    at all, if what sweeps holds it too.

    Parameters
    ----------
    objects:
        Where.
    keep:
        How many versions stay, at least 1.
    age:
        Seconds: an object that was put later than so long ago stays.

    Returns
    -------
    The names of what was removed, manifests before objects.

    Raises
    ------
    ObjectDamaged
        If the manifest of a kept version cannot be understood; then nothing is removed.
    ShelfUnreachable
        If the place does not answer.
    """
    if keep < 1 or age < 0:
        raise InputError(f"{keep} versions cannot be kept for {age} seconds", "keep at least one, for 0 or more")
    _, removed = _remove(objects, keep, time.time() - age)
    return removed


def forget(objects: Objects) -> Forgotten:
    """Remove everything but the newest version, however young, and what killed writers left half-written.

    Hold :func:`monograph.shelf.versions.writer.writing` meanwhile: else a publication under way, made from what is to
    be forgotten, may put it again.

    What buckets keep of removed objects (versioning, locks) and of uploads that were not ended is their owner's to
    remove, by their rules.

    Raises
    ------
    ObjectDamaged
        If the newest version's manifest cannot be understood; then nothing is removed.
    ShelfUnreachable
        If the place does not answer.
    """
    kept, removed = _remove(objects, 1, math.inf)
    return Forgotten(kept[-1] if kept else None, removed, frozenset(filter(None, map(digest_in, removed))))


def _remove(objects: Objects, keep: int, before: float) -> tuple[list[Manifest], tuple[str, ...]]:
    """Remove all but the last versions, and what they do not name and was put before a time; the kept, the removed."""
    there = objects.listed(OBJECTS)
    known = versions(objects)
    kept = [load(objects, version) for version in known[-keep:]]
    needed = {name.name for manifest in kept for name in manifest.objects}
    removed = [version_name(version) for version in known[:-keep]]
    removed += [one.name for one in there if digest_in(one.name) and one.name not in needed and one.since <= before]
    # In this order: no manifest is there whose objects are not.
    objects.remove(removed)
    return kept, tuple(removed)
