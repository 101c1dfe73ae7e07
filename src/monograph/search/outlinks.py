"""What stands in the texts of a search's starts: names, where, and which of the question's words beside them."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from monograph.derive.extract.function_words import FUNCTION_WORDS
from monograph.graph.chunk_names import NO_SENTENCE
from monograph.graph.names import key_of
from monograph.graph.text import sentence_starts
from monograph.search import unspaced
from monograph.search.question import Question
from monograph.store import graphs, names, readable
from monograph.store.database import Connection
from monograph.store.terms import words_of

LONGEST_TITLE = 8
"""Words of a title that is looked for in a text."""

MOST_SMALL = 3
"""Words without a capital that follow each other in a title."""

_TOKEN = re.compile(r"\w+")
_STOP = re.compile(r"[?!;()\n\"]|(?<=\w\w\w)\.(?=\s)")
"""One character behind which no title goes on."""


@dataclass(frozen=True, slots=True)
class Outlink:
    """A name in a start: where it stands, and what the question has to do with it."""

    start: int
    name: names.NameRow
    own: bool
    first: bool
    words: float
    beside: float


def outlinks(connection: Connection, question: Question, starts: Sequence[int]) -> list[list[Outlink]]:
    """The names in the texts of some chunks, as far as they can lead on; of one chunk always in the same order."""
    named = graphs.named(connection, starts)
    own = graphs.own_subjects(connection, starts)
    texts = dict(zip(starts, readable.titled_texts(connection, starts), strict=True))
    titles = _titles_within(connection, {start: text for start, (_, text) in texts.items()})
    rows = {int(name) for some in named.values() for name in some["name"]}
    rows.update(row for some in own.values() for row in some)
    loaded = names.load(connection, rows)
    result = []
    for start in starts:
        title, text = texts[start]
        sentences = _Sentences(question, text, title)
        outlink: dict[int, tuple[names.NameRow, tuple[int, ...]]] = {}
        for name, first, second, _ in named.get(start, np.empty(0, dtype=graphs.NAMED)).tolist():
            if name in loaded:
                outlink[name] = (loaded[name], (first,) if second == NO_SENTENCE else (first, second))
        for row, offset in titles.get(start, ()):
            if row.row not in outlink:
                outlink[row.row] = (row, (sentences.at(offset),))
        mine = own.get(start, set())
        about = sorted((loaded[name] for name in mine if name in loaded), key=lambda row: row.key)
        for row in about:
            outlink.setdefault(row.row, (row, ()))
        result.append([sentences.edge(start, row, where, row.row in mine) for row, where in outlink.values()])
    return result


def _titles_within(connection: Connection, texts: Mapping[int, str]) -> dict[int, list[tuple[names.NameRow, int]]]:
    """(name, offset) of documents' subjects that stand in texts and begin with a capital or digit, by chunk."""
    phrases = {chunk: _phrases(text) for chunk, text in texts.items()}
    known = graphs.known_subjects(connection, set().union(*phrases.values()))
    return {
        chunk: [(known[key], some[key]) for key in sorted(known.keys() & some.keys())]
        for chunk, some in phrases.items()
    }


def _phrases(text: str) -> dict[str, int]:
    """Keys of the phrases of one sentence that may be a title, and where each stands first.

    They begin with a capital or digit, and no more than MOST_SMALL words follow each other without one; in Chinese any
    run of characters may be one.
    """
    found: dict[str, int] = {}
    start = 0
    for part in _STOP.split(text):
        tokens = [(key, start + one.start()) for one in _TOKEN.finditer(part) if (key := key_of(one.group()))]
        joined = " ".join(key for key, _ in tokens)
        ends = list(accumulate((len(key) + 1 for key, _ in tokens), initial=0))
        large = [place for place, (_, at) in enumerate(tokens) if text[at].isupper() or text[at].isdigit()]
        for first, reach in zip(large, _reaches(large, len(tokens)), strict=True):
            begin, offset = ends[first], tokens[first][1]
            for end in ends[first + 1 : min(reach, first + LONGEST_TITLE) + 1]:
                found.setdefault(joined[begin : end - 1], offset)
        start += len(part) + 1
    for word in FUNCTION_WORDS["english"]:
        found.pop(word, None)
    for begin, _, key in unspaced.spans(text):
        found.setdefault(key, begin)
    return found


def _reaches(large: Sequence[int], count: int) -> list[int]:
    """For each place of a word with a capital, where the words end that a title from there may have."""
    reaches = []
    reach = following = count
    for place in reversed(large):
        if following - place > MOST_SMALL + 1:
            reach = place + 1 + MOST_SMALL
        reaches.append(reach)
        following = place
    return reaches[::-1]


class _Sentences:
    """The sentences of one start, and which of the question's words each has."""

    def __init__(self, question: Question, text: str, title: str) -> None:
        self._question = question
        self._starts = sentence_starts(text)
        ends = [*self._starts[1:], len(text)]
        self._spans = list(zip(self._starts, ends, strict=True))
        self._text = text
        self._title = frozenset(words_of(key_of(title)))
        self._title_places = question.places(self._title)
        self._has: dict[int, frozenset[int]] = {}

    def at(self, offset: int) -> int:
        """The sentence that an offset lies in."""
        return bisect_right(self._starts, offset) - 1

    def edge(self, start: int, name: names.NameRow, where: Sequence[int], own: bool) -> Outlink:
        """What the question has to do with a name in these sentences."""
        words = words_of(name.key)
        beside = 0.0
        said = [places for one in where if (places := self._places(one))]
        if said:
            aside = self._question.places(words) | self._title_places
            beside = max(self._question.weight(places - aside) for places in said)
        length = sum(word not in self._title for word in set(words)) / 4
        return Outlink(start, name, own, 0 in where, length, beside)

    def _places(self, sentence: int) -> frozenset[int]:
        """Which of the question's words a sentence has."""
        found = self._has.get(sentence)
        if found is None:
            start, end = self._spans[min(sentence, len(self._spans) - 1)]
            found = self._has[sentence] = self._question.places(words_of(self._text[start:end]))
        return found
