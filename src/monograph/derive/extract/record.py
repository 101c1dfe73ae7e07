"""One entity or relation as a model wrote it, before anything is believed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

Tag: TypeAlias = Literal["entity", "relation"]

MAX_RECORDS = 400
"""Records of one answer that are looked at: a model that repeats itself writes thousands."""


@dataclass(frozen=True, slots=True)
class Record:
    """Fields in the order of the prompt.

    An entity has name, kind, description; a relation source, target and, in any order, description, keywords and
    strength. What is missing at the end is left out.
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


def meaning_of(key: str) -> str:
    """Return the field that a key or a column's title stands for; empty for none."""
    return _MEANING.get(_plain(key), "")


def _plain(key: str) -> str:
    return re.sub(r"[\W_]+", "", key[:60].lower())


_RELATIONS = {"relation", "relations", "relationship", "relationships", "edges", "triples", "triplets", "links"}
_ENTITIES = {"entity", "entities", "nodes", "names", "mentions"}


def section_of(title: str) -> Tag | None:
    """Whether a title or key announces entities or relations; where it says both, entities come first."""
    words = set(re.findall(r"[a-z]+", title.lower()))
    if words & _ENTITIES:
        return "entity"
    return "relation" if words & _RELATIONS else None


def from_keys(given: Mapping[str, str]) -> Record | None:
    """A record from fields by name, whatever the names are; None where they are no record's.

    Of several keys that mean the same the most telling one with a value counts: a kind is read from ``entity_type``
    rather than from a ``type``, and never from one that says ``entity``.
    """
    plain = {_plain(key): value for key, value in given.items() if value}
    found = {meaning: _first(words, plain, meaning == "kind") for meaning, words in _KEYS.items()}
    if found["source"] and found["target"]:
        said = found["description"] or found["kind"]
        return Record("relation", (found["source"], found["target"], said, found["keywords"], found["strength"]))
    if found["name"]:
        return Record("entity", (found["name"], found["kind"], found["description"]))
    return None


def _first(words: str, plain: Mapping[str, str], kind: bool) -> str:
    values = (plain[word] for word in words.split() if word in plain)
    return next((value for value in values if not (kind and value.strip().lower() in _TAGS)), "")
