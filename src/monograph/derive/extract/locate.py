"""Search for a name in a text, regardless of case, accents, hyphens and dots."""

from __future__ import annotations

import functools
import re
import unicodedata
from dataclasses import dataclass

from monograph.regex import regex

MAX_OCCURRENCES = 20
"""Maximum number of occurrences kept of one name."""

_DROPPED_CATEGORIES = {"Zs", "Zl", "Zp", "Cc", "Cf", "Pd", "Pc", "Pi", "Pf", "Ps", "Pe"}
_DROPPED = frozenset("'\"`´.,;:!?…·•")
_UNSPACED = regex(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)
_GENERIC_WORDS = (
    "the and for with from mister miss lady lord saint doctor professor president king queen captain general "
    "mr mrs ms dr prof sir inc ltd corp company university college city state county team project group system "
    "street road north south east west new old great this that van von der den del"
)
_GENERIC = frozenset(_GENERIC_WORDS.split())


@dataclass(frozen=True, slots=True)
class Folded:
    """Text folded for the comparison of names: its letters and digits, without case and accents.

    ``letters[i]`` comes from the character ``text[starts[i]:ends[i]]``, with its combining accents.
    """

    text: str
    letters: str
    starts: list[int]
    ends: list[int]

    def occurrences(self, letters: str) -> list[tuple[int, int]]:
        """Return the (start, end) of the places in the text where whole words fold to ``letters``.

        Spans are ascending and do not overlap. Only the first MAX_OCCURRENCES are returned.
        """
        spans: list[tuple[int, int]] = []
        index = self.letters.find(letters) if letters else -1
        while index >= 0 and len(spans) < MAX_OCCURRENCES:
            last = index + len(letters) - 1
            start, end = self.starts[index], self.ends[last]
            # A character may fold to several letters: neither side may divide it.
            opens = index == 0 or self.starts[index - 1] != start
            closes = last + 1 == len(self.starts) or self.starts[last + 1] != self.starts[last]
            is_whole_word = (
                opens
                and closes
                and (_is_unspaced_at(self.text, start) or not _in_word(self.text, start - 1))
                and (_is_unspaced_at(self.text, end) or not _in_word(self.text, end, "+#"))
            )
            if is_whole_word:
                spans.append((start, end))
            index = self.letters.find(letters, index + (len(letters) if is_whole_word else 1))
        return spans


def fold(text: str) -> Folded:
    """Fold a text for the comparison of names: ``Émile-Zola's`` becomes ``emilezolas``. See :class:`Folded`."""
    letters: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    for index, character in enumerate(text):
        if unicodedata.combining(character):
            if ends and ends[-1] == index:
                ends[-1] = index + 1
            continue
        plain = _fold_character(character) or (character if _joins_digits(text, index) else "")
        letters += plain
        starts += [index] * len(plain)
        ends += [index + 1] * len(plain)
    return Folded(text, "".join(letters), starts, ends)


def _is_unspaced_at(text: str, index: int) -> bool:
    """Return whether the character before or after an offset belongs to a script that puts no spaces between words."""
    return _UNSPACED.search(text, max(0, index - 1), index + 1) is not None


@functools.lru_cache(maxsize=4096)
def _fold_character(character: str) -> str:
    """Return the letters that a character folds to; an empty text for spaces, dashes, quotes and similar characters."""
    if character in _DROPPED or unicodedata.category(character) in _DROPPED_CATEGORIES:
        return ""
    plain = unicodedata.normalize("NFKD", character).casefold()
    return "".join(letter for letter in plain if not unicodedata.combining(letter) and not letter.isspace())


def _joins_digits(text: str, index: int) -> bool:
    return text[index] in ".,:" and text[index - 1 : index].isdigit() and text[index + 1 : index + 2].isdigit()


def _in_word(text: str, index: int, extra: str = "") -> bool:
    """Return whether the character at an offset is part of a word, or is in ``extra``; False outside the text."""
    if not 0 <= index < len(text):
        return False
    character = text[index]
    return (
        character.isalnum()
        or character in extra
        or unicodedata.category(character)[0] == "M"
        or _joins_digits(text, index)
    )


def locate(name: str, kind: str, text: Folded) -> list[tuple[int, int]]:
    """Return the (start, end) of the occurrences of a name in a text, at most the first MAX_OCCURRENCES.

    The first of these forms that occurs in the text is used:

    1. the whole name;
    2. the name with ``s`` or ``es`` added, then with a final ``s`` removed;
    3. a part of the name, longest first: see :func:`_split_name`. For the kind ``person``, any of these parts may be
       used. For other kinds, a part must have at least half of the name's letters.

    A word in lower case is no occurrence of a short name in capitals (*us* of *US*), or of a part with a capital.

    Returns
    -------
    Spans ``text[start:end]``, ascending; an empty list if the text does not contain the name.
    """
    letters = fold(name).letters
    is_abbreviation = len(name) <= 3 and name.isupper()
    for form in (letters, letters + "s", letters + "es", letters.removesuffix("s") if len(letters) > 4 else ""):
        # US and WHO are not the ordinary words us and who.
        found = text.occurrences(form)
        spans = [span for span in found if not (is_abbreviation and text.text[slice(*span)].islower())]
        if spans:
            return spans
    for part in _split_name(name):
        if kind == "person" or len(fold(part).letters) * 2 >= len(letters):
            found = text.occurrences(fold(part).letters)
            spans = [span for span in found if not text.text[span[0]].islower() or part[:1].islower()]
            if spans:
                return spans
    return []


def _split_name(name: str) -> list[str]:
    """Return the runs of a name's words that can stand for the whole name, those with the most letters first."""
    words = [word for word in re.split(r"[\s\-\u2010-\u2015_/()\[\],]+", name) if word]
    if not 1 < len(words) <= 12:
        return []
    runs = {
        " ".join(words[first:last])
        for first in range(len(words))
        for last in range(first + 1, len(words) + 1)
        if last - first < len(words)
    }

    def is_distinctive(run: str) -> bool:
        parts = [word.strip(".").lower() for word in run.split()]
        # In scripts without spaces the length of a part does not matter.
        return any(part not in _GENERIC and (len(part) > 3 or _UNSPACED.search(part)) for part in parts)

    return sorted(filter(is_distinctive, runs), key=lambda run: (-len(fold(run).letters), run))
