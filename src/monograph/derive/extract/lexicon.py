"""The words that tell what is a name, and of which kind, as the compiled pass reads them."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from monograph.derive.extract.clues import (
    ADDRESSES,
    FIRM,
    GERMAN_LOOSE,
    INSIDE,
    KIND_BY_DEFINITION,
    KIND_BY_LAST_WORD,
    LOOSE,
    NO_SPEAKERS,
    SHORTENED,
    TAILS,
    TITLES,
)
from monograph.derive.extract.function_words import FUNCTION_WORDS
from monograph.derive.extract.readings import ALSO_NAMES
from monograph.derive.extract.typed import VERBS
from monograph.text_pass import compiled

if TYPE_CHECKING:
    from monograph.text_pass._text_pass import Lexicon

KINDS = ("name", "person", "organisation", "place", "event", "work")
"""Kinds of names by their numbers."""


@functools.cache
def compiled_lexicon() -> Lexicon | None:
    """The words, compiled; None where nothing is. Made once."""
    if compiled is None:
        return None
    sets = {
        "addresses": ADDRESSES,
        "also_names": ALSO_NAMES,
        "firm": FIRM,
        "inside": INSIDE,
        "links": INSIDE | LOOSE | GERMAN_LOOSE,
        "loose": LOOSE,
        "no_speakers": NO_SPEAKERS,
        "professions": [word for word, kind in KIND_BY_DEFINITION.items() if kind == "person"],
        "shortened": SHORTENED,
        "tails": TAILS,
        "titles": TITLES,
        "verbs": VERBS,
    }
    kinds = {kind: [word for word, its in KIND_BY_LAST_WORD.items() if its == kind] for kind in KINDS[1:]}
    return compiled.Lexicon(sets, kinds, FUNCTION_WORDS)
