"""Texts held against a question: which of its words their sentences have or come near to, and what else they tell."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from itertools import chain, pairwise
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from monograph.derive.embed.static import stored_vectors, sums
from monograph.derive.tokens import compiled_tokenizer
from monograph.graph.evidence import Float64
from monograph.graph.names import stem
from monograph.store.terms import words_of
from monograph.text_pass import compiled
from monograph.values import Float32

if TYPE_CHECKING:
    from monograph.text_pass._text_pass import Clues as CompiledClues

Spans: TypeAlias = Sequence[tuple[int, int]]

TOLD, TOLD_OF_TEXT = 5, 1
"""Numbers of a row beside two for each word of the question."""

_LANES = 16
_AT_ONCE = 1_024
"""Words whose products are made at once: 4 MB for a question of 64 words."""

CAPITAL, DATE, AMOUNT, POINTER = 1, 2, 4, 8
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

_FORM = re.compile(r"[\w\u0300-\u036f]+")
_YEAR = re.compile(r"1[0-9]\d\d|20\d\d|\d+s")
_DIGIT = re.compile(r"\d")


@cache
def _compiled_clues() -> CompiledClues:
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
        fast = compiled_tokenizer()
        self._compiled = None
        if compiled is not None and fast is not None:
            self._compiled = compiled.AskedTerms(
                fast, stored_vectors().view(np.uint16), list(words), list(every), _compiled_clues()
            )

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
        if self._compiled is not None and self._compiled.compare(list(texts), stretches, rows, wholes):
            return rows, wholes
        return plain_compare(self.words, self.every, texts, stretches)


def plain_compare(
    words: Sequence[str], every: Sequence[str], texts: Sequence[str], stretches: Sequence[Spans]
) -> tuple[Float64, Float64]:
    """The same in Python: what the compiled equals."""
    cut = [[text[first:last] for first, last in some] for text, some in zip(texts, stretches, strict=True)]
    reading = _Reading(words, every, [*texts, *chain.from_iterable(cut)])
    rows, wholes = [], []
    for text, some, spans in zip(texts, cut, stretches, strict=True):
        told = list(map(reading.row, some))
        rows += told
        # Where stretches touch, a word may be cut.
        whole = some and not any(one[1] == other[0] for one, other in pairwise(spans))
        wholes.append(
            reading.row_of_text(some, np.max(told, axis=0)) if whole else reading.row_of_text([text], reading.row(text))
        )
    size = 2 * len(words)
    return np.array(rows).reshape(-1, size + TOLD), np.array(wholes).reshape(-1, size + TOLD_OF_TEXT)


class _Reading:
    """What the words of some texts have to do with a question, each form of a word looked at once."""

    def __init__(self, words: Sequence[str], every: Sequence[str], texts: Sequence[str]) -> None:
        self._stems = list(map(stem, words))
        # Of words that share a stem the last one stands for it.
        last = {one: place for place, one in enumerate(self._stems)}
        self._telling = [one if last[one] == place else None for place, one in enumerate(self._stems)]
        self._every = every
        # Each stretch begins with the word that is none.
        folded = {one: words_of(one) or [""] for text in texts for one in ("", *_FORM.findall(text))}
        met = list(dict.fromkeys(chain.from_iterable(folded.values())))
        self._cosines = dict(zip(met, _cosines(met, words), strict=True))
        self._forms = {one: self._form(one, some) for one, some in folded.items()}

    def _form(self, written: str, folded: Sequence[str]) -> tuple[list[bool], Float64, int]:
        """(which words of the question a form has, how near it comes to each, what else it may tell)."""
        stems = set(map(stem, folded))
        has = [one in stems for one in self._telling]
        near = np.maximum(np.max([self._cosines[word] for word in folded], axis=0), 0.0).astype(np.float64)
        clues = _CLUES.get(written.lower(), 0)
        if _DIGIT.search(written):
            clues |= AMOUNT
        if _YEAR.fullmatch(written.lower()):
            clues |= DATE
        if written[:1].isupper() and not any(word in self._every for word in folded):
            clues |= CAPITAL
        return has, np.where(has, 1.0, near), clues

    def row(self, text: str) -> Float64:
        """Of a stretch: see :meth:`Terms.compare`."""
        some = [self._forms[one] for one in ("", *_FORM.findall(text))]
        clues = [one for *_, one in some]
        return np.array(
            [
                *np.max([near for _, near, _ in some], axis=0),
                *np.any([has for has, *_ in some], axis=0),
                min(sum(one & CAPITAL for one in clues[2:]), 3) / 3,
                any(one & DATE for one in clues),
                any(one & AMOUNT for one in clues),
                len(clues) > 1 and clues[1] & POINTER > 0,
                len(runs_of(words_of(text), 2) & runs_of(self._every, 2)),
            ],
            dtype=np.float64,
        )

    def row_of_text(self, stretches: Sequence[str], near: Float64) -> Float64:
        """Of a text, by its stretches, and how near they come."""
        words = [word for one in stretches for word in words_of(one)]
        stems = set(map(stem, words))
        runs = runs_of(words, 3) & runs_of(self._every, 3)
        return np.array([*near[: len(self._stems)], *(one in stems for one in self._stems), len(runs)])


def runs_of(words: Sequence[str], length: int) -> frozenset[tuple[str, ...]]:
    """The stems of words that follow each other, so many in a row."""
    stems = list(map(stem, words))
    return frozenset(zip(*(stems[start:] for start in range(length)), strict=False))


def _cosines(words: Sequence[str], others: Sequence[str]) -> Float32:
    """How near words are to others by their static vectors, float32 (words, others)."""
    targets, lengths = _sums(others)
    targets /= lengths[:, None]
    parts = [np.zeros((0, len(others)), dtype=np.float32)]
    for first in range(0, len(words), _AT_ONCE):
        some, lengths = _sums(words[first : first + _AT_ONCE])
        parts.append(_products(some[:, None], targets) / lengths[:, None])
    return np.concatenate(parts)


def _sums(words: Sequence[str]) -> tuple[Float32, Float32]:
    """The sums of words' token vectors, and their lengths; what is no word counts as one that is not known."""
    made = sums(words)
    made[[place for place, word in enumerate(words) if not word]] = stored_vectors()[0]
    lengths = np.sqrt(_products(made, made))
    lengths[lengths == 0] = 1.0
    return made, lengths


def _products(some: Float32, others: Float32) -> Float32:
    """Inner products over the last axis, added up in lanes: no two machines round them otherwise."""
    lanes: Float32 = some[..., :_LANES] * others[..., :_LANES]
    for first in range(_LANES, some.shape[-1], _LANES):
        lanes = lanes + some[..., first : first + _LANES] * others[..., first : first + _LANES]
    while lanes.shape[-1] > 1:
        half = lanes.shape[-1] // 2
        lanes = lanes[..., :half] + lanes[..., half:]
    result: Float32 = lanes[..., 0]
    return result
