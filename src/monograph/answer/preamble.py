"""What stands ahead of the passages, as in MiniRAG: how they hang together, and what in them may be the answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from monograph.regex import regex
from monograph.store.words.terms import words_of

if TYPE_CHECKING:
    from monograph.answer.query_terms import QueryTerms
    from monograph.search.reader import Reader
    from monograph.values import Hit, Mention

RELATIONS = 3
CANDIDATES = 6
_LOOKED_AT = 10
_WORD = regex(r"\w+")


def relations(hits: Sequence[Hit]) -> tuple[str, ...]:
    """The ways through the graph that led to the best hits, those that name something, each once."""
    told = [
        " → ".join(dict.fromkeys(" ".join(node.name.split()) for node in hit.path.nodes[1:]))
        for hit in hits[:_LOOKED_AT]
        if hit.path is not None and sum(node.kind == "entity" for node in hit.path.nodes) > 1
    ]
    return tuple(dict.fromkeys(told))[:RELATIONS]


def of_kind(snapshot: Reader, asked: QueryTerms, hits: Sequence[Hit]) -> dict[int, list[Mention]]:
    """What in the best hits is of the kind that a question asks for and does not hold: mentions by the hit's place.

    Empty where its words tell no kind, or the hits have no graph.
    """
    if not asked.kinds:
        return {}
    every = frozenset(asked.every)
    places = {hit.chunk.id: place for place, hit in enumerate(hits[:_LOOKED_AT]) if hit.summary is None}
    texts = {identifier: hits[place].chunk.text for identifier, place in places.items()}
    return {
        places[identifier]: [one for one in some if not _is_said(one.name, every)]
        for identifier, some in snapshot.named_in(texts, asked.kinds).items()
    }


def _is_said(name: str, words: frozenset[str]) -> bool:
    """Whether all of a name is among some words."""
    if name.isascii() and (first := _WORD.search(name)) and first[0].lower() not in words:
        return False
    return words.issuperset(words_of(name))


def candidates(named: Mapping[int, Sequence[Mention]], hits: Sequence[Hit]) -> tuple[str, ...]:
    """The names among what is :func:`of_kind`, the most probable answer first."""
    weights: dict[str, float] = {}
    for place, mentions in named.items():
        hit = hits[place]
        for name in {" ".join(name.split()) for name in {one.name for one in mentions if may_answer(one, hit.text)}}:
            weights[name] = weights.get(name, 0.0) + 1.0 / (1.0 + hit.rank)
    return tuple(sorted(weights, key=lambda name: (-weights[name], name)))[:CANDIDATES]


def may_answer(one: Mention, text: str) -> bool:
    """Whether a name may be an answer: one word of unknown kind at the head of a sentence is just a word."""
    if one.kind != "name" or " " in one.name:
        return True
    before = text[: one.start].rstrip(" \t\"'“")
    return not (before == "" or before[-1] in ".!?:\n")
