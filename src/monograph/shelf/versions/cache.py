"""A folder on this machine holds the objects that are read here."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from monograph.errors import InputError
from monograph.shelf.versions.faults import told
from monograph.shelf.versions.names import ObjectName, digest_in
from monograph.shelf.versions.objects import Objects
from monograph.shelf.versions.part import clear, part_of, sync_folder
from monograph.shelf.versions.pieces import verify

_BESIDE = ("", "-wal", "-shm", "-journal")
"""What SQLite sets beside a file."""


class Cache:
    """Objects of one shelf by their digests, for any number of processes. One folder serves one shelf.

    Parameters
    ----------
    folder:
        Made if it is not there.

    Raises
    ------
    InputError
        If it cannot be made.
    """

    def __init__(self, folder: Path) -> None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(
                f"{folder} cannot be made: {error.strerror}", "give another folder for the cache"
            ) from error
        self._folder = folder

    def path(self, objects: Objects, name: ObjectName) -> Path:
        """Where an object lies on this machine; it is fetched if it is not there.

        It is fetched once, however many processes ask, and gets its name when its bytes are what that says. What lies
        here under its name and has its size was so once: files here are for reading alone.

        Raises
        ------
        ObjectMissing
            If it is neither here nor in the shelf.
        ObjectDamaged
            If the shelf's has other bytes than its name says.
        StorageFull
            If there is no room.
        ShelfUnreachable
            If the place does not answer, or the folder cannot be written.
        """
        target = self._path(name.digest)
        with told(target):
            if _has(target, name):
                return target
            with part_of(target) as part:
                if not _has(target, name):  # Another process may have fetched it while this one waited.
                    objects.get(name.name, part.path)
                    verify(part.path, name, objects.address)
                    part.sync()
                    part.path.replace(target)
                    sync_folder(self._folder)
        return target

    def held(self) -> frozenset[str]:
        """The digests of what is here."""
        with told(self._folder):
            names = (f"objects/{path.name}" for path in self._folder.glob("*.mono"))
            return frozenset(filter(None, map(digest_in, names)))

    def keep(self, digests: Collection[str]) -> frozenset[str]:
        """Drop everything else.

        Readers that have it open read on. One that was told a path, and has not opened it yet, will not find it: keep
        what the version before names as well.

        Returns
        -------
        The digests of what was dropped.
        """
        dropped = self.held() - frozenset(digests)
        with told(self._folder):
            for digest in sorted(dropped):
                for end in _BESIDE:
                    Path(f"{self._path(digest)}{end}").unlink(missing_ok=True)
            clear(self._folder)
            sync_folder(self._folder)
        return dropped

    def _path(self, digest: str) -> Path:
        return self._folder / f"{digest}.mono"


def _has(path: Path, name: ObjectName) -> bool:
    with suppress(FileNotFoundError):
        return path.stat().st_size == name.bytes
    return False
