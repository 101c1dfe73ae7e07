"""Words of a text for the graph: stems as hashes, and the starts of sentences."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from functools import lru_cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from monograph.graph.names import stem
from monograph.text_pass import compiled

Words: TypeAlias = npt.NDArray[np.uint32]
"""Distinct hashes of word stems, ascending: uint32, shape (n,)."""


@lru_cache(maxsize=262_144)
def word_hash(word: str) -> int:
    """Return the CRC-32 of the stem of a word; the word must be without case and accents.

    Words with equal hashes count as one word. This affects about two of a hundred thousand words.
    """
    return zlib.crc32(stem(word).encode())


def word_hashes(texts: Sequence[str]) -> list[Words]:
    """Return the hashes of the words of each text, each hash once, ascending."""
    return [np.frombuffer(hashes, dtype=np.uint32) for hashes in compiled.word_hashes(list(texts))]


def sentence_starts(text: str) -> list[int]:
    """Return the offsets at which the sentences of a text begin, ascending from 0.

    The division is rough: an abbreviation also ends a sentence.
    """
    return compiled.sentence_starts(text)
