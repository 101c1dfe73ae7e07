"""A question taken apart: its words and what they weigh, the names in it that the file knows, its clauses."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from monograph import telemetry
from monograph.dates.span import days_in
from monograph.derive.extract.function_words import ASKING_WORDS, FUNCTION_WORDS, language_of
from monograph.graph.names import key_of, spaced
from monograph.graph.near_days import yearless_days_in
from monograph.graph.text import word_hash
from monograph.regex import regex
from monograph.search.titles import unspaced_spans
from monograph.search.words import count
from monograph.store.words.terms import words_of

if TYPE_CHECKING:
    from monograph.graph.evidence import Float64
    from monograph.graph.text import Words
    from monograph.search.query import Query
    from monograph.search.reader import Counts, Reader
    from monograph.store.graph.names import NameRow

LONGEST_NAME = 10
"""Words of a name that is looked for."""

YEARS = range(1900, 2100)
MOST_YEARS = 3
"""A day without a year means that day in the years in which the file knows it, if these are no more."""

MOST_WORDS = 64
MOST_CLAUSES = 8
SHORTEST_CLAUSE = 3
_TOKEN = regex(r"\w+")
_POSSESSIVE = regex(r"['’]s\b")
_CLAUSE = regex(
    r"[,;:?]|\b(?:and|while|whereas|but|before|after|which|that|who|whose|where|when|than|or|both|between|as well as|"
    r"according to|compared to|versus|vs|und|aber|während|welche|der|die|das|y|pero|que|cuando|donde)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class NamedEntity:
    """A name in the question: its row, its entity's row, and which share of the question's words it is."""

    name: NameRow
    share: float


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """A question taken apart.

    Parameters
    ----------
    text:
        As it was asked.
    keys:
        Its folded words, all of them.
    words, weights:
        Hashes of its telling words, ascending, and what each weighs: inverse document frequency, all together 1.
    place:
        Of each hash among ``words``.
    names:
        The longest names in it that the file knows, none within another.
    unknown:
        What looks like a name and is none that the file knows.
    clauses:
        Its parts of three words or more, itself where it has only one.
    counts:
        Of all its words, codes and phrases.
    """

    text: str
    keys: frozenset[str]
    words: Words
    weights: Float64
    place: Mapping[int, int]
    names: tuple[NamedEntity, ...]
    unknown: tuple[str, ...]
    clauses: tuple[str, ...]
    counts: Counts

    def places(self, words: Iterable[str]) -> frozenset[int]:
        """Which of the question's words stand among some folded ones, by their places in ``words``."""
        places = (self.place.get(word_hash(word)) for word in words)
        return frozenset(place for place in places if place is not None)


@dataclass(frozen=True, slots=True)
class _Token:
    written: str
    key: str


@telemetry.traced("monograph.search.question")
def parse(reader: Reader, query: Query) -> Question:
    """Return the query's text taken apart, with the counts of its words."""
    text = query.text
    tokens = _tokens(text)
    small = FUNCTION_WORDS[language_of(text)] | ASKING_WORDS
    telling = _telling(tokens, small)
    words = words_of(text)
    counted = {*telling, *(word for word in words if word not in small)}, [word for word in words if word in small]
    counts = count(reader, query, counted)
    weights = _weights(counts, telling)
    hashes = {word_hash(key): 0.0 for key in weights}
    for key, weight in weights.items():
        hashes[word_hash(key)] = max(hashes[word_hash(key)], weight)
    total = sum(hashes.values()) or 1.0
    ordered = sorted(hashes)
    found, unknown = _names(reader, tokens, small)
    found += _unspaced(reader, text, found)
    found += _otherwise_written(reader, text, tokens, small, found)
    asked = tuple(
        NamedEntity(row, min(1.0, sum(hashes[word_hash(key)] for key in words_of(row.key) if key in weights) / total))
        for row in found
    )
    return Question(
        text=text,
        keys=frozenset(token.key for token in tokens),
        words=np.array(ordered, dtype=np.uint32),
        place={one: place for place, one in enumerate(ordered)},
        weights=np.array([hashes[one] / total for one in ordered], dtype=np.float64),
        names=asked,
        unknown=unknown,
        clauses=clauses(text),
        counts=counts,
    )


def _telling(tokens: list[_Token], small: Collection[str]) -> list[str]:
    # A word of Latin writing is one of the index; a run of Chinese is several pairs.
    return [word for token in tokens if token.key not in small for word in words_of(token.key)]


def _tokens(text: str) -> list[_Token]:
    written = (found.group() for found in _TOKEN.finditer(_POSSESSIVE.sub(" ", text)))
    return [_Token(one, key) for one in written if (key := key_of(one))]


def clauses(text: str) -> tuple[str, ...]:
    """The parts of a question, of three words or more; the whole of it where it has fewer than two such parts."""
    parts = [part.strip() for part in _CLAUSE.split(text)]
    long = tuple(part for part in parts if len(part.split()) >= SHORTEST_CLAUSE)[:MOST_CLAUSES]
    return long or (text,)


def _weights(known: Counts, keys: list[str]) -> dict[str, float]:
    """Inverse document frequency of the telling words: known to the file, in at most half of the chunks."""
    telling = list(dict.fromkeys(keys))[:MOST_WORDS]
    total, frequency = known.total, known.chunks
    return {
        key: math.log((total + 1) / (frequency[key] + 0.5)) for key in telling if 0 < frequency.get(key, 0) <= total / 2
    }


def _names(snapshot: Reader, tokens: list[_Token], small: Collection[str]) -> tuple[list[NameRow], tuple[str, ...]]:
    """(the longest known names, what has capitals and is none of them)."""
    spans = [
        (first, last)
        for length in range(min(LONGEST_NAME, len(tokens)), 0, -1)
        for first in range(len(tokens) - length + 1)
        for last in (first + length,)
    ]
    keys = [token.key for token in tokens]
    key = {(first, last): " ".join(keys[first:last]) for first, last in spans}
    known = snapshot.names.known(set(key.values()))
    about = snapshot.names.subjects_among([row.row for row in known.values()])
    taken = [False] * len(tokens)
    found: dict[str, NameRow] = {}
    for first, last in spans:
        row = known.get(key[first, last])
        if row is None or any(taken[first:last]) or not _may_name(tokens[first:last], small, row.row in about):
            continue
        found[row.key] = row
        taken[first:last] = [True] * (last - first)
    unknown = [
        token.written
        for token, used in zip(tokens[1:], taken[1:], strict=True)
        if not used and token.written[0].isupper() and token.key not in small
    ]
    return list(found.values()), tuple(dict.fromkeys(unknown))


def _unspaced(snapshot: Reader, text: str, found: Sequence[NameRow]) -> list[NameRow]:
    """The longest names in Chinese that the file knows; of two characters only what a document is about."""
    spans = list(unspaced_spans(text))
    if not spans:
        return []
    known = snapshot.names.known({key for *_, key in spans})
    about = snapshot.names.subjects_among([row.row for row in known.values()])
    held = {row.row for row in found}
    longest: dict[int, NameRow] = {}
    taken: set[int] = set()
    for start, end, key in sorted(spans, key=lambda span: (span[0] - span[1], span[0])):
        row = known.get(key)
        if row is None or not taken.isdisjoint(range(start, end)) or (end - start == 2 and row.row not in about):
            continue
        taken.update(range(start, end))
        longest[row.row] = row
    return [row for number, row in longest.items() if number not in held]


def _otherwise_written(
    snapshot: Reader, text: str, tokens: list[_Token], small: Collection[str], found: Sequence[NameRow]
) -> list[NameRow]:
    """Names that the file knows in another form: days, persons written as one word, persons by their first names."""
    handles = [token.written for token in tokens if spaced(token.written) != token.written]
    keys = {key_of(one) for one in (*days_in(text), *map(spaced, handles))}
    first = _alone(tokens, small)
    known = (*snapshot.names.known(keys).values(), *_yearless(snapshot, text), *snapshot.names.called(first))
    rows = {row.row: row for row in known}
    held = {row.row for row in found}
    return sorted((row for number, row in rows.items() if number not in held), key=lambda row: row.key)


def _alone(tokens: list[_Token], small: Collection[str]) -> set[str]:
    """Keys of words with a capital that stand between words without."""
    capital = [False, *(token.written[0].isupper() and token.key not in small for token in tokens), False]
    around = zip(capital, capital[1:], capital[2:], strict=False)
    alone = (here and not (before or after) for before, here, after in around)
    return {token.key for token, one in zip(tokens, alone, strict=True) if one}


def _yearless(snapshot: Reader, text: str) -> list[NameRow]:
    """The days that a question may mean which names no year; none where the file knows them in many."""
    found: list[NameRow] = []
    for month, day in yearless_days_in(text):
        of_years = snapshot.names.known([f"{year} {month:02} {day:02}" for year in YEARS])
        found += of_years.values() if len(of_years) <= MOST_YEARS else ()
    return found


def _may_name(tokens: list[_Token], small: Collection[str], is_subject: bool) -> bool:
    """Whether words of a question are meant as a name: they have a capital, or several are a document's subject."""
    if len(tokens) == 1:
        (one,) = tokens
        return (one.written[0].isupper() or one.written[0].isdigit()) and one.key not in small
    capital = any(token.written[0].isupper() or token.written[0].isdigit() for token in tokens)
    return capital or is_subject
