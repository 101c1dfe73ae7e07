"""Rules that merge spellings of one entity: plurals, initials, middle names and typing errors.

Only names of one signature (see :func:`monograph.graph.names.signature`), and names that a document states to be one,
are compared, so a change affects few names. A name gets a head, a fuller or better known name, only if exactly one name
qualifies; if several do, it gets none. The result is a pure function of the names in use, whatever came before.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from math import cos, pi

from monograph.graph.names import has_digit, stands_alone

LARGEST_GROUP = 200
"""In larger groups spellings are not compared, because the cost grows with the square of the size."""

LEAST_SIMILARITY = 0.92
"""Least similarity of the spelling of two long names, as difflib's ratio, to be one."""

LEAST_COSINE = 0.6
"""Least cosine of the names' embeddings to be one, estimated from the share of equal signs."""

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
"""Last words of names that are not persons' names."""

_SMALL_WORDS = """
of the and in on at for de la von van der du di da del al el & to with from
"""
SMALL = frozenset(_SMALL_WORDS.split())


@dataclass(frozen=True, slots=True)
class Candidate:
    """A name in use that may be merged with others.

    Parameters
    ----------
    name:
        Row number.
    key:
        See :func:`monograph.graph.names.key_of`.
    subject:
        Whether a document is about it.
    person:
        Whether a chunk has it as a person's name.
    code:
        Signs of its embedding, packed (bit 1 for above 0); empty if it has none.
    """

    name: int
    key: str
    subject: bool
    person: bool
    code: bytes


@dataclass(frozen=True, slots=True)
class NameHead:
    """The head of a name, by rows, and why: ``reason`` is plural, initials, middle name or spelling."""

    name: int
    head: int
    reason: str


def heads(group: Sequence[Candidate], cannot_link: Collection[tuple[str, str]], size: int = 0) -> list[NameHead]:
    """Return the heads of the names of one signature; names without one are left out.

    Parameters
    ----------
    group:
        Names in use of the signature, with all that :func:`related` returns for any of them.
    cannot_link:
        (key, key of the head) pairs that a user said are different names.
    size:
        Number of names of the signature in use that do not stand alone; it matters if the group has fewer.
    """
    compared = sorted((one for one in group if not stands_alone(one.key)), key=lambda one: one.key)
    by_key = {one.key: one for one in compared}
    by_last, by_initials = _grouped(compared, _last), _grouped(compared, _initials)
    found: dict[int, NameHead] = {}
    for one in compared:
        head = _singular(one, by_key) or _fuller(one, by_last[_last(one.key)])
        if head is None and max(size, len(compared)) <= LARGEST_GROUP:
            head = _respelt(one, by_initials[_initials(one.key)])
        if head is not None and (one.key, head[0].key) not in cannot_link:
            found[one.name] = NameHead(one.name, head[0].name, head[1])
    return _flat(found)


def _last(key: str) -> str:
    """Return the last word of a key, which a short name and its full name share."""
    return key.rpartition(" ")[2]


def _initials(key: str) -> str:
    """Return the first letters of the words of a key, which two spellings of a name share."""
    return "".join([word[0] for word in key.split()])


def _grouped(group: Iterable[Candidate], shared: Callable[[str], str]) -> dict[str, list[Candidate]]:
    """Return the candidates by the part of their keys that ``shared`` returns."""
    found = defaultdict(list)
    for one in group:
        found[shared(one.key)].append(one)
    return found


def _flat(found: dict[int, NameHead]) -> list[NameHead]:
    """Return the heads with chains resolved: every name points to a name that has no head itself."""
    result = []
    for one in found.values():
        head, seen = one.head, {one.name}
        while head in found and head not in seen:
            seen.add(head)
            head = found[head].head
        if head not in seen:
            result.append(NameHead(one.name, head, one.reason))
    return result


def _singular(one: Candidate, by_key: dict[str, Candidate]) -> tuple[Candidate, str] | None:
    """Return the singular of a plural: solar panels → solar panel, but not John Williams → John William."""
    for key in _singulars(one.key):
        if key in by_key and not (one.person or by_key[key].person):
            return by_key[key], "plural"
    return None


def _singulars(key: str) -> tuple[str, ...]:
    """Return the keys that this key may be the plural of."""
    if " " not in key or not key.endswith("s") or key.endswith("ss") or len(key) <= 4:
        return ()
    return (key[:-1], f"{key[:-3]}y") if key.endswith("ies") else (key[:-1],)


def _fuller(one: Candidate, group: Sequence[Candidate]) -> tuple[Candidate, str] | None:
    """Return the only longer name that this one shortens: J. Smith → John Smith, Arthur Lane → Arthur Francis Lane."""
    words = one.key.split()
    if not _is_shortened(words):
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


def _is_shortened(words: Sequence[str]) -> bool:
    return len(words) > 1 and words[-1] not in NO_PERSON and is_plain(words)


def is_plain(words: Sequence[str]) -> bool:
    """Return whether the words of a key have only letters, and none of them is a small word."""
    return all(word.isalpha() and word not in SMALL for word in words)


def _shortens(words: Sequence[str], longer: Sequence[str]) -> str:
    """Return the reason why words may be a short form of longer ones, ``initials`` or ``middle name``; empty if not.

    The last words must be equal, and the first given names must match.
    """
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
    """Return the only name of almost the same spelling and meaning that comes first: a subject, then by key."""
    if len(one.key) < _SHORTEST_SPELLING or has_digit(one.key):
        return None
    near = [other for other in group if other is not one and _before(other, one) and _is_near(one, other)]
    return (near[0], "spelling") if len(near) == 1 else None


def _before(one: Candidate, other: Candidate) -> bool:
    return (not one.subject, one.key) < (not other.subject, other.key)


def _is_near(one: Candidate, other: Candidate) -> bool:
    if (one.person or other.person) and one.key.split()[:-1] != other.key.split()[:-1]:
        return False  # Francesco Rossi is not Francesca Rossi.
    return (
        _may_be_spelt(one.key, other.key)
        and _cosine(one.code, other.code) >= LEAST_COSINE
        and all(_ratio(a, b) >= _LEAST_OF_WORD for a, b in _differing(one.key, other.key))
        and _ratio(one.key, other.key) >= LEAST_SIMILARITY
    )


def _may_be_spelt(one: str, other: str) -> bool:
    """Return whether two keys may be near in spelling, by tests that cost less than comparing the order of letters."""
    if abs(len(one) - len(other)) > 3 or one.count(" ") != other.count(" "):
        return False
    # Every word must be almost the same: Elizabeth I is not Elizabeth II, East Ham not West Ham.
    if any(a[0] != b[0] or min(len(a), len(b)) < 5 for a, b in _differing(one, other)):
        return False
    if has_digit(one) or has_digit(other):
        return False
    if not (_ROMAN.isdisjoint(one.split()) and _ROMAN.isdisjoint(other.split())):
        return False  # Super Bowl XXXVII is not Super Bowl XXXVIII.
    # The ratio of the shared letters is an upper bound of difflib's ratio.
    shared = sum(min(one.count(letter), other.count(letter)) for letter in set(one))
    return 2.0 * shared / (len(one) + len(other)) >= LEAST_SIMILARITY


def _differing(one: str, other: str) -> list[tuple[str, str]]:
    """Return the pairs of words, by position, that differ."""
    return [(a, b) for a, b in zip(one.split(), other.split(), strict=True) if a != b]


def related(changed: Iterable[str], living: Collection[str]) -> set[str]:
    """Return the keys in use of a signature whose heads may change when ``changed`` keys come, change or go.

    These are the keys that a rule may merge with a changed key, whatever else is known of both, then the keys that a
    rule may merge with those, and so on. The heads of all other keys do not depend on the change.
    """
    found: set[str] = set()
    waiting = list(changed)
    seen = set(waiting)
    while waiting:
        near = _near(waiting.pop(), living)
        found |= near
        waiting += near - seen
        seen |= near
    return found


def _near(one: str, living: Collection[str]) -> set[str]:
    """Return the other keys that a rule may merge with one, in either order, whatever their embeddings and kinds."""
    found = {other for other in (*_singulars(one), f"{one}s", f"{one[:-1]}ies") if other in living}
    words, others = one.split(), [other for other in living if other != one]
    if _is_shortened(words):
        end = f" {words[-1]}"
        same_end = [(other, other.split()) for other in others if other.endswith(end)]
        found.update(other for other, longer in same_end if _shortens(words, longer) or _shortens(longer, words))
    if not has_digit(one):
        least, most = len(one) - 3, len(one) + 3
        found.update(other for other in others if least <= len(other) <= most and _may_be_spelt(one, other))
    return found


def _ratio(one: str, other: str) -> float:
    return SequenceMatcher(None, one, other, autojunk=False).ratio()


def _cosine(one: bytes, other: bytes) -> float:
    """Return the cosine of two vectors, estimated as cos(pi x share of differing signs); 1 if sizes differ."""
    if not one or len(one) != len(other):
        return 1.0
    differing = (int.from_bytes(one, "big") ^ int.from_bytes(other, "big")).bit_count()
    return cos(pi * differing / (8 * len(one)))
