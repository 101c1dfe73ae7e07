"""How near single words are in meaning, by WordLlama's static word vectors, whichever embedder a file has."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from contextlib import suppress
from itertools import chain

import numpy as np

from monograph.derive.embed.static import TOKENS_AT_ONCE, token_vectors
from monograph.derive.tokens import tokenizer
from monograph.values import Float32

REMEMBERED = 65_536
"""Words whose tokens are remembered, some 200 bytes each; then it starts afresh."""


ONE_THREAD = 200_000
"""Products of so many numbers OpenBLAS makes in one thread: to wake others would take longer than a larger one."""


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
        known = self._look_up([*words, *others])
        targets = np.stack([_sum(ids) / length for ids, length in known[len(words) :]])
        ids_of = [ids for ids, _ in known[: len(words)]]
        tokens, places = np.unique(np.fromiter(chain.from_iterable(ids_of), np.int64), return_inverse=True)
        vectors = token_vectors()
        at_once = max(1, ONE_THREAD // targets.size)
        parts = [vectors[tokens[at : at + at_once]] @ targets.T for at in range(0, len(tokens), at_once)]
        near = np.concatenate(parts)[places]
        starts = np.cumsum([0, *map(len, ids_of)][:-1])
        lengths = np.array([length for _, length in known[: len(words)]], dtype=np.float32)
        result: Float32 = (np.add.reduceat(near, starts, axis=0) / lengths[:, None]).astype(np.float32)
        return result

    def _look_up(self, words: Sequence[str]) -> list[tuple[tuple[int, ...], float]]:
        """The tokens of each word, and the length of their vectors' sum."""
        held = self._known
        with suppress(KeyError):
            return [held[word] for word in words]
        found = {word: held[word] for word in set(words) if word in held}
        missing = [word for word in dict.fromkeys(words) if word not in found]
        if missing:
            fresh = dict(zip(missing, map(_measured, _tokens(missing)), strict=True))
            found.update(fresh)
            if len(held) + len(fresh) > REMEMBERED:
                self._known = held = {}
            held.update(fresh)
        return [found[word] for word in words]


@functools.cache
def word_vectors() -> WordVectors:
    """The word vectors. Loaded once."""
    return WordVectors()


def _tokens(words: Sequence[str]) -> list[tuple[int, ...]]:
    encodings = tokenizer().encode_batch_fast(list(words), add_special_tokens=False)
    return [tuple(encoding.ids) or (0,) for encoding in encodings]


def _measured(ids: tuple[int, ...]) -> tuple[tuple[int, ...], float]:
    total = _sum(ids)
    return ids, float(np.sqrt(total @ total)) or 1.0


def _sum(ids: Sequence[int]) -> Float32:
    """The sum of tokens' vectors; those of a word of a million letters would take a gigabyte at once."""
    table = token_vectors()
    total: Float32 = table[list(ids[:TOKENS_AT_ONCE])].sum(axis=0)
    for first in range(TOKENS_AT_ONCE, len(ids), TOKENS_AT_ONCE):
        total += table[list(ids[first : first + TOKENS_AT_ONCE])].sum(axis=0)
    return total
