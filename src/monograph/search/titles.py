"""Phrases of texts that may be the titles of documents."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from itertools import accumulate

from monograph.derive.extract.function_words import FUNCTION_WORDS
from monograph.graph.names import LONGEST_KEY, key_of
from monograph.search import unspaced
from monograph.text_pass import compiled

LONGEST_TITLE = 8
"""Words of a title that is looked for in a text."""

MOST_SMALL = 3
"""Words without a capital that follow each other in a title."""

_TOKEN = re.compile(r"\w+")
_STOP = re.compile(r"[?!;()\n\"]|(?<=\w\w\w)\.(?=\s)")
"""One character behind which no title goes on."""
_NONE = FUNCTION_WORDS["english"]


def phrases(texts: Sequence[str], among: Set[str] | Mapping[str, object] | None = None) -> list[dict[str, int]]:
    """Keys of the phrases of one sentence that may be a title, and where each stands first, of each text.

    They begin with a capital or digit, and no more than MOST_SMALL words follow each other without one; in Chinese any
    run of characters may be one. Where ``among`` is given, only those that are there.
    """
    made: Sequence[dict[str, int] | None] = [None] * len(texts)
    if compiled is not None:
        made = compiled.title_phrases(list(texts), _NONE, LONGEST_TITLE, MOST_SMALL, LONGEST_KEY, among)
    found = [_among(plain_phrases(text), among) if one is None else one for text, one in zip(texts, made, strict=True)]
    for text, one in zip(texts, found, strict=True):
        if not text.isascii():
            for begin, _, key in unspaced.spans(text):
                if among is None or key in among:
                    one.setdefault(key, begin)
    return found


def _among(found: dict[str, int], among: Set[str] | Mapping[str, object] | None) -> dict[str, int]:
    return found if among is None else {key: at for key, at in found.items() if key in among}


def plain_phrases(text: str) -> dict[str, int]:
    """Those with capitals and digits, in Python: what the compiled equals."""
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
    for word in _NONE:
        found.pop(word, None)
    return found


def _reaches(large: Sequence[int], count: int) -> list[int]:
    """For each place of a word with a capital, where the words end that a title from there may have."""
    reaches = []
    reach = following = count
    for place in reversed(large):
        if following - place > MOST_SMALL + 1:
            reach = place + 1 + MOST_SMALL
        reaches.append(reach)
        following = place
    return reaches[::-1]
