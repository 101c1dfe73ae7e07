"""German nouns told from names: all have a capital, so a single word is a name only where something speaks for one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from monograph.derive.extract.clues import GERMAN_LOOSE, INSIDE, LOOSE, words
from monograph.values import Mention

_NOUN = re.compile(r".+(?:ung|heit|keit|schaft|tion|tät|ismus|nis|ling)(?:s|e|en|se|sen)?", re.IGNORECASE)
"""How common nouns end, and names hardly ever."""

_PLACED = words("in aus nach von bei")
"""Before a word, without an article, they speak for a name: in Berlin, von Goethe."""

_INNER_CAPITAL = re.compile(r"\w*[a-zäöüß][A-ZÄÖÜ]|[A-ZÄÖÜ]{2}|\w*\d")
_LONGEST_WORD = 12
_NO_NAME = INSIDE | LOOSE | GERMAN_LOOSE


def with_terms(text: str, names: Iterable[Mention]) -> Iterator[Mention]:
    """The names of a German text; single words that nothing speaks for become terms.

    For a name speak: a place among the words of a longer name, a preposition without an article, a capital or a digit
    within. What speaks for it once does everywhere in the text. A longer name of terms alone is one too.
    """
    found = list(names)
    single = [one for one in found if one.kind == "name" and " " not in one.name]
    longer = {word for one in found if " " in one.name for word in _words(one.name)}
    persons = {one.name for one in found if one.kind == "person"}
    spoken = longer | persons | {one.name for one in single if _is_spoken_for(text, one)}
    terms = {one.name for one in single if one.name not in spoken and one.name.removesuffix("s") not in spoken}
    for one in found:
        nouns = [word for word in one.name.split(" ") if word not in _NO_NAME]
        yield replace(one, kind="term") if one.kind == "name" and terms.issuperset(nouns) else one


def _words(name: str) -> list[str]:
    """Words of a name of capitals alone: in Haus der Kunst nothing speaks for Kunst."""
    found = name.split(" ")
    return [] if not _NO_NAME.isdisjoint(found) else found


def _is_spoken_for(text: str, one: Mention) -> bool:
    if _NOUN.fullmatch(one.name) is not None:
        return False
    before = text[max(0, one.start - _LONGEST_WORD) : one.start].rpartition(" ")[0].rpartition(" ")[2]
    return before.casefold() in _PLACED or _INNER_CAPITAL.match(one.name) is not None
