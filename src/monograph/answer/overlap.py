"""What passages share with a question, sentence by sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from monograph.answer.compared import Spans, Terms
from monograph.answer.query_terms import QueryTerms
from monograph.answer.units import units_of_texts
from monograph.graph.evidence import Float64

QUESTIONS = 8
"""Questions of which it is remembered what was held against them."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A text that was found, and the title of its document."""

    text: str
    title: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Held:
    """A text held against a question.

    ``spans`` of its sentences as :func:`monograph.answer.units.units` has them; a row for each, and one for the whole,
    as :meth:`monograph.answer.compared.Terms.compare` gives them.
    """

    spans: Spans
    rows: Float64
    whole: Float64


class Comparison:
    """What is held against a question: each text is read once. Safe to use from threads."""

    def __init__(self, asked: QueryTerms) -> None:
        self.asked = asked
        self._terms = Terms(asked.words, asked.every)
        self._texts: dict[str, Held] = {}
        self._titles: dict[str, Held] = {}

    def passages(self, some: Sequence[Passage]) -> list[tuple[Held, Held]]:
        """The title and the text of each, held against the question; a title as one stretch."""
        titles = [one for one in dict.fromkeys(one.title for one in some) if one not in self._titles]
        texts = [one for one in dict.fromkeys(one.text for one in some) if one not in self._texts]
        if titles or texts:
            spans = [*units_of_texts(texts), *([(0, len(one))] for one in titles)]
            rows, wholes = self._terms.compare([*texts, *titles], spans)
            ends = np.cumsum([len(one) for one in spans]).tolist()
            held = [
                Held(own, rows[end - len(own) : end], whole)
                for own, end, whole in zip(spans, ends, wholes, strict=True)
            ]
            self._texts.update(zip(texts, held, strict=False))
            self._titles.update(zip(titles, held[len(texts) :], strict=True))
        return [(self._titles[one.title], self._texts[one.text]) for one in some]


@lru_cache(maxsize=QUESTIONS)
def comparison(asked: QueryTerms) -> Comparison:
    """What is held against a question; of the last ones it is remembered."""
    return Comparison(asked)


def nearness(asked: QueryTerms, passages: Sequence[Passage]) -> Float64:
    """How near passages and their titles come to each telling word of a question, float64 (passages, words).

    1 where a passage has the word, else the highest cosine of any of its words, at least 0.
    """
    size = len(asked.words)
    near = [np.maximum(title.whole, text.whole)[:size] for title, text in comparison(asked).passages(passages)]
    return np.array(near).reshape(len(near), size)


class Places:
    """Where sentences stand: which passage each is ``of``, and its ``number`` there."""

    def __init__(self, counts: npt.NDArray[np.int64]) -> None:
        self.counts = counts
        self._starts = np.cumsum(counts) - counts
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
