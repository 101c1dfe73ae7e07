"""Which names mean the same entity, and why.

Only names of one signature (see :func:`monograph.graph.names.signature`) and names that a document states to be one
are held against each other, so a change touches few. A name is given a head, a fuller or better known name, only where
exactly one qualifies; where several do, all stay apart. Pure functions of the names that live: no history counts.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from math import cos, pi

LARGEST_GROUP = 200
"""In a larger group spellings are not compared: that would cost the square of its size."""

LEAST_SIMILARITY = 0.92
"""Of spelling, as difflib's ratio, for two long names to be one."""

LEAST_COSINE = 0.6
"""Of the names' embeddings, estimated by the share of equal signs."""

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
"""Last words of names that are no person's."""

_SMALL_WORDS = """
of the and in on at for de la von van der du di da del al el & to with from
"""
_SMALL = frozenset(_SMALL_WORDS.split())


@dataclass(frozen=True, slots=True)
class Candidate:
    """A name that lives.

    Parameters
    ----------
    name:
        Row number.
    key:
        See :func:`monograph.graph.names.key_of`.
    subject:
        Whether a document is about it.
    person:
        Whether a chunk takes it for a person's.
    code:
        Signs of its embedding, packed (bit 1 for above 0); empty where it has none.
    """

    name: int
    key: str
    subject: bool
    person: bool
    code: bytes


@dataclass(frozen=True, slots=True)
class Head:
    """The name that another is a form of, and why: ``reason`` is plural, initials, middle name or spelling."""

    name: int
    head: int
    reason: str


def heads(group: Sequence[Candidate], cannot_link: Collection[tuple[str, str]]) -> list[Head]:
    """The heads of the names of one signature; names without one are left out.

    Parameters
    ----------
    group:
        Every living name of the signature.
    cannot_link:
        (key, key of the head) pairs that someone said are not one.
    """
    by_key = {one.key: one for one in group}
    found: dict[int, Head] = {}
    for one in sorted(group, key=lambda one: one.key):
        head = _singular(one, by_key) or _fuller(one, group)
        if head is None and len(group) <= LARGEST_GROUP:
            head = _respelt(one, group)
        if head is not None and (one.key, head[0].key) not in cannot_link:
            found[one.name] = Head(one.name, head[0].name, head[1])
    return _flat(found)


def _flat(found: dict[int, Head]) -> list[Head]:
    """Heads of heads: every name points at one that has no head itself."""
    result = []
    for one in found.values():
        head, seen = one.head, {one.name}
        while head in found and head not in seen:
            seen.add(head)
            head = found[head].head
        if head not in seen:
            result.append(Head(one.name, head, one.reason))
    return result


def _singular(one: Candidate, by_key: dict[str, Candidate]) -> tuple[Candidate, str] | None:
    """Solar panels → solar panel; but John Williams is not John William."""
    if " " in one.key and one.key.endswith("s") and not one.key.endswith("ss") and len(one.key) > 4:
        for key in (one.key[:-1], f"{one.key[:-3]}y" if one.key.endswith("ies") else ""):
            if key in by_key and not (one.person or by_key[key].person):
                return by_key[key], "plural"
    return None


def _fuller(one: Candidate, group: Sequence[Candidate]) -> tuple[Candidate, str] | None:
    """The only longer name that this one shortens: J. Smith → John Smith, Arthur Lane → Arthur Francis Lane."""
    words = one.key.split()
    if len(words) < 2 or words[-1] in NO_PERSON or not is_plain(words):
        return None
    longer = [
        (other, reason)
        for other in group
        if (reason := _shortens(words, other.key.split())) and (other.person or reason == "initials")
    ]
    if len(longer) > 1:
        # J Smith shortens John Smith and John Paul Smith; when the first shortens the second, they are one.
        most = max(longer, key=lambda pair: (len(pair[0].key.split()), len(pair[0].key), pair[0].key))
        rest = [pair for pair in longer if pair is not most]
        if not all(_shortens(other.key.split(), most[0].key.split()) for other, _ in rest):
            return None
        longer = [most]
    return longer[0] if longer else None


def is_plain(words: Sequence[str]) -> bool:
    """Whether the words of a key are letters alone, and none of them small."""
    return all(word.isalpha() and word not in _SMALL for word in words)


def _shortens(words: Sequence[str], longer: Sequence[str]) -> str:
    """The reason why words may be a short form of longer ones, which share initial and last word; empty if not."""
    if list(words) == list(longer) or words[-1] != longer[-1] or not is_plain(longer) or len(longer) > 5:
        return ""
    given, full = words[:-1], longer[:-1]
    if len(given) > len(full) or (len(given) == len(full) and all(len(word) > 1 for word in given)):
        return ""
    place = 0
    for at, word in enumerate(given):
        while place < len(full) and not (full[place] == word or (len(word) == 1 and full[place][0] == word)):
            if at == 0:
                return ""  # The first given name is never left out.
            place += 1
        if place == len(full):
            return ""
        place += 1
    return "initials" if any(len(word) == 1 for word in given) else "middle name"


def _respelt(one: Candidate, group: Sequence[Candidate]) -> tuple[Candidate, str] | None:
    """The only name of almost the same spelling and meaning that comes first: a subject, or by alphabet."""
    if len(one.key) < _SHORTEST_SPELLING or any(character.isdigit() for character in one.key):
        return None
    near = [other for other in group if other is not one and _before(other, one) and _is_near(one, other)]
    return (near[0], "spelling") if len(near) == 1 else None


def _before(one: Candidate, other: Candidate) -> bool:
    return (not one.subject, one.key) < (not other.subject, other.key)


def _is_near(one: Candidate, other: Candidate) -> bool:
    if abs(len(one.key) - len(other.key)) > 3 or _cosine(one.code, other.code) < LEAST_COSINE:
        return False
    words, others = one.key.split(), other.key.split()
    if len(words) != len(others) or any(character.isdigit() for character in other.key):
        return False
    if (one.person or other.person) and words[:-1] != others[:-1]:
        return False  # Francesco Rossi is not Francesca Rossi.
    if not (_ROMAN.isdisjoint(words) and _ROMAN.isdisjoint(others)):
        return False  # Super Bowl XXXVII is not Super Bowl XXXVIII.
    # Every word must be almost the same: Elizabeth I is not Elizabeth II, East Ham not West Ham.
    if not all(
        a == b or (min(len(a), len(b)) > 4 and a[0] == b[0] and _ratio(a, b) >= 0.8)
        for a, b in zip(words, others, strict=True)
    ):
        return False
    return _ratio(one.key, other.key) >= LEAST_SIMILARITY


def _ratio(one: str, other: str) -> float:
    return SequenceMatcher(None, one, other, autojunk=False).ratio()


def _cosine(one: bytes, other: bytes) -> float:
    """Cosine of two vectors from the signs of their values: cos(pi x share of differing signs). 1 without codes."""
    if not one or len(one) != len(other):
        return 1.0
    differing = (int.from_bytes(one, "big") ^ int.from_bytes(other, "big")).bit_count()
    return cos(pi * differing / (8 * len(one)))
