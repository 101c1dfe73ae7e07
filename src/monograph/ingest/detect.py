"""The format of a file, by its bytes; its name only chooses among formats of text."""

from __future__ import annotations

from pathlib import PurePath
from typing import Literal, TypeAlias

from monograph.errors import UnknownFormat

Format: TypeAlias = Literal["text", "markdown", "jsonl"]

HEAD_BYTES = 65_536
"""How much of a file is looked at."""

_SUFFIXES: dict[str, Format] = {".md": "markdown", ".markdown": "markdown", ".jsonl": "jsonl", ".ndjson": "jsonl"}
_MAGIC = {
    b"%PDF-": "a PDF", b"PK\x03\x04": "a ZIP archive or an Office file", b"\x89PNG": "a PNG image", b"\xff\xd8\xff":
    "a JPEG image", b"GIF8": "a GIF image", b"\x1f\x8b": "a gzip archive", b"SQLite format 3": "an SQLite file",
    b"\x7fELF": "a program", b"\xd0\xcf\x11\xe0": "an old Office file", b"7z\xbc\xaf": "a 7-Zip archive", b"OggS":
    "audio", b"ID3": "audio", b"{\\rtf": "an RTF file",
}  # fmt: skip
_BYTE_ORDER_MARKS = (b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf")
_CONTROLS = bytes(set(range(32)) - {0, 8, 9, 10, 12, 13, 26, 27})
_MOST_CONTROLS = 0.01
_LEAST_ZEROS = 0.3


def detect(head: bytes, name: str) -> Format:
    """Tell a file's format.

    Parameters
    ----------
    head:
        The first HEAD_BYTES of it.
    name:
        Its name or path.

    Raises
    ------
    UnknownFormat
        If the bytes are no text, naming what they seem to be.
    """
    for magic, kind in _MAGIC.items():
        if head.startswith(magic):
            raise UnknownFormat(f"{kind}, which cannot be read yet", "convert it to text, Markdown or JSON Lines")
    if not head.startswith(_BYTE_ORDER_MARKS) and zero_width(head) is None and _looks_binary(head):
        raise UnknownFormat("binary data, not text", "convert it to text, Markdown or JSON Lines")
    return _SUFFIXES.get(PurePath(name).suffix.lower(), "text")


def zero_width(head: bytes) -> Literal["utf-16-le", "utf-16-be"] | None:
    """UTF-16 without a byte order mark, told by its zero bytes: Latin text has one in nearly every pair."""
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
