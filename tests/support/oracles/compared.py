"""Comparison of texts with a question in NumPy. The compiled module must return the same bits."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain, pairwise

import numpy as np

from monograph.answer.reading import _CLUES, AMOUNT, DATE, FEATURES, TEXT_FEATURES, Spans, runs_of
from monograph.derive.embed.static import token_vectors
from monograph.derive.tokens import token_ids
from monograph.graph.evidence import Float64
from monograph.graph.names import stem
from monograph.values import Float32
from support.oracles.words import words as words_of

CAPITAL = 1
_LANES = 16
_AT_ONCE = 1_024
"""Number of words whose products are computed together: 4 MB for a question of 64 words."""
_FORM = re.compile(r"[\w\u0300-\u036f]+")
_YEAR = re.compile(r"1[0-9]\d\d|20\d\d|\d+s")
_DIGIT = re.compile(r"\d")


def compare(
    words: Sequence[str], every: Sequence[str], texts: Sequence[str], stretches: Sequence[Spans]
) -> tuple[Float64, Float64]:
    """See :func:`monograph.answer.reading.compare`."""
    cut = [[text[first:last] for first, last in some] for text, some in zip(texts, stretches, strict=True)]
    reading = _Reading(words, every, [*texts, *chain.from_iterable(cut)])
    rows, wholes = [], []
    for text, some, spans in zip(texts, cut, stretches, strict=True):
        features = list(map(reading.row, some))
        rows += features
        # The boundary of adjacent stretches may cut a word.
        whole = some and not any(one[1] == other[0] for one, other in pairwise(spans))
        wholes.append(
            reading.row_of_text(some, np.max(features, axis=0))
            if whole
            else reading.row_of_text([text], reading.row(text))
        )
    size = 2 * len(words)
    return np.array(rows).reshape(-1, size + FEATURES), np.array(wholes).reshape(-1, size + TEXT_FEATURES)


class _Reading:
    """Comparison of the words of texts with a question; each form of a word is compared once."""

    def __init__(self, words: Sequence[str], every: Sequence[str], texts: Sequence[str]) -> None:
        self._stems = list(map(stem, words))
        # The last of the words that share a stem represents it.
        last = {one: place for place, one in enumerate(self._stems)}
        self._telling = [one if last[one] == place else None for place, one in enumerate(self._stems)]
        self._every = every
        # Each stretch begins with an empty word.
        folded = {one: words_of(one) or [""] for text in texts for one in ("", *_FORM.findall(text))}
        met = list(dict.fromkeys(chain.from_iterable(folded.values())))
        self._cosines = dict(zip(met, _cosines(met, words), strict=True))
        self._forms = {one: self._form(one, some) for one, some in folded.items()}

    def _form(self, written: str, folded: Sequence[str]) -> tuple[list[bool], Float64, int]:
        """Return (whether the form has each word of the question, its cosine with each of them, its clues)."""
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
        """Return the features of a stretch: see :func:`monograph.answer.reading.compare`."""
        some = [self._forms[one] for one in ("", *_FORM.findall(text))]
        clues = [one for *_, one in some]
        return np.array(
            [
                *np.max([near for _, near, _ in some], axis=0),
                *np.any([has for has, *_ in some], axis=0),
                min(sum(one & CAPITAL for one in clues[2:]), 3) / 3,
                any(one & DATE for one in clues),
                any(one & AMOUNT for one in clues),
                len(runs_of(words_of(text), 2) & runs_of(self._every, 2)),
            ],
            dtype=np.float64,
        )

    def row_of_text(self, stretches: Sequence[str], near: Float64) -> Float64:
        """Return the features of a text from its stretches, and from their cosines with the words of the question."""
        words = [word for one in stretches for word in words_of(one)]
        stems = set(map(stem, words))
        runs = runs_of(words, 3) & runs_of(self._every, 3)
        return np.array([*near[: len(self._stems)], *(one in stems for one in self._stems), len(runs)])


def _cosines(words: Sequence[str], others: Sequence[str]) -> Float32:
    """Return the cosines of the static vectors of words with those of others, float32 (words, others)."""
    targets, lengths = _sums(others)
    targets /= lengths[:, None]
    parts = [np.zeros((0, len(others)), dtype=np.float32)]
    for first in range(0, len(words), _AT_ONCE):
        some, lengths = _sums(words[first : first + _AT_ONCE])
        parts.append(_products(some[:, None], targets) / lengths[:, None])
    return np.concatenate(parts)


def _sums(words: Sequence[str]) -> tuple[Float32, Float32]:
    """Return the sums of the token vectors of words, and their lengths; an empty word counts as an unknown one."""
    table = token_vectors()
    made = np.array([table[token_ids(word)].sum(axis=0) for word in words], dtype=np.float32).reshape(
        -1, table.shape[1]
    )
    made[[place for place, word in enumerate(words) if not word]] = table[0]
    lengths = np.sqrt(_products(made, made))
    lengths[lengths == 0] = 1.0
    return made, lengths


def _products(some: Float32, others: Float32) -> Float32:
    """Return inner products over the last axis, summed in lanes, so that all machines round in the same way."""
    lanes: Float32 = some[..., :_LANES] * others[..., :_LANES]
    for first in range(_LANES, some.shape[-1], _LANES):
        lanes = lanes + some[..., first : first + _LANES] * others[..., first : first + _LANES]
    while lanes.shape[-1] > 1:
        half = lanes.shape[-1] // 2
        lanes = lanes[..., :half] + lanes[..., half:]
    result: Float32 = lanes[..., 0]
    return result
