"""The words that tell what is a name, and of which kind, as the compiled pass reads them."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING

from monograph.derive.extract.clues import (
    ADDRESSES,
    FIRM,
    GERMAN_LOOSE,
    GERMAN_PARTS,
    INSIDE,
    KIND_BY_DEFINITION,
    KIND_BY_LAST_WORD,
    LOOSE,
    NO_SPEAKERS,
    SHORTENED,
    TAILS,
    TITLES,
)
from monograph.derive.extract.function_words import FUNCTION_WORDS, compiled_words
from monograph.derive.extract.number_words import JOINING, NUMBER_WORDS
from monograph.derive.extract.readings import ALSO_NAMES
from monograph.derive.extract.typed import ARTICLES, VERBS, kind_of_name
from monograph.text_pass import compiled
from monograph.values import Mention

if TYPE_CHECKING:
    from monograph.text_pass._text_pass import Lexicon, Patterns

KINDS = ("name", "person", "organisation", "place", "event", "work")
"""Kinds of names by their numbers."""

MENTIONED = (*KINDS, "date", "time", "quantity", "code", "quote", "term", "url", "email")
"""Kinds of all mentions by their numbers."""


@functools.cache
def compiled_lexicon() -> Lexicon | None:
    """The words, compiled; None where nothing is. Made once."""
    if compiled is None:
        return None
    sets = {
        "addresses": ADDRESSES,
        "articles": ARTICLES,
        "also_names": ALSO_NAMES,
        "firm": FIRM,
        "german_loose": GERMAN_LOOSE,
        "german_parts": GERMAN_PARTS,
        "inside": INSIDE,
        "joining": JOINING,
        "links": INSIDE | LOOSE | GERMAN_LOOSE,
        "loose": LOOSE,
        "no_speakers": NO_SPEAKERS,
        "numbers": NUMBER_WORDS,
        "professions": [word for word, kind in KIND_BY_DEFINITION.items() if kind == "person"],
        "shortened": SHORTENED,
        "tails": TAILS,
        "titles": TITLES,
        "verbs": VERBS,
    }
    return compiled.Lexicon(sets, _by_kind(KIND_BY_LAST_WORD), _by_kind(KIND_BY_DEFINITION), FUNCTION_WORDS)


def _by_kind(kinds: Mapping[str, str]) -> dict[str, list[str]]:
    return {kind: [word for word, its in kinds.items() if its == kind] for kind in KINDS[1:]}


@functools.cache
def compiled_patterns() -> Patterns[Mention] | None:
    """All patterns, compiled; None where nothing is. Made once."""
    lexicon, function_words = compiled_lexicon(), compiled_words()
    if compiled is None or lexicon is None or function_words is None:
        return None
    return compiled.Patterns(lexicon, function_words, list(MENTIONED), Mention, kind_of_name)
