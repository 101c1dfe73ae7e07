"""Titles in a text, and question words near its names, in plain Python. The compiled module must return the same."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import accumulate

from monograph.derive.extract.function_words import FUNCTION_WORDS
from monograph.graph.names import key_of
from monograph.graph.text import sentence_starts
from monograph.search.names import LONGEST_TITLE, MOST_SMALL
from monograph.search.question import Question
from support.oracles import words

_TOKEN = re.compile(r"\w+")
_STOP = re.compile(r"[?!;()\n\"]|(?<=\w\w\w)\.(?=\s)")
"""A character that ends a title."""


def title_phrases(text: str) -> dict[str, int]:
    """Return the keys of phrases that begin with a capital or digit, and the offset of each one's first occurrence."""
    found: dict[str, int] = {}
    start = 0
    for part in _STOP.split(text):
        tokens = [(key, start + one.start()) for one in _TOKEN.finditer(part) if (key := key_of(one.group()))]
        joined = " ".join(key for key, _ in tokens)
        ends = list(accumulate((len(key) + 1 for key, _ in tokens), initial=0))
        large = [place for place, (_, at) in enumerate(tokens) if text[at].isupper() or text[at].isdigit()]
        for first, reach in zip(large, _reaches(large, len(tokens)), strict=True):
            begin, offset = ends[first], tokens[first][1]
            for end in ends[first + 1 : min(reach, first + LONGEST_TITLE) + 1]:
                found.setdefault(joined[begin : end - 1], offset)
        start += len(part) + 1
    for word in FUNCTION_WORDS["english"]:
        found.pop(word, None)
    return found


def _reaches(large: Sequence[int], count: int) -> list[int]:
    """Return, for each capitalised word, the end of the longest title that may begin with it."""
    reaches = []
    reach = following = count
    for place in reversed(large):
        if following - place > MOST_SMALL + 1:
            reach = place + 1 + MOST_SMALL
        reaches.append(reach)
        following = place
    return reaches[::-1]


def beside(
    question: Question, title: str, text: str, keys: Sequence[str], where: Sequence[Sequence[int]]
) -> list[tuple[int, float]]:
    """Return for each name (number of its words that the title lacks, highest weight of question words in a sentence).

    Only the sentences that have the name count, without the words of the name and of the title.
    """
    in_title = set(words.words(words.key(title)))
    begins = sentence_starts(text)
    ends = [*begins[1:], len(text)]
    sentences = [question.places(words.words(text[begin:end])) for begin, end in zip(begins, ends, strict=True)]
    found = []
    for key, places in zip(keys, where, strict=True):
        own = set(words.words(key))
        aside = question.places(own | in_title)
        nearby = [sentences[min(place, len(sentences) - 1)] - aside for place in places]
        # The order of the summands decides how a sum is rounded.
        weights = [float(sum(question.weights[word] for word in sorted(words_near))) for words_near in nearby]
        found.append((len(own - in_title), max(weights, default=0.0)))
    return found
