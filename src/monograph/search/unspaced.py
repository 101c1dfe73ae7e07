"""What may be a name in Chinese text, which has neither blanks nor capitals: any run of characters, to be looked up."""

from __future__ import annotations

from collections.abc import Iterator

from monograph.regex import regex

LONGEST = 12
"""Characters of a name that is looked for."""

_RUN = regex("[\u3400-\u4dbf\u4e00-\u9fff][\u3400-\u4dbf\u4e00-\u9fff0-9·•・]+")
_DOTS = regex("[·•・]")
_EDGES = frozenset("的了是在和与或及对于把被从到向为以并也都就不有这那其之所等个们我你他她它吗呢吧啊由·•・")
"""Characters that no name begins or ends with."""


def spans(text: str) -> Iterator[tuple[int, int, str]]:
    """(start, end, key) of every run of 2 to LONGEST characters that may be a name, in order of start."""
    if text.isascii():
        return
    for run in _RUN.finditer(text):
        written, begin = run.group(), run.start()
        for first in range(len(written) - 1):
            if written[first] in _EDGES:
                continue
            for last in range(first + 2, min(first + LONGEST, len(written)) + 1):
                if written[last - 1] not in _EDGES:
                    yield begin + first, begin + last, _DOTS.sub(" ", written[first:last])
