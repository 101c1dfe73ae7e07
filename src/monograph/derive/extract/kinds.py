"""Kinds of entities: the words that models use for them, and the kinds that a question asks for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from monograph.errors import calling_model
from monograph.regex import regex

if TYPE_CHECKING:
    from monograph.models import Embedder
    from monograph.values import Float32

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
    """Return the kind of entity that a model's word for a type means; an empty text if the word is unknown.

    Case and plural do not matter, and of several words the first known one counts: ``Persons``, ``PERSON/ROLE`` and
    ``person (real)`` all mean ``person``.
    """
    words = re.findall(r"[a-z]+", word.lower()[:80].replace("_of_", " "))
    if not words or len(words) > 6:
        return ""
    for part in words:
        for form in (part, part.removesuffix("s"), part.removesuffix("es"), part.removesuffix("ies") + "y"):
            if form in _KIND_OF:
                return _KIND_OF[form]
    return ""


_ASKING = {
    "person": "who whom whose wer wen wem wessen quién quiénes",
    "place": "where wo wohin woher dónde adónde",
    "date": "when wann cuándo",
    "quantity": "wieviel wieviele cuánto cuánta cuántos cuántas",
}
_NOUNS = {
    "person": "actress author writer director singer musician player politician president mann frau schauspieler "
    "schauspielerin regisseur autor sängerin sänger actor actriz directora autora cantante persona mujer hombre",
    "organisation": "firma unternehmen mannschaft verein partei universität schule empresa equipo banda partido "
    "universidad escuela compañía",
    "place": "stadt land fluss berg ort insel staat ciudad país río lugar isla estado montaña",
    "work": "magazine newspaper novel play poem series show single buch roman lied gemälde serie libro novela película "
    "canción cuadro",
    "date": "date decade age jahr tag monat datum jahrhundert año día mes fecha siglo",
}
"""Nouns after *which* and *what* in questions, by kind. The words that :func:`kind_of` knows are used in addition."""

_KIND_ASKED = {word: kind for kind, words in _ASKING.items() for word in words.split()}
_KIND_OF_NOUN = {word: kind for kind, words in _NOUNS.items() for word in words.split()}
_BEFORE_NOUN = frozenset(
    ("what", "what's", "which", "welche", "welcher", "welches", "welchen", "welchem", "qué", "cuál", "cuáles")
)
_AMOUNTS = {
    "how": frozenset(("many", "much", "old", "long", "far", "tall", "high", "large", "big", "deep")),
    "wie": frozenset(("viel", "viele", "alt", "lang", "weit", "hoch", "groß", "tief")),
}
_LOOKED_AT = 3
"""Number of words after *which* or *what* that are searched for a noun."""

_PROPER = frozenset(("person", "organisation", "place", "work", "event"))
_COMPARED = ("person", "organisation", "place", "work", "event", "date", "quantity", "term")
"""Kinds whose vectors :func:`nearest_kind` compares with a question's, when the question's words name no kind."""

_WORD = regex(r"[^\W_]+(?:['’]s)?")


def answer_kinds(text: str, types: Iterable[str] = ()) -> frozenset[str]:
    """Return the kinds of entities that can answer a question, a subset of :data:`monograph.values.ENTITY_KINDS`.

    The set includes related kinds: see :func:`nearest_kind`. It is empty if no word of the question names a kind.

    Parameters
    ----------
    text:
        The question, in English, German or Spanish. Its first question word decides. *Who* asks for persons, *where*
        for places, *when* for dates and times, *how many* for quantities. *Which* and *what* ask for the kind of the
        noun after them.
    types:
        Words with which a language model has named the type of the answer. If :func:`kind_of` knows one of them, only
        ``types`` is used, and ``text`` is ignored.
    """
    named = {kind for kind in map(kind_of, types) if kind}
    return _widen(named or _read_kinds([word.replace("’", "'").lower() for word in _WORD.findall(text)]))


def nearest_kind(embedder: Embedder, vector: Float32, pool: Mapping[str, Sequence[str]]) -> frozenset[str]:
    """Return the kind that is nearest to a question's vector, together with its related kinds.

    ``vector`` is float32 of shape (dimension,). ``pool`` has the kinds that occur in the graph, each with example
    names: the vector of a kind is that of its word and these names. The result is empty if no kind of ``pool`` can be
    compared. ``date`` and ``time`` are related to each other. Persons, organisations, places, works and events are
    related to ``name``, the kind of a name whose kind is unknown.
    """
    compared = [kind for kind in _COMPARED if kind in pool]
    if not compared:
        return frozenset()
    texts = [f"{kind}: {', '.join(pool[kind])}" for kind in compared]
    with calling_model(embedder.key):
        cosines = embedder.embed(texts, "document") @ vector
    return _widen({compared[int(np.argmax(cosines))]})


def _read_kinds(words: list[str]) -> set[str]:
    for index, word in enumerate(words):
        following = words[index + 1 : index + 1 + _LOOKED_AT]
        if word in _KIND_ASKED:
            return {_KIND_ASKED[word]}
        if following and following[0] in _AMOUNTS.get(word, ()):
            return {"quantity"}
        if word in _BEFORE_NOUN:
            kinds = (_KIND_OF_NOUN.get(noun) or kind_of(noun) for noun in following)
            return set(filter(None, [next(filter(None, kinds), "")]))
    return set()


def _widen(kinds: set[str]) -> frozenset[str]:
    """Return the kinds and their related kinds: see :func:`nearest_kind`."""
    more = {"name"} if _PROPER & kinds else set()
    return frozenset(kinds | more | ({"date", "time"} if kinds & {"date", "time"} else set()))
