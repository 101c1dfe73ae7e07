"""Alignment of a model's answer with the text of its chunk. Names that the text does not contain are dropped."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from monograph.derive.extract.locate import Folded, fold, locate
from monograph.derive.extract.parse import NamedThing, ParsedAnswer
from monograph.values import Extraction, Mention, Relation

Span = tuple[int, int]


def ground(answer: ParsedAnswer, text: str) -> Extraction:
    """Return the entities and relations of an answer that the text supports.

    An entity that the text does not name is dropped, together with its relations. The source or target of a relation
    may be missing among the answer's entities. It becomes an entity if the text contains it word for word; otherwise
    the relation is dropped.

    Returns
    -------
    An extraction with one mention for each occurrence of an entity in the text, in order of start. Sources and targets
    of its relations are names of its mentions.
    """
    folded = fold(text)
    located: dict[str, tuple[NamedThing, list[Span]]] = {}
    for thing in answer.entities:
        if spans := locate(thing.name, thing.kind, folded):
            located[fold(thing.name).letters] = _use_written_name(thing, text[slice(*spans[0])]), spans
    relations: dict[tuple[str, str], Relation] = {}
    for stated in answer.relations:
        source, target = (_resolve_end(name, located, answer, folded) for name in (stated.source, stated.target))
        if source and target and source != target:
            relations.setdefault((source, target), replace(stated, source=source, target=target))
    mentions = []
    for thing, spans in _drop_nested(located.values()):
        guess = "name" if any(map(str.isupper, thing.name)) else "term"
        mentions += [Mention(thing.name, thing.kind or guess, *span, thing.description) for span in spans]
    mentions.sort(key=lambda mention: (mention.start, -mention.end, mention.name))
    return Extraction(tuple(mentions), tuple(relations.values()))


def _use_written_name(thing: NamedThing, written: str) -> NamedThing:
    """Return an entity under the name that the text writes; unchanged if ``written`` is only a part of its name."""
    is_whole = fold(written).letters == fold(thing.name).letters
    return replace(thing, name=" ".join(written.split())) if is_whole else thing


def _resolve_end(
    name: str, located: dict[str, tuple[NamedThing, list[Span]]], answer: ParsedAnswer, text: Folded
) -> str:
    """Return the name of the entity that ``name``, a relation's source or target, refers to; empty if there is none."""
    letters = fold(name).letters
    if letters in located:
        return located[letters][0].name
    words = set(name.lower().split())
    alike = []
    for thing, _ in located.values():
        others = set(thing.name.lower().split())
        if words <= others or others <= words:
            alike.append(thing.name)
    if len(alike) == 1:
        return alike[0]
    # An entity that ground() dropped is not added again.
    dropped = any(fold(thing.name).letters == letters for thing in answer.entities)
    spans = [] if dropped else text.occurrences(letters)
    if spans:
        located[letters] = _use_written_name(NamedThing(name), text.text[slice(*spans[0])]), spans
    return located[letters][0].name if spans else ""


def _drop_nested(entities: Iterable[tuple[NamedThing, list[Span]]]) -> list[tuple[NamedThing, list[Span]]]:
    """Drop each span inside a longer name's span (York in New York). An entity with only such spans keeps them."""
    entities = list(entities)
    all_spans = [span for _, spans in entities for span in spans]
    kept = []
    for thing, spans in entities:
        free = [
            (start, end)
            for start, end in spans
            if not any(first <= start and end <= last and last - first > end - start for first, last in all_spans)
        ]
        kept.append((thing, free or spans))
    return kept
