"""Where the sentences of a text stand: rough, and fast enough for every text of a file."""

from __future__ import annotations

import re

_BREAK = re.compile(r"(?<=[.!?…])[\"'”’»)\]]*\s+|(?<=[。！？])[」』”]*\s*|\s*\n\s*\n\s*|\s*\n(?=[^\s])")
_SHORT = re.compile(
    r"(?:^|[\s(\"'“‘])(?:[^\W\d_]|[Mm]rs?|[Mm]s|[Dd]r|[Ss]t|[Pp]rof|[Ss]en|[Rr]ep|[Gg]en|[Cc]ol|[Cc]apt|[Ll]t|Rev|Hon|Jr|Sr"
    r"|[Nn]os?|[Vv]ols?|[Ff]igs?|pp?|[Cc]f|[Vv]s|[Ee]tc|[Ee]\.g|[Ii]\.e|[Aa]pprox|[Uu]\.S|Inc|Ltd|Co|bzw|z\.B|ca)\.$"
)
_LOOK_BACK = 10


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """(start, end) of the sentences of a text, in order, without the white space between them.

    A line that begins with a small letter goes on from the line before it, as in prose wrapped at a fixed width.
    """
    spans: list[tuple[int, int]] = []
    start = 0
    for found in _BREAK.finditer(text):
        if _goes_on(text, found.start(), found.end()):
            continue
        _add(spans, text, start, found.end())
        start = found.end()
    _add(spans, text, start, len(text))
    return spans


def _goes_on(text: str, at: int, after: int) -> bool:
    """Whether what looks like the end of a sentence is none."""
    gap = text[at:after]
    if gap.count("\n") > 1:
        return False
    following = text[after : after + 1]
    if following.islower():
        return True
    return text[at - 1 : at] == "." and "\n" not in gap and _SHORT.search(text, max(0, at - _LOOK_BACK), at) is not None


def _add(spans: list[tuple[int, int]], text: str, start: int, end: int) -> None:
    part = text[start:end]
    left = len(part) - len(part.lstrip())
    if left < len(part):
        spans.append((start + left, start + len(part.rstrip())))
