"""What a search along the graph follows: the texts it starts from, the names in them, and where each entity leads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from monograph.graph.text import sentence_starts
from monograph.store.graph.names import NameRow


@dataclass(frozen=True, slots=True, eq=False)
class Leads:
    """Where an entity leads: chunks of documents about it, and all others that name it, by row.

    Of the first ``by_beginning`` tells which documents only begin with it, ``rarity`` is 1 / sqrt(documents about it).
    """

    documents: tuple[int, ...]
    by_beginning: tuple[bool, ...]
    rarity: tuple[float, ...]
    others: tuple[int, ...]


NOWHERE = Leads((), (), (), ())


@dataclass(frozen=True, slots=True)
class Start:
    """A text that is followed, its title, and where its sentences begin."""

    text: str
    title: str
    sentences: Sequence[int]


def start_of(title: str, text: str) -> Start:
    """A text under a title."""
    return Start(text, title, sentence_starts(text))


@dataclass(frozen=True, slots=True, eq=False)
class StartText:
    """A text, and those of its names that may lead on.

    It is told in which sentences each stands, and whether the text's document is about it.
    """

    start: Start
    names: tuple[NameRow, ...]
    sentences: tuple[tuple[int, ...], ...]
    own: tuple[bool, ...]
