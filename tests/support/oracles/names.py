"""Mentions, and proper names by regular expressions. The compiled module must return the same."""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

import pytest

from monograph.derive.extract.clues import (
    FIRM,
    GERMAN_LOOSE,
    GERMAN_PARTS,
    INSIDE,
    LOOSE,
    NO_SPEAKERS,
    SHORTENED,
    TAILS,
    TITLES,
    kind_of_name,
)
from monograph.derive.extract.function_words import FUNCTION_WORDS, is_number_word, strip_punctuation
from monograph.derive.extract.german import with_terms
from monograph.derive.extract.han import han_names, han_terms, has_chinese
from monograph.derive.extract.pattern import ALSO_NAMES, LONGEST_NAME, MOST_MENTIONS, NEAR, speaker_names
from monograph.derive.extract.shapes import shapes, without
from monograph.values import Mention
from support.oracles.phrases import character_class, key_phrases, language_of

_LONGEST_WORD = 32
_LONGEST_WORDS = 12
_MOST_LOOSE = 2
_MOST_SHOUTED = 3
_DIGIT = re.compile(r"\d")
_ELIDED = re.compile(r"(?:[CDJLMNST]|Qu|Un|Al|All|Dall|Dell|Nell|Sull|[dl]|dell|nell)['’](?=[^\W\d_a-z])")
_EXCLAIMED = re.compile(r"!(?! ?[a-z])")
_OPENS = re.compile(r"(?:^|[.!?:;\n。！？>*•\u2600-\u27bf\ufe0f\U0001f000-\U0001ffff-]|[.!?]['\"”’)])[\s\"'“„«(]*$")

Name = tuple[int, int, str]
"""Start, end, kind."""

possessive = pytest.mark.skipif(
    sys.version_info < (3, 11, 5), reason="before Python 3.11.5, re matches possessive repeats of groups wrongly"
)
"""Mark of tests that compare with these expressions."""


@functools.cache
def _name() -> re.Pattern[str]:
    """Return the pattern of a name: capitalised words, joined by spaces or linking words, or followed by a number."""
    plane = [chr(code) for code in range(0x10000)]
    capital = f"[{character_class(one for one in plane if one.isupper() or one.istitle())}]"
    # Only letters with case, as Chinese text has no spaces between words; also accents of decomposed letters.
    of_name = (one for one in plane if one.isupper() or one.islower() or one.isdigit() or "\u0300" <= one < "\u0370")
    letters = f"[{character_class(of_name)}_]"
    # A dot belongs to an initial, and to some short words: J. S. Bach, Dr. King.
    by_length = {len(word): [one for one in SHORTENED if len(one) == len(word)] for word in SHORTENED}
    short = "|".join(rf"(?<=\b(?:{'|'.join(sorted(some))})\.)" for _, some in sorted(by_length.items()))
    dot = rf"(?:\.(?:(?<=\b{capital}\.)|{short}))"
    joint = rf"(?:[.'’ʻʼ&\u00ad\u200b-\u200d\u2060]|-(?!(?:{'|'.join(sorted(TAILS))})\b))"
    word = rf"{capital}{letters}*+(?:{joint}{letters}++)*+{dot}?"
    lower = "|".join(sorted(map(re.escape, INSIDE | LOOSE | GERMAN_LOOSE), key=len, reverse=True))
    number = r"\d{1,4}(?:\.\d{1,2})?(?![\w–%-]|[.,:/]\d)"
    link = rf",? (?=(?:Jr|Sr)\b)| (?:(?:{lower}) ){{0,3}}(?:(?:[dl]|dell|nell)['’])?"
    return re.compile(
        rf"(?:(?<![\w.,:/-])\d{{1,4}}(?:st|nd|rd|th)? )?{word}(?:(?:{link}){word}| {number}| ?['’]\d\d(?!\w))*+"
    )


def proper_names(text: str, language: str, taken: Sequence[tuple[int, int]] = ()) -> Iterator[Name]:
    """See :func:`monograph.derive.extract.pattern.proper_names`."""
    small = FUNCTION_WORDS[language]
    loose = LOOSE | GERMAN_LOOSE if language == "german" else LOOSE
    elides = language in ("french", "italian")
    at = 0
    for stop, after in (*taken, (len(text), 0)):
        for run in _name().finditer(text, at, stop):
            start = _head(text, run.start(), at)
            opens = _opens(text, start)
            if elides and opens and (article := _ELIDED.match(text, start)) is not None:
                start = article.end()
            if opens and language == "german":
                start, opens = _after_number(text, start, run.end())
            if " " not in text[start : run.end()]:
                yield from _single(text, start, run.end(), small, opens=opens)
            else:
                yield from _several(text, start, run.end(), small, loose, opens=opens)
        at = after


def _after_number(text: str, start: int, end: int) -> tuple[int, bool]:
    """Return (start of a German run after a number word, whether it still begins a sentence).

    Every German noun has a capital, so a noun after a number is no evidence of a name.
    """
    number, blank, _ = text[start:end].partition(" ")
    return (start + len(number) + 1, False) if blank and is_number_word(number) else (start, True)


def _several(
    text: str, start: int, end: int, small: Collection[str], loose: Collection[str], *, opens: bool
) -> Iterator[Name]:
    """Yield the names in a run of several words."""
    words = text[start:end].split(" ")
    if _is_shouted(words):
        return
    places = [start]
    for word in words:
        places.append(places[-1] + len(word) + 1)
    for first, last in _readings(words, small, loose, opens=opens):
        begin, stop = places[first], places[last] - 1
        if words[first][0].islower() and (article := _ELIDED.match(text, begin)) is not None:
            begin = article.end()
        if last - first == 1:
            yield from _single(text, begin, stop, small, opens=False)
        else:
            stop = _end(text, begin, stop)
            yield begin, stop, kind_of_name(text, begin, stop)


def _single(text: str, start: int, end: int, small: Collection[str], *, opens: bool) -> Iterator[Name]:
    """Yield a single word with a capital if it may be a name.

    At the start of a sentence it is no name if the text nearby has it in lower case, if an exclamation mark follows, or
    if it is a number word.
    """
    small_form = strip_punctuation(text[start:end])
    if len(small_form) < 2 or small_form.isdigit() or _is_small(text[start:end], small):
        return
    if opens and (
        text.find(f" {small_form} ", max(0, start - NEAR), end + NEAR) >= 0 or _EXCLAIMED.match(text, end) is not None
    ):
        return
    if not (small_form in NO_SPEAKERS and text.startswith(":", end)):
        end = _end(text, start, end)
        kind = kind_of_name(text, start, end)
        hangs = start > 1 and text[start - 1] == "-" and text[start - 2].isalnum()  # 7-Eleven
        if hangs or not (opens and kind == "name" and is_number_word(text[start:end])):
            yield start, end, kind


def _head(text: str, start: int, least: int) -> int:
    """Return where a first word begins: some names start with a small letter or two (iPhone, eBay, 3Com)."""
    at = start
    while at > least and start - at < 4 and text[at - 1].isalnum() and text[at - 1].isascii():
        at -= 1
    return at if start - at < 4 else start


def _end(text: str, start: int, end: int) -> int:
    """Return where a last word ends, without a genitive 's."""
    if end - start > 3 and text[end - 2 : end] in ("'s", "’s"):
        return end - 2
    return end


def _opens(text: str, at: int) -> bool:
    """Return whether a sentence begins at a word, so that its capital does not indicate a name."""
    if at > 1 and text[at - 1] == " " and (text[at - 2].isalnum() or text[at - 2] == ","):
        return False
    return _OPENS.search(text, max(0, at - 4), at) is not None


def _is_shouted(words: list[str]) -> bool:
    """Return whether a run is a line in capitals."""
    long = [word for word in words if len(word) > 2]
    return len(long) > _MOST_SHOUTED and all(map(str.isupper, words))


def _readings(
    words: list[str], small: Collection[str], loose: Collection[str], *, opens: bool
) -> Iterator[tuple[int, int]]:
    """Yield (first, last) of the names in a run, except those that are too long or have only numbers."""
    ends = [at for at, one in enumerate(words[:-1], 1) if one.endswith(".") and _ends_sentence(one, words[at], small)]
    for first, last in pairwise((0, *ends, len(words))):
        for head, tail in _of_sentence(words[first:last], small, loose, opens=opens or first > 0):
            if tail - head <= _LONGEST_WORDS and not all(map(_DIGIT.search, words[first + head : first + tail])):
                yield first + head, first + tail


def _ends_sentence(one: str, two: str, small: Collection[str]) -> bool:
    """Return whether a sentence ends between two words: a function word with a capital follows a dot."""
    if two.endswith(".") or two.islower() or strip_punctuation(one) in TITLES:
        return False
    return _is_small(two, small)


def _of_sentence(
    words: list[str], small: Collection[str], loose: Collection[str], *, opens: bool
) -> Iterator[tuple[int, int]]:
    """Yield (first, last) of the whole run, its parts between loose words, and both sides of a genitive or a year.

    A function word with a capital belongs to the name (Will Smith, Die Hard), except at the start of a sentence.
    """
    first, last = 0, len(words)
    while last > 1 and (words[last - 1] in INSIDE or words[last - 1] in loose):
        last -= 1
    if opens and last > 1 and _is_small(words[0], small):
        first = 1
        doubtful = _is_small(words[1], small)
        if last > 2 and words[1][0].isupper() if doubtful else strip_punctuation(words[0]) in ALSO_NAMES:
            yield 0, last
        while first < last - 1 and (words[first].islower() or words[first] in INSIDE):
            first += 1
    if last - first > 1 and len(words[first]) == 4 and words[first].isdigit():
        begin = first + 1
        while begin < last - 1 and words[begin] in INSIDE:
            begin += 1
        if first > 0 and strip_punctuation(words[0]) not in INSIDE:
            first = begin
        else:
            yield begin, last
    yield from _around_loose(words, first, last, loose)


def _around_loose(words: list[str], first: int, last: int, loose: Collection[str]) -> Iterator[tuple[int, int]]:
    """Yield a run with loose words and its parts; a run with too many loose words, or a German one, is split first."""
    cuts = [at for at in range(first, last) if words[at] in loose]
    if not cuts:
        yield first, last
        yield from _around_genitive(words, first, last)
        return
    gaps = sum(words[at - 1] not in loose for at in cuts)
    parting = GERMAN_PARTS if loose is not LOOSE else FIRM if gaps > _MOST_LOOSE else ()
    firm = [at for at in cuts if words[at] in parting]
    if firm:
        for head, tail in _parts(words, first, last, firm):
            yield from _around_loose(words, head, tail, loose)
        return
    if gaps <= _MOST_LOOSE:
        yield first, last
    for head, tail in _parts(words, first, last, cuts):
        yield head, tail
        yield from _around_genitive(words, head, tail)


def _around_genitive(words: list[str], first: int, last: int) -> Iterator[tuple[int, int]]:
    """Yield both sides of a genitive of several words: Bram Stoker's Dracula, but not Schindler's List."""
    for at in range(first + 1, min(last, first + _LONGEST_WORDS) - 1):
        if words[at].endswith(("'s", "’s")):
            yield first, at + 1
            yield at + 1, last


def _parts(words: list[str], first: int, last: int, cuts: list[int]) -> Iterator[tuple[int, int]]:
    """Yield the parts of a run between some of its words."""
    begin = first
    for cut in (*cuts, last):
        head, tail = begin, cut
        while head < tail and words[head] in INSIDE:
            head += 1
        while tail > head and words[tail - 1] in INSIDE:
            tail -= 1
        if head < tail:
            yield head, tail
        begin = cut + 1


def _is_small(word: str, small: Collection[str]) -> bool:
    """Return whether a word is a function word, also with its verb (it's, don't), or a single letter as in Greek."""
    written = strip_punctuation(word)
    if written in small or (len(word) == 1 and not word.isascii()):
        return True
    head, mark, tail = written.replace("’", "'").partition("'")
    return mark != "" and word.endswith(tail) and (head in small or tail == "t")


def mentions(text: str) -> list[Mention]:
    """See :func:`monograph.derive.extract.pattern.mentions`."""
    found = {(start, end): Mention(text[start:end], kind, start, end) for start, end, kind in shapes(text)}
    # A year or a code may be a part of a name (the 1999 Open, Boeing B-52); an address, a day or an amount is not.
    taken = sorted(span for span, one in found.items() if _stands_alone(one))
    language = language_of(text)
    is_han = has_chinese(text)
    names = list(proper_names(text, language, taken))
    names = with_terms(text, names) if language == "german" else names
    names = [*speaker_names(without(text, taken)), *names, *(han_names(text) if is_han else ())]
    phrases = key_phrases(text, language) if language != "german" else ()
    for one in (Mention(text[start:end], kind, start, end) for start, end, kind in names):
        span = (one.start, one.end)
        known = found.get(span)
        if one.end - one.start > LONGEST_NAME or (known is not None and known.kind not in ("name", "quote")):
            continue
        found[span] = _quoted(text, one) if known is not None and known.kind == "quote" else one
    for start, end in (*phrases, *(han_terms(text) if is_han else ())):
        found.setdefault((start, end), Mention(text[start:end], "term", start, end))
    ordered = sorted(found.values(), key=lambda one: (one.start, -one.end))
    return ordered[:MOST_MENTIONS]


def _stands_alone(one: Mention) -> bool:
    return one.kind in ("url", "email", "time", "quantity") or (one.kind == "date" and len(one.name) > 4)


def _quoted(text: str, one: Mention) -> Mention:
    """Return a name in quotation marks as a work, unless its kind is known or it is inside a name."""
    before, after = text[max(0, one.start - _LONGEST_WORD) : max(0, one.start - 2)], text[one.end + 2 : one.end + 3]
    within = after.isupper() and before[before.rfind(" ") + 1 :][:1].isupper()
    return replace(one, kind="work") if one.kind == "name" and not within else one
