"""The names of a chunk: their kinds, the sentences they stand in, and full names in place of the short ones."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from monograph.graph.names import LONGEST_KEY, mention_key
from monograph.graph.resolve import NO_PERSON, SMALL
from monograph.graph.short_names import COURTESY, JOINED, Pairs, full_names
from monograph.text_pass import compiled
from monograph.values import ENTITY_KINDS, Mention

if TYPE_CHECKING:
    from monograph.text_pass._text_pass import Naming

MOST_NAMES = 512
"""Names kept of one chunk, the first ones: a list of ten thousand tells nothing of any."""

NO_SENTENCE = 255
SHORTEST_KEY = 2

Brackets: TypeAlias = list[tuple[int, int]]
"""(a mention, the one in brackets behind it), by their places: North Atlantic Treaty Organization (NATO)."""


class NamedInChunk(NamedTuple):
    """A name in a chunk: its key, its kind, and the first two sentences it stands in (NO_SENTENCE for no second).

    A tuple, for there are many: made in a third of the time, and sent between processes in a tenth.
    """

    key: str
    kind: str
    first: int
    second: int


@functools.cache
def _naming() -> Naming[NamedInChunk]:
    """Return the compiled code that finds the names of chunks. Made once."""
    sets = {"courtesy": COURTESY, "joined": JOINED, "no_person": NO_PERSON, "small": SMALL}
    return compiled.Naming(sets, list(ENTITY_KINDS), LONGEST_KEY, NamedInChunk, Mention, mention_key)


def chunk_names(
    texts: Sequence[str], mentions: Sequence[tuple[Mention, ...]], cannot_link: Pairs
) -> list[tuple[tuple[NamedInChunk, ...], Brackets]]:
    """The names of each chunk of a document in order of first mention, and which of its mentions stand in brackets.

    Parameters
    ----------
    texts, mentions:
        One a chunk, in reading order.
    cannot_link:
        (short, full) keys that someone said are not one.
    """
    return _naming().of_chunks(list(texts), list(mentions), cannot_link)


def known_names(mentions: Sequence[Sequence[Mention]], cannot_link: Pairs) -> dict[str, str]:
    """What the short names among a document's mentions mean: :func:`monograph.graph.short_names.full_names`."""
    return full_names(((mention_key(one.name, one.kind), one.kind) for some in mentions for one in some), cannot_link)


def in_brackets(text: str, mentions: Sequence[Mention]) -> Brackets:
    """Which mentions of a chunk stand in brackets behind which."""
    by_start = {one.start: place for place, one in enumerate(mentions)}
    found = []
    for place, one in enumerate(mentions):
        if text[one.end : one.end + 2] != " (":
            continue
        within = by_start.get(one.end + 2)
        if within is not None and text[mentions[within].end : mentions[within].end + 1] == ")":
            found.append((place, within))
    return found
