"""Phrases of texts that may be the titles of documents.

Chinese has neither blanks nor capitals: there any run of characters may be one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from monograph.derive.extract.function_words import FUNCTION_WORDS
from monograph.graph.names import LONGEST_KEY
from monograph.regex import regex
from monograph.text_pass import compiled

LONGEST_TITLE = 8
"""Words of a title that is looked for in a text."""

MOST_SMALL = 3
"""Words without a capital that follow each other in a title."""

LONGEST_UNSPACED = 12
"""Characters of a name that is looked for in Chinese text."""

_RUN = regex("[\u3400-\u4dbf\u4e00-\u9fff][\u3400-\u4dbf\u4e00-\u9fff0-9·•・]+")
_DOTS = regex("[·•・]")
_EDGES = frozenset("的了是在和与或及对于把被从到向为以并也都就不有这那其之所等个们我你他她它吗呢吧啊由·•・")
"""Characters that no name begins or ends with."""

_NONE = FUNCTION_WORDS["english"]


def phrases(texts: Sequence[str]) -> list[dict[str, int]]:
    """Keys of the phrases of one sentence that may be a title, and where each stands first, of each text.

    They begin with a capital or digit, and no more than MOST_SMALL words follow each other without one; in Chinese any
    run of characters may be one.
    """
    found = compiled.title_phrases(list(texts), _NONE, LONGEST_TITLE, MOST_SMALL, LONGEST_KEY)
    for text, one in zip(texts, found, strict=True):
        if not text.isascii():
            for begin, _, key in unspaced_spans(text):
                one.setdefault(key, begin)
    return found


def unspaced_spans(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield (start, end, key) of runs of 2 to LONGEST_UNSPACED characters that may be names, in order of start."""
    if text.isascii():
        return
    for run in _RUN.finditer(text):
        written, begin = run.group(), run.start()
        for first in range(len(written) - 1):
            if written[first] in _EDGES:
                continue
            for last in range(first + 2, min(first + LONGEST_UNSPACED, len(written)) + 1):
                if written[last - 1] not in _EDGES:
                    yield begin + first, begin + last, _DOTS.sub(" ", written[first:last])
