"""Detects the format of a file by its bytes. The name only distinguishes text formats, such as Markdown and CSV."""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import Literal, TypeAlias

from monograph.errors import UnknownFormat
from monograph.regex import regex

Format: TypeAlias = Literal[
    "text", "markdown", "jsonl", "json", "yaml", "table", "code", "html", "email", "rtf", "pdf", "image", "zip", "ole",
    "docx", "pptx", "xlsx", "xls", "ods", "odt", "odp", "epub", "msg", "archive",
]  # fmt: skip
"""Formats that :func:`detect` returns. For the containers ``zip`` and ``ole``, :mod:`monograph.read.package` finds the
format inside.
"""

HEAD_BYTES = 65_536
"""Number of bytes at the beginning of a file that :func:`detect` reads."""

_CODE = (
    "bash c cc clj cpp cs cxx dart el erl ex exs go groovy h hpp hs java jl js jsx kt kts lua m ml mm mjs nim php pl pm"
    " ps1 py pyi pyx r rb rs scala sh sql swift tcl ts tsx v vb vhd zig"
)
_SUFFIXES: dict[str, Format] = {
    ".md": "markdown", ".markdown": "markdown", ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "json",
    ".geojson": "json", ".yaml": "yaml", ".yml": "yaml", ".csv": "table", ".tsv": "table", ".tab": "table",
    ".html": "html", ".htm": "html", ".xhtml": "html", ".eml": "email",
    **{f".{suffix}": "code" for suffix in _CODE.split()},
}  # fmt: skip
_MAGIC: tuple[tuple[bytes, Format], ...] = (
    (b"PK\x03\x04", "zip"), (b"PK\x05\x06", "zip"), (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "ole"), (b"{\\rtf", "rtf"),
    (b"\x89PNG\r\n\x1a\n", "image"), (b"\xff\xd8\xff", "image"), (b"GIF8", "image"), (b"II*\0", "image"),
    (b"MM\0*", "image"),
)  # fmt: skip
_UNREADABLE_MAGIC = {
    b"\x1f\x8b": "a gzip archive", b"SQLite format 3": "an SQLite file", b"\x7fELF": "a program", b"MZ": "a program",
    b"7z\xbc\xaf": "a 7-Zip archive", b"Rar!": "a RAR archive", b"BZh": "a bzip2 archive", b"\xfd7zXZ": "an xz archive",
    b"OggS": "audio", b"ID3": "audio", b"fLaC": "audio", b"%!PS": "PostScript",
}  # fmt: skip
_CONVERT = "convert it to text, Markdown, PDF or an Office format"
_PDF_WITHIN = 1024
"""Number of first bytes of a file in which ``%PDF-`` is searched. PDF readers tolerate other bytes before ``%PDF-``."""

_BYTE_ORDER_MARKS = (b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf")
_HTML = regex(rb"(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]*>\s*|<!--.*?-->\s*)*<(?:!doctype\s+html|html|head)\b", re.I | re.S)
_HEADER = regex(rb"^([A-Za-z][A-Za-z-]*):[ \t]", re.M)
_MAIL_ONLY = {b"received", b"return-path", b"delivered-to", b"message-id", b"mime-version"}
_CONTROLS = bytes(set(range(32)) - {0, 8, 9, 10, 12, 13, 26, 27})
_MOST_CONTROLS = 0.01
_LEAST_ZEROS = 0.3


def detect(head: bytes, name: str) -> Format:
    """Return a file's format.

    Parameters
    ----------
    head:
        The first HEAD_BYTES of the file.
    name:
        The file's name or path.

    Raises
    ------
    UnknownFormat
        If no reader understands the bytes. The message names the format that the bytes seem to have.
    """
    by_magic = _by_magic(head)
    if by_magic is not None:
        return by_magic
    encoding = zero_width(head)
    plain = head.decode(encoding, "ignore").encode("utf-8", "ignore") if encoding else head
    if not head.startswith(_BYTE_ORDER_MARKS) and _looks_binary(plain):
        raise UnknownFormat(f"{_describe_binary(head)}, which cannot be read", _CONVERT)
    by_name = _SUFFIXES.get(PurePath(name).suffix.lower(), "text")
    return _by_first_lines(head) or by_name if by_name == "text" else by_name


def _by_magic(head: bytes) -> Format | None:
    for magic, form in _MAGIC:
        if head.startswith(magic):
            return form
    if head.startswith(b"BM") and head[6:10] == b"\0\0\0\0":
        return "image"
    if head.startswith(b"RIFF") and head[8:12] == b"WEBP":
        return "image"
    offset = head.find(b"%PDF-", 0, _PDF_WITHIN)
    # A text about PDF files has "%PDF-" within a line, not at the beginning of one.
    if offset == 0 or (offset > 0 and (head[offset - 1] in b"\r\n" or _looks_binary(head))):
        return "pdf"
    return None


def _by_first_lines(head: bytes) -> Format | None:
    if _HTML.match(head):
        return "html"
    if head.startswith(b"#!"):
        return "code"
    lines = re.split(rb"\r?\n\r?\n", head, maxsplit=1)[0]
    headers = {header.lower() for header in _HEADER.findall(lines)}
    # A message begins with a header, or with the line that mailboxes put before it.
    begins = head.startswith(b"From ") or _HEADER.match(head)
    return "email" if begins and headers & _MAIL_ONLY and headers & {b"from", b"subject", b"to"} else None


def _describe_binary(head: bytes) -> str:
    for magic, kind in _UNREADABLE_MAGIC.items():
        if head.startswith(magic):
            return kind
    try:
        import puremagic

        return f"a file of the kind {puremagic.magic_string(head)[0].name}"
    except (ImportError, ValueError, LookupError):
        return "binary data, not text"


def zero_width(head: bytes) -> Literal["utf-16-le", "utf-16-be"] | None:
    """Return the encoding of UTF-16 text without a byte order mark; None if ``head`` does not look like UTF-16.

    ``head`` is the beginning of a file. Latin text in UTF-16 has a zero byte in nearly every pair of bytes. In
    ``utf-16-le`` the second byte of the pair is zero, in ``utf-16-be`` the first.
    """
    even, odd = head[0::2].count(0), head[1::2].count(0)
    pairs = len(head) // 2
    if pairs and odd >= _LEAST_ZEROS * pairs and even < odd / 10:
        return "utf-16-le"
    if pairs and even >= _LEAST_ZEROS * pairs and odd < even / 10:
        return "utf-16-be"
    return None


def _looks_binary(head: bytes) -> bool:
    controls = len(head) - len(head.translate(None, _CONTROLS))
    return head.count(0) > 0 or controls > _MOST_CONTROLS * len(head)
