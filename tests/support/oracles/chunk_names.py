"""Names of a document's chunks in plain Python. The compiled module must return the same."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Mapping, Sequence

from monograph.graph.chunk_names import (
    COURTESY,
    JOINED,
    MOST_NAMES,
    NO_SENTENCE,
    SHORTEST_KEY,
    Brackets,
    NamedInChunk,
    Pairs,
)
from monograph.graph.names import mention_key
from monograph.graph.resolve import NO_PERSON, is_plain
from monograph.values import ENTITY_KINDS, Mention
from support.oracles.words import sentence_starts

_LAST_SENTENCE = 254
_MOST_WORDS = 4


def chunk_names(
    texts: Sequence[str], mentions: Sequence[tuple[Mention, ...]], cannot_link: Pairs
) -> list[tuple[tuple[NamedInChunk, ...], Brackets]]:
    """See :func:`monograph.graph.chunk_names.chunk_names`."""
    known = full_names(mentions, cannot_link)
    return [(_names(text, some, known), _in_brackets(text, some)) for text, some in zip(texts, mentions, strict=True)]


def _names(text: str, mentions: Sequence[Mention], known: Mapping[str, str]) -> tuple[NamedInChunk, ...]:
    starts = sentence_starts(text)
    found: dict[str, list[int]] = {}
    kinds: dict[str, str] = {}
    for mention in mentions:
        key = mention_key(mention.name, mention.kind)
        if len(key) < SHORTEST_KEY and key.isascii():
            continue
        if mention.kind in ("person", "name"):
            key = known.get(_without_courtesy(key), key)
        if key in found or len(found) < MOST_NAMES:
            sentence = min(bisect_right(starts, mention.start) - 1, _LAST_SENTENCE)
            sentences = found.setdefault(key, [])
            if sentence not in sentences:
                sentences.append(sentence)
            known_kind = kinds.setdefault(key, mention.kind)
            if known_kind != mention.kind:
                kinds[key] = min(known_kind, mention.kind, key=_telling)
    return tuple(
        NamedInChunk(key, kinds[key], some[0], some[1] if len(some) > 1 else NO_SENTENCE) for key, some in found.items()
    )


def _telling(kind: str) -> int:
    """Return the rank of a kind in ENTITY_KINDS. The kind of a name is the first one that its mentions have."""
    return ENTITY_KINDS.index(kind)


def _in_brackets(text: str, mentions: Sequence[Mention]) -> Brackets:
    """Return (index of a mention, index of the mention in brackets after it) of a chunk."""
    by_start = {mention.start: index for index, mention in enumerate(mentions) if mention.start != mention.end}
    brackets = []
    for index, mention in enumerate(mentions):
        if text[mention.end : mention.end + 2] != " (":
            continue
        inner = by_start.get(mention.end + 2)
        if inner is not None and text[mentions[inner].end : mentions[inner].end + 1] == ")":
            brackets.append((index, inner))
    return brackets


def _without_courtesy(key: str) -> str:
    """Return the key without a leading Mr., Dr. or similar title."""
    first, _, rest = key.partition(" ")
    return rest if first in COURTESY and rest else key


def full_names(mentions: Sequence[tuple[Mention, ...]], cannot_link: Pairs) -> dict[str, str]:
    """See :func:`monograph.graph.chunk_names.full_names`."""
    pairs = {(mention_key(mention.name, mention.kind), mention.kind) for group in mentions for mention in group}
    persons = {_without_courtesy(key) for key, kind in pairs if kind == "person" and key}
    names = {key for key, kind in pairs if kind == "name" and 2 <= len(key.split()) <= _MOST_WORDS}
    initials = {key for key in names | persons if _has_initials(key)}
    last_names = persons | {key.split()[-1] for key in initials}
    known = {key for key in persons if " " in key} | {key for key in names if _bears(key, persons, last_names)}
    initialled = {(key.split()[0][:1], key.split()[-1]) for key in known - initials}
    full_by_short: dict[str, set[str]] = {}
    for words in map(str.split, known):
        if " ".join(words) in initials and (words[0], words[-1]) in initialled:
            continue  # It abbreviates another name of the document.
        for short in {words[0], words[-1]}:
            full_by_short.setdefault(short, set()).add(" ".join(words))
    single = {short: next(iter(full)) for short, full in full_by_short.items() if len(full) == 1 and len(short) > 1}
    return {
        **{short: full for short, full in single.items() if (short, full) not in cannot_link},
        **{key: key for key in known},
    }


def _bears(key: str, persons: Collection[str], last_names: Collection[str]) -> bool:
    """Return whether a name ends with a person's last name; if known only from initials, its words must be plain."""
    words = key.split()
    if words[-1] in persons:
        return True
    return words[-1] in last_names and is_plain(words) and JOINED.isdisjoint(words)


def _has_initials(key: str) -> bool:
    """Return whether a key is a person's name with initials, such as T. Renk and J. R. R. Tolkien."""
    *given, last = key.split()
    if not given or any(len(word) > 1 for word in given):
        return False
    return len(last) > 2 and is_plain((*given, last)) and last not in NO_PERSON
