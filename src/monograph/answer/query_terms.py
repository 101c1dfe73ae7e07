"""A question as texts are held against it: its telling words, what they weigh, and the kind of its answer."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from monograph.derive.extract.function_words import ASKING_WORDS, FUNCTION_WORDS, language_of
from monograph.derive.extract.kinds import answer_kinds
from monograph.graph.names import stem
from monograph.regex import regex
from monograph.store.words import terms

if TYPE_CHECKING:
    from monograph.graph.evidence import Float64
    from monograph.search.reader import Reader

MOST_WORDS = 64
LIGHTEST = 0.3
"""What a word weighs at least: one that stands in every chunk still tells sentences apart a little."""

_POSSESSIVE = regex(r"['’]s\b")
_KINDS = (
    ("person", ("person", "organisation")),
    ("place", ("place",)),
    ("date", ("date", "time")),
    ("quantity", ("quantity",)),
)


@dataclass(frozen=True, slots=True, eq=False)
class QueryTerms:
    """A question taken apart.

    Parameters
    ----------
    text:
        As it was asked.
    words, stems:
        Its telling words, folded, each once, in order; and their stems.
    weights:
        Inverse document frequency of each in the file, all together 1; float64 (words,).
    every:
        All its folded words, in order.
    kinds:
        Of which an answer may be; empty where the question's words do not tell.
    kind:
        Of the answer: ``person``, ``place``, ``date``, ``quantity``, or ``other`` where its words do not tell.
    """

    text: str
    words: tuple[str, ...]
    stems: tuple[str, ...]
    weights: Float64
    every: tuple[str, ...]
    kinds: frozenset[str]
    kind: str


def take_apart(reader: Reader, text: str) -> QueryTerms:
    """Take a question apart, its words weighed by how rare they are in a corpus."""
    words = telling_words(text)
    return weighed(text, reader.document_frequency(words), reader.total(), words)


def telling_words(text: str) -> tuple[str, ...]:
    """Return the folded words of a question that say what it is about; all of them, where these are none."""
    every = list(dict.fromkeys(terms.words_of(_POSSESSIVE.sub(" ", text))))
    small = FUNCTION_WORDS[language_of(text)]
    telling = [
        word
        for word in every
        if word not in small and word not in ASKING_WORDS and (len(word) > 1 or not word.isascii() or word.isdigit())
    ]
    return tuple((telling or every)[:MOST_WORDS])


def weighed(text: str, frequency: Mapping[str, int], total: int, words: tuple[str, ...] | None = None) -> QueryTerms:
    """Return a question whose telling words are weighed by how many of ``total`` chunks have each."""
    words = telling_words(text) if words is None else words
    weights = np.array([max(LIGHTEST, math.log((total + 1) / (frequency.get(word, 0) + 0.5))) for word in words])
    kinds = answer_kinds(text)
    return QueryTerms(
        text=text,
        words=words,
        stems=tuple(map(stem, words)),
        weights=weights / weights.sum() if words else weights,
        every=tuple(terms.words_of(text)),
        kinds=kinds,
        kind=next((name for name, some in _KINDS if kinds.intersection(some)), "other"),
    )
