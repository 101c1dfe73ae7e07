"""Proper names, known by their capitals, with a coarse type where the words around them give it away."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass

from monograph.derive.extract.clues import (
    INSIDE,
    KIND_BY_DEFINITION,
    KIND_BY_LAST_WORD,
    LOOSE,
    NO_SPEAKERS,
    TITLES,
)
from monograph.derive.extract.function_words import FUNCTION_WORDS, GERMAN_MARKS

LONGEST_WORDS = 12
"""A longer run of capitals is a heading or a shout, and is cut."""

_DEFINED = re.compile(
    r"\s*(?:\([^)]{0,200}\)\s*)?,?\s*(?:is|was|are|were|ist|war|es|fue|era)\s+(?P<what>[^.\n;]{3,160})", re.IGNORECASE
)
_BORN = re.compile(
    r"\s*\((?:[^()]{0,60}[;,] ?)?(?:born|b\.|née?|geb\.|geboren|\* ?\d|nacid[oa]"
    r"|(?:c\. ?)?\d{1,2} \w+ \d{4} ?[–-]|\d{4} ?[–-] ?\d{4}\))"
)
_SPEAKER = re.compile(
    r"^[ \t>*-]{0,4}(?:\[[^\]\n]{1,30}\] ?)?(?P<who>[^\W\d_][\w .'’-]{0,38}[\w.])(?: ?\([^)\n]{1,30}\))?: (?=\S)",
    re.MULTILINE,
)
_WORD = re.compile(r"\w+")


@functools.cache
def _capital() -> str:
    """A character class of all capitals of the basic plane."""
    runs: list[list[int]] = []
    for code in range(0x10000):
        if chr(code).isupper() or chr(code).istitle():
            if runs and runs[-1][1] == code - 1:
                runs[-1][1] = code
            else:
                runs.append([code, code])
    return "".join(f"{re.escape(chr(a))}-{re.escape(chr(b))}" for a, b in runs)


@functools.cache
def _name() -> re.Pattern[str]:
    """Words with a capital, joined by blanks, by words that go on a name, or followed by a number."""
    capital = f"[{_capital()}]"
    # A dot belongs to an initial, and to a short title before another name: J. S. Bach, Dr. King.
    dot = rf"(?:(?<={capital})\.|(?<=\b{capital}[a-z])\.|(?<=\b{capital}[a-z][a-z])\.(?= {capital}))"
    word = rf"{capital}\w*(?:[.'’-]\w+)*{dot}?"
    lower = "|".join(sorted(map(re.escape, INSIDE | LOOSE), key=len, reverse=True))
    return re.compile(
        rf"(?:(?<!\w)\d{{1,4}}(?:st|nd|rd|th)? )?{word}"
        rf"(?:(?:,? (?=(?:Jr|Sr)\b)| (?:(?:{lower}) ){{0,3}}){word}| \d{{1,4}}(?![\w–-])| ['’]\d\d(?!\w))*"
    )


@dataclass(frozen=True, slots=True)
class Found:
    """A name at text[start:end]."""

    kind: str
    start: int
    end: int


def is_german(text: str) -> bool:
    """Whether a text reads like German, where every noun has a capital."""
    words = text.lower().split()
    return sum(word in GERMAN_MARKS for word in words) > 0.08 * len(words)


def proper_names(text: str) -> Iterator[Found]:
    """The names in a text, in order of start; readings of one run of words overlap."""
    german = is_german(text)
    for run in _name().finditer(text):
        words = [(one.start(), one.end()) for one in re.finditer(r"\S+", run.group())]
        base = run.start()
        parts = [(base + start, base + end) for start, end in words][:LONGEST_WORDS]
        for first, last in _readings([text[start:end] for start, end in parts]):
            start, end = parts[first][0], _end(text, *parts[last - 1])
            if _is_name(text, start, end, last - first, german=german):
                yield Found(_kind(text, start, end), start, end)


def _end(text: str, start: int, end: int) -> int:
    """Where a last word ends, without a genitive 's."""
    if end - start > 3 and text[end - 2 : end] in ("'s", "’s"):
        return end - 2
    return end


def _readings(words: list[str]) -> Iterator[tuple[int, int]]:
    """(first, last) of the whole run without function words at its head, and of its parts between loose words."""
    first = 0
    while first < len(words) - 1 and _bare(words[first]) in FUNCTION_WORDS:
        first += 1
    last = len(words)
    while last > first + 1 and words[last - 1] in INSIDE | LOOSE:
        last -= 1
    yield first, last
    cuts = [at for at in range(first, last) if words[at] in LOOSE]
    if not cuts:
        return
    begin = first
    for cut in (*cuts, last):
        head, tail = begin, cut
        while head < tail and (words[head] in INSIDE or _bare(words[head]) in FUNCTION_WORDS):
            head += 1
        while tail > head and words[tail - 1] in INSIDE:
            tail -= 1
        if head < tail:
            yield head, tail
        begin = cut + 1


def _bare(word: str) -> str:
    return word.strip(".,'’").casefold()


def _is_name(text: str, start: int, end: int, words: int, *, german: bool) -> bool:
    if words > 1:
        return True
    bare = _bare(text[start:end])
    if len(bare) < 2 or bare in FUNCTION_WORDS or bare.split("'")[0].split("’")[0] in FUNCTION_WORDS:
        return False
    if bare in NO_SPEAKERS and text.startswith(":", end):
        return False
    # One capital at the head of a sentence says little; German nouns all have one. Both may still name something.
    return not (german and bare in GERMAN_MARKS)


def _kind(text: str, start: int, end: int) -> str:
    """The type that a name's own words, its title or its definition give away; ``name`` where none does."""
    words = _WORD.findall(text[start:end].casefold())
    if words and words[0] in TITLES and len(words) > 1:
        return "person"
    last = words[-1] if words else ""
    if last in KIND_BY_LAST_WORD and len(words) > 1:
        return KIND_BY_LAST_WORD[last]
    if text.startswith((" (", ", ", " is ", " was ", " are ", " ist ", " war ", " es ", " fue "), end):
        if _BORN.match(text, end):
            return "person"
        defined = _DEFINED.match(text, end)
        if defined is not None:
            for word in _WORD.findall(defined["what"].casefold())[:14]:
                if word in KIND_BY_DEFINITION:
                    return KIND_BY_DEFINITION[word]
    before = text[max(0, start - 12) : start].rstrip().rpartition(" ")[2].strip(".").casefold()
    return "person" if before in TITLES else "name"


def speakers(text: str) -> Iterator[Found]:
    """Who speaks in a chat: ``Name: …`` at the head of a line."""
    if ": " not in text:
        return
    for found in _SPEAKER.finditer(text):
        who = found["who"]
        if who[0].isupper() and _bare(who) not in NO_SPEAKERS and len(who.split()) <= 4 and "http" not in who:
            yield Found("person", found.start("who"), found.end("who"))
