"""Proper names, known by their capitals."""

from __future__ import annotations

import functools
from collections.abc import Sequence
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
    TITLES,
)
from monograph.derive.extract.function_words import FUNCTION_WORDS
from monograph.derive.extract.number_words import bare, is_number_word
from monograph.derive.extract.typed import TELLING, kind_of_name
from monograph.text_pass import compiled

if TYPE_CHECKING:
    from monograph.text_pass._text_pass import Lexicon

NEAR = 2_000
"""Characters around a word at the head of a sentence where its small form is looked for."""

ALSO_NAMES = frozenset(("will", "may"))
"""Function words that are first names too: at the head of a sentence both readings are given."""

_SHORTEST_NAME = 2
_GENITIVES = ("'s", "’s")
_MASKS = [chr(code) for code in range(0x2C00, 0x2C2F)]
"""Glagolitic capitals: no word that is known has one."""


@functools.cache
def _lexicon() -> Lexicon:
    """Return the words that tell what is a name as a compiled lexicon. Made once."""
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
    """Return (start, end, kind) of the names in a text, in order of start; readings of one run of words overlap.

    Parameters
    ----------
    text, language:
        A text and its language, one of FUNCTION_WORDS.
    taken:
        The spans, ascending, that hold no part of a name.
    """
    masked = _masked(text)

    def is_number(start: int, end: int) -> bool:
        return is_number_word(text[start:end])

    def kind_of(start: int, end: int, opens: bool, may_be_told: bool) -> str:
        if end - start <= _SHORTEST_NAME and len(bare(text[start:end])) < _SHORTEST_NAME:
            return ""
        if opens and masked is not text and _is_written_small(text, start, end, taken):
            return ""
        kind = kind_of_name(text, start, end) if may_be_told else "name"
        # At the head of a sentence a number names nothing; in 7-Eleven it does.
        is_number_alone = opens and kind == "name" and not _hangs(text, start) and is_number(start, end)
        return "" if is_number_alone else kind

    return _lexicon().names(masked, language, taken, is_number, kind_of)


def _masked(text: str) -> str:
    """A text with another capital for İ and Σ.

    The small form of the one is two characters, that of the other depends on its neighbours.
    """
    if "İ" not in text and "Σ" not in text:
        return text
    mask = next((one for one in _MASKS if one.lower() not in text), _MASKS[0])
    return text.replace("İ", mask).replace("Σ", mask)


def _is_written_small(text: str, start: int, end: int, taken: Sequence[tuple[int, int]]) -> bool:
    """Whether the text near a word, with its genitive, has it in small letters."""
    stop = next((first for first, _ in taken if first >= end), len(text))
    if text.startswith(_GENITIVES, end, stop):
        end += len(_GENITIVES[0])
    return text.find(f" {bare(text[start:end])} ", max(0, start - NEAR), end + NEAR) >= 0


def _hangs(text: str, start: int) -> bool:
    """Whether a word goes on another: 7-Eleven."""
    return start > 1 and text[start - 1] == "-" and text[start - 2].isalnum()
