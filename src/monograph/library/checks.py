"""Checks of an open file, and of a copy that is about to take a file's name."""

from __future__ import annotations

from pathlib import Path

from monograph.errors import DamagedFile
from monograph.library.file_models import OpenOptions
from monograph.library.opened import WholeFile
from monograph.store.check import rules, structure, words
from monograph.store.file.encryption import RawKey
from monograph.values import Finding
from monograph.write import check, configuration, forget


def findings(file: WholeFile, *, repair: bool) -> list[Finding]:
    """See :meth:`monograph.Monograph.check`."""
    if repair:
        with file.database.write() as connection:
            rules.mend(rules.Checked(connection), structure.STRUCTURE)
        file.settings = configuration.load_settings(file.database, None)
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
