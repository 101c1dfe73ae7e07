"""The words that models use for the coarse types of named things."""

from __future__ import annotations

import re

from monograph.values import ENTITY_KINDS

__all__ = ["ENTITY_KINDS", "kind_of"]

_WORDS = {
    "person": "per people human man woman character individual author user speaker",
    "organisation": "organization org company institution agency government group team corporation business "
    "department university school committee party band club",
    "place": "location loc geo gpe fac facility city country region building area state town village venue river "
    "mountain landmark geography address island",
    "work": "book film movie song publication article paper document law product software report album painting "
    "creation content artwork treaty",
    "event": "mission meeting conference war battle incident festival ceremony holiday accident",
    "date": "year month day period era century",
    "time": "hour duration",
    "quantity": "number money amount percent percentage measurement measure price cost cardinal ordinal value data "
    "statistic currency",
    "code": "identifier id version function variable class file command",
    "email": "mail",
    "url": "link website site uri web",
    "quote": "quotation saying",
    "term": "concept technology method role object thing item topic idea animal plant food material process skill "
    "language norp title position occupation profession field theory subject tool device artifact artefact creature "
    "species chemical substance disease activity keyword action emotion vehicle weapon equipment",
    "name": "misc other unknown entity miscellaneous",
}
_KIND_OF = {word: kind for kind, words in _WORDS.items() for word in (kind, *words.split())}


def kind_of(word: str) -> str:
    """The kind that a model's word for a type means; empty where it means none.

    Case, plural and what follows a first known word do not matter: ``Persons``, ``PERSON/ROLE`` and ``person (real)``
    are all ``person``.
    """
    words = re.findall(r"[a-z]+", word.lower()[:80].replace("_of_", " "))
    if not words or len(words) > 6:
        return ""
    for one in words:
        for form in (one, one.removesuffix("s"), one.removesuffix("es"), one.removesuffix("ies") + "y"):
            if form in _KIND_OF:
                return _KIND_OF[form]
    return ""
