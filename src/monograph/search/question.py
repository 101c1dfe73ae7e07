"""Parsed question: its words and their weights, the names that the file knows, and its clauses."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from operator import attrgetter
from typing import TYPE_CHECKING, cast

import numpy as np

from monograph import telemetry
from monograph.dates.relative import TIMES, times_asked, yearless_days_in
from monograph.dates.span import days_in
from monograph.derive.extract.function_words import ASKING_WORDS, FUNCTION_WORDS, language_of
from monograph.graph.names import key_of, spaced
from monograph.graph.text import word_hash
from monograph.regex import regex
from monograph.search.names import unspaced_spans
from monograph.search.words import count
from monograph.store.words.terms import words_of

if TYPE_CHECKING:
    from monograph.dates.span import TimeSpan
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

MOST_READ = 2_000
"""Characters of a question in which a time is looked for."""

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
        """Return the places in ``words`` of the question's words that are among some folded ones."""
        places = set(map(self.place.get, map(word_hash, words)))
        places.discard(None)
        return cast("frozenset[int]", frozenset(places))


@dataclass(frozen=True, slots=True)
class _Token:
    """A word as it is written, its key, and whether it has a capital and is no small word."""

    written: str
    key: str
    is_capital: bool


@telemetry.traced("monograph.search.question")
def parse(reader: Reader, query: Query) -> Question:
    """Return the query's text taken apart, with the counts of its words."""
    text = query.text
    small = FUNCTION_WORDS[language_of(text)] | ASKING_WORDS
    tokens: list[_Token] = []
    telling: list[str] = []
    for written in _TOKEN.findall(_POSSESSIVE.sub(" ", text)):
        if key := key_of(written):
            tokens.append(_Token(written, key, key not in small and written[0].isupper()))
            if key not in small:
                # A word of Latin writing is one of the index; a run of Chinese is several pairs.
                telling += words_of(key)
    words = words_of(text)
    counts = count(
        reader, query, ({*telling, *[word for word in words if word not in small]}, small.intersection(words))
    )
    weights = _weights(counts, telling)
    hashes: dict[int, float] = {}
    for key, weight in weights.items():
        number = word_hash(key)
        hashes[number] = max(hashes.get(number, 0.0), weight)
    total = sum(hashes.values()) or 1.0
    ordered = sorted(hashes)
    found, unknown = _names(reader, tokens, small)
    if not text.isascii():
        found += _unspaced(reader, text, found)
    found += _otherwise_written(reader, text, tokens, found)
    asked = []
    for row in found:
        worth = sum([hashes[word_hash(key)] for key in words_of(row.key) if key in weights])
        asked.append(NamedEntity(row, min(1.0, worth / total)))
    return Question(
        text=text,
        keys=frozenset([token.key for token in tokens]),
        words=np.array(ordered, dtype=np.uint32),
        place=dict(zip(ordered, range(len(ordered)), strict=True)),
        weights=np.array([hashes[one] / total for one in ordered], dtype=np.float64),
        names=tuple(asked),
        unknown=unknown,
        clauses=clauses(text),
        counts=counts,
    )


def clauses(text: str) -> tuple[str, ...]:
    """The parts of a question, of three words or more; the whole of it where it has fewer than two such parts."""
    parts = [part.strip() for part in _CLAUSE.split(text) if len(part.split()) >= SHORTEST_CLAUSE]
    return tuple(parts[:MOST_CLAUSES]) or (text,)


def _weights(known: Counts, keys: list[str]) -> dict[str, float]:
    """Inverse document frequency of the telling words: known to the file, in at most half of the chunks."""
    telling = list(dict.fromkeys(keys))[:MOST_WORDS]
    total, frequency = known.total, known.chunks
    return {
        key: math.log((total + 1) / (frequency[key] + 0.5)) for key in telling if 0 < frequency.get(key, 0) <= total / 2
    }


def _names(snapshot: Reader, tokens: list[_Token], small: Collection[str]) -> tuple[list[NameRow], tuple[str, ...]]:
    """(the longest known names, what has capitals and is none of them)."""
    keys = [token.key for token in tokens]
    spans: dict[tuple[int, int], str] = {}
    for length in range(min(LONGEST_NAME, len(tokens)), 0, -1):
        for first in range(len(tokens) - length + 1):
            spans[first, first + length] = " ".join(keys[first : first + length])
    known = snapshot.names.known(set(spans.values()))
    about = snapshot.names.subjects_among([row.row for row in known.values()])
    taken = [False] * len(tokens)
    found: dict[str, NameRow] = {}
    for (first, last), key in spans.items():
        row = known.get(key)
        if row is None or any(taken[first:last]):
            continue
        # Words are meant as a name if they have a capital or digit, or are several and a document's subject.
        alone = last - first == 1
        is_name = not alone and row.row in about
        for token in tokens[first:last]:
            letter = token.written[0]
            is_name |= (letter.isupper() or letter.isdigit()) and not (alone and token.key in small)
        if is_name:
            found[row.key] = row
            taken[first:last] = [True] * (last - first)
    unknown = [
        token.written for token, used in zip(tokens[1:], taken[1:], strict=True) if token.is_capital and not used
    ]
    return list(found.values()), tuple(dict.fromkeys(unknown))


def _unspaced(snapshot: Reader, text: str, found: Sequence[NameRow]) -> list[NameRow]:
    """The longest names in Chinese that the file knows; of two characters only what a document is about."""
    spans = list(unspaced_spans(text))
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


def _otherwise_written(snapshot: Reader, text: str, tokens: list[_Token], found: Sequence[NameRow]) -> list[NameRow]:
    """Names that the file knows in another form: days, persons written as one word, persons by their first names."""
    written = [parts for token in tokens if (parts := spaced(token.written)) != token.written]
    yearless: list[NameRow] = []
    if any(map(str.isdecimal, text)):  # A text without a digit names no day.
        written += days_in(text)
        yearless = _yearless(snapshot, text)
    # Words with a capital that stand between words without.
    capital = [False, *[token.is_capital for token in tokens], False]
    first = {
        token.key
        for at, token in enumerate(tokens, start=1)
        if capital[at] and not (capital[at - 1] or capital[at + 1])
    }
    known = (*snapshot.names.known(set(map(key_of, written))).values(), *yearless, *snapshot.names.called(first))
    rows = {row.row: row for row in known}
    for row in found:
        rows.pop(row.row, None)
    return sorted(rows.values(), key=attrgetter("key"))


def _yearless(snapshot: Reader, text: str) -> list[NameRow]:
    """The days that a question may mean which names no year; none where the file knows them in many."""
    found: list[NameRow] = []
    for month, day in yearless_days_in(text):
        of_years = snapshot.names.known([f"{year} {month:02} {day:02}" for year in YEARS])
        found += of_years.values() if len(of_years) <= MOST_YEARS else ()
    return found


def times_of(reader: Reader, query: Query) -> tuple[TimeSpan, ...]:
    """Return the times that a question asks for, if documents have dates; none if a reranker reads the question.

    What it counts from its own day, as *last week*, is counted from that of the newest document: of a corpus that rests
    that is nearer to what is meant than the clock, and the same question finds the same whenever it is asked.
    """
    text = query.text[:MOST_READ]
    if query.reranker is not None or TIMES.search(text) is None:
        return ()
    newest = reader.newest()
    return () if newest is None else times_asked(text, datetime.fromtimestamp(newest, UTC).date())
