"""What stands ahead of the passages, as in MiniRAG: how they hang together, and what in them may be the answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from monograph.answer.query_terms import QueryTerms
from monograph.derive.extract.answer_kinds import answer_kinds
from monograph.store import chunks, graphs, readable
from monograph.store.database import Connection
from monograph.store.terms import words_of
from monograph.values import Hit, Mention

RELATIONS = 3
CANDIDATES = 6
_LOOKED_AT = 10


def relations(hits: Sequence[Hit]) -> tuple[str, ...]:
    """The ways through the graph that led to the best hits, those that name something, each once."""
    told = [
        " → ".join(dict.fromkeys(" ".join(node.name.split()) for node in hit.path.nodes[1:]))
        for hit in hits[:_LOOKED_AT]
        if hit.path is not None and sum(node.kind == "entity" for node in hit.path.nodes) > 1
    ]
    return tuple(dict.fromkeys(told))[:RELATIONS]


def of_kind(connection: Connection, asked: QueryTerms, hits: Sequence[Hit]) -> dict[int, list[Mention]]:
    """What in the best hits is of the kind that a question asks for and does not hold: mentions by the hit's place.

    Empty where its words tell no kind, or the hits have no graph.
    """
    kinds = answer_kinds(asked.text)
    if not kinds:
        return {}
    asked_words = frozenset(asked.every)
    found = {
        row: place
        for place, hit in enumerate(hits[:_LOOKED_AT])
        if hit.summary is None and (row := chunks.row_of(connection, hit.chunk.id)) is not None
    }
    return {
        found[at]: [
            one
            for one in readable.extraction(connection, at, value, hits[found[at]].chunk.text).mentions
            if one.kind in kinds and not asked_words.issuperset(words_of(one.name))
        ]
        for at, value in graphs.extraction_values(connection, found).items()
    }


def candidates(named: Mapping[int, Sequence[Mention]], hits: Sequence[Hit]) -> tuple[str, ...]:
    """The names among what is :func:`of_kind`, the most probable answer first."""
    weights: dict[str, float] = {}
    for place, mentions in named.items():
        hit = hits[place]
        for name in {" ".join(one.name.split()) for one in mentions if may_answer(one, hit.text)}:
            weights[name] = weights.get(name, 0.0) + 1.0 / (1.0 + hit.rank)
    return tuple(sorted(weights, key=lambda name: (-weights[name], name)))[:CANDIDATES]


def may_answer(one: Mention, text: str) -> bool:
    """Whether a name may be an answer: one word of unknown kind at the head of a sentence is just a word."""
    before = text[: one.start].rstrip(" \t\"'“")
    return one.kind != "name" or " " in one.name or not (before == "" or before[-1] in ".!?:\n")
