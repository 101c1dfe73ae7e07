"""What the system refuses in our words: room on a disk, memory, a name, or to be a file at all."""

from __future__ import annotations

import errno
import os
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from monograph.errors import FileError, MonographError, NotAMonograph, OutOfMemory, StorageFull

_FULL = {
    errno.ENOSPC: "its disk is full",
    errno.EDQUOT: "the quota of its user is used up",
    errno.EFBIG: "a limit on the size of files is reached (ulimit -f)",
}
_PROBE = 1 << 20
"""Bytes: where so many can be written beside a file, it is not for want of room that it cannot be."""

_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)
_LONGEST = "-journal"
"""The longest that SQLite hangs onto a file's name."""

_MOST_BYTES_OF_A_PATH = 512 - len(_LONGEST)
"""SQLite itself takes none that is longer."""

_MADE_BYTES = 80
"""Of the name that a file has until it is whole."""


@contextmanager
def refusals(path: Path | str) -> Iterator[None]:
    """Turn what the system says where there is no room or no memory into errors of ours; all else passes."""
    try:
        yield
    except OutOfMemory:
        raise
    except MemoryError as error:
        raise out_of_memory(path) from error
    except OSError as error:
        translated = refusal_of(path, error)
        if translated is None:
            raise
        raise translated from error


def refusal_of(path: Path | str, error: OSError) -> MonographError | None:
    """What an error of the system means where there is no room or no memory; None for any other."""
    if error.errno in _FULL:
        return full(path if error.filename is None else os.fsdecode(error.filename), _FULL[error.errno])
    return out_of_memory(path) if error.errno == errno.ENOMEM else None


def full(path: Path | str, why: str) -> StorageFull:
    """The error where a file cannot grow."""
    return StorageFull(
        f"no room left for {path}: {why}; what was committed before is safe",
        "make room, then run the same command again",
    )


def out_of_memory(path: Path | str) -> OutOfMemory:
    """The error where what is asked needs more memory than there is."""
    return OutOfMemory(
        f"not enough memory for what was asked of {path}; what was committed before is safe",
        "close other programs, raise the limit on memory (ulimit -v), or ask for less at a time",
    )


def cannot_write(path: Path, text: str) -> FileError:
    """The error where SQLite could not write a file, and does not tell why."""
    why = why_full(path)
    if why is not None:
        return full(path, why)
    return FileError(
        f"the system failed to write {path}: {text}; what was committed before is safe",
        "check the disk and its mount, then run the same command again",
    )


def why_full(path: Path) -> str | None:
    """Why nothing more can be written beside a file, or None where it can."""
    if sys.platform != "win32":
        import resource

        most, _ = resource.getrlimit(resource.RLIMIT_FSIZE)
        sizes = (_size(path.with_name(path.name + suffix)) for suffix in ("", "-wal", "-shm", "-journal"))
        if most != resource.RLIM_INFINITY and max(sizes) + _PROBE > most:
            return _FULL[errno.EFBIG]
    try:
        with tempfile.TemporaryFile(dir=path.parent, buffering=0) as probe:
            left = _PROBE
            while left > 0:
                left -= probe.write(bytes(left))
            os.fsync(probe.fileno())
    except OSError as error:
        return _FULL.get(error.errno or 0)
    return None


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def state_of(path: Path) -> os.stat_result | None:
    """The state of a file, None where there is none.

    Raises
    ------
    NotAMonograph
        If it is no file, as a pipe is none that to open would wait for; if it may not be looked at; if its name or its
        path is too long for what stands beside it.
    """
    try:
        state = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        state = None
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:
            said = f"{path} cannot be looked at: {error.strerror}"
            raise NotAMonograph(said, "check the path and its permissions") from error
        state = None
    _refuse_long(path, new=state is None)
    if state is not None and not stat.S_ISREG(state.st_mode):
        kind = next((name for test, name in _KINDS if test(state.st_mode)), "no file")
        mend = f"name a file, such as {path / 'notes.mono'}" if kind == "a folder" else "name a file"
        raise NotAMonograph(f"{path} is {kind}", mend)
    return state


def _refuse_long(path: Path, *, new: bool) -> None:
    most = 255
    with suppress(OSError, ValueError, AttributeError):
        most = os.pathconf(path.parent, "PC_NAME_MAX")
    name, whole = len(os.fsencode(path.name)), len(os.path.abspath(os.fsencode(path)))  # noqa: PTH100 - of bytes
    if name + len(_LONGEST) > most:
        raise NotAMonograph(
            f"{path}: its name has {name} bytes, too many for the files beside it",
            f"give a name of at most {most - len(_LONGEST)}",
        )
    if whole + (max(0, _MADE_BYTES - name) if new else 0) > _MOST_BYTES_OF_A_PATH:
        raise NotAMonograph(
            f"{path}: its path has {whole} bytes, more than SQLite takes",
            f"put it into a folder whose path has at most {_MOST_BYTES_OF_A_PATH - _MADE_BYTES}",
        )
