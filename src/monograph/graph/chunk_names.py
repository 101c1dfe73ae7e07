"""Names of a chunk: their kinds, their sentences, and full names in place of short ones."""

from __future__ import annotations

import functools
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from monograph.graph.names import LONGEST_KEY, mention_key
from monograph.graph.resolve import NO_PERSON, SMALL
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

    ``cannot_link`` has (short, full) keys that a user said are different names. Mentions without characters (the
    days that a text gives relative to its own) are never in brackets.
    """
    return _load_naming().of_chunks(list(texts), list(mentions), cannot_link)


def full_names(mentions: Sequence[tuple[Mention, ...]], cannot_link: Pairs) -> dict[str, str]:
    """Return the full names of a document's persons, by themselves and by first or last names that mean only one.

    A name counts as a person's if it was extracted as one; if it has the last name of a person with a courtesy title
    (Mr. Okafor, and elsewhere Emmanuel Okafor); or if it has initials (T. Renk), and then also other names with that
    last name. If T. Renk and Tobias Renk are in one text, the short forms mean the latter.

    Keys are those of :func:`monograph.graph.names.mention_key`. ``mentions`` are those of each chunk of the document.
    """
    return _load_naming().full_names(list(mentions), cannot_link)


def is_short_form(key: str, full: str) -> bool:
    """Return whether a key is the first or the last word of a longer one."""
    words = full.split()
    return len(words) > 1 and key in (words[0], words[-1])
