"""Checks of a file, and checked copies: a backup, and encryption or decryption of a closed file."""

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
    """Check a file and return its faults: see :meth:`monograph.Monograph.check`.

    If ``repair`` is True, faults are repaired first, and only the faults that remain are returned.
    """
    if repair:
        with file.database.write() as connection:
            rules.repair(rules.CheckedRows(connection), structure.STRUCTURE)
        file.settings, _ = configuration.load_settings(file.database)
        configuration.adopt_embedder(file.database, file.models.embedder)
        configuration.EXTRACTOR.check(file.database, file.models.extractor)
        check.repair(file.pipeline())
        forget.erase_pending(file.database, file.indexes)
    with file.database.read() as connection:
        faults = list(check.findings(connection, file.indexes, file.settings))
    if not file.database.read_only and all(finding.table != "file" for finding in faults):
        with file.database.write() as connection:
            fault = words.fts5_fault(connection)
        faults.extend([] if fault is None or fault.table in {finding.table for finding in faults} else [fault])
    return faults


def require_whole(path: Path, key: RawKey | None, original: Path, then: str) -> None:
    """Raise DamagedFile if a copy of a file has a fault. Removed text in the bytes of the copy is erased first.

    ``path`` is the copy, which still has a temporary name, and ``key`` is the key of the copy. ``original`` is the file
    that was copied. ``then`` is the end of the hint: what to do after repairing the original.
    """
    copy = WholeFile.open(OpenOptions(path, create=False, key=key))
    try:
        forget.erase_pending(copy.database, copy.indexes)
        faults = findings(copy, repair=False)
    finally:
        copy.close()
    if faults:
        message = faults[0].fault + (f", and {len(faults) - 1} more" if len(faults) > 1 else "")
        raise DamagedFile(
            f"a copy of {original} has faults: {message}", f"monograph check {original} --repair, then {then}"
        )


def backup(file: WholeFile, path: Path, *, overwrite: bool, progress: OnProgress | None) -> Path:
    """Copy a file to ``path``, in the state that was committed when the backup began, and return the path.

    ``progress`` is called at the start and after every PAGES_AT_ONCE pages of the database. If it raises, no copy is
    left. Other parameters and errors are as for :meth:`monograph.Monograph.backup`.
    """
    original = file.database.path
    already_exists = InputError(f"{path} exists already", "give another name, or replace it with --overwrite")
    if os.path.isdir(path):  # noqa: PTH112 - it never raises
        raise InputError(f"{path} is a folder", f"name a file, such as {path / original.name}")
    if state_of(path) is not None:
        if path.samefile(original):
            raise InputError(f"{path} is the file itself", "give the copy another name")
        if not overwrite:
            raise already_exists
    replacing.refuse_log(path)

    def on_pages(done: int, total: int) -> None:
        if progress is not None:
            progress(Progress("backup", done, total, "pages"))

    with translate_system_errors(path), replacing.temporary_name(path) as temporary:
        replacing.create_like(original, temporary)
        # Within one read transaction, commits of other processes are not copied and do not restart the copy.
        with file.database.read() as source:
            (pages,) = source.execute("PRAGMA page_count").fetchone()
            on_pages(0, pages)
            with translate_errors(temporary), closing(open_connection(temporary, file.database.raw_key)) as target:
                target.execute("PRAGMA journal_mode = OFF")  # An incomplete copy is deleted, so it needs no journal.
                source.backup(
                    target, pages=PAGES_AT_ONCE, progress=lambda _, remaining, total: on_pages(total - remaining, total)
                )
        require_whole(temporary, file.database.raw_key, original, "back up again")
        if not replacing.put(temporary, path, overwrite=overwrite):
            raise already_exists
    return path


def encrypt(path: str | os.PathLike[str], key: str) -> None:
    """Replace a file by its encrypted form (extra ``encrypt``). The file must not be open in any process.

    If the process is killed, the file is either unchanged or encrypted. Unencrypted bytes of the old file may remain on
    the disk, and existing copies and backups stay unencrypted. Raises WrongKey if the file is encrypted already,
    BusyFile if it is open, and DamagedFile if it has a fault.
    """
    file = require_plain(path)
    _convert(file, None, encryption.derive(key, os.urandom(16)), "encrypt it")


def decrypt(path: str | os.PathLike[str], key: str) -> None:
    """Replace an encrypted file by its decrypted form. The file must not be open in any process.

    Raises WrongKey if the key is wrong or the file is not encrypted, BusyFile if the file is open, and DamagedFile if
    the file has a fault.
    """
    file = _resolve_closed(path)
    _convert(file, encryption.unlock(file, key, encryption.salt_of(file)), None, "decrypt it")


def require_plain(path: str | os.PathLike[str]) -> Path:
    """Check that a path leads to a closed, unencrypted Monograph file, and return the path with links resolved.

    Raises FileError if the path leads to no Monograph file, or to one that is encrypted or open in this program.
    """
    file = _resolve_closed(path)
    if encryption.may_be_encrypted(file):
        raise WrongKey(f"{file} is encrypted already, or is not a Monograph file", f"monograph decrypt {file}")
    require_monograph(file)
    return file


def _resolve_closed(path: str | os.PathLike[str]) -> Path:
    unresolved = arguments.path(path, "the file")
    state_of(unresolved)
    file = unresolved.resolve()  # If the path is a link, its target is rewritten.
    if is_open(file):
        # Reading its bytes would drop this process's locks on it, and SQLite and SQLCipher do not see each other's.
        raise BusyFile(f"{file} is open in this program", "close it, then try again")
    return file


def _convert(path: Path, key: RawKey | None, new_key: RawKey | None, what: str) -> None:
    with translate_system_errors(path), replacing.temporary_name(path) as temporary:
        replacing.create_like(path, temporary)
        with encryption.convert_key(path, key, temporary, new_key) as remove_log:
            require_whole(temporary, new_key, path, what)
            remove_log()
            replacing.put(temporary, path, overwrite=True)
