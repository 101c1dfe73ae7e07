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
"""Largest number of characters of a key. A longer key is cut off at this length."""

_QUALIFIER = regex(r"^(?P<name>.*\S)\s*\((?P<qualifier>[^()]*)\)\s*$", re.DOTALL)
_PARTS = regex(r"(?<=[^\W\d_A-Z])(?=[A-Z])")
_PREFIXES = frozenset(("Mc", "Mac", "De", "Di", "Du", "La", "Le", "Van", "Von"))
_SUFFIXES = ("ings", "ing", "ors", "ers", "ed", "es", "or", "er", "s", "e")
_SHORTEST_STEM = 4
SIGNED = 5
"""Number of letters at the beginning of a key's last word that :func:`signature` uses."""
SHORTEST_HEAD = 8
"""Smallest number of letters of a single-word key that a rule may merge with another key.

Of two keys that are merged for their similar spelling, one has at least nine letters, and the other at least eight.
"""

_DIGIT = regex(r"[0-9]")


@lru_cache(maxsize=65_536)
def key_of(name: str) -> str:
    """Return the key by which a name is compared: its words without case and accents, with one blank between them.

    The key is empty if the name has no word. ``The Beatles``, ``beatles`` and ``Beatles'`` have the same key.
    ``J.R.R. Tolkien`` and ``JRR Tolkien`` also have the same key.
    """
    return compiled.key_of(name, LONGEST_KEY)


@lru_cache(maxsize=65_536)
def split_joined_words(name: str) -> str:
    """Return a name with blanks between its words: ``JenniferMoore`` gives ``Jennifer Moore``.

    Chats write names as one word. A new word begins at a capital after a small letter. A name is returned unchanged if
    it contains a blank, if one of the new words would have only one letter, or if it begins with a prefix such as
    ``Mc`` or ``De``.
    """
    parts = _PARTS.split(name)
    return " ".join(parts) if " " not in name and min(map(len, parts)) > 1 and parts[0] not in _PREFIXES else name


@lru_cache(maxsize=65_536)
def mention_key(name: str, kind: str) -> str:
    """Return the key of a mention: a name or a date in a text.

    A date has the key of the first full day in it, written as ``1963-06-12``. A person's name in one word
    (``JenniferMoore``) has the key of the separate words (``jennifer moore``). ``kind`` is the kind of the mention,
    such as ``date`` or ``person``.
    """
    if kind == "date":
        days = days_in(name)
        return key_of(days[0] if days else name)
    return key_of(split_joined_words(name) if kind == "person" else name)


def lookup_keys(name: str) -> list[str]:
    """Return the possible keys of a name in a user's request, the most likely key first."""
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
    """Return a word without its suffix: ``director``, ``directed`` and ``directs`` give the same stem.

    The word must be without case and accents.
    """
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

    True for a single word of fewer than SHORTEST_HEAD letters. Also true for a key that contains a digit and has a last
    word of fewer than SIGNED characters, such as ``1963 06 12``.
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
    """Return the id of an entity. It depends only on the key of its head, the name that stands for the entity."""
    return content_id("entity", key)
