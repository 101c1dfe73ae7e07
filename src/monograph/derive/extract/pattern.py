"""Default extractor, by patterns and without a model. Fast, deterministic, in any language that writes capitals."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from monograph.derive.extract.clues import (
    FIRM,
    GERMAN_LOOSE,
    GERMAN_PARTS,
    INSIDE,
    LOOSE,
    NO_SPEAKERS,
    SHORTENED,
    TAILS,
    TELLING,
    TITLES,
    kind_of_name,
)
from monograph.derive.extract.function_words import (
    FUNCTION_WORDS,
    compiled_words,
    is_number_word,
    language_of,
    strip_punctuation,
)
from monograph.derive.extract.german import with_terms
from monograph.derive.extract.han import han_names, han_terms, has_chinese
from monograph.derive.extract.shapes import shapes, without
from monograph.regex import regex
from monograph.text_pass import compiled
from monograph.values import ENTITY_KINDS, Chunk, Extraction, Mention

if TYPE_CHECKING:
    from monograph.text_pass._text_pass import Lexicon, Mentions

MOST_MENTIONS = 2_000
"""Limit of the mentions per chunk. The first mentions in the chunk's text are kept; further mentions are dropped."""

LONGEST_NAME = 120
"""Most characters of a name. A longer run of capitalised words is not a name."""

_LONGEST_YEAR = 4

WORDS_A_PHRASE = 40
"""A text of n words gets about n / WORDS_A_PHRASE key phrases."""

MOST_PHRASES = 64

MOST_WORDS = 4
"""Most words of a speaker's name (``Ida Grubb: …``). A longer run of words before the colon is no speaker."""

_SPEAKER = regex(
    r"^[ \t>*-]{0,4}(?:\[[^\]\n]{1,30}\] ?)?(?P<who>[^\W\d_][\w .'’-]{0,38}[\w.])(?: ?\([^)\n]{1,30}\))?: (?=\S)",
    re.MULTILINE,
)


NEAR = 2_000
"""Number of characters before and after a word in which its lower-case form is searched for.

A word at the start of a sentence always has a capital. The word is not a name if its lower-case form is nearby.
"""

ALSO_NAMES = frozenset(("will", "may"))
"""Function words that are also first names. If a sentence begins with ``May Smith``, both ``May Smith`` and
``Smith`` are returned as names.
"""

_SHORTEST_NAME = 2
_GENITIVES = ("'s", "’s")
_MASKS = [chr(code) for code in range(0x2C00, 0x2C2F)]
"""Glagolitic capitals, which no word list has: one replaces İ and Σ, whose lower case is irregular."""


class PatternExtractor:
    """Extractor that finds entities by patterns.

    It recognises names, titles and speakers by their capitals. It recognises addresses, dates, times, amounts, quotes
    and codes such as ``B-52`` by their shape. Key phrases become entities of the kind ``term``. The extractor finds no
    relations: without a model, the graph relates entities that occur in the same sentence.
    """

    key = "pattern/4"
    spec = "pattern"

    def extract(self, chunks: Sequence[Chunk]) -> Iterator[Extraction]:
        """Yield one extraction per chunk, in order. See :class:`monograph.models.Extractor`."""
        for chunk in chunks:
            yield Extraction(tuple(mentions(chunk.text)))


def mentions(text: str) -> list[Mention]:
    """Return the mentions in a text, each span once, in order of start. Of equal starts, the longer one comes first."""
    shaped = {(start, end): kind for start, end, kind in shapes(text)}
    # A year or a code may be a part of a name (the 1999 Open, Boeing B-52); an address, a day or an amount is not.
    occupied = sorted(
        (start, end)
        for (start, end), kind in shaped.items()
        if kind in ("url", "email", "time", "quantity") or (kind == "date" and end - start > _LONGEST_YEAR)
    )
    language = language_of(text)
    names = proper_names(text, language, occupied)
    if language == "german":
        names = with_terms(text, names)
    # In German nouns are found by their capitals.
    phrases = key_phrases(text, language) if language != "german" else []
    if not text.isascii() and has_chinese(text):
        names += han_names(text)
        phrases += han_terms(text)
    names = [*speaker_names(without(text, occupied)), *names]
    shapes_found = [(*span, kind) for span, kind in shaped.items()]
    return _mentions().merged(text, shapes_found, names, phrases, LONGEST_NAME, MOST_MENTIONS)


@functools.cache
def _mentions() -> Mentions[Mention]:
    """Return the C++ object that merges the found spans into mentions. It is built once per process."""
    return compiled.Mentions(list(ENTITY_KINDS), Mention)


def key_phrases(text: str, language: str) -> list[tuple[int, int]]:
    """Return (start, end) of each occurrence of the key phrases of a text, in order of start.

    A phrase has two or three words in lower case, and no function word. The most frequent phrases are chosen. Of
    equally frequent ones, those with the highest RAKE score (Rose et al. 2010) are chosen. At most MOST_PHRASES
    different phrases are chosen, and at most one for each WORDS_A_PHRASE words of the text. One phrase is always
    allowed. ``language`` is a key of FUNCTION_WORDS.
    """
    return compiled_words().key_phrases(text, language, MOST_PHRASES, WORDS_A_PHRASE)


def speaker_names(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield (start, end, ``person``) of each speaker: a name and a colon at the start of a line (``Ida Grubb: …``)."""
    for match in _SPEAKER.finditer(text) if ": " in text else ():
        name = match["who"]
        is_short = len(name.split()) <= MOST_WORDS and "http" not in name
        if name[0].isupper() and is_short and name.casefold() not in NO_SPEAKERS:
            yield (*match.span("who"), "person")


@functools.cache
def _lexicon() -> Lexicon:
    """Return the word lists for finding names, as a C++ object. It is built once per process."""
    sets = {
        "also_names": ALSO_NAMES,
        "firm": FIRM,
        "german_loose": GERMAN_LOOSE,
        "german_parts": GERMAN_PARTS,
        "inside": INSIDE,
        "links": INSIDE | LOOSE | GERMAN_LOOSE,
        "loose": LOOSE,
        "no_speakers": NO_SPEAKERS,
        "shortened": SHORTENED,
        "tails": TAILS,
        "telling": TELLING,
        "titles": TITLES,
    }
    return compiled.Lexicon(sets, FUNCTION_WORDS)


def proper_names(text: str, language: str, taken: Sequence[tuple[int, int]] = ()) -> list[tuple[int, int, str]]:
    """Return (start, end, kind) of the names in a text, in order of start.

    If a run of words can be read as one name or as several, all readings are returned, and their spans overlap.

    Parameters
    ----------
    text, language:
        A text, and its language as a key of FUNCTION_WORDS.
    taken:
        Spans of other mentions, such as dates, ascending. No name overlaps them.
    """
    masked = text
    if "İ" in text or "Σ" in text:
        # The small form of İ has two characters, and that of Σ depends on its neighbours.
        mask = next((capital for capital in _MASKS if capital.lower() not in text), _MASKS[0])
        masked = text.replace("İ", mask).replace("Σ", mask)

    def is_number(start: int, end: int) -> bool:
        return is_number_word(text[start:end])

    def kind_of(start: int, end: int, opens: bool, may_be_told: bool) -> str:
        if end - start <= _SHORTEST_NAME and len(strip_punctuation(text[start:end])) < _SHORTEST_NAME:
            return ""
        if opens and masked is not text and _is_written_small(text, start, end, taken):
            return ""
        kind = kind_of_name(text, start, end) if may_be_told else "name"
        # At the head of a sentence a number names nothing; in 7-Eleven it does.
        follows_hyphen = start > 1 and text[start - 1] == "-" and text[start - 2].isalnum()
        is_number_alone = opens and kind == "name" and not follows_hyphen and is_number(start, end)
        return "" if is_number_alone else kind

    return _lexicon().names(masked, language, taken, is_number, kind_of)


def _is_written_small(text: str, start: int, end: int, occupied: Sequence[tuple[int, int]]) -> bool:
    """Return whether a word that no span of ``occupied`` overlaps also occurs in lower case within NEAR characters."""
    stop = next((first for first, _ in occupied if first >= end), len(text))
    # The word and its genitive "'s" are searched for together.
    if text.startswith(_GENITIVES, end, stop):
        end += len(_GENITIVES[0])
    return text.find(f" {strip_punctuation(text[start:end])} ", max(0, start - NEAR), end + NEAR) >= 0
