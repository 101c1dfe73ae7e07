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
"""Most names that are kept of one chunk; the first ones are kept. In a list of ten thousand names, no single name says
what the text is about."""

NO_SENTENCE = 255
SHORTEST_KEY = 2

Pairs = Collection[tuple[str, str]]

COURTESY = frozenset(
    ["mr", "mrs", "ms", "miss", "dr", "prof", "professor", "herr", "frau", "señor", "señora", "monsieur", "madame"]
)
JOINED = frozenset(("by", "or", "und", "oder", "im", "am", "mit", "y", "e", "et"))
"""Words that join two names, as in *Okafor und Renk*. A name with one of these words, or with a word of SMALL (*of*),
is not taken for the full name of T. Renk, unless Renk alone was extracted as a person. See :func:`full_names`."""

Brackets: TypeAlias = list[tuple[int, int]]
"""Pairs (mention, mention in brackets after it), as in *North Atlantic Treaty Organization (NATO)*. A mention is given
by its position among the chunk's mentions."""


class NamedInChunk(NamedTuple):
    """A name in a chunk: its key, its kind, and the first two sentences that contain it.

    Sentences are numbered from the beginning of the chunk. ``second`` is NO_SENTENCE if only one sentence contains the
    name. This is a tuple for speed: a dataclass takes three times as long to create, and ten times as long to send to
    another process.
    """

    key: str
    kind: str
    first: int
    second: int


@functools.cache
def _load_naming() -> Naming[NamedInChunk]:
    """Return the compiled object that finds the names of chunks."""
    sets = {"courtesy": COURTESY, "joined": JOINED, "no_person": NO_PERSON, "small": SMALL}
    return compiled.Naming(sets, list(ENTITY_KINDS), LONGEST_KEY, NamedInChunk, Mention, mention_key)


def chunk_names(
    texts: Sequence[str], mentions: Sequence[tuple[Mention, ...]], cannot_link: Pairs
) -> list[tuple[tuple[NamedInChunk, ...], Brackets]]:
    """Return (names in order of first mention, mentions in brackets) for each chunk of a document.

    ``texts`` and ``mentions`` are the texts of the chunks and the mentions in each. ``cannot_link`` has (short, full)
    pairs of keys that a user said are different names. A mention of length 0 is a day that the text gives indirectly
    (*yesterday*). Such mentions are never in brackets.
    """
    return _load_naming().of_chunks(list(texts), list(mentions), cannot_link)


def full_names(mentions: Sequence[tuple[Mention, ...]], cannot_link: Pairs) -> dict[str, str]:
    """Return {key of a name: key of the full name} for the names of the persons in a document.

    A person is named by the full name, or by a first or last name that only one person in the document has. A name is a
    person's full name in these cases:

    - It was extracted as a person, and has several words.
    - It ends with a name that was extracted as a person: Emmanuel Okafor, if the document also has Mr. Okafor.
    - It is initials and a last name: T. Renk.
    - It ends with the last name of a person with initials: Tobias Renk, if the document also has T. Renk.

    If a document has both T. Renk and Tobias Renk, the last name alone means Tobias Renk.

    ``mentions`` has the mentions of each chunk of the document. Keys are those of
    :func:`monograph.graph.names.mention_key`. ``cannot_link`` has (short, full) pairs of keys that a user said are
    different names.
    """
    return _load_naming().full_names(list(mentions), cannot_link)


def is_short_form(key: str, full: str) -> bool:
    """Return whether ``key`` is the first or the last word of the key ``full``, which has several words."""
    words = full.split()
    return len(words) > 1 and key in (words[0], words[-1])
