"""Who speaks in a chat."""

from __future__ import annotations

import re
from collections.abc import Iterator

from monograph.derive.extract.clues import NO_SPEAKERS
from monograph.values import Mention

MOST_WORDS = 4
"""Words of a speaker's name."""

_SPEAKER = re.compile(
    r"^[ \t>*-]{0,4}(?:\[[^\]\n]{1,30}\] ?)?(?P<who>[^\W\d_][\w .'’-]{0,38}[\w.])(?: ?\([^)\n]{1,30}\))?: (?=\S)",
    re.MULTILINE,
)


def speakers(text: str) -> Iterator[Mention]:
    """Yield names before a colon at the head of a line: ``Name: …``."""
    if ": " not in text:
        return
    for found in _SPEAKER.finditer(text):
        who = found["who"]
        if (
            who[0].isupper()
            and who.casefold() not in NO_SPEAKERS
            and len(who.split()) <= MOST_WORDS
            and "http" not in who
        ):
            yield Mention(who, "person", *found.span("who"))
