"""Titles of texts without headings."""

from __future__ import annotations

from collections.abc import Iterator

from monograph.dates.span import days_in
from monograph.regex import regex

_FIRST_WORDS = 8
_MOST_SPEAKERS = 3
_BEGINNING = 20_000
"""Number of characters of a text that are examined."""

_SPOKEN = regex(r"(?P<speaker>[^\W\d_][\w .'’-]{0,38}): +(?P<words>.*)")


def title_of(text: str, stem: str) -> str:
    """Return the title of a text: ``stem``, the name of its file without the suffix, if it has a letter.

    A name without letters says nothing. The title is then made of the day in the name, up to three speakers if the text
    is a chat (a line for each message: ``Ida Grubb: …``), and the first words:
    ``2031-03-02, Mira Holm, Jonas Veit: I signed for the boat today!``
    """
    if any(map(str.isalpha, stem)):
        return stem
    lines = list(_lines_of_words(text))
    spoken = [match for line in lines if (match := _SPOKEN.match(line))]
    is_chat = len(spoken) * 2 > len(lines)
    speakers = list(dict.fromkeys(match["speaker"] for match in spoken))[:_MOST_SPEAKERS] if is_chat else []
    days = days_in(stem)
    words = (spoken[0]["words"] if is_chat else next(iter(lines), "")).split()
    begin = " ".join(words[:_FIRST_WORDS]) + (" …" if len(words) > _FIRST_WORDS else "")
    if days and days_in(begin):
        begin = ""  # A title with two days would not tell the date of the document.
    return ": ".join(filter(None, (", ".join((*days, *speakers)), begin))) or stem


def _lines_of_words(text: str) -> Iterator[str]:
    """Yield the lines at the beginning that have words: not ``Time: 20310302_18:10``."""
    for line in text[:_BEGINNING].split("\n"):
        stripped = line.strip()
        if any(map(str.isalpha, stripped.rpartition(": ")[2])):
            yield stripped
