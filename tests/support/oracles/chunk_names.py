"""The names of a document's chunks in plain Python: what the compiled module must equal."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence

from monograph.graph.chunk_names import (
    MOST_NAMES,
    NO_SENTENCE,
    SHORTEST_KEY,
    Brackets,
    NamedInChunk,
    Pairs,
    in_brackets,
    known_names,
    without_courtesy,
)
from monograph.graph.names import mention_key
from monograph.values import ENTITY_KINDS, Mention
from support.oracles.words import sentence_starts

_LAST_SENTENCE = 254


def chunk_names(
    texts: Sequence[str], mentions: Sequence[tuple[Mention, ...]], cannot_link: Pairs
) -> list[tuple[tuple[NamedInChunk, ...], Brackets]]:
    """See :func:`monograph.graph.chunk_names.chunk_names`."""
    known = known_names(mentions, cannot_link)
    return [(_names(text, some, known), in_brackets(text, some)) for text, some in zip(texts, mentions, strict=True)]


def _names(text: str, mentions: Sequence[Mention], known: Mapping[str, str]) -> tuple[NamedInChunk, ...]:
    starts = sentence_starts(text)
    found: dict[str, list[int]] = {}
    kinds: dict[str, str] = {}
    for mention in mentions:
        key = mention_key(mention.name, mention.kind)
        if len(key) < SHORTEST_KEY and key.isascii():
            continue
        if mention.kind in ("person", "name"):
            key = known.get(without_courtesy(key), key)
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
    """Of the kinds that mentions of one name in a chunk have, the first in KINDS tells most."""
    return ENTITY_KINDS.index(kind)
