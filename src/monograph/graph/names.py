"""Comparison keys of names: without case, accents, hyphens, possessives and articles."""

from __future__ import annotations

import re
import zlib
from functools import lru_cache

from monograph.dates.span import days_in
from monograph.regex import regex
from monograph.text_pass import compiled
from monograph.values import content_id

LONGEST_KEY = 160
"""Characters; a longer name is compared by its head."""

_QUALIFIER = regex(r"^(?P<name>.*\S)\s*\((?P<qualifier>[^()]*)\)\s*$", re.DOTALL)
_PARTS = regex(r"(?<=[^\W\d_A-Z])(?=[A-Z])")
_PREFIXES = frozenset(("Mc", "Mac", "De", "Di", "Du", "La", "Le", "Van", "Von"))
_SUFFIXES = ("ings", "ing", "ors", "ers", "ed", "es", "or", "er", "s", "e")
_SHORTEST_STEM = 4
SIGNED = 5
"""Letters of a name's last word that its signature goes by."""
SHORTEST_HEAD = 8
"""Letters of a word by itself that is near to one of the shortest spelling."""

_DIGIT = regex(r"[0-9]")


@lru_cache(maxsize=65_536)
def key_of(name: str) -> str:
    """The key under which a name is known: folded words, one blank between them; empty where it has no word.

    ``The Beatles``, ``beatles`` and ``Beatles'`` share one; so do ``J.R.R. Tolkien`` and ``JRR Tolkien``.
    """
    return compiled.key_of(name, LONGEST_KEY)


@lru_cache(maxsize=65_536)
def spaced(name: str) -> str:
    """A name written as one word, as chats have it, in its parts: ``JenniferMoore`` is ``Jennifer Moore``."""
    parts = _PARTS.split(name)
    return " ".join(parts) if " " not in name and min(map(len, parts)) > 1 and parts[0] not in _PREFIXES else name


@lru_cache(maxsize=65_536)
def mention_key(name: str, kind: str) -> str:
    """The key of a name in a text: of a day for a date, of its parts for a person written as one word."""
    if kind == "date":
        days = days_in(name)
        return key_of(days[0] if days else name)
    return key_of(spaced(name) if kind == "person" else name)


def asked_keys(name: str) -> list[str]:
    """The keys that a name may be known by that someone asks for, the likeliest first."""
    return list(dict.fromkeys((key_of(name), mention_key(name, "person"), mention_key(name, "date"))))


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
    """Return the number that all spellings of a name share: CRC-32 of its initial and its last word's first letters.

    Only names of one signature are ever held against each other.
    """
    last = key.rpartition(" ")[2]
    return zlib.crc32(f"{key[:1]} {last[:SIGNED]}".encode())


def stands_alone(key: str) -> bool:
    """Whether a key is one that no other of its signature is ever joined with by a rule: a day's, a short word's."""
    if has_digit(key):
        # Only as a plural or its singular, and where the last word is shorter these differ in their signatures.
        return len(key.rpartition(" ")[2]) < SIGNED
    return " " not in key and len(key) < SHORTEST_HEAD


def has_digit(key: str) -> bool:
    """Whether a key has a digit of any script."""
    if key.isascii():
        return _DIGIT.search(key) is not None
    return any(character.isdigit() for character in key)


def entity_id(key: str) -> str:
    """The id of the entity whose head has this key: it stays while the name does."""
    return content_id("entity", key)
