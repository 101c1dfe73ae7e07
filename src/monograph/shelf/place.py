"""Where a shelf lies, and the folder of this machine that holds what of it is read and written here."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from monograph.shelf.cache import Cache
from monograph.shelf.objects import Objects, objects_at


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

    @property
    def work(self) -> Path:
        """The folder of what is written here and not published yet."""
        return self.home / "work"


def place_of(url: str | Path, home: str | Path | None = None, *, create: bool = False) -> Place:
    """The place of a shelf by its address; ``home`` is by default a folder of its own in ``~/.cache/monograph``.

    Raises as :func:`monograph.shelf.objects.objects_at`.
    """
    objects = objects_at(url, create=create)
    name = sha256(objects.address.encode()).hexdigest()[:16]
    return Place(str(url), objects, Path.home() / ".cache" / "monograph" / name if home is None else Path(home))
