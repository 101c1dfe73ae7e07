"""Creation of a folder as a whole: it is written under a temporary name next to its final path, then renamed."""

from __future__ import annotations

import os
import shutil
import stat
import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from monograph.errors import InputError
from monograph.store.file.replacing import restrict, sync_to_disk


@contextmanager
def write_folder(place: Path, files: Collection[str], original: Path, *, overwrite: bool) -> Iterator[Path]:
    """Yield a temporary folder. Rename it to ``place`` when the ``with`` block ends; delete it after an error.

    ``original`` is the exported file. In the ``with`` block only the owner can access the folder. Afterwards only users
    who may read ``original`` can. With ``overwrite``, an existing folder at ``place`` is replaced, provided that every
    name in it is one of ``files``.

    Raises
    ------
    InputError
        If something exists at ``place`` that may not be replaced, or the folder cannot be created.
    """
    _refuse(place, files, overwrite=overwrite)
    stem = f"{os.fsdecode(os.fsencode(place.name)[:36])}.{os.getpid()}.{threading.get_ident()}"
    new, old = place.with_name(f".{stem}.new"), place.with_name(f".{stem}.old")
    try:
        new.mkdir()
        base = stat.S_IMODE(new.stat().st_mode)
        new.chmod(0o700)
    except OSError as error:
        raise InputError(
            f"{place} cannot be created: {error.strerror or error}",
            "choose a path in a folder that exists and is writable",
        ) from error
    try:
        yield new
        for path in new.iterdir():
            restrict(path, original)
            sync_to_disk(path)
        mode = stat.S_IMODE(original.stat().st_mode)
        new.chmod(base & (mode | (mode & 0o444) >> 2) | 0o700)  # Users with read permission may also enter the folder.
        sync_to_disk(new)
        _refuse(place, files, overwrite=overwrite)
        if place.exists():
            place.rename(old)
        new.rename(place)
        sync_to_disk(place.parent)
    finally:
        if old.exists() and not place.exists():
            old.rename(place)
        for path in (new, old):
            shutil.rmtree(path, ignore_errors=True)


def _refuse(place: Path, files: Collection[str], *, overwrite: bool) -> None:
    if not place.name or place.is_symlink():
        raise InputError(f"{place} cannot be the path of a new folder", "choose another path")
    if not os.path.lexists(place):
        return
    if not place.is_dir():
        raise InputError(f"{place} already exists, and is not a folder", "choose another path")
    try:
        names = sorted(os.listdir(place))  # noqa: PTH208 - names are all that is wanted
    except OSError as error:
        raise InputError(f"{place} cannot be read: {error.strerror or error}", "choose another path") from error
    if not overwrite:
        raise InputError(f"{place} already exists", "choose another path, or replace it with --overwrite")
    other = next((name for name in names if name not in files), None)
    if other is not None:
        raise InputError(
            f"{place} contains {other!r}, which is not part of an export: it is not replaced", "choose another path"
        )
