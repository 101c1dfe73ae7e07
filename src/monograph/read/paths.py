"""Converts paths to text that can be stored, and back."""

from __future__ import annotations

from pathlib import Path

_PRIVATE = 0xEF00
"""Code point added to a byte that is not UTF-8, to store it as a private-use character: 0x80 as U+EF80."""


def path_to_text(path: Path | str) -> str:
    """Return a path as storable text, even if the path is not UTF-8. The inverse is :func:`text_to_path`."""
    name = str(path)
    if name.isascii():
        return name
    return "".join(chr(_PRIVATE + ord(char) - 0xDC00) if 0xDC80 <= ord(char) <= 0xDCFF else char for char in name)


def text_to_path(text: str) -> Path:
    """Return the path that :func:`path_to_text` converted to a text."""
    if text.isascii():
        return Path(text)
    return Path("".join(chr(ord(char) - _PRIVATE + 0xDC00) if 0xEF80 <= ord(char) <= 0xEFFF else char for char in text))
