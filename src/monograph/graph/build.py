"""A document's part of the graph, from its title, its chunks and what was extracted from them.

:func:`document_part` is a pure function. The graph of a file is the union of the parts of its documents. So the order
in which documents are added does not matter, and when a document is removed, exactly its part is removed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from monograph.dates.relative import days_near
from monograph.dates.span import day_of_text, days_in
from monograph.graph.chunk_names import (
    SHORTEST_KEY,
    NamedInChunk,
    Pairs,
    chunk_names,
    full_names,
)
from monograph.graph.names import key_of, mention_key, title_of
from monograph.graph.text import Words, word_hashes
from monograph.values import Extraction, Mention

MOST_LINKS = 1_024
_LEAD = 12
"""Largest offset, in characters, at which a name in the first chunk counts as the beginning of the document."""

_NO_SUBJECTS = frozenset(("date", "time", "quantity", "email", "url", "term", "code"))


@dataclass(frozen=True, slots=True)
class ExtractedRelation:
    """A relation that a language model found in a chunk.

    ``source`` and ``target`` are the positions of the two names among the chunk's names.
    """

    source: int
    target: int
    strength: float


@dataclass(frozen=True, slots=True, eq=False)
class ChunkPart:
    """A chunk's node in the graph.

    ``words`` are the hashes of its words. ``names`` are its names, in order of first mention. ``links`` are the
    relations that a language model found in it.
    """

    words: Words
    names: tuple[NamedInChunk, ...]
    links: tuple[ExtractedRelation, ...]


@dataclass(frozen=True, slots=True)
class Subject:
    """A name that a document is about.

    ``by_title`` is true if the document's title has the name, and false if its text begins with the name. ``qualifier``
    is the key of the part of the title in parentheses; empty if there is none.
    """

    key: str
    qualifier: str
    by_title: bool


@dataclass(frozen=True, slots=True)
class Alias:
    """A short name and a full name that mean the same in a document, because the document says so.

    ``short`` and ``full`` are the keys of the names. In the text, the short name is in parentheses after the full name.
    """

    short: str
    full: str


@dataclass(frozen=True, slots=True)
class DocumentPart:
    """A document's part of the graph: a part for each chunk, in order; its subjects; and the aliases that it states."""

    chunks: tuple[ChunkPart, ...]
    subjects: tuple[Subject, ...]
    aliases: tuple[Alias, ...]


def document_part(
    title: str, texts: Sequence[str], extractions: Sequence[Extraction], cannot_link: Pairs
) -> DocumentPart:
    """Return a document's part of the graph. It is empty for a document without chunks, which no search can find.

    ``texts`` and ``extractions`` are the texts and extractions of the document's chunks, in reading order.
    ``cannot_link`` has (short, full) pairs of keys that a user said are different names.
    """
    if not texts:
        return DocumentPart((), (), ())
    own_date = day_of_text(title, texts[0])
    dated = []
    for text, extraction in zip(texts, extractions, strict=True):
        # Add the days that the text gives relative to the document's own day.
        days = [] if own_date is None else days_near(text, own_date)
        near = [Mention(day, "date", offset, offset) for offset, day in days]
        if near:
            mentions = sorted((*extraction.mentions, *near), key=lambda mention: mention.start)
            dated.append(replace(extraction, mentions=tuple(mentions)))
        else:
            dated.append(extraction)
    named = chunk_names(texts, [extraction.mentions for extraction in dated], cannot_link)
    related = any(extraction.relations for extraction in extractions)
    persons = full_names([extraction.mentions for extraction in extractions], cannot_link) if related else {}
    words = word_hashes([f"{title}\n{text}" for text in texts])
    chunks = tuple(
        ChunkPart(hashes, names, _build_links(extraction, names, persons))
        for hashes, (names, _), extraction in zip(words, named, dated, strict=True)
    )
    aliases = set()
    for extraction, (_, brackets) in zip(dated, named, strict=True):
        for position, inner in brackets:
            full, short = extraction.mentions[position].name, extraction.mentions[inner].name
            if _abbreviates(short, full) and (key_of(short), key_of(full)) not in cannot_link:
                aliases.add((key_of(short), key_of(full)))
    return DocumentPart(chunks, _find_subjects(title, extractions), tuple(Alias(*pair) for pair in sorted(aliases)))


def _build_links(
    extraction: Extraction, names: Sequence[NamedInChunk], full_names: Mapping[str, str]
) -> tuple[ExtractedRelation, ...]:
    if not extraction.relations:
        return ()
    positions = {name.key: index for index, name in enumerate(names)}
    key = {mention.name: mention_key(mention.name, mention.kind) for mention in extraction.mentions}
    strongest: dict[tuple[int, int], float] = {}
    for relation in extraction.relations:
        ends = [key.get(name) or key_of(name) for name in (relation.source, relation.target)]
        source, target = (positions.get(full_names.get(end, end), positions.get(end)) for end in ends)
        if source is not None and target is not None and source != target:
            strongest[source, target] = max(relation.strength, strongest.get((source, target), 0.0))
    return tuple(ExtractedRelation(*ends, strength) for ends, strength in list(strongest.items())[:MOST_LINKS])


def _find_subjects(title: str, extractions: Sequence[Extraction]) -> tuple[Subject, ...]:
    """Return what a document is about: the name and days in its title, and the name that its text begins with."""
    subjects = []
    key, qualifier = title_of(title)
    if key:
        subjects.append(Subject(key, qualifier, by_title=True))
    days = {key_of(day) for day in days_in(title)} - {key}
    subjects += [Subject(day, "", by_title=True) for day in sorted(days)]
    # The longest name at the first position, if that is near the beginning.
    mentions = extractions[0].mentions if extractions else ()
    leads = [mention for mention in mentions if mention.start <= _LEAD and mention.kind not in _NO_SUBJECTS]
    if leads:
        longest = min(leads, key=lambda mention: (mention.start, -mention.end))
        lead = mention_key(longest.name, longest.kind)
        if len(lead) >= SHORTEST_KEY and lead != key and lead not in days:
            subjects.append(Subject(lead, "", by_title=False))
    return tuple(subjects)


def _abbreviates(short: str, full: str) -> bool:
    """Return whether a short name is the initials of a longer name's words, or of its capitalised words."""
    letters = [character for character in short if character.isalpha()]
    if not 2 <= len(letters) <= 10 or not all(character.isupper() for character in letters):
        return False
    words = [word for word in full.replace("-", " ").split() if word[0].isalpha()]
    capitals = "".join(word[0] for word in words if word[0].isupper())
    return "".join(letters) in (capitals, "".join(word[0].upper() for word in words))
