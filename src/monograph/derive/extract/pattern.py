"""The default extractor: patterns, no model. Fast, deterministic, in any language that writes capitals."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from monograph.derive.extract.clues import NO_SPEAKERS
from monograph.derive.extract.function_words import compiled_words, language_of
from monograph.derive.extract.german import with_terms
from monograph.derive.extract.han import han_names, han_terms, has_han
from monograph.derive.extract.names import proper_names
from monograph.derive.extract.shapes import shapes, without
from monograph.regex import regex
from monograph.text_pass import compiled
from monograph.values import ENTITY_KINDS, Chunk, Extraction, Mention

if TYPE_CHECKING:
    from monograph.text_pass._text_pass import Mentions

MOST_MENTIONS = 2_000
"""Mentions kept of one chunk, the first ones."""

LONGEST_NAME = 120
"""Characters of a name; a longer run is none."""

_LONGEST_YEAR = 4

WORDS_A_PHRASE = 40
"""One key phrase is kept for this many words of a text."""

MOST_PHRASES = 64

MOST_WORDS = 4
"""Words of a speaker's name."""

_SPEAKER = regex(
    r"^[ \t>*-]{0,4}(?:\[[^\]\n]{1,30}\] ?)?(?P<who>[^\W\d_][\w .'’-]{0,38}[\w.])(?: ?\([^)\n]{1,30}\))?: (?=\S)",
    re.MULTILINE,
)


class PatternExtractor:
    """Names, titles and speakers by their capitals; dates, amounts, codes and quotes by their shape; key phrases.

    Relations are left to the graph: without a model, what stands in one sentence belongs together.
    """

    key = "pattern/4"
    spec = "pattern"

    def extract(self, chunks: Sequence[Chunk]) -> Iterator[Extraction]:
        """One extraction a chunk, in order. See :class:`monograph.models.Extractor`."""
        for chunk in chunks:
            yield Extraction(tuple(mentions(chunk.text)))


def mentions(text: str) -> list[Mention]:
    """What a text names, in order of start, longer before shorter; each span once."""
    shaped = {(one.start, one.end): one.kind for one in shapes(text)}
    # A year or a code may be a part of a name (the 1999 Open, Boeing B-52); an address, a day or an amount is not.
    taken = sorted(span for span, kind in shaped.items() if _stands_alone(span, kind))
    language = language_of(text)
    names = proper_names(text, language, taken)
    if language == "german":
        names = with_terms(text, names)
    spoken = [(one.start, one.end, one.kind) for one in speakers(without(text, taken))]
    # In German nouns are found by their capitals.
    phrases = key_phrases(text, language) if language != "german" else []
    if has_han(text):
        names += [(one.start, one.end, one.kind) for one in han_names(text)]
        phrases += han_terms(text)
    shapes_found = [(start, end, kind) for (start, end), kind in shaped.items()]
    return _mentions().merged(text, shapes_found, spoken + names, phrases, LONGEST_NAME, MOST_MENTIONS)


@functools.cache
def _mentions() -> Mentions[Mention]:
    """Return the compiled code that makes mentions. Made once."""
    return compiled.Mentions(list(ENTITY_KINDS), Mention)


def _stands_alone(span: tuple[int, int], kind: str) -> bool:
    return kind in ("url", "email", "time", "quantity") or (kind == "date" and span[1] - span[0] > _LONGEST_YEAR)


def key_phrases(text: str, language: str) -> list[tuple[int, int]]:
    """Spans of the phrases that tell most about a text of a language, in order; few, and none with a capital."""
    return compiled_words().key_phrases(text, language, MOST_PHRASES, WORDS_A_PHRASE)


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
