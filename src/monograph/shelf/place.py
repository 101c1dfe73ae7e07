"""Address of a shelf, and the folder of this machine with the objects that were fetched."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from monograph.errors import InputError, ObjectDamaged, ShelfUnreachable
from monograph.shelf.manifest import Manifest, ObjectName, name_of
from monograph.shelf.storage import Storage, storage_at
from monograph.store.file import replacing
from monograph.store.file.errors import system_error

_FETCHING = ".fetching-"
"""How the names of folders begin in which files are fetched."""


@dataclass(frozen=True, slots=True)
class Place:
    """The storage of a shelf, and its folder on this machine.

    Parameters
    ----------
    url:
        The address as it was given.
    objects:
        What is stored there.
    home:
        The shelf's folder on this machine.
    """

    url: str
    objects: Storage
    home: Path

    @property
    def fetched(self) -> Path:
        """The folder of fetched objects."""
        return self.home / "objects"

    def file_of(self, name: ObjectName) -> Path:
        """Return the path of an object on this machine; fetch it if it is not here.

        A file gets its name only after its bytes were verified, and is never changed.

        Raises
        ------
        ObjectMissing
            If it is neither here nor in storage.
        ObjectDamaged
            If the stored bytes have another digest.
        StorageFull
            If the disk is full.
        ShelfUnreachable
            If the storage does not answer, or the folder cannot be written.
        """
        target = self.fetched / Path(name.name).name
        with suppress(FileNotFoundError):
            if target.stat().st_size == name.bytes:
                return target
        fetch(self.objects, name, target)
        return target

    def keep(self, version: Manifest) -> None:
        """Remove from this machine the objects that a version does not name.

        Programs that have one open go on reading it.
        """
        kept = {name.digest for name in version.objects}
        for path in self.fetched.glob("*.mono"):
            if path.stem not in kept:
                replacing.drop(path)
        for path in self.fetched.glob(f"{_FETCHING}*"):
            shutil.rmtree(path, ignore_errors=True)  # A killed process left it.

    @property
    def elsewhere(self) -> Path:
        """The shelf's folder on other machines: relative to ``~`` if it is in a home directory here."""
        home = self.home.absolute()
        return Path("~") / home.relative_to(Path.home()) if home.is_relative_to(Path.home()) else home

    @property
    def building(self) -> Path:
        """The folder, on any machine, of shards that are being made."""
        return self.elsewhere / "build"

    def drop_building(self) -> None:
        """Remove unfinished shards from this machine."""
        shutil.rmtree(self.building.expanduser(), ignore_errors=True)


def fetch(storage: Storage, name: ObjectName, target: Path) -> None:
    """Fetch an object and verify it before the file gets its name. Raises as :meth:`Place.file_of`."""
    with writing(target):
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=_FETCHING) as folder:
            path = Path(folder) / target.name
            storage.get(name.name, path)
            if name_of(path) != name:
                raise ObjectDamaged(
                    f"{name.name} of {storage.address} is damaged: its bytes have another digest",
                    "try again; if it stays so, build the shelf again with --replace",
                )
            replacing.put(path, target, overwrite=True)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Translate errors of the system about a path of this machine: StorageFull, or ShelfUnreachable."""
    try:
        yield
    except OSError as error:
        raise system_error(path, error) or ShelfUnreachable(
            f"{path} cannot be written: {error.strerror or error}",
            "check its folder; in Python: or give another one: home=",
        ) from error


def place_at(url: str | Path, home: str | Path | None = None, *, create: bool = False) -> Place:
    """Return the place of a shelf; ``home`` is by default a folder of its own in ``~/.cache/monograph``.

    Raises as :func:`monograph.shelf.storage.storage_at`.
    """
    storage = storage_at(url, create=create)
    name = sha256(storage.address.encode()).hexdigest()[:16]
    made = Path.home() / ".cache" / "monograph" / name if home is None else Path(home)
    try:
        made.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{made} cannot be made: {error.strerror}", "in Python: give another folder: home=") from error
    return Place(str(url), storage, made)
