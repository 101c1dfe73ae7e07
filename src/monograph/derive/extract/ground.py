"""Alignment of a model's answer with the text of its chunk. A name that the text does not contain is made up."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from monograph.derive.extract.locate import Folded, fold, locate
from monograph.derive.extract.parse import NamedRelation, NamedThing, ParsedAnswer
from monograph.values import Extraction, Mention, Relation

Span = tuple[int, int]


def ground(answer: ParsedAnswer, text: str) -> Extraction:
    """Return the entities and relations of an answer that the text supports.

    An entity that the text does not name is dropped, with its relations. An end of a relation that is no entity of the
    answer becomes one if the text contains it word for word.

    Returns
    -------
    Mentions of every place where an entity is named, in order of start; relations between the names of mentions.
    """
    folded = fold(text)
    places: dict[str, tuple[NamedThing, list[Span]]] = {}
    for thing in answer.entities:
        if spans := locate(thing.name, thing.kind, folded):
            places[fold(thing.name).letters] = _as_written(thing, text[slice(*spans[0])]), spans
    relations: dict[tuple[str, str], Relation] = {}
    for stated in answer.relations:
        source, target = (_end(name, places, answer, folded) for name in (stated.source, stated.target))
        if source and target and source != target:
            relations.setdefault((source, target), _relation(source, target, stated))
    mentions = [
        Mention(thing.name, thing.kind or _kind(thing.name), start, end, thing.description)
        for thing, spans in _outermost(places.values())
        for start, end in spans
    ]
    mentions.sort(key=lambda mention: (mention.start, -mention.end, mention.name))
    return Extraction(tuple(mentions), tuple(relations.values()))


def _as_written(thing: NamedThing, written: str) -> NamedThing:
    """Return an entity with its name as the text writes it, unless the text writes only a part of the name."""
    return (
        replace(thing, name=" ".join(written.split())) if fold(written).letters == fold(thing.name).letters else thing
    )


def _relation(source: str, target: str, stated: NamedRelation) -> Relation:
    return Relation(source, target, stated.description, stated.keywords, stated.strength)


def _end(name: str, places: dict[str, tuple[NamedThing, list[Span]]], answer: ParsedAnswer, text: Folded) -> str:
    """Return the name of the mention that an end of a relation means; empty if there is none.

    It is the entity with that name, or else the only entity whose words include the end's words or are included in
    them. Otherwise it is the end itself, if it was not dropped before and the text contains it.
    """
    letters = fold(name).letters
    if letters in places:
        return places[letters][0].name
    words = set(name.lower().split())
    alike = [thing.name for thing, _ in places.values() if _holds(words, set(thing.name.lower().split()))]
    if len(alike) == 1:
        return alike[0]
    dropped = any(fold(thing.name).letters == letters for thing in answer.entities)
    spans = [] if dropped else text.occurrences(letters)
    if spans:
        places[letters] = _as_written(NamedThing(name), text.text[slice(*spans[0])]), spans
    return places[letters][0].name if spans else ""


def _holds(one: set[str], other: set[str]) -> bool:
    return one <= other or other <= one


def _kind(name: str) -> str:
    """Return the kind of an entity whose type the answer does not state, or states by an unknown word."""
    return "name" if any(one.isupper() for one in name) else "term"


def _outermost(found: Iterable[tuple[NamedThing, list[Span]]]) -> list[tuple[NamedThing, list[Span]]]:
    """Return the entities without the spans that are inside a longer name, if others are left: York, not New York."""
    found = list(found)
    every = [span for _, spans in found for span in spans]
    kept = []
    for thing, spans in found:
        free = [
            (start, end)
            for start, end in spans
            if not any(first <= start and end <= last and last - first > end - start for first, last in every)
        ]
        kept.append((thing, free or spans))
    return kept
