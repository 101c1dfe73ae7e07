"""German nouns and names. Each noun has a capital, so a single word counts as a name only if there is evidence."""

from __future__ import annotations

import re
from collections.abc import Sequence

from monograph.derive.extract.clues import GERMAN_LOOSE, INSIDE, LOOSE, words
from monograph.regex import regex

_NOUN = regex(r".+(?:ung|heit|keit|schaft|tion|tät|ismus|nis|ling)(?:s|e|en|se|sen)?", re.IGNORECASE)
"""Endings of common nouns that names hardly ever have."""

_PLACED = words("in aus nach von bei")
"""Prepositions after which a noun without an article is a name: in Berlin, von Goethe."""

_APPOSED = words(
    """
Stadt Dorf Gemeinde Insel Fluss Berg Burg Schloss Film Komödie Drama Roman Oper Serie Lied Band Firma Gruppe Präsident
Präsidentin Bundeskanzler Bundeskanzlerin Regisseur Regisseurin Schauspieler Schauspielerin Sänger Sängerin Autor
Autorin Schriftsteller Schriftstellerin Maler Malerin Komponist Komponistin Dichter Dichterin Physiker Physikerin
"""
)
"""Nouns that say what the name after them is: die Stadt Worms."""

_COUNTING = words("Jahr Jahre Jahren Jahres Seite Kapitel Nummer")
_OPENING_VERB = regex(r" (?:ist|war|wird|wurde|hat|hatte|liegt|lag|kam|gilt|galt|gehörte?|stammte?|lebte?|zählt)\b")
_INNER_CAPITAL = regex(r"\w*[a-zäöüß][A-ZÄÖÜ]|[A-ZÄÖÜ]{2}|\w*\d")
_LONGEST_WORD = 12
_NO_NAME = INSIDE | LOOSE | GERMAN_LOOSE


def with_terms(text: str, names: Sequence[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    """Return (start, end, kind) of the names in a German text. Words without evidence for a name get the kind ``term``.

    ``names`` has the (start, end, kind) of all candidates. Any one of the following is evidence that a single word is a
    name:

    - it is part of a longer name, or is used as a person's name;
    - the noun before it says what it is (die Stadt Worms);
    - a preposition precedes it without an article (in Berlin);
    - it has a capital or a digit inside;
    - it begins the text and a verb follows, since a noun would have an article.

    Evidence for one occurrence counts for all occurrences in the text. A longer name that consists of terms becomes a
    term too.
    """
    found, confirmed = [], set()
    for first, end, kind in names:
        noun, _, rest = text[first:end].partition(" ")
        is_apposed = rest != "" and noun in _APPOSED and rest.split(" ")[0] not in _NO_NAME
        name = rest if is_apposed else text[first:end]
        start = end - len(name)
        if is_apposed:
            confirmed.add(name)
        found.append((start, end, kind, name))
        parts = name.split(" ")
        is_counted = parts[0].isdigit() or parts[0] in _COUNTING
        # Haus der Kunst is no evidence for Kunst.
        if len(parts) > 1 and not is_counted and _NO_NAME.isdisjoint(parts):
            confirmed.update(parts)
        if kind == "person" or (kind == "name" and len(parts) == 1 and _has_evidence(text, start, end)):
            confirmed.add(name)
    single = {name for *_, kind, name in found if kind == "name" and " " not in name}
    terms = {name for name in single if confirmed.isdisjoint((name, name.removesuffix("s")))}
    typed = []
    for start, end, kind, name in found:
        nouns = [word for word in name.split(" ") if word not in _NO_NAME and word not in _COUNTING]
        number, *counted = nouns or [""]
        is_term = kind == "name" and terms.issuperset(counted if number.isdigit() else nouns)
        typed.append((start, end, "term" if is_term else kind))
    return typed


def _has_evidence(text: str, start: int, end: int) -> bool:
    name = text[start:end]
    if _NOUN.fullmatch(name) is not None:
        return False
    if start == 0 and _OPENING_VERB.match(text, end) is not None:
        return True
    before = text[max(0, start - _LONGEST_WORD) : start].rpartition(" ")[0].rpartition(" ")[2]
    return before.casefold() in _PLACED or _INNER_CAPITAL.match(name) is not None
