"""Immutable objects in a folder."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

from monograph.errors import InputError, ObjectDamaged, ObjectMissing, ShelfUnreachable
from monograph.shelf.versions.faults import told
from monograph.shelf.versions.names import OBJECTS, VERSIONS, WRITERS, Listed, checked
from monograph.shelf.versions.part import clear, part_of, sync_folder
from monograph.shelf.versions.pieces import pieces

_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EMLINK, errno.EXDEV)


class Folder:
    """Objects as files below a folder, on a file system with hard links.

    An object is written under another name beside its own, brought to the disk, and then gets its name by a hard link,
    which fails where the name is taken: at once for every process, and whole or not at all when the writer is killed.

    Parameters
    ----------
    path:
        The folder.

    Raises
    ------
    InputError
        If there is no such folder.
    """

    def __init__(self, path: Path) -> None:
        if not path.is_dir():
            what = "is no folder" if path.exists() else "is not there"
            raise InputError(f"{path} {what}", "make the folder first, or give another address")
        self._path = path.absolute()

    @property
    def address(self) -> str:
        """Where it lies."""
        return str(self._path)

    def put_new(self, name: str, source: Path | bytes) -> bool:
        """Put an object; see :class:`~monograph.shelf.versions.objects.Objects`."""
        target = self._target(name)
        contents: Iterable[bytes] = (source,) if isinstance(source, bytes) else pieces(source, name)
        with told(target):
            if target.exists():
                return False
            self._make(target.parent)
            with part_of(target) as part:
                for piece in contents:
                    part.file.write(piece)
                os.fchmod(part.file.fileno(), os.fstat(part.file.fileno()).st_mode & 0o444)
                part.sync()
                try:
                    os.link(part.path, target)
                except FileExistsError:
                    return False
                except OSError as error:
                    if error.errno in _NO_LINKS:
                        raise _no_links(self._path) from error
                    raise
            sync_folder(target.parent)
        return True

    def get(self, name: str, target: Path) -> None:
        """Copy an object; see :class:`~monograph.shelf.versions.objects.Objects`."""
        source = self._target(name)
        with told(target):
            try:
                shutil.copyfile(source, target)
            except FileNotFoundError as error:
                if target.parent.exists():
                    raise missing(name, self.address) from error
                raise

    def read(self, name: str, most: int) -> bytes:
        """The bytes of a small object; see :class:`~monograph.shelf.versions.objects.Objects`."""
        source = self._target(name)
        with told(source):
            try:
                with source.open("rb") as file:
                    data = file.read(most + 1)
            except FileNotFoundError as error:
                raise missing(name, self.address) from error
        if len(data) > most:
            raise too_long(name, self.address, most)
        return data

    def listed(self, folder: str) -> list[Listed]:
        """What lies in a folder of the shelf; see :class:`~monograph.shelf.versions.objects.Objects`."""
        place = self._target(folder)
        with told(place):
            return sorted(_files(place, folder), key=lambda one: one.name)

    def remove(self, names: Iterable[str]) -> None:
        """Remove objects; see :class:`~monograph.shelf.versions.objects.Objects`."""
        with told(self._path):
            changed = {self._path}
            for name in names:
                target = self._target(name)
                target.unlink(missing_ok=True)
                changed.add(target.parent)
            for place in (OBJECTS, VERSIONS, WRITERS):
                clear(self._path / place)
            for folder in changed:
                if folder.exists():
                    sync_folder(folder)

    def _target(self, name: str) -> Path:
        return self._path / checked(name)

    def _make(self, folder: Path) -> None:
        if not folder.exists():
            folder.mkdir(parents=True, exist_ok=True)
            sync_folder(folder.parent)


def _files(place: Path, folder: str) -> Iterator[Listed]:
    if not place.exists():
        return
    with os.scandir(place) as entries:
        for entry in entries:
            if entry.name.startswith(".") or not entry.is_file(follow_symlinks=False):
                continue
            try:
                found = entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue  # Removed meanwhile.
            yield Listed(f"{folder}/{entry.name}", found.st_size, found.st_mtime)


def missing(name: str, address: str) -> ObjectMissing:
    """The error where an object is not there."""
    return ObjectMissing(
        f"{name} is not in {address}",
        "open the shelf anew: its version may have been swept; if it is the newest version, publish it again",
    )


def too_long(name: str, address: str, most: int) -> ObjectDamaged:
    """The error where an object that should be small is not."""
    return ObjectDamaged(f"{name} of {address} has more than {most:,} bytes", "it is none of a shelf's: remove it")


def _no_links(path: Path) -> ShelfUnreachable:
    return ShelfUnreachable(
        f"the file system of {path} has no hard links", "put the shelf on another one, or in a bucket"
    )
