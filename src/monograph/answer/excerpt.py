"""The stretch of a text that says most: one paragraph of it, and no more than a budget has room for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TypeAlias

import numpy as np

from monograph.answer.query_terms import QueryTerms
from monograph.graph.evidence import Float64
from monograph.graph.names import stem
from monograph.regex import regex
from monograph.store.words.terms import words_of

Counter: TypeAlias = Callable[[Sequence[str]], Sequence[int]]
"""The numbers of tokens of texts."""

WANTED = 1.5
"""What a word of the name, date or number that is asked for counts, where a word of the question counts 1."""

BREAK = 0.3
"""What it counts that a stretch begins, or ends, where a clause does."""

AWAY = 0.05
"""What each word counts that the middle of a stretch lies away from the middle of what is looked for."""

_WORD = regex(r"\S+")
_BLANK_LINE = regex(r"\n\s*\n")
_CLOSES = ",;:.!?—–)"


def excerpt(
    asked: QueryTerms, text: str, wanted: tuple[int, int] | None, budget: int, count: Counter
) -> tuple[int, int]:
    """Where the best stretch of at most ``budget`` tokens stands; (0, 0) where no word has room.

    It is the paragraph with most of the question in it (a heading is one), or as many whole words of that as have room.
    ``wanted`` is what in the text is most likely the answer itself.
    """
    words = [found.span() for found in _WORD.finditer(text)]
    if not words:
        return 0, 0
    if _BLANK_LINE.search(text) is None and count([text[words[0][0] : words[-1][1]]])[0] <= budget:
        return words[0][0], words[-1][1]
    value = _values(asked, text, words, wanted)
    opens = [0, *(at for at, (one, two) in enumerate(pairwise(words), 1) if _BLANK_LINE.search(text, one[1], two[0]))]
    paragraphs = list(pairwise([*opens, len(words)]))
    first, last = max(paragraphs, key=lambda some: (value[some[0] : some[1]].sum(), some))
    if count([text[words[first][0] : words[last - 1][1]]])[0] > budget:
        begin, end = _stretch(text, words[first:last], value[first:last], budget, count)
        first, last = first + begin, first + end
    # Tokens of words alone add up to about those of the whole, not to exactly as many.
    while last > first and count([text[words[first][0] : words[last - 1][1]]])[0] > budget:
        last -= 1
    return (words[first][0], words[last - 1][1]) if last > first else (0, 0)


def _stretch(
    text: str, words: Sequence[tuple[int, int]], value: Float64, budget: int, count: Counter
) -> tuple[int, int]:
    """The words, from and to, that count most of those that have room by a count of each alone."""
    costs = np.maximum(count([text[start:end] for start, end in words]), 1)
    spent, gained = np.concatenate(([0], np.cumsum(costs))), np.concatenate(([0.0], np.cumsum(value)))
    sought = np.flatnonzero(value)
    middle = float(sought.mean()) if len(sought) else len(words) / 2
    best, first, last = -np.inf, 0, 0
    for begin in range(len(words)):
        end = int(np.searchsorted(spent, spent[begin] + budget, side="right")) - 1
        breaks = (begin == 0 or text[words[begin - 1][1] - 1] in _CLOSES) + (text[words[end - 1][1] - 1] in _CLOSES)
        worth = gained[end] - gained[begin] + BREAK * breaks - AWAY * abs((begin + end) / 2 - middle)
        if end > begin and worth > best:
            best, first, last = worth, begin, end
    return first, last


def _values(asked: QueryTerms, text: str, words: Sequence[tuple[int, int]], wanted: tuple[int, int] | None) -> Float64:
    """What each word counts."""
    stems = set(asked.stems)
    told = [float(not stems.isdisjoint(map(stem, words_of(text[start:end])))) for start, end in words]
    first, last = wanted or (0, 0)
    return np.array(
        [one + WANTED * (start < last and first < end) for one, (start, end) in zip(told, words, strict=True)]
    )
