"""Search by words: BM25, and codes and quoted phrases that must stand there word for word."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from monograph import telemetry
from monograph.derive.extract.function_words import FUNCTION_WORDS, language_of
from monograph.regex import regex
from monograph.search.ranking import ranking
from monograph.store.words import terms

if TYPE_CHECKING:
    from monograph.search.frequencies import Frequencies
    from monograph.search.ranking import Ranking
    from monograph.search.reader import Reader
    from monograph.store.documents.filters import Allowed

MOST_WORDS = 64
"""A longer query is cut down to its rarest words."""

CANDIDATES = 256
"""Most chunks whose text is read to verify one code or phrase."""

LOOSE = 0.5
"""What a code is worth that stands there as a part of a longer one (INV-2024 in INV-2024-A)."""

_QUOTED = regex(r'"([^"]{2,200})"|“([^”]{2,200})”|„([^“]{2,200})“|«([^»]{2,200})»')
_JOINED = r"[-_./:#@+]"
_CODE = regex(rf"\w+(?:{_JOINED}\w+)*")
_YEARS = regex(r"\d{4}[-/]\d{4}")


def counted(query: str) -> tuple[set[str], set[str]]:
    """(the words of a question, those that name nothing)."""
    words, small = set(terms.words_of(query)), FUNCTION_WORDS[language_of(query)]
    return words - small, words & small


def of_question(snapshot: Reader, query: str) -> Frequencies:
    """Of the words of a question."""
    return snapshot.frequencies(*counted(query))


@telemetry.traced("monograph.search.words")
def bm25(snapshot: Reader, query: str, k: int, allowed: Allowed, known: Frequencies) -> Ranking:
    """BM25 (FTS5's: k1 = 1.2, b = 0.75) over title and text of each chunk; any word of the query may match.

    Common words are not looked up, unless there are no others; in half of the chunks they have no weight in BM25.
    ``known`` are the frequencies of the query's words. Where fewer than k chunks have one, the ranking is exhaustive.
    """
    words = list(dict.fromkeys(terms.words_of(query)))
    # A single character of writing without spaces matches pairs, which have frequencies of their own.
    found = [word for word in words if 0 < known.chunks.get(word, len(word) == 1) <= known.most]
    if not found:
        known = snapshot.frequencies(words)
        found = [word for word in words if word in known.chunks]
    rarest = sorted(found, key=lambda word: known.chunks.get(word, 0))[:MOST_WORDS]
    best = ranking(snapshot, "lexical", snapshot.bm25(rarest, k, allowed), k)
    return replace(best, is_exhaustive=len(best.rows) < k)


def word_for_word(snapshot: Reader, retriever: str, wanted: Sequence[str], k: int, allowed: Allowed) -> Ranking:
    """Chunks that hold codes or phrases word for word (RAGdb, Sec. 4.2, mended).

    The paper lifts a text that holds the whole query as a substring: that does nothing for a question, and finds
    INV-2024 inside INV-20245. Here each code counts by itself, at word boundaries.

    Parameters
    ----------
    snapshot:
        What is searched.
    retriever:
        What the ranking is called: ``exact`` for :func:`codes`, ``phrase`` for :func:`phrases`.
    wanted:
        The codes or phrases.
    k:
        Most chunks to return.
    allowed:
        Which chunks may be found.

    Returns
    -------
    Scores in (0, 1]: the mean over ``wanted`` of 1 (stands alone), 0.5 (is a part of a longer code) or 0.
    """
    found: dict[int, float] = {}
    for text in wanted:
        for row, value in snapshot.holding(text, allowed):
            if value > 0:
                found[row] = found.get(row, 0.0) + value / len(wanted)
    return ranking(snapshot, retriever, found.items(), k)


@telemetry.traced("monograph.search.word_for_word")
def matches(snapshot: Reader, query: str, k: int, allowed: Allowed) -> list[Ranking]:
    """The chunks that hold the query's codes, and those that hold its quoted phrases, word for word."""
    return [
        word_for_word(snapshot, "exact", codes(query), k, allowed),
        word_for_word(snapshot, "phrase", phrases(query), k, allowed),
    ]


def substring(snapshot: Reader, query: str, k: int, allowed: Allowed) -> Ranking:
    """Chunks whose text holds the whole query as a substring, case and accents aside; each scores 1."""
    needle = terms.fold(query.strip())
    rows = snapshot.containing(needle, CANDIDATES, allowed)
    texts = snapshot.titled_texts(rows)
    held = ((row, 1.0) for row, (_, text) in zip(rows, texts, strict=True) if needle in terms.fold(text))
    return ranking(snapshot, "substring", held, k)


def codes(query: str) -> list[str]:
    """The parts of a query that name one thing exactly: INV-2024, UNIQUE_CODE_7, XK42B, x.25, 555-123-4567.

    A code has a digit and a letter, and starts with a letter or has a capital; or it has eight digits and a joining
    mark. 2024, 3rd, 24-yard and the years 1992-93 are none.
    """
    if not any(map(str.isdigit, query)):
        return []
    return [part for part in dict.fromkeys(_CODE.findall(_QUOTED.sub(" ", query))) if _is_code(part)]


def _is_code(part: str) -> bool:
    digits = sum(character.isdigit() for character in part)
    if any(character.isalpha() for character in part):
        return digits > 0 and len(part) > 2 and (part[0].isalpha() or part != part.lower())
    return digits >= 8 and _YEARS.fullmatch(part) is None and re.search(_JOINED, part) is not None


def phrases(query: str) -> list[str]:
    """What stands in quotation marks in a query."""
    return [next(part for part in groups if part) for groups in _QUOTED.findall(query)]


def worth(code: str, text: str) -> float:
    """1 where the code stands alone, LOOSE where it is a whole word of a longer code, else 0."""
    folded, pattern = terms.fold(text), re.escape(terms.fold(code.strip()))
    if re.search(rf"(?<!\w)(?<!\w{_JOINED}){pattern}(?!\w)(?!{_JOINED}\w)", folded):
        return 1.0
    return LOOSE if re.search(rf"(?<!\w){pattern}(?!\w)", folded) else 0.0
