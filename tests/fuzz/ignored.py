"""Hostile ignore files: lines of wildcards, and names that nearly match them."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from fuzz import Case, Draw
from monograph.errors import InputError
from monograph.sync.ignore import compiled

PIECES = ("*", "**", "?", "a", "b", "/", "**/", "[ab]", "[!a]", "[", "]", "\\", "!", "#", " ", "*a", "é")


@contextmanager
def cases(folder: Path) -> Iterator[Draw]:
    """Draw ignore files of three lines."""
    yield _draw


def _draw(chosen: random.Random) -> Case:
    drawn = [chosen.choices(PIECES, k=chosen.randrange(1, 6)) for _ in range(3)]
    lines = ["".join(pieces * chosen.choice((1, 3, 40))) + chosen.choice(("", "b", "*b")) for pieces in drawn]
    return f"{lines!r}", partial(_match, lines)


def _match(lines: list[str]) -> None:
    try:
        spec = compiled(lines)
    except (ValueError, re.error) as error:
        raise InputError(str(error)) from error
    for name in ("a" * 255, "a/" * 200 + "c", "ab" * 100 + "/" + "ba" * 100, "a" * 60 + "b"):
        spec.check_file(name)
