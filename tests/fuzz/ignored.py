"""Hostile ignore files: lines of wildcards, and names that nearly fit them."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from monograph.errors import InputError
from monograph.sync.ignore import compiled

PIECES = ("*", "**", "?", "a", "b", "/", "**/", "[ab]", "[!a]", "[", "]", "\\", "!", "#", " ", "*a", "é")


def cases(seed: int, folder: Path, first: int = 0) -> Iterator[tuple[str, Callable[[], object]]]:
    """A file of a line or more a case, held against a long name and a deep one."""
    for at in itertools.count(first):
        chosen = random.Random(f"{seed}/{at}")
        drawn = [chosen.choices(PIECES, k=chosen.randrange(1, 6)) for _ in range(3)]
        lines = ["".join(one * chosen.choice((1, 3, 40))) + chosen.choice(("", "b", "*b")) for one in drawn]
        yield f"{at}: {lines!r:.4000}", partial(_match, lines)


def _match(lines: list[str]) -> None:
    try:
        spec = compiled(lines)
    except (ValueError, re.error) as error:
        raise InputError(str(error)) from error
    for name in ("a" * 255, "a/" * 200 + "c", "ab" * 100 + "/" + "ba" * 100, "a" * 60 + "b"):
        spec.check_file(name)
