"""Names of a chunk: their kinds, their sentences, and full names in place of short ones."""

from __future__ import annotations

import functools
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from monograph.graph.names import LONGEST_KEY, mention_key
from monograph.graph.resolve import NO_PERSON, SMALL, is_plain
from monograph.text_pass import compiled
from monograph.values import ENTITY_KINDS, Mention

if TYPE_CHECKING:
    from monograph.text_pass._text_pass import Naming

MOST_NAMES = 512
"""Most names that are kept of one chunk, the first ones: in a list of ten thousand names, none means anything."""

NO_SENTENCE = 255
SHORTEST_KEY = 2

Pairs = Collection[tuple[str, str]]

COURTESY = frozenset(
    ["mr", "mrs", "ms", "miss", "dr", "prof", "professor", "herr", "frau", "señor", "señora", "monsieur", "madame"]
)
JOINED = frozenset(("by", "or", "und", "oder", "im", "am", "mit", "y", "e", "et"))
"""Words that join separate names, in addition to the small words of person names."""

_MOST_WORDS = 4

Brackets: TypeAlias = list[tuple[int, int]]
"""(mention, mention in brackets after it), by their positions: North Atlantic Treaty Organization (NATO)."""


class NamedInChunk(NamedTuple):
    """A name in a chunk: its key, its kind, and the first two sentences that contain it (NO_SENTENCE for no second).

    A tuple because there are many: it is created in a third of the time, and sent between processes in a tenth.
    """

    key: str
    kind: str
    first: int
    second: int


@functools.cache
def _load_naming() -> Naming[NamedInChunk]:
    """Return the compiled code that finds the names of chunks, created once."""
    sets = {"courtesy": COURTESY, "joined": JOINED, "no_person": NO_PERSON, "small": SMALL}
    return compiled.Naming(sets, list(ENTITY_KINDS), LONGEST_KEY, NamedInChunk, Mention, mention_key)


def chunk_names(
    texts: Sequence[str], mentions: Sequence[tuple[Mention, ...]], cannot_link: Pairs
) -> list[tuple[tuple[NamedInChunk, ...], Brackets]]:
    """Return (names in order of first mention, mentions in brackets) of each chunk of a document.

    ``cannot_link`` has (short, full) keys that a user said are different names.
    """
    return _load_naming().of_chunks(list(texts), list(mentions), cannot_link)


def in_brackets(text: str, mentions: Sequence[Mention]) -> Brackets:
    """Return (position of a mention, position of the mention in brackets after it) in a chunk."""
    by_start = {mention.start: index for index, mention in enumerate(mentions)}
    brackets = []
    for index, mention in enumerate(mentions):
        if text[mention.end : mention.end + 2] != " (":
            continue
        inner = by_start.get(mention.end + 2)
        if inner is not None and text[mentions[inner].end : mentions[inner].end + 1] == ")":
            brackets.append((index, inner))
    return brackets


def is_short_form(key: str, full: str) -> bool:
    """Return whether a key is the first or the last word of a longer one."""
    words = full.split()
    return len(words) > 1 and key in (words[0], words[-1])


def without_courtesy(key: str) -> str:
    """Return the key without a leading Mr., Dr. or similar title."""
    first, _, rest = key.partition(" ")
    return rest if first in COURTESY and rest else key


def known_names(mentions: Sequence[Sequence[Mention]], cannot_link: Pairs) -> dict[str, str]:
    """Return the full names of a document's persons, by themselves and by first or last names that mean only one.

    A name counts as a person's if it was extracted as one; if it has the last name of a person with a courtesy title
    (Mr. Okafor, and elsewhere Emmanuel Okafor); or if it has initials (T. Renk), and then also other names with that
    last name. If T. Renk and Tobias Renk are in one text, the short forms mean the latter.

    Keys are those of :func:`monograph.graph.names.mention_key`. ``mentions`` are those of each chunk of the document,
    ``cannot_link`` the (short, full) keys that a user said are different names.
    """
    pairs = {(mention_key(mention.name, mention.kind), mention.kind) for group in mentions for mention in group}
    persons = {without_courtesy(key) for key, kind in pairs if kind == "person" and key}
    names = {key for key, kind in pairs if kind == "name" and 2 <= len(key.split()) <= _MOST_WORDS}
    initials = {key for key in names | persons if _has_initials(key)}
    last_names = persons | {key.split()[-1] for key in initials}
    known = {key for key in persons if " " in key} | {key for key in names if _bears(key, persons, last_names)}
    initialled = {(key.split()[0][:1], key.split()[-1]) for key in known - initials}
    full_by_short: dict[str, set[str]] = {}
    for words in map(str.split, known):
        if " ".join(words) in initials and (words[0], words[-1]) in initialled:
            continue  # It is short for another name here.
        for short in {words[0], words[-1]}:
            full_by_short.setdefault(short, set()).add(" ".join(words))
    single = {short: next(iter(full)) for short, full in full_by_short.items() if len(full) == 1 and len(short) > 1}
    return {
        **{short: full for short, full in single.items() if (short, full) not in cannot_link},
        **{key: key for key in known},
    }


def _bears(key: str, persons: Collection[str], last_names: Collection[str]) -> bool:
    """Return whether a name ends with a person's last name; if only initials tell it, its words must be plain."""
    words = key.split()
    if words[-1] in persons:
        return True
    return words[-1] in last_names and is_plain(words) and JOINED.isdisjoint(words)


def _has_initials(key: str) -> bool:
    """Return whether a key is a person's name with initials, such as T. Renk and J. R. R. Tolkien."""
    *given, last = key.split()
    if not given or any(len(word) > 1 for word in given):
        return False
    return len(last) > 2 and is_plain((*given, last)) and last not in NO_PERSON
