"""Names as they are compared: without case, accents, hyphens, possessives and articles."""

from __future__ import annotations

import re
import zlib
from functools import lru_cache

from monograph.store.terms import fold

LONGEST_KEY = 160
"""Characters; a longer name is compared by its head."""

_POSSESSIVE = re.compile(r"['’]s\b")
_DROPPED = str.maketrans("", "", "'’.`´\u00ad\u200c\u200d\u2060")
_TOKEN = re.compile(r"\w+")
_ARTICLES = frozenset(("the", "a", "an"))
_INITIAL = re.compile(r"\s*[Aa]\.")
_QUALIFIER = re.compile(r"^(?P<name>.*\S)\s*\((?P<qualifier>[^()]*)\)\s*$", re.DOTALL)
_SUFFIXES = ("ings", "ing", "ors", "ers", "ed", "es", "or", "er", "s", "e")
_SHORTEST_STEM = 4
_SIGNED = 5


@lru_cache(maxsize=65_536)
def key_of(name: str) -> str:
    """The key under which a name is known: folded words, one blank between them; empty where it has no word.

    ``The Beatles``, ``beatles`` and ``Beatles'`` share one; so do ``J.R.R. Tolkien`` and ``JRR Tolkien``.
    """
    bare = _POSSESSIVE.sub("", fold(name[: 2 * LONGEST_KEY])).translate(_DROPPED).replace("_", " ")
    words = _TOKEN.findall(bare)
    if len(words) > 1 and words[0] in _ARTICLES and not _INITIAL.match(name):
        del words[0]
    return " ".join(words)[:LONGEST_KEY].rstrip()


def title_of(title: str) -> tuple[str, str]:
    """(key, key of the qualifier) of a title: ``Green (album)`` is ``green`` and ``album``."""
    found = _QUALIFIER.match(title)
    if found is None or not key_of(found["name"]):
        return key_of(title), ""
    return key_of(found["name"]), key_of(found["qualifier"])


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """A folded word without its last suffix, so that ``director``, ``directed`` and ``directs`` meet."""
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= _SHORTEST_STEM:
            return word[: -len(suffix)]
    return word


def signature(key: str) -> int:
    """What all spellings of one name share: CRC-32 of its initial and the first letters of its last word.

    Only names of one signature are ever held against each other.
    """
    last = key.rpartition(" ")[2]
    return zlib.crc32(f"{key[:1]} {last[:_SIGNED]}".encode())
