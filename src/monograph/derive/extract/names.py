"""Proper names, known by their capitals."""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Iterator, Sequence

from monograph.derive.extract.clues import (
    GERMAN_LOOSE,
    INSIDE,
    LOOSE,
    NO_SPEAKERS,
    SHORTENED,
    TAILS,
)
from monograph.derive.extract.function_words import FUNCTION_WORDS
from monograph.derive.extract.lexicon import KINDS, compiled_lexicon
from monograph.derive.extract.number_words import is_number_word
from monograph.derive.extract.readings import bare, is_shouted, is_small, readings
from monograph.derive.extract.terms import character_class
from monograph.derive.extract.typed import kind_of_name
from monograph.values import Mention

_NEAR = 2_000
"""Characters around a word at the head of a sentence where its small form is looked for."""

_ELIDED = re.compile(r"(?:[CDJLMNST]|Qu|Un|Al|All|Dall|Dell|Nell|Sull|[dl]|dell|nell)['’](?=[^\W\d_a-z])")
_EXCLAIMED = re.compile(r"!(?! ?[a-z])")
_OPENS = re.compile(r"(?:^|[.!?:;\n。！？>*•\u2600-\u27bf\ufe0f\U0001f000-\U0001ffff-]|[.!?]['\"”’)])[\s\"'“„«(]*$")


@functools.cache
def _name() -> re.Pattern[str]:
    """Words with a capital, joined by blanks, by words that go on a name, or followed by a number."""
    plane = [chr(code) for code in range(0x10000)]
    capital = f"[{character_class(one for one in plane if one.isupper() or one.istitle())}]"
    # Letters that have case, for Chinese goes on without a blank; and the accents of decomposed letters.
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


def proper_names(text: str, language: str, taken: Sequence[tuple[int, int]] = ()) -> Iterator[Mention]:
    """The names in a text of a language of FUNCTION_WORDS, in order of start; readings of one run of words overlap.

    ``taken`` are the spans, ascending, that hold no part of a name.
    """
    fast = compiled_lexicon()
    found = None if fast is None else fast.names(text, language, taken)
    if found is None:
        yield from plain_proper_names(text, language, taken)
        return
    for start, end, number, unless_number in found:
        kind = kind_of_name(text, start, end) if number < 0 else KINDS[number]
        if not (unless_number and kind == "name" and is_number_word(text[start:end])):
            yield Mention(text[start:end], kind, start, end)


def plain_proper_names(text: str, language: str, taken: Sequence[tuple[int, int]] = ()) -> Iterator[Mention]:
    """The same in Python: what the compiled equals."""
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
    """(where a German run begins without a number at its head, whether that is the head of a sentence still).

    Every noun has a capital: the one that follows a number does not make a name of it.
    """
    number, blank, _ = text[start:end].partition(" ")
    return (start + len(number) + 1, False) if blank and is_number_word(number) else (start, True)


def _several(
    text: str, start: int, end: int, small: Collection[str], loose: Collection[str], *, opens: bool
) -> Iterator[Mention]:
    """The readings of a run of several words."""
    words = text[start:end].split(" ")
    if is_shouted(words):
        return
    places = [start]
    for word in words:
        places.append(places[-1] + len(word) + 1)
    for first, last in readings(words, small, loose, opens=opens):
        begin, stop = places[first], places[last] - 1
        if words[first][0].islower() and (article := _ELIDED.match(text, begin)) is not None:
            begin = article.end()
        if last - first == 1:
            yield from _single(text, begin, stop, small, opens=False)
        else:
            stop = _end(text, begin, stop)
            yield Mention(text[begin:stop], kind_of_name(text, begin, stop), begin, stop)


def _single(text: str, start: int, end: int, small: Collection[str], *, opens: bool) -> Iterator[Mention]:
    """A single word with a capital, if it may name something.

    At the head of a sentence, what the text also writes small names nothing, nor does an exclamation, nor a number.
    """
    small_form = bare(text[start:end])
    if len(small_form) < 2 or small_form.isdigit() or is_small(text[start:end], small):
        return
    if opens and (
        text.find(f" {small_form} ", max(0, start - _NEAR), end + _NEAR) >= 0 or _EXCLAIMED.match(text, end) is not None
    ):
        return
    if not (small_form in NO_SPEAKERS and text.startswith(":", end)):
        end = _end(text, start, end)
        kind = kind_of_name(text, start, end)
        hangs = start > 1 and text[start - 1] == "-" and text[start - 2].isalnum()  # 7-Eleven
        if hangs or not (opens and kind == "name" and is_number_word(text[start:end])):
            yield Mention(text[start:end], kind, start, end)


def _head(text: str, start: int, least: int) -> int:
    """Where a first word begins: some names open with a small letter or two (iPhone, eBay, 3Com)."""
    at = start
    while at > least and start - at < 4 and text[at - 1].isalnum() and text[at - 1].isascii():
        at -= 1
    return at if start - at < 4 else start


def _end(text: str, start: int, end: int) -> int:
    """Where a last word ends, without a genitive 's."""
    if end - start > 3 and text[end - 2 : end] in ("'s", "’s"):
        return end - 2
    return end


def _opens(text: str, at: int) -> bool:
    """Whether a sentence begins at a word, which then has its capital from there."""
    if at > 1 and text[at - 1] == " " and (text[at - 2].isalnum() or text[at - 2] == ","):
        return False
    return _OPENS.search(text, max(0, at - 4), at) is not None
