"""Words of texts in plain Python. The compiled pass over a text must return the same."""

from __future__ import annotations

import re
import unicodedata
import zlib
from collections.abc import Iterable

import numpy as np

from monograph.graph.names import LONGEST_KEY, stem
from monograph.graph.text import Words

_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]+"
)
_DROPPED = str.maketrans("", "", "'’.`´\u00ad\u200c\u200d\u2060")
_BREAK = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")


def folded(text: str) -> str:
    """Return a text without case and accents."""
    bare = re.sub("[\u0300-\u036f]", "", unicodedata.normalize("NFKD", text.casefold()))
    return unicodedata.normalize("NFC", bare).replace("\0", " ")


def paired(text: str) -> str:
    """Return a folded text; characters of scripts without spaces are in pairs."""

    def pairs(run: str) -> str:
        return " ".join(run[at : at + 2] for at in range(max(1, len(run) - 1)))

    return _UNSPACED.sub(lambda run: f" {pairs(run.group())} ", folded(text))


def words(text: str) -> list[str]:
    """Return the words of a text, in order."""
    return re.findall(r"[\w\u0300-\u036f]+", paired(text))


def hashes(words: Iterable[str]) -> Words:
    """Return the CRC-32 of the distinct stems of words, ascending."""
    return np.array(sorted({zlib.crc32(stem(word).encode()) for word in words}), dtype=np.uint32)


def key(name: str) -> str:
    """Return the key of a name."""
    bare = re.sub(r"['’]s\b", "", folded(name[: 2 * LONGEST_KEY])).translate(_DROPPED).replace("_", " ")
    parts = re.findall(r"\w+", bare)
    if len(parts) > 1 and parts[0] in ("the", "a", "an") and not re.match(r"\s*[Aa]\.", name):
        del parts[0]
    return " ".join(parts)[:LONGEST_KEY].rstrip()


def sentence_starts(text: str) -> list[int]:
    """Return the offsets at which the sentences of a chunk begin."""
    return [0, *(found.end() for found in _BREAK.finditer(text) if found.end() < len(text))]
