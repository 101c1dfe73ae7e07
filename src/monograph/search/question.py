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
from monograph.dates.relative import TIMES, days_without_year, requested_periods
from monograph.dates.span import days_in
from monograph.derive.extract.function_words import ASKING_WORDS, FUNCTION_WORDS, language_of
from monograph.graph.names import key_of, split_joined_words
from monograph.graph.text import word_hash
from monograph.regex import regex
from monograph.search.names import chinese_spans
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
"""Longest phrase of a question, in words, that is looked up as a name."""

YEARS = range(1900, 2100)
MOST_YEARS = 3
"""Largest number of dates that a day without a year may mean: all dates in the file with this day and month. If the
file has more such dates, the day means none of them."""

MOST_READ = 2_000
"""Number of characters, from the beginning of a question, in which a period is looked for."""

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
    """A name in the question that the file knows.

    ``name`` is the name as the file stores it. ``share`` is the weight of the name's words, divided by the weight of
    all words of the question, from 0 to 1.
    """

    name: NameRow
    share: float


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """A parsed question.

    ``text`` is the question as it was given.
    ``keys`` are the keys of all words of the question.
    ``words`` are the hashes of the content words, uint32, ascending. A word that no chunk contains is left out. A word
    that more than half of all chunks contain is left out, too.
    ``weights`` are the inverse document frequencies of ``words``, float64, scaled to a sum of 1.
    ``place`` maps each hash to its position in ``words``.
    ``names`` are the longest names in the question that the file knows. No name is a part of another name.
    ``unknown`` are the capitalised words that are in none of ``names``. The first word of the question and function
    words are left out.
    ``clauses`` are the parts of the question that have at least three words; the whole text if there is no such part.
    ``counts`` has the number of chunks with each word, and the chunks that may have each code or quoted phrase.
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
        """Return the positions, in the question's :attr:`words`, of the given folded words.

        Words that the question does not have are left out.
        """
        positions = set(map(self.place.get, map(word_hash, words)))
        positions.discard(None)
        return cast("frozenset[int]", frozenset(positions))


@dataclass(frozen=True, slots=True)
class _Token:
    """A word of a question: as it is written, and its key.

    ``is_capital`` is true if it begins with a capital letter and is not a function word.
    """

    written: str
    key: str
    is_capital: bool


@telemetry.traced("monograph.search.question")
def parse(reader: Reader, query: Query) -> Question:
    """Return the parsed question of a query.

    It has the words of the question with the number of chunks that contain each, the names that the file knows, and the
    clauses: see :class:`Question`.
    """
    text = query.text
    small = FUNCTION_WORDS[language_of(text)] | ASKING_WORDS
    tokens: list[_Token] = []
    telling: list[str] = []
    for written in _TOKEN.findall(_POSSESSIVE.sub(" ", text)):
        if key := key_of(written):
            tokens.append(_Token(written, key, key not in small and written[0].isupper()))
            if key not in small:
                # A Latin word is one word of the index; a run of Chinese characters is several pairs.
                telling += words_of(key)
    words = words_of(text)
    counts = count(
        reader, query, ({*telling, *[word for word in words if word not in small]}, small.intersection(words))
    )
    weights = {  # Words that no chunk has, or more than half of all, tell nothing.
        key: math.log((counts.total + 1) / (counts.chunks[key] + 0.5))
        for key in list(dict.fromkeys(telling))[:MOST_WORDS]
        if 0 < counts.chunks.get(key, 0) <= counts.total / 2
    }
    hashes: dict[int, float] = {}
    for key, weight in weights.items():
        number = word_hash(key)
        hashes[number] = max(hashes.get(number, 0.0), weight)
    total = sum(hashes.values()) or 1.0
    ordered = sorted(hashes)
    name_rows, unknown = _find_names(reader, tokens, small)
    if not text.isascii():
        name_rows += _find_unspaced(reader, text, name_rows)
    name_rows += _find_other_forms(reader, text, tokens, name_rows)
    named_entities = []
    for row in name_rows:
        name_weight = sum([hashes[word_hash(key)] for key in words_of(row.key) if key in weights])
        named_entities.append(NamedEntity(row, min(1.0, name_weight / total)))
    return Question(
        text=text,
        keys=frozenset([token.key for token in tokens]),
        words=np.array(ordered, dtype=np.uint32),
        place=dict(zip(ordered, range(len(ordered)), strict=True)),
        weights=np.array([hashes[hashed] / total for hashed in ordered], dtype=np.float64),
        names=tuple(named_entities),
        unknown=unknown,
        clauses=clauses(text),
        counts=counts,
    )


def clauses(text: str) -> tuple[str, ...]:
    """Return at most MOST_CLAUSES parts of a question, each of at least three words.

    If no part has three words, return the whole text as the only part.
    """
    parts = [part.strip() for part in _CLAUSE.split(text) if len(part.split()) >= SHORTEST_CLAUSE]
    return tuple(parts[:MOST_CLAUSES]) or (text,)


def _find_names(reader: Reader, tokens: list[_Token], small: Collection[str]) -> tuple[list[NameRow], tuple[str, ...]]:
    """Return (longest known names, capitalised words in none of them). ``small`` are function words."""
    keys = [token.key for token in tokens]
    spans: dict[tuple[int, int], str] = {}
    for length in range(min(LONGEST_NAME, len(tokens)), 0, -1):
        for first in range(len(tokens) - length + 1):
            spans[first, first + length] = " ".join(keys[first : first + length])
    by_key = reader.names.known(set(spans.values()))
    subject_rows = reader.names.subjects_among([row.row for row in by_key.values()])
    in_name = [False] * len(tokens)
    names: dict[str, NameRow] = {}
    for (first, last), key in spans.items():
        row = by_key.get(key)
        if row is None or any(in_name[first:last]):
            continue
        # Words count as a name if they begin with a capital or digit, or if they are several and a document's subject.
        alone = last - first == 1
        is_name = not alone and row.row in subject_rows
        for token in tokens[first:last]:
            letter = token.written[0]
            is_name |= (letter.isupper() or letter.isdigit()) and not (alone and token.key in small)
        if is_name:
            names[row.key] = row
            in_name[first:last] = [True] * (last - first)
    # The first word of a question is capitalised anyway.
    unknown = [
        token.written for token, used in zip(tokens[1:], in_name[1:], strict=True) if token.is_capital and not used
    ]
    return list(names.values()), tuple(dict.fromkeys(unknown))


def _find_unspaced(reader: Reader, text: str, excluded: Sequence[NameRow]) -> list[NameRow]:
    """Return the longest known names in Chinese text that are not ``excluded``."""
    spans = list(chinese_spans(text))
    by_key = reader.names.known({key for *_, key in spans})
    subject_rows = reader.names.subjects_among([row.row for row in by_key.values()])
    excluded_rows = {row.row for row in excluded}
    longest: dict[int, NameRow] = {}
    covered: set[int] = set()
    for start, end, key in sorted(spans, key=lambda span: (span[0] - span[1], span[0])):
        row = by_key.get(key)
        # A name of two characters is returned only if a document is about it.
        if row is not None and covered.isdisjoint(range(start, end)) and (end - start > 2 or row.row in subject_rows):
            covered.update(range(start, end))
            longest[row.row] = row
    return [row for number, row in longest.items() if number not in excluded_rows]


def _find_other_forms(reader: Reader, text: str, tokens: list[_Token], excluded: Sequence[NameRow]) -> list[NameRow]:
    """Return the names, without ``excluded``, that the question writes in another form than the file, in key order."""
    # A person's name may be written as one word, and a day in another format or without its year.
    written = [parts for token in tokens if (parts := split_joined_words(token.written)) != token.written]
    yearless: list[NameRow] = []
    if any(map(str.isdecimal, text)):  # A text without a digit names no day.
        written += days_in(text)
        for month, day in days_without_year(text):
            of_years = reader.names.known([f"{year} {month:02} {day:02}" for year in YEARS])
            yearless += of_years.values() if len(of_years) <= MOST_YEARS else ()
    # A capitalised word between uncapitalised ones may be a first name.
    capital = [False, *[token.is_capital for token in tokens], False]
    first = {
        token.key
        for index, token in enumerate(tokens, start=1)
        if capital[index] and not (capital[index - 1] or capital[index + 1])
    }
    candidates = (*reader.names.known(set(map(key_of, written))).values(), *yearless, *reader.names.called(first))
    rows = {row.row: row for row in candidates}
    for row in excluded:
        rows.pop(row.row, None)
    return sorted(rows.values(), key=attrgetter("key"))


def times_of(reader: Reader, query: Query) -> tuple[TimeSpan, ...]:
    """Return the periods that a question asks for.

    The result is empty if no document has a date, or if the query has a reranker. Relative periods, such as *last
    week*, are counted from the day of the newest document. If a corpus no longer grows, its users mean a time near that
    day rather than near today. In addition, the same question then finds the same hits whenever it is asked.
    """
    text = query.text[:MOST_READ]
    if query.reranker is not None or TIMES.search(text) is None:
        return ()
    newest = reader.newest()
    return () if newest is None else requested_periods(text, datetime.fromtimestamp(newest, UTC).date())
