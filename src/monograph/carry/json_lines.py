"""JSON files of stores to import, read line by line or as a whole."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from monograph.errors import SourceDamaged, SourceMissing, SourceTooLarge, SourceUnreadable

MOST_BYTES = 256_000_000
"""Maximum number of bytes of a line in :func:`lines`, and of a file in :func:`whole`."""


def lines(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (place, object) for each line of a JSON Lines file. Blank lines are skipped.

    The place is the line number and the file, for error messages.

    Raises
    ------
    SourceError
        If the file cannot be read, or a line is longer than MOST_BYTES or is not a JSON object.
    """
    number = 0
    try:
        with path.open("rb") as file:
            while line := file.readline(MOST_BYTES + 1):
                number += 1
                where = f"line {number:,} of {path}"
                if len(line) > MOST_BYTES:
                    raise SourceTooLarge(f"{where} has more than {MOST_BYTES:,} bytes", "remove the line")
                if line.strip():
                    yield where, _parse_object(line, where)
    except OSError as error:
        raise unreadable(path, error) from error


def whole(path: Path) -> dict[str, Any]:
    """Return the JSON object that a file consists of.

    Raises
    ------
    SourceError
        If the file cannot be read, has more than MOST_BYTES bytes, or is not a JSON object.
    """
    try:
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise unreadable(path, error) from error
    if len(content) > MOST_BYTES:
        raise SourceTooLarge(f"{path} has more than {MOST_BYTES:,} bytes", "split it, and import each part")
    return _parse_object(content, str(path))


def text(value: object, name: str, where: str) -> str:
    """Return the value of a JSON field, which must be a text; an empty text if the value is None.

    ``name`` is the name of the field, and ``where`` is the file and line of the object. Both are for the error message.

    Raises
    ------
    SourceDamaged
        If the value is neither a text nor None.
    """
    if value is None:
        return ""
    if not isinstance(value, str):
        raise SourceDamaged(f"{where}: its {name!r} is {str(value)[:40]!r}, not a text", "repair it, or remove it")
    return value


def unreadable(path: Path, error: OSError) -> SourceMissing | SourceUnreadable:
    """Return the error for a file that cannot be read: SourceMissing if it does not exist, else SourceUnreadable."""
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return SourceMissing(f"{path} does not exist", "give the folder that contains it")
    return SourceUnreadable(f"{path} cannot be read: {error.strerror or error}", "check its permissions")


def _parse_object(line: bytes, where: str) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise SourceDamaged(f"{where} is not JSON: {error}", "repair it, or remove it") from error
    if not isinstance(value, dict):
        raise SourceDamaged(f"{where} is not a JSON object", "repair it, or remove it")
    return value
