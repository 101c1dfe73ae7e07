"""Rules that merge spellings of one entity: plurals, initials, middle names and typing errors.

A merged name gets a head: a fuller or better known name of the same entity. A name for which several heads are possible
gets none. A document may also state that two names are one.

Only names of the same signature (see :func:`monograph.graph.names.signature`) are compared, so a change affects few
names. The result depends only on the names in use: those that a chunk mentions or a document is about. It does not
depend on the order in which they were added.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from math import cos, pi

from monograph.graph.names import has_digit, is_never_merged

LARGEST_GROUP = 200
"""Largest number of names of one signature whose spellings are compared with each other.

In a larger group, only the rules for plurals, initials and middle names are applied. The cost of comparing spellings
grows with the square of the number of names.
"""

LEAST_SIMILARITY = 0.92
"""Smallest ratio (difflib) of the spellings of two names that are merged for their similar spelling."""

LEAST_COSINE = 0.6
"""Smallest cosine of the embeddings of two names that are merged for their similar spelling.

The cosine is estimated from the signs of the embeddings' values: see ``_cosine``.
"""

_LEAST_OF_WORD = 0.8
_SHORTEST_SPELLING = 9
_ROMAN = frozenset(
    f"{tens}{ones}"
    for tens in ("", "x", "xx", "xxx", "xl", "l", "lx")
    for ones in ("", "i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix")
) - {""}
_NO_PERSON_WORDS = """
city university river county street school college church museum club league station park island islands war
battle house party company band album film season championship cup lake road bridge castle prize award act law
series festival airport railway hotel theatre theater hospital mountain valley beach district province state
"""
NO_PERSON = frozenset(_NO_PERSON_WORDS.split())
"""Words such as ``city`` or ``company``. A name whose last word is one of these is not the name of a person."""

_SMALL_WORDS = """
of the and in on at for de la von van der du di da del al el & to with from
"""
SMALL = frozenset(_SMALL_WORDS.split())


@dataclass(frozen=True, slots=True)
class Candidate:
    """A name in use that may be merged with other names.

    ``name`` is the row of the name. ``subject`` is whether a document is about this name. ``person`` is whether the
    name is a person's name in some chunk. ``code`` has one bit for each value of the name's embedding: 1 if the value
    is above 0. It is empty if the name has no embedding.
    """

    name: int
    key: str
    subject: bool
    person: bool
    code: bytes


@dataclass(frozen=True, slots=True)
class NameHead:
    """The head of a name, and why it is the head.

    ``name`` and ``head`` are rows of names. ``reason`` is ``plural``, ``initials``, ``middle name`` or ``spelling``.
    """

    name: int
    head: int
    reason: str


def heads(group: Sequence[Candidate], cannot_link: Collection[tuple[str, str]], size: int = 0) -> list[NameHead]:
    """Return the heads of the names of one signature. Names without a head are left out.

    ``group`` has all names in use with this signature, or a part of them that contains all names that :func:`related`
    returns for names of the part. ``size`` is needed only for a part: the number of names with this signature for
    which :func:`~monograph.graph.names.is_never_merged` is False.
    ``cannot_link`` has the pairs of keys that a user keeps apart, each pair in both orders.
    """
    compared = sorted(
        (candidate for candidate in group if not is_never_merged(candidate.key)), key=lambda candidate: candidate.key
    )
    by_key = {candidate.key: candidate for candidate in compared}
    by_last, by_initials = defaultdict(list), defaultdict(list)
    for candidate in compared:
        by_last[_last_word(candidate.key)].append(candidate)
        by_initials[_initials(candidate.key)].append(candidate)
    chosen: dict[int, NameHead] = {}
    for candidate in compared:
        head = _singular(candidate, by_key) or _fuller(candidate, by_last[_last_word(candidate.key)])
        if head is None and max(size, len(compared)) <= LARGEST_GROUP:
            head = _respelt(candidate, by_initials[_initials(candidate.key)])
        if head is not None and (candidate.key, head[0].key) not in cannot_link:
            chosen[candidate.name] = NameHead(candidate.name, head[0].name, head[1])
    result = []
    for name_head in chosen.values():  # Resolve chains: every name points to a name that has no head itself.
        last, seen = name_head.head, {name_head.name}
        while last in chosen and last not in seen:
            seen.add(last)
            last = chosen[last].head
        if last not in seen:
            result.append(NameHead(name_head.name, last, name_head.reason))
    return result


def _last_word(key: str) -> str:
    """Return the last word of a key. It is the same in a short name and its full name."""
    return key.rpartition(" ")[2]


def _initials(key: str) -> str:
    """Return the first letters of a key's words. Only keys with equal first letters are compared in spelling."""
    return "".join([word[0] for word in key.split()])


def _singular(candidate: Candidate, by_key: dict[str, Candidate]) -> tuple[Candidate, str] | None:
    """Return (the singular of a plural, reason): solar panels → solar panel, but not John Williams → John William."""
    for key in _list_singulars(candidate.key):
        if key in by_key and not (candidate.person or by_key[key].person):
            return by_key[key], "plural"
    return None


def _list_singulars(key: str) -> tuple[str, ...]:
    """Return the keys that may be the singular of a key; empty if the key cannot be a plural."""
    if " " not in key or not key.endswith("s") or key.endswith("ss") or len(key) <= 4:
        return ()
    return (key[:-1], f"{key[:-3]}y") if key.endswith("ies") else (key[:-1],)


def _fuller(candidate: Candidate, group: Sequence[Candidate]) -> tuple[Candidate, str] | None:
    """Return (the only longer name that this name shortens, reason): J. Smith → John Smith."""
    words = candidate.key.split()
    if not _is_shortened(words):
        return None
    longer = [
        (other, reason)
        for other in group
        if (reason := _shortens(words, other.key.split())) and (other.person or reason == "initials")
    ]
    if len(longer) > 1:
        # J Smith shortens John Smith and John Paul Smith; when the first shortens the second, they are one.
        longest = max(longer, key=lambda pair: (len(pair[0].key.split()), len(pair[0].key), pair[0].key))
        rest = [pair for pair in longer if pair is not longest]
        if not all(_shortens(other.key.split(), longest[0].key.split()) for other, _ in rest):
            return None
        longer = [longest]
    return longer[0] if longer else None


def _is_shortened(words: Sequence[str]) -> bool:
    return len(words) > 1 and words[-1] not in NO_PERSON and is_plain(words)


def is_plain(words: Sequence[str]) -> bool:
    """Return whether every word of a key has only letters and is no function word such as ``of``."""
    return all(word.isalpha() and word not in SMALL for word in words)


def _shortens(words: Sequence[str], longer: Sequence[str]) -> str:
    """Return the rule by which a name shortens a longer name: ``initials`` or ``middle name``; else an empty text."""
    if list(words) == list(longer) or words[-1] != longer[-1] or not is_plain(longer) or len(longer) > 5:
        return ""
    given, full = words[:-1], longer[:-1]
    if len(given) > len(full) or (len(given) == len(full) and all(len(word) > 1 for word in given)):
        return ""
    position = 0
    for index, word in enumerate(given):
        while position < len(full) and not (full[position] == word or (len(word) == 1 and full[position][0] == word)):
            if index == 0:
                return ""  # The first given name is never left out.
            position += 1
        if position == len(full):
            return ""
        position += 1
    return "initials" if any(len(word) == 1 for word in given) else "middle name"


def _respelt(candidate: Candidate, group: Sequence[Candidate]) -> tuple[Candidate, str] | None:
    """Return (the only other name of almost the same spelling and meaning, reason)."""
    if len(candidate.key) < _SHORTEST_SPELLING or has_digit(candidate.key):
        return None
    # Only names that come before this one are compared: those that a document is about, then by key.
    place = (not candidate.subject, candidate.key)
    similar = [other for other in group if (not other.subject, other.key) < place and _is_near(candidate, other)]
    return (similar[0], "spelling") if len(similar) == 1 else None


def _is_near(first: Candidate, second: Candidate) -> bool:
    if (first.person or second.person) and first.key.split()[:-1] != second.key.split()[:-1]:
        return False  # Francesco Rossi is not Francesca Rossi.
    return (
        _may_be_spelt(first.key, second.key)
        and _cosine(first.code, second.code) >= LEAST_COSINE
        and all(_ratio(a, b) >= _LEAST_OF_WORD for a, b in _differing(first.key, second.key))
        and _ratio(first.key, second.key) >= LEAST_SIMILARITY
    )


def _may_be_spelt(first: str, second: str) -> bool:
    """Return whether two keys may be similar in spelling. The check is faster than difflib's ratio."""
    if abs(len(first) - len(second)) > 3 or first.count(" ") != second.count(" "):
        return False
    # Every word must be almost the same: Elizabeth I is not Elizabeth II, East Ham not West Ham.
    if any(a[0] != b[0] or min(len(a), len(b)) < 5 for a, b in _differing(first, second)):
        return False
    if has_digit(first) or has_digit(second):
        return False
    if not (_ROMAN.isdisjoint(first.split()) and _ROMAN.isdisjoint(second.split())):
        return False  # Super Bowl XXXVII is not Super Bowl XXXVIII.
    # The ratio of the shared letters is an upper bound of difflib's ratio.
    shared = sum(min(first.count(letter), second.count(letter)) for letter in set(first))
    return 2.0 * shared / (len(first) + len(second)) >= LEAST_SIMILARITY


def _differing(first: str, second: str) -> list[tuple[str, str]]:
    """Return the pairs of words at the same position that differ. The keys must have the same number of words."""
    return [(a, b) for a, b in zip(first.split(), second.split(), strict=True) if a != b]


def related(changed: Iterable[str], living: Collection[str]) -> set[str]:
    """Return the keys whose heads may change if names with the ``changed`` keys are added, changed or removed.

    ``living`` are the keys of all names in use with the same signature. The result contains the keys that a rule may
    merge with a changed key, then the keys that a rule may merge with these keys, and so on. The embeddings and kinds
    of the names are ignored, so the result may contain more keys than needed.
    """
    affected: set[str] = set()
    waiting = list(changed)
    seen = set(waiting)
    while waiting:
        neighbours = _find_near(waiting.pop(), living)
        affected |= neighbours
        waiting += neighbours - seen
        seen |= neighbours
    return affected


def _find_near(key: str, living: Collection[str]) -> set[str]:
    """Return the other keys in use that a rule may merge with a key, whatever their embeddings and kinds."""
    near_keys = {other for other in (*_list_singulars(key), f"{key}s", f"{key[:-1]}ies") if other in living}
    words, others = key.split(), [other for other in living if other != key]
    if _is_shortened(words):
        end = f" {words[-1]}"
        same_end = [(other, other.split()) for other in others if other.endswith(end)]
        near_keys.update(other for other, longer in same_end if _shortens(words, longer) or _shortens(longer, words))
    if not has_digit(key):
        least, most = len(key) - 3, len(key) + 3
        near_keys.update(other for other in others if least <= len(other) <= most and _may_be_spelt(key, other))
    return near_keys


def _ratio(first: str, second: str) -> float:
    return SequenceMatcher(None, first, second, autojunk=False).ratio()


def _cosine(first: bytes, second: bytes) -> float:
    """Estimate the cosine of two embeddings from the signs of their values, one bit for each value."""
    if not first or len(first) != len(second):
        # The embeddings cannot be compared: only the spelling decides.
        return 1.0
    differing = (int.from_bytes(first, "big") ^ int.from_bytes(second, "big")).bit_count()
    return cos(pi * differing / (8 * len(first)))
