"""Parser of a model's answer, whatever its form.

Small models are asked for one form, but answer in many: tuples, bars, tables, or JSON that is cut off, with prose
around it. The parser reads every record that it recognises, within limits. No answer raises an error.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from monograph.derive.extract.kinds import kind_of
from monograph.derive.extract.lines import read_lines
from monograph.derive.extract.locate import fold
from monograph.derive.extract.objects import read_objects
from monograph.derive.extract.record import Record, field_of_key
from monograph.derive.replies import remove_thoughts
from monograph.regex import regex
from monograph.values import Relation

MAX_ANSWER = 32_000
"""Maximum number of characters read from an answer."""
MAX_ENTITIES = 64
"""Maximum number of entities kept from one answer."""
MAX_RELATIONS = 96
"""Maximum number of relations kept from one answer."""
MAX_NAME = 120
"""Most characters of a name. A record with a longer name is dropped."""
MAX_DESCRIPTION = 400
"""Most characters of a description; the rest is cut off."""
MAX_KEYWORDS = 8
"""Maximum number of keywords kept for a relation."""
MAX_KEYWORD = 40
"""Most characters of a keyword; a longer one is dropped."""
UNKNOWN_STRENGTH = 0.5
"""Strength of a relation for which the answer states none."""

_REQUESTED_FORM = regex(r"^[^\w\n]{0,6}(?:entity|relation(?:ship)?)[^\w\n]{0,4}[|<]", re.MULTILINE | re.IGNORECASE)
_LABEL = regex(r"^(?:entity|name|source|target)(?:[_ ]name)?\s*[:=]\s*", re.IGNORECASE)
_QUOTES = " \"'“”«»`*_<>|"
_EDGES = " \t\"'“”‘’«»„`*_<>()[]{}.,;:"
_NUMBER = regex(r"(\d+(?:[.,]\d+)?)\s*(%|(?:/|out of|of)\s*(\d+))?")
_ONLY_STRENGTH = regex(
    r"\W{0,4}(?:\w{0,14}strength\W{0,4})?(?:\d+(?:[.,]\d+)?\s*%?\s*(?:(?:/|out of|of)\s*\d+)?"
    r"|(?:very )?(?:strong|high|medium|moderate|weak|low))\W{0,4}(?:\([^)]*\)\W{0,4})?",
    re.IGNORECASE,
)
_WORDS_OF_STRENGTH = (
    ("very strong|very high", 0.9), ("very weak|very low", 0.1), ("strong|high", 0.8), ("medium|moderate", 0.5),
    ("weak|low", 0.2),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class NamedThing:
    """An entity that an answer names. ``kind`` is one of ENTITY_KINDS, or empty if the answer's kind is unknown."""

    name: str
    kind: str = ""
    description: str = ""


@dataclass(frozen=True, slots=True)
class ParsedAnswer:
    """Entities and relations in the order of a model's answer. Each name, and each (source, target), occurs once.

    The source and target of a relation are names as the answer writes them. They need not be among the entities.
    """

    entities: tuple[NamedThing, ...] = ()
    relations: tuple[Relation, ...] = ()


def parse(answer: str) -> ParsedAnswer:
    """Return the entities and relations of an answer. The result is empty if no record is recognised. Never raises.

    Parameters
    ----------
    answer:
        Answer of the model: records with bars, MiniRAG's tuples, JSON, tables or bullets, with prose and code fences
        around them.
    """
    answer = remove_thoughts(answer[:MAX_ANSWER]).replace("\r\n", "\n").replace("\r", "\n")
    records = read_lines(answer) if _REQUESTED_FORM.search(answer) else read_objects(answer) or read_lines(answer)
    entities: dict[str, NamedThing] = {}
    for record in records:
        if record.tag == "entity" and not _is_relation(record) and (thing := _read_entity(record)):
            letters = fold(thing.name).letters
            if letters and len(entities) < MAX_ENTITIES:
                first = entities.get(letters, thing)
                description = max(first.description, thing.description, key=len)
                entities[letters] = NamedThing(first.name, first.kind or thing.kind, description)
    relations: dict[tuple[str, str], Relation] = {}
    for record in records:
        if (record.tag == "relation" or _is_relation(record)) and (relation := _read_relation(record, entities)):
            ends = fold(relation.source).letters, fold(relation.target).letters
            if all(ends) and ends[0] != ends[1] and len(relations) < MAX_RELATIONS:
                relations.setdefault(ends, relation)
    return ParsedAnswer(tuple(entities.values()), tuple(relations.values()))


def strength_of(text: str) -> float:
    """Return the strength that a text states, in [0.05, 1]: ``8``, ``8/10``, ``0.8``, ``80%``, ``strong`` are all 0.8.

    A number up to 10 is divided by 10, and a larger number or a percentage by 100. ``8/10`` and ``8 of 10`` are
    fractions. A number with a decimal point is the strength itself if it is at most 1. A text with neither a number nor
    a word such as ``strong`` gives UNKNOWN_STRENGTH.
    """
    match = _NUMBER.search(text)
    if match is None:
        values = (value for words, value in _WORDS_OF_STRENGTH if re.search(words, text.lower()))
        return next(values, UNKNOWN_STRENGTH)
    number = float(match[1][:12].replace(",", "."))
    is_whole = match[1].isdigit()
    if match[2] and match[2] != "%":
        scale = float(match[3][:6]) or 10.0
    elif match[2] or number > 10:
        scale = 100.0
    else:
        scale = 1.0 if number <= 1 and not is_whole else 10.0
    return min(1.0, max(0.05, round(number / scale, 3)))


def _is_strength(field: str) -> bool:
    return len(field) < 60 and _ONLY_STRENGTH.fullmatch(field) is not None


def _is_relation(record: Record) -> bool:
    """Return whether a record is a relation although it is tagged as an entity: it has two names and a strength."""
    fields = record.fields
    return record.tag == "entity" and len(fields) > 3 and not kind_of(fields[1]) and _is_strength(fields[-1])


def _read_entity(record: Record) -> NamedThing | None:
    name, kind, *rest = (*record.fields, "", "")
    if len(kind.split()) > 4 or (kind and not kind_of(kind) and rest[0] and kind_of(rest[0]) and " " not in rest[0]):
        kind, rest = rest[0], [kind, *rest[1:]]
    name = _clean_name(name)
    if not name or (field_of_key(name) and (not kind or field_of_key(kind) or not kind_of(kind))):
        return None  # the header of a table, or a copy of the prompt's form
    return NamedThing(name, kind_of(kind), _clean(" ".join(part for part in rest if part), MAX_DESCRIPTION))


def _read_relation(record: Record, entities: dict[str, NamedThing]) -> Relation | None:
    """Return a record's relation; None if a name is missing. ``entities`` decides between two possible targets."""
    first, second, *rest = (*record.fields, "", "")
    rest = [field for field in rest if field.strip()]
    # The third field is the target if it names an entity and the second does not: Ada | wrote | Notes.
    if rest and fold(_clean_name(second)).letters not in entities and fold(_clean_name(rest[0])).letters in entities:
        second, rest[0] = rest[0], second
    source, target = _clean_name(first), _clean_name(second)
    if not source or not target or (field_of_key(source) and field_of_key(target)):
        return None
    strength = next((field for field in reversed(rest) if _is_strength(field)), "")
    texts = [field for field in rest if field != strength]
    description = max(texts, key=len, default="")
    texts = [field for field in texts if field != description]
    keywords = [_clean(word, MAX_KEYWORD + 1) for word in re.split(r"[,;/]", texts[0] if texts else "")]
    kept = tuple(dict.fromkeys(word for word in keywords if 0 < len(word) <= MAX_KEYWORD))[:MAX_KEYWORDS]
    return Relation(source, target, _clean(description, MAX_DESCRIPTION), kept, strength_of(strength))


def _clean(text: str, limit: int) -> str:
    """Return a text as one printable line without outer quotes, cut at a space to at most ``limit`` characters."""
    text = " ".join(
        "".join(character if character.isprintable() else " " for character in text[: limit * 4]).split()
    ).strip(_QUOTES)
    if text.endswith(")") and text.count("(") < text.count(")"):
        text = text[:-1].strip(_QUOTES)
    return text if len(text) <= limit else text[:limit].rpartition(" ")[0] or text[:limit]


def _clean_name(text: str) -> str:
    """Return a name without outer quotes, brackets and labels (``name:``); empty if longer than MAX_NAME."""
    name = _LABEL.sub("", _clean(text, MAX_NAME * 2)).strip(_EDGES)
    if name.count("(") > name.count(")"):
        name += ")"
    return name if len(name) <= MAX_NAME else ""
