"""The texts that a search follows links from, the names in each, and the sentences that they stand in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from monograph.graph.text import sentence_starts
from monograph.store.graph.names import NameRow


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
