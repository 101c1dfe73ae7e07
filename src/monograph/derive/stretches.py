"""A text in stretches that sentencex is given, none of which takes work out of proportion to its length.

Sentencex works paragraph by paragraph. Within one it looks for the other end of each quotation, holds each stop against
all quotations, brackets and items of lists, and goes back from it to the blank before its word. In what people write
these are near, and few. In a run of fences, of quotes that nothing closes, of stops without a blank they are not: its
time grows with the square of the length. How much work a paragraph asks for at most is counted here beforehand, and
where that is far above what any text asks for that was written to be read, the paragraph is divided until it is not.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from itertools import pairwise

from monograph.regex import regex

MOST_WORK = 1_024
"""Most signs that each sign of a stretch is held against, on average: 630 in the worst of 24,000 real paragraphs."""

ALWAYS_TAKEN = 512
"""A stretch of at most so many characters is taken as it is."""

LONG_WORD = 256

_PARAGRAPH_BREAK = regex(r"\n\r*\n")
_CLOSED_BY = {
    "``": ("''", "``"), "''": ("''",), "`": ("'", "`"), "'": ("'",), '"': ('"',), "«": ("»",), "»": ("«",),
    "‘": ("’",), "‚": ("‚",), "“": ("”",), "„": ("“",), "‛": ("‛",), "‟": ("‟",), "‹": ("›",), "《": ("》",),
    "「": ("」",),
}  # fmt: skip
# An apostrophe within a word is no quote. What is not ASCII may be a letter, or not.
_QUOTE = regex(r"``|''|(?<![A-Za-z0-9_])[`'](?=\w|[^\x00-\x7f])|[`'](?!\w)|[\"«»‘’‚“”„‛‟‹›《》「」]")
_SYMMETRIC = regex(r"``|''|[`'\"‚‛‟]")
_STOP = regex(r"[.!?]|[^\w\s\x00-\x7f]")
_NOT_ASCII = regex(r"[^\w\s\x00-\x7f]")
_LONG_WORD = regex(rf"\S{{{LONG_WORD},}}")
_ENCLOSES = "([{<（)\n•◦▪▫■□●○⁃⁌⁍◆◇★☆➤➢➣▶▸►"
_LINE_OR_SPACE = regex(r".*\n|.*\s", re.DOTALL)


def stretches(text: str) -> Iterator[tuple[int, int]]:
    """Where the stretches of a text stand, in order, without a gap: nearly always one.

    Between them no sentence goes on; a border that is not the end of a paragraph is one in a text that is no prose.
    """
    start = 0
    if not _is_easy(text):
        for first, last in _paragraphs(text):
            if _times_too_much(text[first:last]) > 1:
                if start < first:
                    yield start, first
                yield from _divided(text, first, last)
                start = last
    if start < len(text):
        yield start, len(text)


def _paragraphs(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for found in _PARAGRAPH_BREAK.finditer(text):
        yield start, found.end()
        start = found.end()
    yield start, len(text)


def _divided(text: str, first: int, last: int) -> Iterator[tuple[int, int]]:
    """A stretch divided at ends of lines, else at white space, until no part asks too much."""
    length = last - first
    times = _times_too_much(text[first:last])
    if times <= 1:
        yield first, last
        return
    # Of a half of the length a sign is held against half as many.
    size = max(length // (int(times) + 1), ALWAYS_TAKEN // 2)
    while first < last:
        end = min(last, first + size)
        if end < last:
            found = _LINE_OR_SPACE.match(text, first + size // 2, end)
            end = end if found is None else found.end()
        yield from _divided(text, first, end)
        first = end


def _times_too_much(text: str) -> float:
    """How many times too much work a stretch asks for; at most 1 where it may be taken."""
    return 0 if _is_easy(text) else work(text) / (MOST_WORK * len(text))


def _is_easy(text: str) -> bool:
    """Whether a text has so few quotes, stops and strange signs that its work needs no counting."""
    if len(text) <= ALWAYS_TAKEN:
        return True
    most = MOST_WORK // 2 - sum(map(text.count, "'\"`.!?"))
    # Each character beyond ASCII has more than one byte: nearly always so few that they need no look.
    return len(text.encode("utf-8", "surrogatepass")) - len(text) <= most or len(_NOT_ASCII.findall(text)) <= most


def work(text: str) -> int:
    """How many signs are gone over at most to find the sentences of a paragraph, beyond reading it once."""
    quotes = [(found.start(), found.group()) for found in _QUOTE.finditer(text)]
    stops = [found.start() for found in _STOP.finditer(text)]
    enclosing: int = len(quotes) // 2 + sum(map(text.count, _ENCLOSES))
    symmetric = _SYMMETRIC.findall(text)
    alternations: int = sum(one != other for one, other in pairwise(symmetric))
    # Going through ranges and counting one kind of quote takes a part of the time that reading a sign does.
    total: int = (
        _looking_for_ends(text, quotes)
        + len(stops) * enclosing
        + _going_back(text, stops)
        + len(quotes) ** 2 // 4
        + alternations * len(text) // 4
    )
    return total


def _looking_for_ends(text: str, quotes: list[tuple[int, str]]) -> int:
    """From each sign that may open a quotation to the farthest of the next signs that may close it, or to the end."""
    total = 0
    following: dict[str, int] = {}
    for at, sign in reversed(quotes):
        opens = closes = True
        if sign in ("'", "`"):
            after = text[at + 1 : at + 2]
            closes = not (after.isalnum() or after == "_")
            opens = not closes or not (after.isascii() or after.isspace())
        if opens:
            total += max((following.get(one, len(text)) - at for one in _CLOSED_BY.get(sign, ())), default=0)
        if closes:
            following[sign] = at
            following[sign[0]] = at
    return total


def _going_back(text: str, stops: list[int]) -> int:
    """From each stop in a long word to the beginning of the word."""
    total = 0
    for word in _LONG_WORD.finditer(text):
        within = stops[bisect_left(stops, word.start()) : bisect_left(stops, word.end())]
        total += sum(within) - len(within) * word.start()
    return total
