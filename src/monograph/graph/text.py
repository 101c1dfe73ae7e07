"""What the graph keeps of a text's words: their stems as hashes, and where its sentences are."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from monograph.graph.names import stem
from monograph.store.terms import words_of
from monograph.text_pass import compiled

Words: TypeAlias = npt.NDArray[np.uint32]
"""Hashes of different stems, ascending."""

_BREAK = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")


@lru_cache(maxsize=262_144)
def word_hash(word: str) -> int:
    """CRC-32 of a folded word's stem. Of a hundred thousand words two meet by chance; little hangs on it."""
    return zlib.crc32(stem(word).encode())


def word_hashes(texts: Sequence[str]) -> list[Words]:
    """The hashes of the words of each text."""
    made = [None] * len(texts) if compiled is None else compiled.word_hashes(list(texts))
    return [
        hashes(words_of(text)) if one is None else np.frombuffer(one, dtype=np.uint32)
        for text, one in zip(texts, made, strict=True)
    ]


def hashes(words: Iterable[str]) -> Words:
    """The hashes of folded words."""
    return np.array(sorted(set(map(word_hash, set(words)))), dtype=np.uint32)


def sentence_starts(text: str) -> list[int]:
    """Where the sentences of a chunk begin, ascending; the first at 0. Rough: abbreviations end sentences too."""
    return plain_sentence_starts(text) if compiled is None else compiled.sentence_starts([text])[0]


def plain_sentence_starts(text: str) -> list[int]:
    """The same in Python: what the compiled equals."""
    return [0, *(found.end() for found in _BREAK.finditer(text) if found.end() < len(text))]
