"""Kind of a name, by its own words, the word before it, or its definition."""

from __future__ import annotations

import re

from monograph.derive.extract.clues import (
    ADDRESSES,
    KIND_BY_DEFINITION,
    KIND_BY_LAST_WORD,
    LOOSE,
    TITLES,
    words,
)
from monograph.regex import regex

VERBS = ("is", "was", "are", "were", "ist", "war", "es", "fue", "era", "est", "était", "fut", "è", "fu")
ARTICLES = words("a an the one among ein eine einer der die das un una une uno unos unas el la le les il lo i gli su")
_DEFINITION = regex(
    rf"\s*(?:\([^)]{{0,200}}\)\s*)?,?\s*(?:{'|'.join(VERBS)})\s+(?:stat[oa]\s+)?"
    rf"(?:{'|'.join(sorted(ARTICLES))})\b(?P<what>[^.\n;]{{3,160}})",
    re.IGNORECASE,
)
_BORN = regex(
    r"\s*\((?:[^()]{0,60}[;,] ?)?(?:born|b\.|née?\b|geb\.|geboren|\* ?\d|nacid[oa]|nat[oa]\b"
    r"|(?:c\. ?)?\d{1,2}\.? (?:de )?\w+ (?:de )?\d{4} ?[–-]|\d{4} ?[–-] ?\d{4}\))"
)
_DEFINITION_STARTS = (" (", ", ", *(f" {verb} " for verb in VERBS))
TELLING = frozenset((*TITLES, *VERBS, *KIND_BY_LAST_WORD, *KIND_BY_DEFINITION))
"""Words that show the kind of a name. A name without such a word in or next to it is of unknown kind,
unless a bracket follows it.
"""

_WORD = regex(r"\w+")
_MOST_WORDS = 14
"""Most words of a definition that are read."""

_LONGEST_WORD = 16


def kind_of_name(text: str, start: int, end: int) -> str:
    """Return the kind of the name at text[start:end]; ``name`` if nothing shows it."""
    name_words = _WORD.findall(text[start:end].casefold()) if " " in text[start:end] else []
    if len(name_words) > 1:
        titled = name_words[0] in TITLES and name_words[1] not in ("of", "the") and LOOSE.isdisjoint(name_words)
        if titled and name_words[0] in ADDRESSES:
            return "person"
        if name_words[-1] in KIND_BY_LAST_WORD:
            return KIND_BY_LAST_WORD[name_words[-1]]
        if titled:
            return "person"
    if text.startswith(_DEFINITION_STARTS, end):
        if _BORN.match(text, end):
            return "person"
        definition = _DEFINITION.match(text, end)
        if definition is not None:
            for word in _WORD.findall(definition["what"].casefold())[:_MOST_WORDS]:
                if word in KIND_BY_DEFINITION:
                    return KIND_BY_DEFINITION[word]
    # Queen Victoria, the director Agnès Varda: a title or a profession before the name.
    if text[start - 1 : start] == " " and LOOSE.isdisjoint(name_words):
        word_start = text.rfind(" ", max(0, start - _LONGEST_WORD), start - 1) + 1
        word = text[word_start : start - 1]
        if word.rstrip(".").casefold() in TITLES or KIND_BY_DEFINITION.get(word) == "person":
            return "person"
    return "name"
