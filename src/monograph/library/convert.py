"""Encrypting a file, and decrypting it: written anew beside it, checked, and put in its place."""

from __future__ import annotations

import os
from pathlib import Path

from monograph.errors import BusyFile, WrongKey
from monograph.library.checks import require_whole
from monograph.store.file import convert, encryption, replacing
from monograph.store.file.database import is_open
from monograph.store.file.encryption import RawKey
from monograph.store.file.header import read_header
from monograph.store.file.refusals import refusals, state_of
from monograph.values import arguments


def encrypt(path: str | os.PathLike[str], key: str) -> None:
    """Encrypt a file (extra ``encrypt``). No one may have it open.

    A kill leaves the file as it was, or encrypted. What the disk keeps of its former bytes, and copies and backups that
    were made of it, are beyond reach.

    Raises
    ------
    WrongKey
        If it is encrypted already.
    BusyFile
        If it is open.
    DamagedFile
        If it has a fault.
    """
    file = require_plain(path)
    _convert(file, None, encryption.derive(key, os.urandom(16)), "encrypt it")


def decrypt(path: str | os.PathLike[str], key: str) -> None:
    """Write an encrypted file as a plain one. No one may have it open.

    Raises
    ------
    WrongKey
        If the key is another, or it is not encrypted.
    BusyFile
        If it is open.
    DamagedFile
        If it has a fault.
    """
    file = _closed(path)
    _convert(file, encryption.unlock(file, key, encryption.salt_of(file)), None, "decrypt it")


def require_plain(path: str | os.PathLike[str]) -> Path:
    """The file that a path leads to. Raises FileError if it is none of ours, open, or encrypted already."""
    file = _closed(path)
    if encryption.may_be_encrypted(file):
        raise WrongKey(f"{file} is encrypted already, or no Monograph file", f"monograph decrypt {file}")
    read_header(file)
    return file


def _closed(path: str | os.PathLike[str]) -> Path:
    given = arguments.path(path, "the file")
    state_of(given)
    file = given.resolve()  # Where it is a link, what it leads to is written anew.
    if is_open(file):
        # To read its bytes would drop its locks; and two builds of SQLite know nothing of each other's.
        raise BusyFile(f"{file} is open in this program", "close it, then try again")
    return file


def _convert(path: Path, key: RawKey | None, new_key: RawKey | None, what: str) -> None:
    with refusals(path), replacing.beside(path) as made:
        replacing.same_eyes(path, made)
        with convert.converted(path, key, made, new_key) as remove_log:
            require_whole(made, new_key, path, what)
            remove_log()
            replacing.put(made, path, overwrite=True)
