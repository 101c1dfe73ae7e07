"""What a run of words with capitals may name: all of it, or its parts."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from itertools import pairwise

from monograph.derive.extract.clues import FIRM, GERMAN_PARTS, INSIDE, LOOSE, TITLES

LONGEST_WORDS = 12
"""A longer run of capitals is a heading; only its parts between loose words are names."""

MOST_LOOSE = 2
"""Places of a name where loose words stand; a run with more is only read in parts."""

_MOST_SHOUTED = 3
"""Words all in capitals; more are a shout, and name nothing."""

ALSO_NAMES = frozenset(("will", "may"))
"""Function words that are first names too: at the head of a sentence both readings are given."""

_DIGIT = re.compile(r"\d")


def is_shouted(words: list[str]) -> bool:
    """Whether a run is a line in capitals."""
    long = [word for word in words if len(word) > 2]
    return len(long) > _MOST_SHOUTED and all(map(str.isupper, words))


def readings(
    words: list[str], small: Collection[str], loose: Collection[str], *, opens: bool
) -> Iterator[tuple[int, int]]:
    """(first, last) of the readings of a run of several words; longer ones, and such as have only numbers, are none."""
    ends = [at for at, one in enumerate(words[:-1], 1) if one.endswith(".") and _ends_sentence(one, words[at], small)]
    for first, last in pairwise((0, *ends, len(words))):
        for head, tail in _of_sentence(words[first:last], small, loose, opens=opens or first > 0):
            if tail - head <= LONGEST_WORDS and not all(map(_DIGIT.search, words[first + head : first + tail])):
                yield first + head, first + tail


def _ends_sentence(one: str, two: str, small: Collection[str]) -> bool:
    """Whether a sentence ends between two words: a function word with a capital follows a dot."""
    if two.endswith(".") or two.islower() or bare(one) in TITLES:
        return False
    return is_small(two, small)


def _of_sentence(
    words: list[str], small: Collection[str], loose: Collection[str], *, opens: bool
) -> Iterator[tuple[int, int]]:
    """(first, last) of the whole run; of its parts between loose words; of what stands around a genitive or a year.

    At the head of a sentence a function word has its capital from there; within one it belongs to the name (Will Smith,
    Die Hard).
    """
    first, last = 0, len(words)
    while last > 1 and (words[last - 1] in INSIDE or words[last - 1] in loose):
        last -= 1
    if opens and last > 1 and is_small(words[0], small):
        first = 1
        doubtful = is_small(words[1], small)
        if last > 2 and words[1][0].isupper() if doubtful else bare(words[0]) in ALSO_NAMES:
            yield 0, last
        while first < last - 1 and (words[first].islower() or words[first] in INSIDE):
            first += 1
    if last - first > 1 and len(words[first]) == 4 and words[first].isdigit():
        begin = first + 1
        while begin < last - 1 and words[begin] in INSIDE:
            begin += 1
        if first > 0 and bare(words[0]) not in INSIDE:
            first = begin
        else:
            yield begin, last
    yield from _around_loose(words, first, last, loose)


def _around_loose(words: list[str], first: int, last: int, loose: Collection[str]) -> Iterator[tuple[int, int]]:
    """The whole of a run with loose words, and its parts; a run with too many, or a German one, is parted first."""
    cuts = [at for at in range(first, last) if words[at] in loose]
    if not cuts:
        yield first, last
        yield from _around_genitive(words, first, last)
        return
    gaps = sum(words[at - 1] not in loose for at in cuts)
    parting = GERMAN_PARTS if loose is not LOOSE else FIRM if gaps > MOST_LOOSE else ()
    firm = [at for at in cuts if words[at] in parting]
    if firm:
        for head, tail in _parts(words, first, last, firm):
            yield from _around_loose(words, head, tail, loose)
        return
    if gaps <= MOST_LOOSE:
        yield first, last
    for head, tail in _parts(words, first, last, cuts):
        yield head, tail
        yield from _around_genitive(words, head, tail)


def _around_genitive(words: list[str], first: int, last: int) -> Iterator[tuple[int, int]]:
    """Both sides of a genitive of several words: Bram Stoker's Dracula, but not Schindler's List."""
    for at in range(first + 1, min(last, first + LONGEST_WORDS) - 1):
        if words[at].endswith(("'s", "’s")):
            yield first, at + 1
            yield at + 1, last


def _parts(words: list[str], first: int, last: int, cuts: list[int]) -> Iterator[tuple[int, int]]:
    """What stands between some words of a run."""
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


def bare(word: str) -> str:
    """A word in small letters, without the signs around it."""
    return word.strip(".,'’").lower()


def is_small(word: str, small: Collection[str]) -> bool:
    """Whether a word is a function word, also with its verb (it's, don't), or a letter that is one in Greek."""
    written = bare(word)
    if written in small or (len(word) == 1 and not word.isascii()):
        return True
    head, mark, tail = written.replace("’", "'").partition("'")
    return mark != "" and word.endswith(tail) and (head in small or tail == "t")
