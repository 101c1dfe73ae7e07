"""Phrases of texts that may be the titles of documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set

from monograph.derive.extract.function_words import FUNCTION_WORDS
from monograph.graph.names import LONGEST_KEY
from monograph.search import unspaced
from monograph.text_pass import compiled

LONGEST_TITLE = 8
"""Words of a title that is looked for in a text."""

MOST_SMALL = 3
"""Words without a capital that follow each other in a title."""

_NONE = FUNCTION_WORDS["english"]


def phrases(texts: Sequence[str], among: Set[str] | Mapping[str, object] | None = None) -> list[dict[str, int]]:
    """Keys of the phrases of one sentence that may be a title, and where each stands first, of each text.

    They begin with a capital or digit, and no more than MOST_SMALL words follow each other without one; in Chinese any
    run of characters may be one. Where ``among`` is given, only those that are there.
    """
    found = compiled.title_phrases(list(texts), _NONE, LONGEST_TITLE, MOST_SMALL, LONGEST_KEY, among)
    for text, one in zip(texts, found, strict=True):
        if not text.isascii():
            for begin, _, key in unspaced.spans(text):
                if among is None or key in among:
                    one.setdefault(key, begin)
    return found
