"""Where a shelf lies, and the folder of this machine that holds what of it is read and written here."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from monograph.errors import ObjectMissing
from monograph.shelf.versions.cache import Cache
from monograph.shelf.versions.manifest import Manifest, load
from monograph.shelf.versions.names import ObjectName
from monograph.shelf.versions.objects import Objects, objects_at
from monograph.shelf.versions.part import part_of
from monograph.store.database import Database
from monograph.store.header import read_header
from monograph.store.schema import newest_format


@dataclass(frozen=True, slots=True)
class Place:
    """Where a shelf lies.

    Parameters
    ----------
    url:
        As it was given.
    objects:
        What lies there.
    home:
        The folder here.
    """

    url: str
    objects: Objects
    home: Path

    @property
    def cache(self) -> Cache:
        """What was fetched."""
        return Cache(self.home / "objects")

    def file_of(self, name: ObjectName) -> Path:
        """Where a file of the shelf lies here, of the format that this version of Monograph reads.

        What an earlier version published stays as it is; a copy here is brought over. Raises as
        :meth:`monograph.shelf.versions.cache.Cache.path`.
        """
        path = self.cache.path(self.objects, name)
        newest = newest_format()
        if read_header(path).format >= newest:
            return path
        brought = self.home / f"format-{newest}" / path.name
        brought.parent.mkdir(exist_ok=True)
        with part_of(brought) as part:
            if not brought.exists():
                shutil.copyfile(path, part.path)
                Database(part.path).close()
                part.path.replace(brought)
        return brought

    def keep(self, versions: Iterable[Manifest]) -> None:
        """Drop what is not of some versions."""
        keep(self.home, {name.digest for one in versions for name in one.objects})

    def before(self, version: Manifest) -> Sequence[Manifest]:
        """The version before one, where it is there."""
        try:
            return [load(self.objects, version.version - 1)] if version.version > 1 else []
        except ObjectMissing:
            return []

    @property
    def elsewhere(self) -> Path:
        """The folder on any other machine: where it is in a home here, it is so there."""
        home = self.home.absolute()
        return Path("~") / home.relative_to(Path.home()) if home.is_relative_to(Path.home()) else home

    @property
    def building(self) -> Path:
        """The folder, on any machine, of shards that are being made of their documents: see Recipe."""
        return self.elsewhere / "build"

    def drop_building(self) -> None:
        """Drop here what was made for a build, or begun."""
        for path in self.building.expanduser().glob("*"):
            path.unlink(missing_ok=True)

    @property
    def work(self) -> Path:
        """The folder of what is written here and not published yet."""
        return self.home / "work"


def keep(home: Path, digests: Collection[str]) -> frozenset[str]:
    """Drop from the folder of a shelf what is not named, also of what was brought over; the digests of what was."""
    for path in home.glob("format-*/*.mono"):
        if path.stem not in digests:
            path.unlink(missing_ok=True)
    return Cache(home / "objects").keep(digests)


def place_of(url: str | Path, home: str | Path | None = None, *, create: bool = False) -> Place:
    """The place of a shelf by its address; ``home`` is by default a folder of its own in ``~/.cache/monograph``.

    Raises as :func:`monograph.shelf.versions.objects.objects_at`.
    """
    objects = objects_at(url, create=create)
    name = sha256(objects.address.encode()).hexdigest()[:16]
    return Place(str(url), objects, Path.home() / ".cache" / "monograph" / name if home is None else Path(home))
