"""Search for a name in a text, regardless of case, accents, hyphens and dots."""

from __future__ import annotations

import functools
import re
import unicodedata
from dataclasses import dataclass

from monograph.regex import regex

MAX_OCCURRENCES = 20
"""Most occurrences of one name that are kept."""

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

    For each letter in ``letters``, ``starts`` and ``ends`` are its offsets in ``text``, and ``opens`` and ``closes``
    say whether a word may begin or end there.
    """

    text: str
    letters: str
    starts: list[int]
    ends: list[int]
    opens: list[bool]
    closes: list[bool]

    def occurrences(self, letters: str) -> list[tuple[int, int]]:
        """Return the spans of the text, ascending and without overlaps, in which whole words fold to ``letters``."""
        found: list[tuple[int, int]] = []
        place = self.letters.find(letters) if letters else -1
        while place >= 0 and len(found) < MAX_OCCURRENCES:
            last = place + len(letters) - 1
            whole = self.opens[place] and self.closes[last]
            if whole:
                found.append((self.starts[place], self.ends[last]))
            place = self.letters.find(letters, place + (len(letters) if whole else 1))
        return found


def fold(text: str) -> Folded:
    """Return a text folded for comparison: ``Émile-Zola's`` becomes ``emilezolas``."""
    folded = Folded(text, "", [], [], [], [])
    letters: list[str] = []
    for place, character in enumerate(text):
        if unicodedata.combining(character):
            if folded.ends and folded.ends[-1] == place:
                folded.ends[-1] = place + 1
            continue
        made = _fold_character(character)
        if not made and not _joins_digits(text, place):
            continue
        for number, letter in enumerate(made or character):
            letters.append(letter)
            folded.starts.append(place)
            folded.ends.append(place + 1)
            folded.opens.append(number == 0 and _begins(text, place))
            folded.closes.append(number == len(made or character) - 1)
    closes = [whole and _finishes(text, end) for whole, end in zip(folded.closes, folded.ends, strict=True)]
    return Folded(text, "".join(letters), folded.starts, folded.ends, folded.opens, closes)


@functools.lru_cache(maxsize=4096)
def _fold_character(character: str) -> str:
    """Return a character folded for comparison; empty for spaces, dashes, quotes and similar characters."""
    if character in _DROPPED or unicodedata.category(character) in _DROPPED_CATEGORIES:
        return ""
    plain = unicodedata.normalize("NFKD", character).casefold()
    return "".join(one for one in plain if not unicodedata.combining(one) and not one.isspace())


def _joins_digits(text: str, place: int) -> bool:
    return text[place] in ".,:" and text[place - 1 : place].isdigit() and text[place + 1 : place + 2].isdigit()


def _in_word(text: str, place: int, more: str = "") -> bool:
    """Return whether the character at an offset continues a word; False for offsets outside the text."""
    if not 0 <= place < len(text):
        return False
    character = text[place]
    return (
        character.isalnum()
        or character in more
        or unicodedata.category(character)[0] == "M"
        or _joins_digits(text, place)
    )


def _begins(text: str, place: int) -> bool:
    return bool(_UNSPACED.match(text[place])) or not _in_word(text, place - 1) or bool(_UNSPACED.match(text[place - 1]))


def _finishes(text: str, end: int) -> bool:
    if not _in_word(text, end, "+#"):
        return True
    return bool(_UNSPACED.match(text[end])) or bool(_UNSPACED.match(text[end - 1]))


def locate(name: str, kind: str, text: Folded) -> list[tuple[int, int]]:
    """Return every span in which a text names something.

    The whole name is searched first, then with or without a plural's ``s``, then its longest distinctive part. For a
    person, that is any capitalised word of the name; for others, it has at least half of the name's letters.

    Returns
    -------
    Spans ``text[start:end]``, ascending; none if the text does not name it.
    """
    letters = fold(name).letters
    for form in (letters, letters + "s", letters + "es", letters.removesuffix("s") if len(letters) > 4 else ""):
        found = [span for span in text.occurrences(form) if not _only_a_word(name, text.text[slice(*span)])]
        if found:
            return found
    for part in _parts(name):
        if kind == "person" or len(fold(part).letters) * 2 >= len(letters):
            found = [span for span in text.occurrences(fold(part).letters) if _distinct(text.text[slice(*span)], part)]
            if found:
                return found
    return []


def _only_a_word(name: str, text: str) -> bool:
    """Return whether a short abbreviation (``US``, ``WHO``) matched an ordinary word in small letters."""
    return len(name) <= 3 and name.isupper() and text.islower()


def _parts(name: str) -> list[str]:
    """Return the runs of a name's words, those with the most letters first."""
    words = [word for word in re.split(r"[\s\-\u2010-\u2015_/()\[\],]+", name) if word]
    if not 1 < len(words) <= 12:
        return []
    runs = {
        " ".join(words[first:last])
        for first in range(len(words))
        for last in range(first + 1, len(words) + 1)
        if last - first < len(words)
    }
    return sorted((run for run in runs if _telling(run)), key=lambda run: (-len(fold(run).letters), run))


def _telling(run: str) -> bool:
    words = [word.strip(".").lower() for word in run.split()]
    return any(word not in _GENERIC and (len(word) > 3 or _UNSPACED.search(word)) for word in words)


def _distinct(text: str, part: str) -> bool:
    """Return whether a match of a part of a name has a capital, or the name itself writes the part in small letters."""
    return not text[:1].islower() or part[:1].islower()
