"""Entity or relation as a model wrote it, before it is checked against the text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

Tag: TypeAlias = Literal["entity", "relation"]

MAX_RECORDS = 400
"""Most records that are read from one answer: a model that repeats itself writes thousands."""


@dataclass(frozen=True, slots=True)
class Record:
    """Fields of an entity or relation, as a model wrote them.

    ``tag`` is ``entity`` or ``relation``. The fields of an entity are name, kind and description. The fields of a
    relation are source and target, then, in any order, description, keywords and strength. If the last fields are
    missing, ``fields`` is shorter.
    """

    tag: Tag
    fields: tuple[str, ...]


_KEYS = {
    "name": "entityname name entity title term mention node nodeid entitytext text id",
    "kind": "entitytype kind category class type label nodetype",
    "description": "description desc entitydescription relationshipdescription relationdescription summary details "
    "explanation reason predicate relation relationship relationtype relationshiptype edge verb",
    "source": "source sourceentity sourcename src srcid subject head from entity1 entitya start sourcenode node1 "
    "sourceid",
    "target": "target targetentity targetname tgt tgtid object tail to entity2 entityb end targetnode node2 targetid",
    "keywords": "keywords relationshipkeywords relationkeywords keyword themes tags highlevelkeywords",
    "strength": "strength relationshipstrength relationstrength weight score confidence rating",
}
_MEANING = {word: meaning for meaning, words in _KEYS.items() for word in words.split()}
_TAGS = {"entity", "relation", "relationship", "node", "edge"}


def field_of_key(key: str) -> str:
    """Return the field of a record (``name``, ``source``, …) that a key or column title means; empty if unknown."""
    return _MEANING.get(_normalize_key(key), "")


def _normalize_key(key: str) -> str:
    return re.sub(r"[\W_]+", "", key[:60].lower())


_RELATIONS = {"relation", "relations", "relationship", "relationships", "edges", "triples", "triplets", "links"}
_ENTITIES = {"entity", "entities", "nodes", "names", "mentions"}


def section_of(title: str) -> Tag | None:
    """Return the kind of records that a title or JSON key announces: ``entity`` or ``relation``, None if neither.

    If ``title`` names both (``Entities and relations:``), return ``entity``.
    """
    words = set(re.findall(r"[a-z]+", title.lower()))
    if words & _ENTITIES:
        return "entity"
    return "relation" if words & _RELATIONS else None


def _as_field(value: Any) -> str:
    """Return a JSON value as the text of one field; empty for an object, a boolean and null."""
    if isinstance(value, list):
        return ", ".join(item for item in value if isinstance(item, str))
    if isinstance(value, dict) or value is None or isinstance(value, bool):
        return ""
    return str(value)


def from_keys(values_by_key: Mapping[str, Any]) -> Record | None:
    """Return the record in a JSON object, whatever its keys are called; None if it is neither an entity nor a relation.

    :func:`field_of_key` says which field each key means. If several keys mean the same field, the most specific key
    counts: ``entity_type`` before ``type``. Keys with an empty value are ignored. The values ``entity``, ``relation``,
    ``relationship``, ``node`` and ``edge`` are ignored as kinds, because they only tell entities from relations.
    """
    plain = {_normalize_key(key): field for key, value in values_by_key.items() if (field := _as_field(value))}
    fields = {}
    for meaning, words in _KEYS.items():
        values = [plain[word] for word in words.split() if word in plain]
        if meaning == "kind":
            values = [value for value in values if value.strip().lower() not in _TAGS]
        fields[meaning] = next(iter(values), "")
    if fields["source"] and fields["target"]:
        description = fields["description"] or fields["kind"]
        return Record(
            "relation", (fields["source"], fields["target"], description, fields["keywords"], fields["strength"])
        )
    if fields["name"]:
        return Record("entity", (fields["name"], fields["kind"], fields["description"]))
    return None
