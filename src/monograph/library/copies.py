"""Checks of a file, and checked copies: a backup, and a closed file encrypted or decrypted in its place."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path

from monograph.errors import BusyFile, DamagedFile, InputError, WrongKey
from monograph.library.opened import OpenOptions, WholeFile
from monograph.store.check import rules, structure, words
from monograph.store.file import encryption, replacing
from monograph.store.file.database import is_open, open_connection
from monograph.store.file.encryption import RawKey
from monograph.store.file.errors import translate_errors, translate_system_errors
from monograph.store.file.on_disk import require_monograph, state_of
from monograph.values import Finding, OnProgress, Progress, arguments
from monograph.write import check, configuration, forget

PAGES_AT_ONCE = 256


def findings(file: WholeFile, *, repair: bool) -> list[Finding]:
    """See :meth:`monograph.Monograph.check`."""
    if repair:
        with file.database.write() as connection:
            rules.repair(rules.Checked(connection), structure.STRUCTURE)
        file.settings, _ = configuration.load_settings(file.database)
        configuration.adopt_embedder(file.database, file.models.embedder)
        configuration.EXTRACTOR.check(file.database, file.models.extractor)
        check.repair(file.pipeline())
        forget.end(file.database, file.indexes)
    with file.database.read() as connection:
        found = list(check.findings(connection, file.indexes, file.settings))
    if not file.database.read_only and all(one.table != "file" for one in found):
        with file.database.write() as connection:
            fault = words.own_fault(connection)
        found.extend([] if fault is None or fault.table in {one.table for one in found} else [fault])
    return found


def require_whole(path: Path, key: RawKey | None, original: Path, then: str) -> None:
    """Check a copy of a file that is about to get its name; what is still to be forgotten there is forgotten in it.

    Raises
    ------
    DamagedFile
        If it has a fault; ``then`` says what to do once the original is mended.
    """
    copy = WholeFile.open(OpenOptions(path, create=False, key=key))
    try:
        forget.end(copy.database, copy.indexes)
        found = findings(copy, repair=False)
    finally:
        copy.close()
    if found:
        said = found[0].fault + (f", and {len(found) - 1} more" if len(found) > 1 else "")
        raise DamagedFile(
            f"a copy of {original} has faults: {said}", f"monograph check {original} --repair, then {then}"
        )


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
    original = file.database.path
    taken = InputError(f"{path} is there already", "give another name, or say that it may go: --overwrite")
    if os.path.isdir(path):  # noqa: PTH112 - it never raises
        raise InputError(f"{path} is a folder", f"name a file, such as {path / original.name}")
    if state_of(path) is not None:
        if path.samefile(original):
            raise InputError(f"{path} is the file itself", "give the copy another name")
        if not overwrite:
            raise taken
    replacing.refuse_log(path)

    def on_pages(done: int, total: int) -> None:
        if progress is not None:
            progress(Progress("backup", done, total, "pages"))

    with translate_system_errors(path), replacing.temporary_name(path) as made:
        replacing.create_like(original, made)
        # In one transaction: what others commit meanwhile is not seen, and does not begin the copy anew.
        with file.database.read() as source:
            (pages,) = source.execute("PRAGMA page_count").fetchone()
            on_pages(0, pages)
            with translate_errors(made), closing(open_connection(made, file.database.raw_key)) as copied:
                copied.execute("PRAGMA journal_mode = OFF")  # A half copy is thrown away.
                source.backup(
                    copied, pages=PAGES_AT_ONCE, progress=lambda _, left, total: on_pages(total - left, total)
                )
        require_whole(made, file.database.raw_key, original, "back up again")
        if not replacing.put(made, path, overwrite=overwrite):
            raise taken
    return path


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
    """Return the file that a path leads to. Raises FileError if it is none of ours, open, or encrypted already."""
    file = _closed(path)
    if encryption.may_be_encrypted(file):
        raise WrongKey(f"{file} is encrypted already, or no Monograph file", f"monograph decrypt {file}")
    require_monograph(file)
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
    with translate_system_errors(path), replacing.temporary_name(path) as made:
        replacing.create_like(path, made)
        with encryption.converted(path, key, made, new_key) as remove_log:
            require_whole(made, new_key, path, what)
            remove_log()
            replacing.put(made, path, overwrite=True)
