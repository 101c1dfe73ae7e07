"""What sentences share with a question, word by word, and what else their words may tell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from monograph.answer import reading
from monograph.answer.forms import AMOUNT, CAPITAL, DATE, POINTER, Int32, Int64, forms
from monograph.answer.query_terms import QueryTerms
from monograph.answer.reading import Read
from monograph.answer.units import units
from monograph.derive.embed.words import cosines, vectors
from monograph.graph.evidence import Bools, Float64
from monograph.graph.names import stem
from monograph.store.terms import words_of

Spans: TypeAlias = tuple[tuple[int, int], ...]

QUESTIONS = 8
"""Questions of which it is remembered what was held against them."""


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """What forms have to do with a question, a row each; ``rows`` by number, -1 for a form that is not judged."""

    rows: Int32
    has: Bools
    near: Float64
    marks: npt.NDArray[np.uint8]


class Comparison:
    """What is held against a question: each text is read once, each form judged once. Safe to use from threads."""

    def __init__(self, asked: QueryTerms) -> None:
        self.asked, self.forms = asked, forms()
        self._all_words = np.array(self.forms.numbers_of_words(list(asked.all_words)), dtype=np.int32)
        words = np.array(self.forms.numbers_of_words(asked.words), dtype=np.int32)
        # Of words that share a stem the last one stands for it.
        last = {one: place for place, one in enumerate(asked.stems)}
        self._stems = np.array(self.forms.stems(asked.stems), dtype=np.int32)
        is_last = [last[one] == place for place, one in enumerate(asked.stems)]
        self._telling = np.where(np.array(is_last, dtype=bool), self._stems, -1)
        self._targets = vectors(*self.forms.tokens(words)) if asked.words else None
        none = (0, len(asked.words))
        self._judged = Judged(
            np.zeros(0, dtype=np.int32), np.zeros(none, dtype=bool), np.zeros(none), np.zeros(0, dtype=np.uint8)
        )
        self._sentences: dict[str, tuple[Spans, Read]] = {}
        self._texts: dict[str, Read] = {}
        self._titles: dict[str, Read] = {}

    def sentences(self, text: str) -> tuple[Spans, Read]:
        """Where the sentences of a text stand, as :func:`monograph.answer.units.units` has them, and what they hold."""
        found = self._sentences.get(text)
        if found is None:
            spans = units(text)
            found = self._sentences[text] = spans, reading.read(self.forms, text, spans)
        return found

    def text(self, text: str) -> Read:
        """A text as one stretch."""
        found = self._texts.get(text)
        if found is None:
            found = self._texts[text] = reading.as_one(self.forms, text, *self.sentences(text))
        return found

    def title(self, title: str) -> Read:
        """A title as one stretch."""
        found = self._titles.get(title)
        if found is None:
            found = self._titles[title] = reading.read(self.forms, title, [(0, len(title))])
        return found

    def stand_in(self, titles: Sequence[str]) -> Bools:
        """Which of the question's words stand in titles, in whatever form: (titles, words)."""
        read = reading.joined([self.title(one) for one in titles])
        there = self.forms.stems_of(read.words)[:, None] == self._stems
        result: Bools = np.logical_or.reduceat(there, np.cumsum(read.word_counts) - read.word_counts, axis=0)
        return result

    def judged(self, some: Int32) -> Judged:
        """Judge forms by number, with all that were before."""
        held = self._judged
        size = max(len(held.rows), int(some.max()) + 1)
        fresh = np.zeros(size, dtype=bool)
        fresh[some] = True
        fresh[: len(held.rows)] &= held.rows < 0
        numbers = np.flatnonzero(fresh)
        if not len(numbers):
            return held
        rows = np.full(size, -1, dtype=np.int32)
        rows[: len(held.rows)] = held.rows
        rows[numbers] = np.arange(len(held.marks), len(held.marks) + len(numbers))
        has, near, marks = self._judge(numbers)
        made = self._judged = Judged(
            rows,
            np.concatenate((held.has, has)),
            np.concatenate((held.near, near)),
            np.concatenate((held.marks, marks)),
        )
        return made

    def _judge(self, numbers: Int64) -> tuple[Bools, Float64, npt.NDArray[np.uint8]]:
        words, starts = self.forms.words(numbers)
        told = self.forms.stems_of(words)[:, None] == self._telling
        has: Bools = np.logical_or.reduceat(told, starts, axis=0)
        near = np.zeros(has.shape)
        if self._targets is not None:
            of_words = cosines(*self.forms.tokens(words), self._targets)
            near = np.maximum(np.maximum.reduceat(of_words, starts, axis=0), 0.0).astype(np.float64)
        near[has] = 1.0
        marks = self.forms.marks(numbers)
        is_asked = np.logical_or.reduce(words[:, None] == self._all_words, axis=1)
        marks[np.logical_or.reduceat(is_asked, starts)] &= ~np.uint8(CAPITAL)
        return has, near, marks

    def shared_runs(self, read: Read, length: int) -> Int64:
        """How many of the question's runs of so many words stand in each stretch: (stretches,)."""
        asked = [self.forms.stems(run) for run in runs_of_words(self.asked.text, length)]
        runs = np.array([run for run in asked if -1 not in run], dtype=np.int32).reshape(-1, length)
        stems = self.forms.stems_of(read.words)
        found = np.ones((len(stems), len(runs)), dtype=bool)
        for place in range(length):
            found[: max(0, len(stems) - place)] &= stems[place:, None] == runs[:, place]
            found[max(0, len(stems) - place) :] = False
        starts = np.cumsum(read.word_counts) - read.word_counts
        counts: Int64 = np.logical_or.reduceat(found, starts, axis=0).sum(axis=1)
        return counts


@lru_cache(maxsize=QUESTIONS)
def comparison(asked: QueryTerms) -> Comparison:
    """What is held against a question; of the last ones it is remembered."""
    return Comparison(asked)


def runs_of_words(text: str, length: int = 3) -> frozenset[tuple[str, ...]]:
    """The stems of words that follow each other, so many in a row."""
    stems = list(map(stem, words_of(text)))
    return frozenset(zip(*(stems[start:] for start in range(length)), strict=False))


def nearness(asked: QueryTerms, titled: Sequence[tuple[str, str]]) -> Float64:
    """How near texts with their titles come to each telling word of a question, float64 (texts, words).

    1 where a text has the word, else the highest cosine of any of its words, at least 0.
    """
    held = comparison(asked)
    read = [one for title, text in titled for one in (held.title(title), held.text(text))]
    words = Words(held, reading.joined(read))
    result: Float64 = np.maximum.reduceat(words.over_sentences(words.near), np.arange(0, len(read), 2), axis=0)
    return result


class Words:
    """The words of stretches, each form once, and what they have to do with a question."""

    def __init__(self, held: Comparison, read: Read) -> None:
        judged = held.judged(read.forms)
        self._flat = judged.rows[read.forms]
        # Every stretch begins with a word that is none, so that none is empty.
        self._starts = np.cumsum(read.counts) - read.counts
        self.has, self.near = judged.has, judged.near
        self.dated, self.counted = judged.marks & DATE > 0, judged.marks & AMOUNT > 0
        opens = np.minimum(self._starts + 1, len(self._flat) - 1)
        marks = judged.marks[self._flat]
        self.pointing = marks[opens] & POINTER > 0
        inner = marks & CAPITAL > 0
        inner[opens] = False
        self.names = np.minimum(np.add.reduceat(inner, self._starts, dtype=np.float64), 3.0) / 3.0

    def over_sentences(self, values: npt.NDArray[Any]) -> Float64:
        """The most of a value of forms, over each stretch."""
        result: Float64 = np.maximum.reduceat(values[self._flat], self._starts, axis=0).astype(np.float64)
        return result


class Places:
    """Where sentences stand: which passage each is ``of``, and its ``number`` there."""

    def __init__(self, counts: npt.NDArray[np.int64]) -> None:
        self.counts = counts
        self._starts = np.concatenate(([0], np.cumsum(counts)[:-1]))
        self.of = np.repeat(np.arange(len(counts)), counts)
        self.number = np.arange(int(counts.sum())) - self._starts[self.of]

    def most(self, values: Float64) -> Float64:
        """The most of a value in the passage of each sentence."""
        result: Float64 = np.maximum.reduceat(values, self._starts)[self.of]
        return result

    def rarity(self, has: Float64) -> Float64:
        """How telling each word is in each passage, (passages, words): 0 where it does not stand there."""
        counts = np.add.reduceat(has, self._starts, axis=0)
        result: Float64 = np.where(counts > 0, np.log((self.counts[:, None] + 1) / (counts + 0.5)), 0.0)
        return result

    def rank(self, values: Float64) -> Float64:
        """Which place each sentence takes in its passage by a value, from 0 to below 1."""
        order = np.lexsort((-values, self.of))
        ranks = np.empty(len(values))
        ranks[order] = self.number
        return ranks / self.counts[self.of]

    def before(self, rows: Float64) -> Float64:
        """The row of the sentence before each, in its passage; zeros for the first."""
        result = np.zeros_like(rows)
        result[1:] = rows[:-1]
        result[self.number == 0] = 0.0
        return result
