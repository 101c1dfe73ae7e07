"""Write the Unicode tables of the text pass as C++ source: ``python tools/unicode_tables.py FILE``.

CMake runs this at each build. The tables follow the running Python: flags come from the methods of ``str``, folded and
composed forms from ``unicodedata``.
"""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

LAST = 0x10FFFF
HANGUL = range(0xAC00, 0xD7A4)
ACCENTS = range(0x300, 0x370)
FLAGS = ("word", "lower", "upper", "title", "space", "decimal", "digit", "alpha")
"""Names of the bits of a character's flags, lowest bit first."""


def flags(sign: str) -> int:
    """Return the flags of a character."""
    kinds = (
        sign.isalnum() or sign == "_",
        sign.islower(),
        sign.isupper(),
        sign.istitle() and not sign.isupper(),
        sign.isspace(),
        sign.isdecimal(),
        sign.isdigit(),
        sign.isalpha(),
    )
    return sum(is_so << place for place, is_so in enumerate(kinds))


def folded(sign: str) -> str:
    """Return a character without case and accents, as ``monograph.store.words.terms.fold`` folds it alone."""
    bare = (one for one in unicodedata.normalize("NFKD", sign.casefold()) if ord(one) not in ACCENTS)
    return unicodedata.normalize("NFC", "".join(bare))


def pairs() -> Iterator[tuple[int, int, int]]:
    """Yield (first, second, composed character) of each pair that composes, except accents and Hangul."""
    for code in range(LAST + 1):
        parts = unicodedata.decomposition(chr(code)).split()
        if len(parts) == 2 and not parts[0].startswith("<"):
            first, second = (int(part, 16) for part in parts)
            if second not in ACCENTS and unicodedata.normalize("NFC", chr(first) + chr(second)) == chr(code):
                yield first, second, code


def continues(code: int, seconds: set[int]) -> bool:
    """Return whether a character may compose with the character before it."""
    return code in seconds or 0x1161 <= code <= 0x1175 or 0x11A8 <= code <= 0x11C2


def runs(seconds: set[int]) -> Iterator[tuple[int, int, int, int, int]]:
    """Yield (first, last, flags, combining class, whether it may compose) of each run of alike characters."""
    kinds = (
        (flags(chr(code)), unicodedata.combining(chr(code)), int(continues(code, seconds))) for code in range(LAST + 1)
    )
    at = 0
    for kind, group in groupby(kinds):
        length = sum(1 for _ in group)
        if any(kind):
            yield at, at + length - 1, *kind
        at += length


def folds() -> Iterator[tuple[int, ...]]:
    """Yield (character, length, folded characters …) of each character that folding changes."""
    for code in range(LAST + 1):
        if 0xD800 <= code < 0xE000 or code in HANGUL:
            continue
        became = folded(chr(code))
        if became != chr(code):
            yield code, len(became), *map(ord, became)


def lowers() -> Iterator[tuple[int, int]]:
    """Yield (character, its lowercase form) beyond ASCII, if the form is one other character."""
    for code in range(0x80, LAST + 1):
        small = chr(code).lower()
        if small != chr(code) and len(small) == 1:
            yield code, ord(small)


def array(name: str, what: str, rows: Sequence[Sequence[int]]) -> str:
    """Return a table as C++ source: an array of all its numbers, row after row."""
    numbers = [format(number, "#x") if number > 9 else str(number) for row in rows for number in row]
    lines, line = [], ""
    for number in numbers:
        if len(line) + len(number) > 118:
            lines.append(line)
            line = ""
        line += f"{number},"
    body = "\n".join([*lines, line])
    return f"// {what}\nconstexpr std::uint32_t {name}[] = {{\n{body}\n}};\n"


def tables() -> str:
    """Return the whole C++ file."""
    composed = list(pairs())
    seconds = {second for _, second, _ in composed}
    return "\n".join(
        (
            f"// Made by tools/unicode_tables.py from Unicode {unicodedata.unidata_version}; not to be edited.",
            f'constexpr char UNICODE_VERSION[] = "{unicodedata.unidata_version}";\n',
            array("RUNS", f"First, last, flags ({', '.join(FLAGS)}), combining class, composes.", list(runs(seconds))),
            array("FOLDS", "Character, length, what it is folded to.", list(folds())),
            array("LOWERS", "Character, its small form.", list(lowers())),
            array("PAIRS", "First, second, what both are written as.", composed),
        )
    )


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(tables(), encoding="utf-8")
