"""A new folder is made beside its place, under another name, and takes the place when it is whole."""

from __future__ import annotations

import os
import shutil
import stat
import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from monograph.errors import InputError
from monograph.store.file.replacing import restrict


@contextmanager
def made_whole(place: Path, files: Collection[str], original: Path, *, overwrite: bool) -> Iterator[Path]:
    """A folder to write into, which gets its name at the end; on an error nothing is left of it.

    Until then only its user may look into it.

    Parameters
    ----------
    place:
        What it is to be called.
    files:
        What may lie in it. With ``overwrite`` a folder that is there gives way, if it holds nothing else.
    original:
        The file that it is made from: who may not read that may not read the folder.
    overwrite:
        Whether one may be there.

    Raises
    ------
    InputError
        If something is there that may not give way, or the folder cannot be made.
    """
    _refuse(place, files, overwrite=overwrite)
    beside = f"{os.fsdecode(os.fsencode(place.name)[:36])}.{os.getpid()}.{threading.get_ident()}"
    new, old = place.with_name(f".{beside}.new"), place.with_name(f".{beside}.old")
    try:
        new.mkdir()
        usual = stat.S_IMODE(new.stat().st_mode)
        new.chmod(0o700)
    except OSError as error:
        raise InputError(
            f"{place} cannot be made: {error.strerror or error}",
            "name a folder in one that is there and may be written",
        ) from error
    try:
        yield new
        for path in new.iterdir():
            restrict(path, original)
            _to_disk(path)
        mode = stat.S_IMODE(original.stat().st_mode)
        new.chmod(usual & (mode | (mode & 0o444) >> 2) | 0o700)  # Who may read may look into it.
        _to_disk(new)
        _refuse(place, files, overwrite=overwrite)
        if place.exists():
            place.rename(old)
        new.rename(place)
        _to_disk(place.parent)
    finally:
        if old.exists() and not place.exists():
            old.rename(place)
        for path in (new, old):
            shutil.rmtree(path, ignore_errors=True)


def _refuse(place: Path, files: Collection[str], *, overwrite: bool) -> None:
    if not place.name or place.is_symlink():
        raise InputError(f"{place} is no name for a folder that is to be made", "name a new one")
    if not os.path.lexists(place):
        return
    if not place.is_dir():
        raise InputError(f"{place} is there already, and is no folder", "name a new folder")
    try:
        held = sorted(os.listdir(place))  # noqa: PTH208 - names are all that is wanted
    except OSError as error:
        raise InputError(f"{place} cannot be looked into: {error.strerror or error}", "name a new folder") from error
    if not overwrite:
        raise InputError(f"{place} is there already", "name a new folder, or say that it may go: --overwrite")
    other = next((name for name in held if name not in files), None)
    if other is not None:
        raise InputError(
            f"{place} holds {other!r}, which is part of no export: it does not give way", "name a new folder"
        )


def _to_disk(path: Path) -> None:
    if os.name == "nt" and path.is_dir():
        return  # Windows opens no folders.
    opened = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
