"""Files on disk as documents: what every reader shares."""

from __future__ import annotations

import hashlib
import importlib
import os
import stat
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from monograph.errors import (
    MonographError,
    SourceChanging,
    SourceDamaged,
    SourceError,
    SourceMissing,
    SourceTooLarge,
    SourceTooSlow,
    SourceUnreadable,
    UnknownFormat,
)
from monograph.read.detect import HEAD_BYTES, Format, detect
from monograph.read.kept import Picture
from monograph.read.limits import DEFAULT_LIMITS, Limits
from monograph.read.paths import path_to_text, text_to_path
from monograph.read.source import Address, Clock, Items, Opened, Reader
from monograph.values import Document, Problem, Root

PART_CHARACTERS = 250_000
"""A part of a file ends at this many characters: memory stays bounded."""

PART_BYTES = 16_000_000
"""And at so many bytes of pictures, once the document is there that has their marks."""

_READERS: dict[Format, tuple[str, str]] = {
    "text": ("text", "read_text"), "markdown": ("text", "read_markdown"), "jsonl": ("text", "read_rows"),
    "json": ("records", "read_json"), "yaml": ("records", "read_yaml"), "table": ("table", "read_table"),
    "code": ("code", "read_code"), "html": ("web", "read_html"), "email": ("mail", "read_email"),
    "msg": ("mail", "read_msg"), "rtf": ("word", "read_rtf"), "pdf": ("pdf", "read_pdf"),
    "image": ("image", "read_image"), "docx": ("word", "read_docx"), "pptx": ("slides", "read_pptx"),
    "xlsx": ("sheets", "read_xlsx"), "xls": ("sheets", "read_others"), "ods": ("sheets", "read_others"),
    "odt": ("opendocument", "read_odt"), "odp": ("opendocument", "read_odp"), "epub": ("epub", "read_epub"),
    "archive": ("archive", "read_archive"),
}  # fmt: skip

HARMLESS: frozenset[Format] = frozenset({"text", "markdown", "jsonl"})
"""Formats whose readers neither hang nor crash, and need not be watched."""

_TRIES = 3


@dataclass(frozen=True, slots=True)
class Part:
    """Some of what one file held when it was read; a large file comes in several parts.

    ``size`` in bytes, ``modified_ns`` in nanoseconds since 1970; ``last`` marks the last part, and ``error`` says why
    the rest cannot be read. ``pictures`` are those whose marks stand in the documents, to be described.
    """

    sha256: bytes
    size: int
    modified_ns: int
    documents: tuple[Document, ...]
    problems: tuple[Problem, ...]
    last: bool
    error: SourceError | None = None
    pictures: tuple[Picture, ...] = ()

    @staticmethod
    def failed(error: SourceError) -> Part:
        """Return the part of a file that cannot be read."""
        return Part(b"", 0, 0, (), (), last=True, error=error)


def sha256_of(path: Path) -> bytes | None:
    """Hash of a file's bytes, or None when it cannot be read: reading it later says why."""
    try:
        with open(path, "rb", opener=_opener) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return None
            return hashlib.file_digest(file, "sha256").digest()
    except OSError:
        return None


def read_file(path: Path, root: Root, limits: Limits = DEFAULT_LIMITS, *, describing: bool = False) -> Iterator[Part]:
    """Read a file, in parts of about PART_CHARACTERS.

    Parameters
    ----------
    path:
        An absolute path.
    root:
        What it was found under; documents carry their path relative to it.
    limits:
        What is above them is refused.
    describing:
        Whether pictures are handed over to be described, instead of words being recognised in them.

    Raises
    ------
    SourceError
        If nothing of it can be read, saying why. What fails after a part was read is in the last part.
    """
    data, state = whole(path, root, limits.max_bytes)
    uri = root.uri(path_to_text(path))
    below = uri[len(root.name) + 1 :] or path_to_text(path.name)
    address = Address(uri, below)
    clock = Clock(limits.max_seconds)
    opened = Opened(data, address, limits, clock, describing=describing)
    of_file = hashlib.sha256(data).digest(), state.st_size, state.st_mtime_ns
    documents: list[Document] = []
    problems: list[Problem] = []
    pictures: list[Picture] = []
    error = None
    started = False
    try:
        for item in read(opened):
            if isinstance(item, Problem):
                problems.append(item)
                continue
            if isinstance(item, Picture):
                pictures.append(item)
                continue
            documents.append(item)
            characters = sum(len(document.text) for document in documents)
            if characters >= PART_CHARACTERS or sum(len(one.data) for one in pictures) >= PART_BYTES:
                with clock.stopped():
                    found = tuple(documents), tuple(problems)
                    yield Part(*of_file, *found, last=False, pictures=tuple(pictures))
                documents, problems, pictures, started = [], [], [], True
    except SourceError as failure:
        if not (started or documents):
            raise
        error = failure
    yield Part(*of_file, tuple(documents), tuple(problems), last=True, error=error, pictures=tuple(pictures))


@dataclass(frozen=True, slots=True)
class ReadTask:
    """A file to be read: see :func:`read_file`."""

    path: Path
    root: Root
    limits: Limits
    describing: bool = False

    def parts(self) -> Iterator[Part]:
        """Read the file, and yield its parts."""
        return read_file(self.path, self.root, self.limits, describing=self.describing)

    def parts_or_error(self) -> Iterator[Part]:
        """Read it here; if it cannot be read, it has one part, with the error."""
        try:
            yield from self.parts()
        except SourceError as error:
            yield Part.failed(error)
        except MemoryError:
            yield Part.failed(SourceTooSlow("reading it took more memory than there is", "divide it"))


def read(opened: Opened) -> Items:
    """Read bytes of any format.

    Raises
    ------
    SourceError
        If nothing of them can be read. Whatever a parser raises over broken bytes becomes SourceDamaged.
    """
    form = detect(opened.data[:HEAD_BYTES], opened.address.path)
    try:
        if form in ("zip", "ole"):
            from monograph.read import package

            form = package.look_inside(opened, form)
        # The reader of a format; its module is imported now.
        module, name = _READERS[form]
        yield from cast(Reader, getattr(importlib.import_module(f"monograph.read.{module}"), name))(opened)
    except (MonographError, MemoryError):
        raise
    except RecursionError as error:
        raise SourceDamaged("it is nested too deeply", "save it anew") from error
    except Exception as error:
        said = " ".join(str(error).split())[:200]
        raise SourceDamaged(
            f"it cannot be read as {form}: {type(error).__name__}{': ' if said else ''}{said}", "save it anew"
        ) from error


def whole(path: Path, root: Root, max_bytes: int) -> tuple[bytes, os.stat_result]:
    """All bytes of a file that lies under a root, and its state. Raises SourceError as :func:`read_file`."""
    for _ in range(_TRIES):
        data, state = _bytes(path, root, max_bytes)
        if data is not None:
            return data, state
    raise SourceChanging(f"it changed each of the {_TRIES} times it was read", "sync again when it is at rest")


def open_under(path: Path, root: Root) -> BinaryIO:
    """A file that lies under a root, open for reading.

    Raises
    ------
    SourceError
        If it is not there, is no file, or a link leads out of the root.
    """
    try:
        file = open(path, "rb", opener=_opener)  # noqa: SIM115 - the caller's to close
    except FileNotFoundError as error:
        raise SourceMissing("it is not there any more", "sync again") from error
    except OSError as error:
        raise SourceUnreadable(f"cannot be read: {error.strerror}", "check its permissions") from error
    try:
        _refuse(os.fstat(file.fileno()), sys.maxsize)
        if not _is_inside(path, root, file.fileno()):
            raise SourceChanging("it was replaced while it was opened", "try again")
    except BaseException:
        file.close()
        raise
    return file


def small_text(path: Path, most: int) -> str:
    """The text of a small file, whatever is no UTF-8 replaced.

    Raises
    ------
    SourceError
        If it is no file, cannot be read, or has more bytes.
    """
    try:
        with open(path, "rb", opener=_opener) as file:
            _refuse(os.fstat(file.fileno()), most)
            return file.read(most).decode("utf-8", errors="replace")
    except OSError as error:
        raise SourceUnreadable(f"cannot be read: {error.strerror}", "check its permissions") from error


def is_harmless(path: Path) -> bool:
    """Whether a file may be read in this process: a text, or nothing that can be read at all."""
    try:
        with open(path, "rb", opener=_opener) as file:
            return detect(file.read(HEAD_BYTES), path.name) in HARMLESS
    except (OSError, UnknownFormat):
        return True  # Reading it says why not.


def _opener(path: str, flags: int) -> int:
    # Opening a pipe without O_NONBLOCK would wait for someone to write into it.
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _bytes(path: Path, root: Root, max_bytes: int) -> tuple[bytes | None, os.stat_result]:
    """A file's bytes and state; no bytes when it changed meanwhile."""
    try:
        with open(path, "rb", opener=_opener) as file:
            before = os.fstat(file.fileno())
            _refuse(before, max_bytes)
            if not _is_inside(path, root, file.fileno()):
                return None, before
            data = file.read(before.st_size + 1)
            after = path.stat()
    except SourceError:
        raise
    except FileNotFoundError as error:
        raise SourceMissing("it vanished before it was read", "sync again") from error
    except OSError as error:
        raise SourceUnreadable(f"cannot be read: {error.strerror}", "check its permissions") from error
    unchanged = (before.st_ino, before.st_size, before.st_mtime_ns) == (after.st_ino, after.st_size, after.st_mtime_ns)
    return (data if unchanged and len(data) == before.st_size else None), after


def leads_out(path: str, home: str) -> str | None:
    """Return the real path if it leads out of a folder without links; both as the system has them."""
    return _outside(os.path.realpath(path), home)


def _outside(real: str, home: str) -> str | None:
    return None if real == home or real.startswith(home.rstrip("/") + "/") else real


def _is_inside(path: Path, root: Root, opened: int) -> bool:
    """Whether an open file lies in its root; SourceUnreadable where a link led out. False where nobody can tell."""
    place = text_to_path(root.place)
    if root.follow_links or path == place:
        return True
    try:
        # What was opened, whatever the path leads to by now.
        real = str(Path(f"/proc/self/fd/{opened}").readlink())
    except OSError:
        real = os.path.realpath(path)
    out = _outside(real, os.path.realpath(place))
    if out is not None:
        raise SourceUnreadable(f"a link leads out of the folder, to {path_to_text(out)}", "--follow-links")
    try:
        return os.path.samestat(os.lstat(real), os.fstat(opened))
    except OSError:
        return False


def _refuse(state: os.stat_result, max_bytes: int) -> None:
    if not stat.S_ISREG(state.st_mode):
        raise SourceUnreadable("it is a pipe, a socket or a device, not a file")
    if state.st_size > max_bytes:
        raise SourceTooLarge(
            f"it has {state.st_size:,} bytes, more than the limit of {max_bytes:,}", f"--max-bytes {state.st_size}"
        )
