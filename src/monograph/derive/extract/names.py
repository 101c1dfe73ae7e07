"""Proper names, known by their capitals, with a coarse type where the words around them give it away."""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from monograph.derive.extract.clues import (
    INSIDE,
    KIND_BY_DEFINITION,
    KIND_BY_LAST_WORD,
    LOOSE,
    NO_SPEAKERS,
    TITLES,
)
from monograph.derive.extract.function_words import FUNCTION_WORDS

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
_WRITTEN = re.compile(r"\S+")
_OPENS = re.compile(r"(?:^|[.!?:;\n。！？>*•-]|[.!?]['\"”’)])[\s\"'“„«(]*$")
_ALSO_NAMES = frozenset(("will", "may"))
"""Function words that are first names too: at the head of a sentence both readings are given."""


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


def proper_names(text: str, language: str) -> Iterator[Found]:
    """The names in a text of a language of FUNCTION_WORDS, in order of start; readings of one run of words overlap."""
    small = FUNCTION_WORDS[language]
    for run in _name().finditer(text):
        base = run.start()
        words = [(base + one.start(), base + one.end()) for one in _WRITTEN.finditer(run.group())]
        parts = words[:LONGEST_WORDS]
        opens = _OPENS.search(text, max(0, base - 4), base) is not None
        for first, last in _readings([text[start:end] for start, end in parts], small, opens=opens):
            start, end = parts[first][0], _end(text, *parts[last - 1])
            if last - first > 1 or _is_name(text, start, end, small):
                yield Found(_kind(text, start, end), start, end)


def _end(text: str, start: int, end: int) -> int:
    """Where a last word ends, without a genitive 's."""
    if end - start > 3 and text[end - 2 : end] in ("'s", "’s"):
        return end - 2
    return end


def _readings(words: list[str], small: Collection[str], *, opens: bool) -> Iterator[tuple[int, int]]:
    """(first, last) of the whole run, and of its parts between loose words.

    At the head of a sentence a function word has its capital from there; within one it belongs to the name (Will Smith,
    Die Hard).
    """
    first = 0
    while opens and first < len(words) - 1 and _bare(words[first]) in small:
        first += 1
    last = len(words)
    while last > first + 1 and words[last - 1] in INSIDE | LOOSE:
        last -= 1
    yield first, last
    if first > 0 and _bare(words[first - 1]) in _ALSO_NAMES:
        yield first - 1, last
    begin = first
    cuts = [at for at in range(first, last) if words[at] in LOOSE]
    for cut in (*cuts, last) if cuts else ():
        head, tail = begin, cut
        while head < tail and words[head] in INSIDE:
            head += 1
        while tail > head and words[tail - 1] in INSIDE:
            tail -= 1
        if head < tail:
            yield head, tail
        begin = cut + 1


def _bare(word: str) -> str:
    return word.strip(".,'’").casefold()


def _is_name(text: str, start: int, end: int, small: Collection[str]) -> bool:
    """Whether a single word with a capital may name something. German nouns all have one: they may too."""
    bare = _bare(text[start:end])
    if len(bare) < 2 or bare in small or bare.replace("’", "'").partition("'")[0] in small:
        return False
    return not (bare in NO_SPEAKERS and text.startswith(":", end))


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
