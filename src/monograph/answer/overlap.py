"""What sentences share with a question, word by word, and what else their words may tell."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, islice
from typing import Any

import numpy as np
import numpy.typing as npt

from monograph.answer.query_terms import QueryTerms
from monograph.derive.embed.words import word_vectors
from monograph.graph.evidence import Bools, Float64
from monograph.graph.names import stem
from monograph.store.terms import words_of

_WORD = re.compile(r"[\w\u0300-\u036f]+")
_DATED = re.compile(
    r"1[0-9]\d\d|20\d\d|\d+s|century|centuries|yesterday|today|tomorrow|(?:mon|tues|wednes|thurs|fri|satur|sun)day"
    r"|januar[yi]?|februar[yi]?|march|april|may|june|july|august|september|october|november|december"
)
_COUNTED = re.compile(
    r".*\d.*|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty|sixty|hundreds?"
    r"|thousands?|millions?|billions?|half|third|quarter|dozen|once|twice"
)
_POINTING = frozenset(
    ("he", "she", "it", "they", "this", "these", "that", "those", "his", "her", "its", "their", "such", "there", "here")
)


@dataclass(frozen=True, slots=True)
class _Form:
    """A word as it is written, and what it may tell."""

    words: tuple[str, ...]
    stems: tuple[str, ...]
    marks: int


_NO_FORM = _Form(("",), ("",), 0)
_CAPITAL, _DATE, _AMOUNT, _POINTER = 1, 2, 4, 8


@lru_cache(maxsize=65_536)
def _form(written: str) -> _Form:
    words = tuple(words_of(written)) or ("",)
    lower = written.lower()
    return _Form(
        words=words,
        stems=tuple(map(stem, words)),
        marks=_CAPITAL * written[0].isupper()
        + _DATE * (_DATED.fullmatch(lower) is not None)
        + _AMOUNT * (_COUNTED.fullmatch(lower) is not None)
        + _POINTER * (lower in _POINTING),
    )


def written_words(text: str, start: int = 0, end: int | None = None) -> list[str]:
    """The words of text[start:end] as they are written."""
    return _WORD.findall(text, start, len(text) if end is None else end)


def nearness(asked: QueryTerms, texts: Sequence[str]) -> Float64:
    """How near texts come to each telling word of a question, float64 (texts, words).

    1 where a text has the word, else the highest cosine of any of its words, at least 0.
    """
    words = Words(asked, [written_words(text) for text in texts])
    return words.over_sentences(words.near)


class Words:
    """The words of sentences, each form once, and what they have to do with a question."""

    def __init__(self, asked: QueryTerms, written: Sequence[Sequence[str]]) -> None:
        different = dict.fromkeys(chain(("",), *written))
        numbers = {word: number for number, word in enumerate(different)}
        forms = [_NO_FORM, *map(_form, islice(numbers, 1, None))]
        # Every sentence begins with a word that is none, so that none is empty.
        self._starts = np.cumsum([0, *(len(sentence) + 1 for sentence in written)][:-1])
        self._flat = np.fromiter(
            chain.from_iterable((0, *map(numbers.__getitem__, sentence)) for sentence in written), np.int64
        )
        of_forms = [form.words for form in forms]
        starts = np.cumsum([0, *map(len, of_forms)][:-1])
        near = word_vectors().cosines(list(chain.from_iterable(of_forms)), asked.words)
        stems = {one: place for place, one in enumerate(asked.stems)}
        has = np.zeros(near.shape, dtype=bool)
        for row, one in enumerate(chain.from_iterable(form.stems for form in forms)):
            if one in stems:
                has[row, stems[one]] = True
        self.has: Bools = np.logical_or.reduceat(has, starts, axis=0)
        self.near: Float64 = np.maximum(np.maximum.reduceat(near, starts, axis=0), 0.0).astype(np.float64)
        self.near[self.has] = 1.0
        marks = np.array([form.marks for form in forms])
        self.dated, self.counted, first = marks & _DATE > 0, marks & _AMOUNT > 0, marks & _POINTER > 0
        capital = marks & _CAPITAL > 0
        for row in np.flatnonzero(capital).tolist():
            capital[row] = asked.all_words.isdisjoint(of_forms[row])
        opens = np.minimum(self._starts + 1, len(self._flat) - 1)
        self.pointing = first[self._flat[opens]]
        inner = capital[self._flat]
        inner[opens] = False
        self.names = np.minimum(np.add.reduceat(inner, self._starts, dtype=np.float64), 3.0) / 3.0

    def over_sentences(self, values: npt.NDArray[Any]) -> Float64:
        """The most of a value of forms, over each sentence."""
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
