"""A file is read piece by piece, to its digest."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from monograph.errors import InputError, ObjectDamaged
from monograph.shelf.versions.faults import told
from monograph.shelf.versions.names import ObjectName, digest_in

PIECE = 8 << 20
"""Bytes read, sent and fetched at a time: by one request, which may take 30 seconds; S3 takes 10,000."""


@dataclass(frozen=True, slots=True)
class Named:
    """A closed file, and what its bytes are called."""

    path: Path
    name: ObjectName


def name_of(path: Path) -> ObjectName:
    """What a file's bytes are called.

    Raises
    ------
    InputError
        If it cannot be read, or is open: what was written last stands beside it then.
    """
    require_closed(path)
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            return ObjectName(digest, file.tell())
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}", "give a file that is there") from error


def require_closed(path: Path) -> None:
    """Raise InputError where what was written to a file last stands beside it."""
    beside = Path(f"{path}-wal")
    if beside.exists() and beside.stat().st_size:
        raise InputError(f"{path} is still open, or was not closed: {beside.name} stands beside it", "close it first")


def pieces(source: Path, name: str) -> Iterator[bytes]:
    """Every byte of a file, which must be what a name says where that is a digest.

    Raises
    ------
    ObjectDamaged
        After the last piece, if the bytes have another digest.
    """
    digest = hashlib.sha256()
    with told(source), source.open("rb") as file:
        while piece := file.read(PIECE):
            digest.update(piece)
            yield piece
    said = digest_in(name)
    if said and digest.hexdigest() != said:
        raise ObjectDamaged(f"{source} changed while it was read as {name}", "close it, then publish again")


def verify(path: Path, name: ObjectName, told_of: str) -> None:
    """Refuse a file that is not what a name says.

    Parameters
    ----------
    path:
        The file.
    name:
        What it must be.
    told_of:
        Whose object it is, for the error.

    Raises
    ------
    ObjectDamaged
        If it has other bytes.
    """
    mend = "try again; if it stays so, publish its shard again from the files that it was made of"
    with told(path):
        size = path.stat().st_size
        if size != name.bytes:
            raise ObjectDamaged(f"{name.name} of {told_of} has {size:,} bytes, not {name.bytes:,}", mend)
        with path.open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != name.digest:
                raise ObjectDamaged(f"{name.name} of {told_of} is not what its name says: its digest is another", mend)
