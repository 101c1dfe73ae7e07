"""Texts held against a question: which of its words their sentences have or come near to, and what else they tell."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from monograph.derive.embed.static import stored_vectors
from monograph.derive.tokens import tokenizer
from monograph.graph.evidence import Float64
from monograph.graph.names import stem
from monograph.text_pass import compiled

if TYPE_CHECKING:
    from monograph.text_pass._text_pass import Clues as CompiledClues

Spans: TypeAlias = Sequence[tuple[int, int]]

TOLD, TOLD_OF_TEXT = 5, 1
"""Numbers of a row beside two for each word of the question."""

DATE, AMOUNT, POINTER = 2, 4, 8
"""The bits of what a word tells, as the compiled module has them."""

_TIMES = """century centuries yesterday today tomorrow monday tuesday wednesday thursday friday saturday sunday januar
    january februar february march april may june july august september october november december"""
_AMOUNTS = """one two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty sixty hundred
    hundreds thousand thousands million millions billion billions half third quarter dozen once twice"""
_POINTING = "he she it they this these that those his her its their such there here"
_CLUES = {
    **dict.fromkeys(_TIMES.split(), DATE),
    **dict.fromkeys(_AMOUNTS.split(), AMOUNT),
    **dict.fromkeys(_POINTING.split(), POINTER),
}
"""What words in small letters tell."""


@cache
def _clues() -> CompiledClues:
    return compiled.Clues(_CLUES)


class Terms:
    """The words of a question, as texts are held against them. Safe to use from several threads.

    Parameters
    ----------
    words:
        Its telling words, folded; 64 at most.
    every:
        All its folded words, in order.
    """

    def __init__(self, words: Sequence[str], every: Sequence[str]) -> None:
        self.words, self.every = tuple(words), tuple(every)
        vectors = stored_vectors().view(np.uint16)
        self._asked = compiled.AskedTerms(tokenizer(), vectors, list(words), list(every), _clues())

    def compare(self, texts: Sequence[str], stretches: Sequence[Spans]) -> tuple[Float64, Float64]:
        """What stretches of texts have to do with the question.

        Parameters
        ----------
        texts:
            Any.
        stretches:
            Of each text, in order; they leave out nothing but white space.

        Returns
        -------
        float64 (stretches, 2 words + TOLD), a row for each stretch of each text: how near it comes to each word of the
        question, 0 to 1, by the highest cosine of any of its words; 1 for each that it has, of those that share a stem
        for the last one only; words with a capital beyond its first that the question has not, 1 for three; 1 for a
        time, an amount, a first word that points elsewhere; how many different pairs of the question's words stand in
        a row in it.

        float64 (texts, 2 words + TOLD_OF_TEXT), a row for each text: how near it comes to each; 1 for each that stands
        in it in whatever form; how many different triples of the question's words stand in a row in it.
        """
        size = 2 * len(self.words)
        rows = np.empty((sum(map(len, stretches)), size + TOLD))
        wholes = np.empty((len(texts), size + TOLD_OF_TEXT))
        self._asked.compare(list(texts), stretches, rows, wholes)
        return rows, wholes


def runs_of(words: Sequence[str], length: int) -> frozenset[tuple[str, ...]]:
    """The stems of words that follow each other, so many in a row."""
    stems = list(map(stem, words))
    return frozenset(zip(*(stems[start:] for start in range(length)), strict=False))
