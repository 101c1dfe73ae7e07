"""Uploads: a file is received in pieces and saved in a synced folder."""

from __future__ import annotations

import errno
import os
import secrets
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

from monograph.errors import InputError, NameTaken, SourceTooLarge, SourceUnreadable, StorageFull
from monograph.read.file import path_outside
from monograph.read.paths import path_to_text, text_to_path
from monograph.sync.ignore import rules_below
from monograph.values import Root, arguments

LONGEST_NAME = 200
"""Largest length of a file's name, in bytes."""

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class IncomingFile:
    """A file that is being received. Until it is complete, it has a temporary name, and a sync ignores it.

    Use it in a ``with`` statement. The file is deleted at the end of the statement, unless :meth:`keep` was called.

    Parameters
    ----------
    root:
        The synced folder.
    name:
        The file's name, not a path.
    folder:
        Path of an existing folder, relative to the root, such as ``letters/1963``. Empty for the root itself.
    max_bytes:
        Largest size of the file, in bytes.

    Raises
    ------
    InputError
        If the name or the folder is invalid, or a sync would ignore the file.
    NameTaken
        If a file of that name exists.
    SourceUnreadable
        If the folder cannot be written.
    """

    def __init__(self, root: Root, name: str, folder: str, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._root = root
        directory = _resolve_folder(root, folder)
        arguments.text(name, "the name")
        if (
            not name
            or name in (".", "..")
            or any(character in "/\\" or not character.isprintable() for character in name)
        ):
            raise InputError(f"the name is {arguments.shown(name)}", "give a file's name, without a path")
        if len(name.encode()) > LONGEST_NAME:
            raise InputError(f"the name has {len(name.encode())} bytes", f"give at most {LONGEST_NAME}")
        self.path = directory / name
        self.size = 0
        if rules_below(text_to_path(root.place), self.path) is None:
            raise InputError(f"a sync ignores a file named {name!r} there", "give it another name")
        if os.path.lexists(self.path):
            raise _make_name_error(name)
        self._part = directory / f".{secrets.token_hex(8)}.part"
        try:
            self._file: BinaryIO = self._part.open("xb")
        except OSError as error:
            raise SourceUnreadable(
                f"{directory} cannot be written: {error.strerror}", "check its permissions"
            ) from error

    @property
    def uri(self) -> str:
        """The uri that the file will have after the next sync."""
        return self._root.uri(path_to_text(self.path))

    def __enter__(self) -> IncomingFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()
        self._part.unlink(missing_ok=True)

    def write(self, data: bytes) -> None:
        """Append bytes to the file.

        Raises
        ------
        SourceTooLarge
            If the file would have more than ``max_bytes``.
        StorageFull
            If the disk is full.
        SourceUnreadable
            If the bytes cannot be written for another reason.
        """
        self.size += len(data)
        if self.size > self._max_bytes:
            raise SourceTooLarge(f"it has more than {self._max_bytes:,} bytes", "copy it into the folder by hand")
        try:
            self._file.write(data)
        except OSError as error:
            raise _make_write_error(self.path, error) from error

    def keep(self) -> Path:
        """Rename the complete file from its temporary name to its own name, and return its path.

        Raises
        ------
        NameTaken
            If a file of that name was created meanwhile.
        StorageFull
            If the disk is full.
        SourceUnreadable
            If the file cannot be written for another reason.
        """
        try:
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
            # An empty file reserves the name first; that fails if the name exists.
            self.path.open("xb").close()
            self._part.replace(self.path)
        except FileExistsError:
            raise _make_name_error(self.path.name) from None
        except OSError as error:
            raise _make_write_error(self.path, error) from error
        return self.path


def _make_name_error(name: str) -> NameTaken:
    return NameTaken(f"a file named {name!r} exists already", "give it another name")


def _make_write_error(path: Path, error: OSError) -> Exception:
    if error.errno in _FULL:
        return StorageFull(f"there is no room for {path}: {error.strerror}", "free some space, then send it again")
    return SourceUnreadable(f"{path} cannot be written: {error.strerror}", "check the permissions of its folder")


def _resolve_folder(root: Root, below: str) -> Path:
    """Return a folder's path. ``below`` is relative to the root. Raises InputError if the folder is invalid."""
    root_path = text_to_path(root.place)
    parts = arguments.text(below, "the folder").split("/") if below else []
    if any(not part or part in (".", "..") or "\0" in part or "\\" in part for part in parts):
        raise InputError(f"the folder is {arguments.shown(below)}", f"give one below {root.name}: letters/1963")
    path = root_path.joinpath(*parts)
    if not path.is_dir():
        raise InputError(f"{path_to_text(path)} is not a folder", "create it, or choose another")
    if not root.follow_links and path_outside(str(path), os.path.realpath(root_path)) is not None:
        raise InputError(f"{path_to_text(path)} leads out of {root.name}", "choose a folder inside it")
    return path
