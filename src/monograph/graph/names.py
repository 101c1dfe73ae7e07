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
"""Most characters of a key; the key of a longer name is cut."""

_QUALIFIER = regex(r"^(?P<name>.*\S)\s*\((?P<qualifier>[^()]*)\)\s*$", re.DOTALL)
_PARTS = regex(r"(?<=[^\W\d_A-Z])(?=[A-Z])")
_PREFIXES = frozenset(("Mc", "Mac", "De", "Di", "Du", "La", "Le", "Van", "Von"))
_SUFFIXES = ("ings", "ing", "ors", "ers", "ed", "es", "or", "er", "s", "e")
_SHORTEST_STEM = 4
SIGNED = 5
"""Number of letters at the beginning of a name's last word that are part of the name's signature."""
SHORTEST_HEAD = 8
"""Fewest letters of a single-word key that a rule may merge with another key: one letter fewer than the shortest key
that is compared by spelling."""

_DIGIT = regex(r"[0-9]")


@lru_cache(maxsize=65_536)
def key_of(name: str) -> str:
    """Return the key by which a name is compared: its folded words, with one blank between them.

    The key is empty if the name has no word. ``The Beatles``, ``beatles`` and ``Beatles'`` have the same key, as have
    ``J.R.R. Tolkien`` and ``JRR Tolkien``.
    """
    return compiled.key_of(name, LONGEST_KEY)


@lru_cache(maxsize=65_536)
def split_joined_words(name: str) -> str:
    """Return a name with blanks between its parts: chats write ``Jennifer Moore`` as ``JenniferMoore``.

    Any other name is returned as it is.
    """
    parts = _PARTS.split(name)
    return " ".join(parts) if " " not in name and min(map(len, parts)) > 1 and parts[0] not in _PREFIXES else name


@lru_cache(maxsize=65_536)
def mention_key(name: str, kind: str) -> str:
    """Return the key of a mention.

    A date has the key of its day. A person's name that is written as one word (``JenniferMoore``) has the key of its
    parts.
    """
    if kind == "date":
        days = days_in(name)
        return key_of(days[0] if days else name)
    return key_of(split_joined_words(name) if kind == "person" else name)


def lookup_keys(name: str) -> list[str]:
    """Return the keys under which a name that a user asks for may be stored, the likeliest first."""
    return list(dict.fromkeys((key_of(name), mention_key(name, "person"), mention_key(name, "date"))))


def title_of(title: str) -> tuple[str, str]:
    """Return (key of the name, key of the qualifier) of a title: ``Green (album)`` gives ``green`` and ``album``.

    The qualifier is the part in parentheses at the end; its key is empty if there is none.
    """
    match = _QUALIFIER.match(title)
    if match is None or not key_of(match["name"]):
        return key_of(title), ""
    return key_of(match["name"]), key_of(match["qualifier"])


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """Return a folded word without its suffix: ``director``, ``directed`` and ``directs`` give the same stem."""
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= _SHORTEST_STEM:
            return word[: -len(suffix)]
    return word


def signature(key: str) -> int:
    """Return the signature of a key: a number that the spellings of one name have in common.

    It is the CRC-32 of the key's first letter and the first SIGNED letters of its last word. Rules compare only names
    of the same signature.
    """
    last = key.rpartition(" ")[2]
    return zlib.crc32(f"{key[:1]} {last[:SIGNED]}".encode())


def is_never_merged(key: str) -> bool:
    """Return whether no rule ever merges a key with another key of its signature.

    A day and a single short word are such keys.
    """
    if has_digit(key):
        # It could only be a plural or its singular, whose signatures differ if the last word is shorter.
        return len(key.rpartition(" ")[2]) < SIGNED
    return " " not in key and len(key) < SHORTEST_HEAD


def has_digit(key: str) -> bool:
    """Return whether a key contains a digit of any script."""
    if key.isascii():
        return _DIGIT.search(key) is not None
    return any(character.isdigit() for character in key)


def entity_id(key: str) -> str:
    """Return the id of the entity whose head has this key. The id depends on the key only."""
    return content_id("entity", key)
