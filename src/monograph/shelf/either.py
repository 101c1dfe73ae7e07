"""Checks of whether an archive is a file, a view or a shelf, without importing ``monograph.shelf.shelf``."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from monograph.errors import NotOnShelf, OutsideView
from monograph.library import Monograph, Reader, View
from monograph.shelf.manifest import VERSIONS

if TYPE_CHECKING:
    from monograph.shelf.shelf import Archive


def is_shelf(address: str | os.PathLike[str]) -> bool:
    """Return whether an address is the address of a shelf.

    An address is that of a shelf if it contains ``://``, or is the path of a folder with a subfolder ``versions``.
    """
    text = os.fspath(address)
    # Path.is_dir raises for a path that is invalid on this system; os.path.isdir returns False.
    return "://" in text or os.path.isdir(os.path.join(text, VERSIONS))  # noqa: PTH112, PTH118


def place_of(archive: Archive) -> str:
    """Return the path of a file (also for a view or a snapshot of it), or the address of a shelf."""
    return str(archive.path) if isinstance(archive, Reader) else archive.url


def only_file(archive: Archive, what: str) -> Reader:
    """Return the archive if it is a file, a view or a snapshot.

    Raises NotOnShelf if it is a shelf. ``what`` names the feature that a shelf lacks, for the error message.
    """
    if isinstance(archive, Reader):
        return archive
    raise NotOnShelf(f"{archive.url} is a shelf, which has no {what}", "give a .mono file instead")


def whole_file(archive: Archive, what: str, call: str) -> Monograph:
    """Return the archive if it is a whole file.

    Raises
    ------
    NotOnShelf
        If it is a shelf. ``what`` names the feature that a shelf lacks, for the error message.
    OutsideView
        If it is a view or a snapshot. ``call`` names the method that only a whole file has, for the error message.
    """
    file = only_file(archive, what)
    if isinstance(file, Monograph):
        return file
    hint = f"leave out --within and --as-of; in Python: call {call} on the file itself"
    raise OutsideView(f"{_describe_part(file)} does not support {call}", hint)


def to_write(archive: Archive) -> Monograph | View:
    """Return the archive if it is a file or a view, to which documents can be added.

    Raises
    ------
    NotOnShelf
        If it is a shelf, which only ``monograph.shelf.build`` and ``remove`` change.
    OutsideView
        If it is a snapshot.
    """
    if isinstance(archive, Monograph | View):
        return archive
    if not isinstance(archive, Reader):
        hint = f"monograph shelf build {archive.url} SOURCE"
        raise NotOnShelf(f"{archive.url} is a shelf, which is read-only", hint)
    raise OutsideView(
        f"{_describe_part(archive)} is read-only", "leave out --as-of; in Python: write to the file itself"
    )


def _describe_part(file: Reader) -> str:
    return f"a {'view' if isinstance(file, View) else 'snapshot'} of {file.path}"
