"""What a file says of itself at its beginning."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

from monograph.errors import DamagedFile, NewerFormat, NotAMonograph
from monograph.store.file import encryption, schema


@dataclass(frozen=True, slots=True)
class Header:
    """What the first 100 bytes of a file say (https://www.sqlite.org/fileformat.html#the_database_header)."""

    application_id: int
    format: int
    page_size: int
    pages: int


def read_header(path: Path) -> Header:
    """Look at a file without opening it as a database, so that nothing of it is touched.

    Raises
    ------
    NotAMonograph
        If it is not an SQLite file, or one of another application.
    NewerFormat
        If a later version of Monograph wrote it.
    DamagedFile
        If it is shorter than its own header says.
    """
    try:
        with path.open("rb") as file:
            head = file.read(100)
    except OSError as error:
        raise NotAMonograph(f"{path} cannot be read: {error.strerror}", "check the path and its permissions") from error
    if not head.startswith(encryption.MAGIC[: len(head)]):
        raise encryption.locked(path)
    if len(head) < 100:
        raise DamagedFile(f"{path} is cut off after {len(head)} bytes", "restore it from a copy, or sync a new file")
    (page_size,) = struct.unpack(">H", head[16:18])
    changes, pages = struct.unpack(">II", head[24:32])
    (format_number,) = struct.unpack(">I", head[60:64])
    (application_id,) = struct.unpack(">I", head[68:72])
    (valid_for,) = struct.unpack(">I", head[92:96])
    header = Header(application_id, format_number, 65_536 if page_size == 1 else page_size, pages)
    check_header(path, header)
    if changes == valid_for:
        check_length(path, header.pages, header.page_size)
    return header


def check_header(path: Path, header: Header) -> None:
    """Raise NotAMonograph, NewerFormat or DamagedFile unless a file is a monograph of a format that is known here."""
    if header.application_id != schema.APPLICATION_ID:
        raise NotAMonograph(f"{path} is an SQLite file of another application", "give another name, or a .mono file")
    if header.format > schema.newest_format():
        raise NewerFormat(
            f"{path} has format {header.format}; this version of Monograph reads up to {schema.newest_format()}",
            "pip install --upgrade monograph",
        )
    if header.format < 1:
        raise DamagedFile(f"{path} has format 0, which no version of Monograph writes", "restore it from a copy")


def check_length(path: Path, pages: int, page_size: int) -> None:
    """Raise DamagedFile if a file is shorter than so many pages, and its write-ahead log cannot hold the others."""
    try:
        log = path.with_name(path.name + "-wal").stat().st_size
    except OSError:
        log = 0
    size, expected = path.stat().st_size, pages * page_size
    if expected - size > log:
        raise DamagedFile(
            f"{path} is truncated: {size:,} of {expected:,} bytes are there",
            "restore it from a copy, or sync its folders into a new file",
        )
