"""A backup: one state of an open file, copied while others use it, checked, and only then given its name."""

from __future__ import annotations

import os
from pathlib import Path

from monograph.errors import InputError
from monograph.library.checks import require_whole
from monograph.library.opened import WholeFile
from monograph.store.file import backup as copying
from monograph.store.file import replacing
from monograph.store.file.refusals import refusals, state_of
from monograph.values import OnProgress, Progress


def backup(file: WholeFile, path: Path, *, overwrite: bool, progress: OnProgress | None) -> Path:
    """Copy a file: what was committed when this began is in the copy, and nothing else.

    Parameters
    ----------
    file:
        It may be open for reading only.
    path:
        The copy.
    overwrite:
        Put the copy into the place of a file that is there.
    progress:
        Told of every few megabytes; an exception raised in it leaves no copy.

    Returns
    -------
    The copy's path.

    Raises
    ------
    InputError
        If the path is the file itself, a folder, or, without ``overwrite``, there already.
    NotAMonograph
        If it is a pipe or a device, or its name is too long.
    BusyFile
        If the file that is to be overwritten is open.
    DamagedFile
        If a check finds a fault in the copy: nothing is left of it.
    StorageFull
        If there is no room for it.
    """
    _refuse(file.database.path, path, overwrite=overwrite)
    with refusals(path), replacing.beside(path) as made:
        replacing.same_eyes(file.database.path, made)
        copying.copy(file.database, made, _told(progress))
        require_whole(made, file.database.raw_key, file.database.path, "back up again")
        if not replacing.put(made, path, overwrite=overwrite):
            raise _is_there(path)
    return path


def _refuse(original: Path, path: Path, *, overwrite: bool) -> None:
    if os.path.isdir(path):  # noqa: PTH112 - it never raises
        raise InputError(f"{path} is a folder", f"name a file, such as {path / original.name}")
    if state_of(path) is not None:
        if path.samefile(original):
            raise InputError(f"{path} is the file itself", "give the copy another name")
        if not overwrite:
            raise _is_there(path)
    replacing.refuse_log(path)


def _is_there(path: Path) -> InputError:
    return InputError(f"{path} is there already", "give another name, or say that it may go: --overwrite")


def _told(progress: OnProgress | None) -> copying.OnPages:
    def tell(done: int, total: int) -> None:
        if progress is not None:
            progress(Progress("backup", done, total, "pages"))

    return tell
