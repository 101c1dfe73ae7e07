"""How near single words are in meaning, by WordLlama's static word vectors, whichever embedder a file has."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from monograph.derive.embed.static import TOKENS_AT_ONCE, token_vectors
from monograph.derive.tokens import compiled_tokenizer, tokenizer
from monograph.values import Float32

Int: TypeAlias = npt.NDArray[np.integer[Any]]

REMEMBERED = 65_536
"""Words whose tokens are remembered, some 200 bytes each; then it starts afresh."""


ONE_THREAD = 200_000
"""Products of so many numbers OpenBLAS makes in one thread: to wake others would take longer than a larger one."""

SUMS_AT_ONCE = 1_024
"""Words whose vectors are summed at once: 1 MB."""

_UNKNOWN = (0,)


class WordVectors:
    """Word vectors, each the mean of its tokens' vectors. Safe to use from several threads.

    The tokens of words are remembered: to find them takes most of the time.
    """

    def __init__(self) -> None:
        self._known: dict[str, tuple[tuple[int, ...], float]] = {}

    def cosines(self, words: Sequence[str], others: Sequence[str]) -> Float32:
        """How near words are to others.

        Returns
        -------
        float32 of shape (len(words), len(others)), cosines; 0 for a word without tokens.
        """
        if not words or not others:
            return np.zeros((len(words), len(others)), dtype=np.float32)
        known = self.tokens([*words, *others])
        return cosines(*_flat(known[: len(words)]), vectors(*_flat(known[len(words) :])))

    def tokens(self, words: Sequence[str]) -> list[tuple[tuple[int, ...], float]]:
        """The tokens of each word, one at least, and the length of their vectors' sum."""
        held = self._known
        with suppress(KeyError):
            return [held[word] for word in words]
        found = {word: held[word] for word in set(words) if word in held}
        missing = [word for word in dict.fromkeys(words) if word not in found]
        if missing:
            fresh = dict(zip(missing, _measured(missing), strict=True))
            found.update(fresh)
            if len(held) + len(fresh) > REMEMBERED:
                self._known = held = {}
            held.update(fresh)
        return [found[word] for word in words]


@functools.cache
def word_vectors() -> WordVectors:
    """The word vectors. Loaded once."""
    return WordVectors()


def vectors(tokens: Int, starts: Int, lengths: Float32) -> Float32:
    """The vectors of words, (words, dimension), of unit length: parameters as for :func:`cosines`."""
    ends = np.append(starts[1:], len(tokens)).tolist()
    return np.stack([_sum(tokens[one:end]) for one, end in zip(starts.tolist(), ends, strict=True)]) / lengths[:, None]


def cosines(tokens: Int, starts: Int, lengths: Float32, targets: Float32) -> Float32:
    """How near words are to some vectors, (words, vectors).

    Parameters
    ----------
    tokens, starts, lengths:
        Those of the words, one after the other; where those of each begin; the length of their vectors' sum.
    targets:
        float32 (vectors, dimension), of unit length.
    """
    met = np.zeros(len(token_vectors()), dtype=np.int32)
    met[tokens] = 1
    different = np.flatnonzero(met)
    met[different] = np.arange(len(different))
    vectors = token_vectors()
    at_once = max(1, ONE_THREAD // targets.size)
    parts = [vectors[different[at : at + at_once]] @ targets.T for at in range(0, len(different), at_once)]
    near = np.concatenate(parts)[met[tokens]]
    result: Float32 = (np.add.reduceat(near, starts, axis=0) / lengths[:, None]).astype(np.float32)
    return result


def _flat(known: Sequence[tuple[tuple[int, ...], float]]) -> tuple[Int, Int, Float32]:
    """The tokens of words, one after the other; where those of each begin; the length of their vectors' sum."""
    starts = np.cumsum([0, *(len(ids) for ids, _ in known)][:-1])
    lengths = np.array([length for _, length in known], dtype=np.float32)
    return np.fromiter(chain.from_iterable(ids for ids, _ in known), np.int64), starts, lengths


def _measured(words: Sequence[str]) -> Iterator[tuple[tuple[int, ...], float]]:
    """The tokens of each word, and the length of their vectors' sum."""
    for first in range(0, len(words), SUMS_AT_ONCE):
        some = words[first : first + SUMS_AT_ONCE]
        found = [tuple(ids) or _UNKNOWN for ids in _tokens(some)]
        totals = _sums(some, found)
        lengths = np.sqrt(np.vecdot(totals, totals)).tolist()
        yield from zip(found, (length or 1.0 for length in lengths), strict=True)


def _sums(words: Sequence[str], found: Sequence[tuple[int, ...]]) -> Float32:
    """The sums of the vectors of words' tokens, (words, dimension)."""
    fast = compiled_tokenizer()
    if fast is None:
        return np.stack(list(map(_sum, found)))
    table = token_vectors()
    totals = np.zeros((len(words), table.shape[1]), dtype=np.float32)
    left = fast.sums(list(words), table, TOKENS_AT_ONCE, totals)
    for place in {*left, *(place for place, ids in enumerate(found) if ids is _UNKNOWN)}:
        totals[place] = _sum(found[place])
    return totals


def _tokens(words: Sequence[str]) -> Iterator[Sequence[int]]:
    fast = compiled_tokenizer()
    for word in words:
        ids = None if fast is None else fast.ids(word)
        yield tokenizer().encode(word, add_special_tokens=False).ids if ids is None else ids


def _sum(ids: Sequence[int] | Int) -> Float32:
    """The sum of tokens' vectors; those of a word of a million letters would take a gigabyte at once."""
    table = token_vectors()
    total: Float32 = table[list(ids[:TOKENS_AT_ONCE])].sum(axis=0)
    for first in range(TOKENS_AT_ONCE, len(ids), TOKENS_AT_ONCE):
        total += table[list(ids[first : first + TOKENS_AT_ONCE])].sum(axis=0)
    return total
