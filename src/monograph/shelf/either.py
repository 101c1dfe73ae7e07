"""A file or a shelf, whichever was given: what needs no shelf to be loaded."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from monograph.errors import NotOnShelf
from monograph.library.monograph import Monograph
from monograph.shelf.manifest import VERSIONS

if TYPE_CHECKING:
    from monograph.shelf.shelf import Archive


def is_shelf(address: str | os.PathLike[str]) -> bool:
    """Whether an address is that of a shelf: one with ``://`` in it, or a folder that holds versions."""
    text = os.fspath(address)
    # Of a path that the system does not take, Path.is_dir raises.
    return "://" in text or os.path.isdir(os.path.join(text, VERSIONS))  # noqa: PTH112, PTH118


def place_of(archive: Archive) -> str:
    """Where it is: a file's path, a shelf's address."""
    return str(archive.path) if isinstance(archive, Monograph) else archive.url


def only_file(archive: Archive, what: str) -> Monograph:
    """The file that an archive is.

    Raises
    ------
    NotOnShelf
        If it is a shelf, which has no such thing.
    """
    if isinstance(archive, Monograph):
        return archive
    raise NotOnShelf(f"{archive.url} is a shelf, which has no {what}", "give a .mono file, which has it")
