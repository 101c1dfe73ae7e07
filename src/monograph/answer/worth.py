"""What each sentence of some passages is worth to a question.

A logistic model says how probable it is that a sentence holds the answer, or a step to it; a handful of weights, chosen
once on the dev halves of question sets (docs/answering.md). It reads words alone: which of the question's words a
sentence and its neighbours have, or have something near to in meaning (static word vectors), and whether it holds a
thing of the kind that is asked for. Vectors of whole sentences were tried beside these, static ones and MiniLM's, and
added nothing. What a sentence is worth is that probability for each character that it takes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, islice
from typing import Any

import numpy as np
import numpy.typing as npt

from monograph.answer.asked import Asked
from monograph.derive.embed.words import word_vectors
from monograph.derive.sentences import cut, sentence_spans, trimmed
from monograph.graph.evidence import Bools, Float64, Model
from monograph.graph.names import stem
from monograph.store.terms import words_of

LONGEST_SENTENCE = 800
"""Characters; what has no punctuation comes in parts of this."""

BRIEF = 80
"""Characters; where sentences are shorter on average (a chat, a table, code), one alone says little."""

JOINED = 150
"""Characters; shorter sentences of such a text are judged together with those that follow."""

WRAPPED = 400
"""Characters; lines of a longer sentence that begin in lower case are those of a chat or code without punctuation."""

SMALLEST_COST = 20
"""Characters that a sentence costs beside its own: its place in what is shown."""

SENTENCE = Model(-0.12, (1.08, 3.16, 0.88, -2.3, 1.62, -0.83, 1.02, -0.32, -1.9, 0.77, 1.31, 1.1, 0.77, 0.46, 0.3))
"""Of a sentence, in its passage: share of the question that it has, each word weighing by how few sentences of the
passage have it; share of the question beyond the title that it has, or has something near to in meaning; the same of
the whole question, less the most of any sentence; how many sentences have more of it (0 to 1); what the sentence before
adds to its words; ln(sentences); whether it is the first; whether it begins with a pronoun or the like; the most of any
sentence; new names (up to 3, as a share), where a person, or a place, is asked for; a time, where that is; an amount,
where that is; new names, or an amount, where the question's words do not tell."""

READ = len(SENTENCE.weights)
"""Features of a sentence."""

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
class Passage:
    """A text that was found, and the title of its document."""

    text: str
    title: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """The sentences of a passage, in order.

    Parameters
    ----------
    spans:
        (start, end) of each.
    chances:
        The logit of each to be evidence, float64 (sentences,).
    values:
        The logarithm of chance over cost, float64 (sentences,): what to keep first.
    told:
        Whether any word of the question stands in the passage: where none does, nothing tells its sentences apart.
    """

    spans: tuple[tuple[int, int], ...]
    chances: Float64
    values: Float64
    told: bool


@dataclass(frozen=True, slots=True)
class _Form:
    """A word as it is written, and what it may tell."""

    words: tuple[str, ...]
    stems: tuple[str, ...]
    capital: bool
    dated: bool
    counted: bool
    pointing: bool


@lru_cache(maxsize=65_536)
def _form(written: str) -> _Form:
    words = tuple(words_of(written)) or ("",)
    lower = written.lower()
    return _Form(
        words=words,
        stems=tuple(map(stem, words)),
        capital=written[0].isupper(),
        dated=_DATED.fullmatch(lower) is not None,
        counted=_COUNTED.fullmatch(lower) is not None,
        pointing=lower in _POINTING,
    )


def judge(asked: Asked, passages: Sequence[Passage]) -> list[Judged]:
    """Judge the sentences of passages: one result a passage, in order."""
    spans = [units(one.text) for one in passages]
    counts = [len(some) for some in spans]
    features = read(asked, passages, spans)
    chances = features @ np.array(SENTENCE.weights) + SENTENCE.bias
    costs = np.array([end - start + SMALLEST_COST for some in spans for start, end in some], dtype=np.float64)
    values = -np.logaddexp(0.0, -chances) - np.log(costs)
    ends = np.cumsum(counts)
    return [
        Judged(some, chances[end - count : end], values[end - count : end], bool(features[end - count : end, 0].any()))
        for some, count, end in zip(spans, counts, ends.tolist(), strict=True)
    ]


def nearness(asked: Asked, texts: Sequence[str]) -> Float64:
    """How near texts come to each telling word of a question, float64 (texts, words).

    1 where a text has the word, else the highest cosine of any of its words, at least 0.
    """
    words = _Words(asked, [_WORD.findall(text) for text in texts])
    return words.over_sentences(words.near)


def units(text: str) -> tuple[tuple[int, int], ...]:
    """Where the sentences of a text stand; where they are brief, several together."""
    spans = [
        part
        for span in sentence_spans(text)
        for line in _lines(text, *span)
        for part in cut(text, *line, LONGEST_SENTENCE)
    ]
    if sum(end - start for start, end in spans) >= BRIEF * len(spans):
        return tuple(spans)
    joined = spans[:1]
    for start, end in spans[1:]:
        first, last = joined[-1]
        if last - first < JOINED and end - start < JOINED:
            joined[-1] = (first, end)
        else:
            joined.append((start, end))
    return tuple(joined)


def _lines(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """A sentence; one that is too long for wrapped prose line by line."""
    if end - start <= WRAPPED:
        yield start, end
        return
    at = start
    for line in text[start:end].splitlines(keepends=True):
        yield from trimmed(text, at, at + len(line))
        at += len(line)


def read(asked: Asked, passages: Sequence[Passage], spans: Sequence[Sequence[tuple[int, int]]]) -> Float64:
    """What the model reads of all sentences of all passages, in order: float64 (sentences, READ)."""
    written = [_WORD.findall(one.text, *span) for one, some in zip(passages, spans, strict=True) for span in some]
    if not written:
        return np.zeros((0, READ))
    words = _Words(asked, written)
    places = _Places(np.array([len(some) for some in spans if some]))
    has, near = words.over_sentences(words.has), words.over_sentences(words.near)
    weights = asked.weights
    share, meant = has @ weights, near @ weights
    best = places.most(meant)
    rare = places.rarity(has) * weights
    rare /= np.maximum(rare.sum(axis=1, keepdims=True), 1e-9)
    beyond = np.array([_beyond_title(asked, one.title) for one, some in zip(passages, spans, strict=True) if some])
    names = words.names
    amounts = words.over_sentences(words.counted)
    wanted = {
        "person": names,
        "place": names,
        "date": words.over_sentences(words.dated),
        "quantity": amounts,
        "other": names,
    }
    columns = [
        (has * rare[places.of]).sum(axis=1),
        (near * beyond[places.of]).sum(axis=1),
        meant - best,
        places.rank(meant),
        np.maximum(has, places.before(has)) @ weights - share,
        np.log(places.counts)[places.of],
        places.number == 0,
        words.pointing,
        best,
        *(wanted[kind] * (asked.kind == kind) for kind in wanted),
        amounts * (asked.kind == "other"),
    ]
    return np.stack(columns, axis=1).astype(np.float64)


def _beyond_title(asked: Asked, title: str) -> Float64:
    """What the question's words weigh that do not stand in a title."""
    there = {stem(word) for word in words_of(title)}
    left = np.where([one in there for one in asked.stems], 0.0, asked.weights)
    total = left.sum()
    return left / total if total > 0 else left


class _Words:
    """The words of sentences, each form once, and what they have to do with a question."""

    def __init__(self, asked: Asked, written: Sequence[Sequence[str]]) -> None:
        numbers = {"": 0}
        for sentence in written:
            for word in sentence:
                if word not in numbers:
                    numbers[word] = len(numbers)
        forms = [_NO_FORM, *map(_form, islice(numbers, 1, None))]
        # Every sentence begins with a word that is none, so that none is empty.
        self._starts = np.cumsum([0, *(len(sentence) + 1 for sentence in written)][:-1])
        self._flat = np.fromiter(
            chain.from_iterable((0, *map(numbers.__getitem__, sentence)) for sentence in written), np.int64
        )
        starts = np.cumsum([0, *(len(form.words) for form in forms)][:-1])
        near = word_vectors().cosines([word for form in forms for word in form.words], asked.words)
        stems = {one: place for place, one in enumerate(asked.stems)}
        has = np.zeros(near.shape, dtype=bool)
        for row, one in enumerate(chain.from_iterable(form.stems for form in forms)):
            if one in stems:
                has[row, stems[one]] = True
        self.has: Bools = np.logical_or.reduceat(has, starts, axis=0)
        self.near: Float64 = np.maximum(np.maximum.reduceat(near, starts, axis=0), 0.0).astype(np.float64)
        self.near[self.has] = 1.0
        self.dated = np.array([form.dated for form in forms])
        self.counted = np.array([form.counted for form in forms])
        capital = np.array([form.capital and asked.all_words.isdisjoint(form.words) for form in forms])
        first = np.array([form.pointing for form in forms])
        opens = np.minimum(self._starts + 1, len(self._flat) - 1)
        self.pointing = first[self._flat[opens]]
        inner = capital[self._flat]
        inner[opens] = False
        self.names = np.minimum(np.add.reduceat(inner, self._starts, dtype=np.float64), 3.0) / 3.0

    def over_sentences(self, values: npt.NDArray[Any]) -> Float64:
        """The most of a value of forms, over each sentence."""
        result: Float64 = np.maximum.reduceat(values[self._flat], self._starts, axis=0).astype(np.float64)
        return result


_NO_FORM = _Form(("",), ("",), capital=False, dated=False, counted=False, pointing=False)


class _Places:
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
