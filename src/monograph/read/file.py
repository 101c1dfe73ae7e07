"""Reads files on disk: opens them within their root, checks limits, and calls the reader of their format."""

from __future__ import annotations

import hashlib
import importlib
import os
import stat
import sys
from collections.abc import Iterable, Iterator
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
from monograph.read.source import Address, Clock, Items, Reader, SourceFile
from monograph.values import Document, Problem, Root

PART_CHARACTERS = 250_000
"""A :class:`Part` ends once its documents have this many characters together, so that memory stays bounded."""

PART_BYTES = 16_000_000
"""A :class:`Part` also ends once its pictures have this many bytes together.

All pictures of a document are in the same part as the document.
"""

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
"""Formats whose readers cannot hang or crash, so that files are read without a child process."""

_TRIES = 3
_STATE = ("st_ino", "st_size", "st_mtime_ns")


@dataclass(frozen=True, slots=True)
class Part:
    """Part of the documents of one file. A large file is read in several parts.

    ``size`` (bytes), ``modified_ns`` (nanoseconds since 1970) and ``sha256`` describe the whole file. ``last`` is True
    for the last part. If the rest of the file cannot be read, ``error`` says why. ``pictures`` has pictures that a
    model will describe. In the text of a document, a mark (:class:`~monograph.read.kept.Picture`) shows the position of
    each picture.
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
        """Return an empty last part that contains only the error: the file, or the rest of the file, cannot be read."""
        return Part(b"", 0, 0, (), (), last=True, error=error)


def sha256_of(path: Path) -> bytes | None:
    """Return the SHA-256 of a file's bytes; None if the path cannot be opened or read, or is not a regular file."""
    try:
        with open(path, "rb", opener=_opener) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return None
            return hashlib.file_digest(file, "sha256").digest()
    except OSError:
        return None


def read_file(path: Path, root: Root, limits: Limits = DEFAULT_LIMITS, *, describing: bool = False) -> Iterator[Part]:
    """Yield the documents of a file, in parts of about PART_CHARACTERS.

    ``path`` is absolute, and in ``root``. The documents' metadata contain the path relative to ``root``. If
    ``describing`` is True, the parts contain the pictures for a model to describe. Otherwise the words in pictures are
    recognised.

    Raises
    ------
    SourceError
        If nothing of the file can be read. If reading fails after the first document, the error is the ``error`` of
        the last part.
    """
    data, state = whole(path, root, limits.max_bytes)
    uri = root.uri(path_to_text(path))
    below = uri[len(root.name) + 1 :] or path_to_text(path.name)
    address = Address(uri, below)
    clock = Clock(limits.max_seconds)
    opened = SourceFile(data, address, limits, clock, describing=describing)
    file_identity = hashlib.sha256(data).digest(), state.st_size, state.st_mtime_ns
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
            if characters >= PART_CHARACTERS or sum(len(picture.data) for picture in pictures) >= PART_BYTES:
                with clock.stopped():
                    content = tuple(documents), tuple(problems)
                    yield Part(*file_identity, *content, last=False, pictures=tuple(pictures))
                documents, problems, pictures, started = [], [], [], True
    except SourceError as failure:
        if not (started or documents):
            raise
        error = failure
    yield Part(*file_identity, tuple(documents), tuple(problems), last=True, error=error, pictures=tuple(pictures))


@dataclass(frozen=True, slots=True)
class ReadTask:
    """Task of reading a file: see :func:`read_file`."""

    path: Path
    root: Root
    limits: Limits
    describing: bool = False

    def parts(self) -> Iterator[Part]:
        """Yield the parts of the file."""
        return read_file(self.path, self.root, self.limits, describing=self.describing)


def parts_or_error(parts: Iterable[Part]) -> Iterator[Part]:
    """Yield the parts of a file. If reading fails or needs too much memory, yield one more part, with the error."""
    try:
        yield from parts
    except SourceError as error:
        yield Part.failed(error)
    except MemoryError:
        yield Part.failed(SourceTooSlow("reading it needs more memory than there is", "split it"))


def read(opened: SourceFile) -> Items:
    """Detect the format of some bytes, and yield the documents, problems and pictures in them.

    Raises
    ------
    SourceError
        If the bytes cannot be read. Any other exception that a parser raises becomes SourceDamaged.
    """
    form = detect(opened.data[:HEAD_BYTES], opened.address.path)
    try:
        if form in ("zip", "ole"):
            from monograph.read import package

            form = package.format_inside(opened, form)
        # The module of a reader is imported at its first use.
        module, name = _READERS[form]
        yield from cast(Reader, getattr(importlib.import_module(f"monograph.read.{module}"), name))(opened)
    except (MonographError, MemoryError):
        raise
    except RecursionError as error:
        raise SourceDamaged("it is nested too deeply", "save it again") from error
    except Exception as error:
        message = " ".join(str(error).split())[:200]
        raise SourceDamaged(
            f"it cannot be read as {form}: {type(error).__name__}{': ' if message else ''}{message}", "save it again"
        ) from error


def whole(path: Path, root: Root, max_bytes: int) -> tuple[bytes, os.stat_result]:
    """Return (all bytes, stat result) of the file at ``path``, which must be in ``root``.

    Raises SourceError if the file cannot be read, has more than ``max_bytes`` bytes, or changes while it is read, or if
    a link leads out of the root.
    """
    try:
        for _ in range(_TRIES):
            with open(path, "rb", opener=_opener) as file:
                before = os.fstat(file.fileno())
                _refuse(before, max_bytes)
                if not _is_inside(path, root, file.fileno()):
                    continue
                data = file.read(before.st_size + 1)
                after = path.stat()
            unchanged = all(getattr(before, name) == getattr(after, name) for name in _STATE)
            if unchanged and len(data) == before.st_size:
                return data, after
    except FileNotFoundError as error:
        raise SourceMissing("it was removed before it was read", "sync again") from error
    except OSError as error:
        raise SourceUnreadable(f"cannot be read: {error.strerror}", "check its permissions") from error
    raise SourceChanging(f"it changed each of the {_TRIES} times it was read", "sync again when nothing writes to it")


def open_under(path: Path, root: Root) -> BinaryIO:
    """Return a file in a root, open for reading bytes. The caller closes it.

    Raises
    ------
    SourceError
        If the file does not exist, is not a regular file, or a link leads out of the root.
    """
    try:
        file = open(path, "rb", opener=_opener)  # noqa: SIM115 - the caller's to close
    except FileNotFoundError as error:
        raise SourceMissing("it no longer exists", "sync again") from error
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
    """Return the text of a file in UTF-8, with invalid bytes replaced.

    Raises
    ------
    SourceError
        If the path is not a regular file, cannot be read, or has more than ``most`` bytes.
    """
    try:
        with open(path, "rb", opener=_opener) as file:
            _refuse(os.fstat(file.fileno()), most)
            return file.read(most).decode("utf-8", errors="replace")
    except OSError as error:
        raise SourceUnreadable(f"cannot be read: {error.strerror}", "check its permissions") from error


def is_harmless(path: Path) -> bool:
    """Return whether a file needs no child process: its format is in HARMLESS, or the file cannot be read."""
    try:
        with open(path, "rb", opener=_opener) as file:
            return detect(file.read(HEAD_BYTES), path.name) in HARMLESS
    except (OSError, UnknownFormat):
        return True  # Reading it raises the reason.


def _opener(path: str, flags: int) -> int:
    # Without O_NONBLOCK, opening a pipe would block until another process opens it for writing.
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def path_outside(path: str, home: str) -> str | None:
    """Return ``path`` with all links resolved if the result is outside the folder ``home``, else None.

    ``home`` must contain no links. All paths are those of the operating system, not texts of
    :func:`monograph.read.paths.path_to_text`.
    """
    return _path_if_outside(os.path.realpath(path), home)


def _path_if_outside(real: str, home: str) -> str | None:
    return None if real == home or real.startswith(home.rstrip("/") + "/") else real


def _is_inside(path: Path, root: Root, descriptor: int) -> bool:
    """Return False if an open file was replaced or deleted. Raises SourceUnreadable if a link leads out of ``root``."""
    folder = text_to_path(root.place)
    if root.follow_links or path == folder:
        return True
    try:
        # The path of the opened file, even if the path it was opened by refers to another file by now.
        real = str(Path(f"/proc/self/fd/{descriptor}").readlink())
    except OSError:
        real = os.path.realpath(path)
    outside = _path_if_outside(real, os.path.realpath(folder))
    if outside is not None:
        raise SourceUnreadable(f"a link leads out of the folder, to {path_to_text(outside)}", "give --follow-links")
    try:
        return os.path.samestat(os.lstat(real), os.fstat(descriptor))
    except OSError:
        return False


def _refuse(state: os.stat_result, max_bytes: int) -> None:
    if not stat.S_ISREG(state.st_mode):
        raise SourceUnreadable("it is a pipe, a socket or a device, not a file")
    if state.st_size > max_bytes:
        raise SourceTooLarge(
            f"it has {state.st_size:,} bytes, more than the limit of {max_bytes:,}", f"give --max-bytes {state.st_size}"
        )
