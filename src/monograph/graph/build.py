"""A document's part of the graph, from its title, its chunks and what was extracted from them.

A pure function. The graph of a file is the union of its documents' parts, so the order of insertion does not matter,
and removing a document removes exactly its part.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date

from monograph.dates.relative import days_near
from monograph.dates.span import days_in, own_day
from monograph.graph.chunk_names import (
    SHORTEST_KEY,
    Brackets,
    NamedInChunk,
    Pairs,
    chunk_names,
    in_brackets,
    known_names,
)
from monograph.graph.names import key_of, mention_key, title_of
from monograph.graph.text import Words, word_hashes
from monograph.values import Extraction, Mention

MOST_LINKS = 1_024
_LEAD = 12
"""Largest offset in characters at which the name that a document begins with may start."""

_NO_SUBJECTS = frozenset(("date", "time", "quantity", "email", "url", "term", "code"))


@dataclass(frozen=True, slots=True)
class Linked:
    """A relation that a model found: positions of its two ends among the chunk's names, and its strength."""

    source: int
    target: int
    strength: float


@dataclass(frozen=True, slots=True, eq=False)
class ChunkPart:
    """A chunk's node in the graph: hashes of its words, its names in order of first mention, a model's relations."""

    words: Words
    names: tuple[NamedInChunk, ...]
    links: tuple[Linked, ...]


@dataclass(frozen=True, slots=True)
class Subject:
    """A name that a document is about: because its title has it (``by_title``), or because its text begins with it.

    ``qualifier`` is the key of the part of the title in parentheses; empty if there is none.
    """

    key: str
    qualifier: str
    by_title: bool


@dataclass(frozen=True, slots=True)
class Alias:
    """Two names that a document states to be one: ``short`` is in parentheses after ``full``."""

    short: str
    full: str


@dataclass(frozen=True, slots=True)
class DocumentPart:
    """A document's part of the graph: one part for each chunk, in order; its subjects; the aliases that it states."""

    chunks: tuple[ChunkPart, ...]
    subjects: tuple[Subject, ...]
    aliases: tuple[Alias, ...]


def document_part(
    title: str, texts: Sequence[str], extractions: Sequence[Extraction], cannot_link: Pairs
) -> DocumentPart:
    """Return a document's part of the graph; it is empty for a document without chunks, which nothing can find.

    Parameters
    ----------
    title:
        Title of the document; may be empty.
    texts, extractions:
        Text and extraction of each chunk, in reading order.
    cannot_link:
        (short, full) keys that a user said are different names.
    """
    if not texts:
        return DocumentPart((), (), ())
    own = own_day(title, texts[0])
    dated = [_with_days(text, one, own) for text, one in zip(texts, extractions, strict=True)]
    named = chunk_names(texts, [one.mentions for one in dated], cannot_link)
    related = any(one.relations for one in extractions)
    known = known_names([one.mentions for one in extractions], cannot_link) if related else {}
    words = word_hashes([f"{title}\n{text}" for text in texts])
    chunks = tuple(
        ChunkPart(hashes, names, _links(one, names, known))
        for hashes, (names, _), one in zip(words, named, dated, strict=True)
    )
    aliases = {
        alias
        for text, one, other, (_, brackets) in zip(texts, extractions, dated, named, strict=True)
        for alias in _aliases(one.mentions, brackets if other is one else in_brackets(text, one.mentions))
        if (alias.short, alias.full) not in cannot_link
    }
    ordered = sorted(aliases, key=lambda one: (one.short, one.full))
    return DocumentPart(chunks, _subjects(title, extractions), tuple(ordered))


def _with_days(text: str, extraction: Extraction, own: date | None) -> Extraction:
    """Return an extraction with the days added that the text gives relative to the document's own day."""
    days = [Mention(day, "date", at, at) for at, day in days_near(text, own)] if own is not None else []
    if not days:
        return extraction
    return replace(extraction, mentions=tuple(sorted((*extraction.mentions, *days), key=lambda one: one.start)))


def _links(extraction: Extraction, names: Sequence[NamedInChunk], known: Mapping[str, str]) -> tuple[Linked, ...]:
    if not extraction.relations:
        return ()
    place = {one.key: at for at, one in enumerate(names)}
    key = {one.name: mention_key(one.name, one.kind) for one in extraction.mentions}
    strongest: dict[tuple[int, int], float] = {}
    for one in extraction.relations:
        ends = [key.get(name) or key_of(name) for name in (one.source, one.target)]
        source, target = (place.get(known.get(end, end), place.get(end)) for end in ends)
        if source is not None and target is not None and source != target:
            strongest[source, target] = max(one.strength, strongest.get((source, target), 0.0))
    return tuple(Linked(*ends, strength) for ends, strength in list(strongest.items())[:MOST_LINKS])


def _subjects(title: str, extractions: Sequence[Extraction]) -> tuple[Subject, ...]:
    """Return the names that a document is about: the name and days in its title, the name that its text begins with."""
    subjects = []
    key, qualifier = title_of(title)
    if key:
        subjects.append(Subject(key, qualifier, by_title=True))
    days = {key_of(day) for day in days_in(title)} - {key}
    subjects += [Subject(day, "", by_title=True) for day in sorted(days)]
    lead = _lead(extractions[0].mentions) if extractions else ""
    if lead and lead != key and lead not in days:
        subjects.append(Subject(lead, "", by_title=False))
    return tuple(subjects)


def _lead(mentions: Sequence[Mention]) -> str:
    """Return the key of the longest name at the first position, if that is within _LEAD characters; else empty."""
    near = [one for one in mentions if one.start <= _LEAD and one.kind not in _NO_SUBJECTS]
    if not near:
        return ""
    first = min(one.start for one in near)
    best = max((one for one in near if one.start == first), key=lambda one: one.end)
    key = mention_key(best.name, best.kind)
    return key if len(key) >= SHORTEST_KEY else ""


def _aliases(mentions: Sequence[Mention], brackets: Brackets) -> Iterator[Alias]:
    """Yield the names that are followed by their abbreviation in parentheses."""
    for full, short in brackets:
        if _abbreviates(mentions[short].name, mentions[full].name):
            yield Alias(key_of(mentions[short].name), key_of(mentions[full].name))


def _abbreviates(short: str, full: str) -> bool:
    """Return whether a short name's capitals are the initials of a longer name's words, or of the capitalised ones."""
    letters = [character for character in short if character.isalpha()]
    if not 2 <= len(letters) <= 10 or not all(character.isupper() for character in letters):
        return False
    words = [word for word in full.replace("-", " ").split() if word[0].isalpha()]
    capitals = "".join(word[0] for word in words if word[0].isupper())
    return "".join(letters) in (capitals, "".join(word[0].upper() for word in words))
