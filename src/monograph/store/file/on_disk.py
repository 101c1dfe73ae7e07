"""Checks of a .mono file before it is opened: of its kind, its header, its length and its path."""

from __future__ import annotations

import errno
import os
import stat
import struct
from contextlib import suppress
from pathlib import Path

from monograph.errors import DamagedFile, NewerFormat, NotAMonograph
from monograph.store.file import encryption, schema

_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)
_HEADER = struct.Struct(">16x H 6x I I 28x I 4x I 20x I 4x")
"""Page size, change counter, number of pages, user_version, application_id, SQLite's version-valid-for number."""
_LONGEST_SUFFIX = "-journal"
"""The longest suffix that SQLite adds to the name of a database file."""

_PATH_LIMIT = 512 - len(_LONGEST_SUFFIX)
"""Maximum number of bytes of a file's path: SQLite's limit of 512 bytes, less the longest suffix."""

_TEMPORARY_NAME_BYTES = 80
"""Bytes reserved for the temporary name of a new file, which may be longer than the final name."""


def require_monograph(path: Path) -> None:
    """Raise an error unless a file is an unencrypted .mono file that can be opened.

    Only the first 100 bytes are read (https://www.sqlite.org/fileformat.html#the_database_header). The file is not
    opened as a database, so nothing in it changes.

    Raises NotAMonograph if the file cannot be read, is not an SQLite file, or belongs to another application;
    NewerFormat if a later version of Monograph wrote it. Raises DamagedFile if the file is shorter than 100 bytes, is
    shorter than its header says, or has a format below 1.
    """
    head = encryption.read_head(path, _HEADER.size)
    if not head.startswith(encryption.MAGIC[: len(head)]):
        raise encryption.locked(path)
    if len(head) < _HEADER.size:
        raise encryption.truncated(path, len(head))
    page_size, changes, pages, format_number, application_id, valid_for = _HEADER.unpack(head)
    check_header(path, application_id, format_number)
    if changes == valid_for:
        check_length(path, pages, 65_536 if page_size == 1 else page_size)


def check_header(path: Path, application_id: int, format_number: int) -> None:
    """Raise an error unless the header of an SQLite file is that of a .mono file in a supported format.

    ``application_id`` and ``format_number`` (``user_version``) are fields of the header. Raises NotAMonograph if the
    file belongs to another application. Raises NewerFormat if the format is above ``schema.FORMAT``. Raises DamagedFile
    if the format is below 1.
    """
    if application_id != schema.APPLICATION_ID:
        raise NotAMonograph(f"{path} is an SQLite file of another application", "give another name, or a .mono file")
    if format_number > schema.FORMAT:
        raise NewerFormat(
            f"{path} has format {format_number}; this version of Monograph reads up to {schema.FORMAT}",
            "pip install --upgrade monograph",
        )
    if format_number < 1:
        raise DamagedFile(f"{path} has format 0, which no version of Monograph writes", "restore it from a copy")


def check_length(path: Path, pages: int, page_size: int) -> None:
    """Raise DamagedFile if a file is too short for the number of pages that it should have.

    ``pages`` is this number, and ``page_size`` the number of bytes of a page. The write-ahead log may contain pages
    that the file does not have yet. So an error is raised only if the file lacks more bytes than the log has.
    """
    log = 0
    with suppress(OSError):
        log = path.with_name(path.name + "-wal").stat().st_size
    size, expected = path.stat().st_size, pages * page_size
    if expected - size > log:
        raise DamagedFile(
            f"{path} is truncated: {size:,} of {expected:,} bytes are there",
            "restore it from a copy, or sync its folders into a new file",
        )


def state_of(path: Path) -> os.stat_result | None:
    """Return the ``os.stat`` result of a file; None if the file does not exist.

    Raises NotAMonograph if it is no regular file (opening a pipe would block), if its state cannot be read, or if its
    name or path is too long for the files that SQLite creates in the same folder.
    """
    state = None
    try:
        state = path.stat()
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG):
            message = f"{path} cannot be accessed: {error.strerror}"
            raise NotAMonograph(message, "check the path and its permissions") from error
    name_limit = 255
    with suppress(OSError, ValueError, AttributeError):
        name_limit = os.pathconf(path.parent, "PC_NAME_MAX")
    name_bytes, path_bytes = len(os.fsencode(path.name)), len(os.path.abspath(os.fsencode(path)))  # noqa: PTH100 - of bytes
    if name_bytes + len(_LONGEST_SUFFIX) > name_limit:
        raise NotAMonograph(
            f"{path}: its name has {name_bytes} bytes, too many for the files that SQLite creates next to it",
            f"give a name of at most {name_limit - len(_LONGEST_SUFFIX)} bytes",
        )
    if path_bytes + (max(0, _TEMPORARY_NAME_BYTES - name_bytes) if state is None else 0) > _PATH_LIMIT:
        raise NotAMonograph(
            f"{path}: its path has {path_bytes} bytes, more than SQLite accepts",
            f"put it into a folder whose path has at most {_PATH_LIMIT - _TEMPORARY_NAME_BYTES} bytes",
        )
    if state is not None and not stat.S_ISREG(state.st_mode):
        kind = next((name for test, name in _KINDS if test(state.st_mode)), "not a regular file")
        hint = f"name a file, such as {path / 'notes.mono'}" if kind == "a folder" else "name a file"
        raise NotAMonograph(f"{path} is {kind}", hint)
    return state
