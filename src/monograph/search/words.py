"""Search by words: BM25, and codes and quoted phrases that must stand there word for word."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from monograph.derive.extract.function_words import FUNCTION_WORDS, language_of
from monograph.search.ranking import Ranking, ranking
from monograph.store import postings, readable, terms
from monograph.store.database import Connection
from monograph.store.filters import Allowed
from monograph.store.postings import Counted, Postings

WEIGHTS = terms.Weights(title=1.0, text=1.0)
COMMON = 0.08
SOME = 250
"""Words that stand in more than this share of the chunks, and in more than so many of them or in half, are not looked
up, unless there are no others: they cost most and tell least (docs/measuring.md)."""

MOST_WORDS = 64
"""A longer query is cut down to its rarest words."""

CANDIDATES = 256
"""Most chunks whose text is read to verify one code or phrase."""

LOOSE = 0.5
"""What a code is worth that stands there as a part of a longer one (INV-2024 in INV-2024-A)."""

_QUOTED = re.compile(r'"([^"]{2,200})"|“([^”]{2,200})”|„([^“]{2,200})“|«([^»]{2,200})»')
_JOINED = r"[-_./:#@+]"
_CODE = re.compile(rf"\w+(?:{_JOINED}\w+)*")
_YEARS = re.compile(r"\d{4}[-/]\d{4}")


@dataclass(frozen=True, slots=True)
class Frequencies:
    """In how many of ``total`` chunks each of some folded words stands; one that stands in none is not in ``chunks``.

    Words that name nothing are counted until they are common. A search asks once: to count goes over all that is
    known of a word. ``postings`` are what was read to count them, where that is not FTS5's work.
    """

    total: int
    chunks: Mapping[str, int]
    postings: Postings | None = None

    @property
    def most(self) -> float:
        """A word that stands in more chunks is common."""
        return _most(self.total)


def frequencies(
    connection: Connection, asked: Iterable[str], small: Iterable[str] = (), counted: Counted | None = None
) -> Frequencies:
    """Of some folded words, and of some that name nothing; ``counted`` is of the same state of the file."""
    total = terms.count(connection)
    words = set(asked)
    few = {word for word in small if word not in words and word.isascii()}
    read = postings.read(connection, words.union(small) - few, few, int(_most(total)) + 1, counted)
    if read is not None:
        return Frequencies(total, read.chunks, read)
    chunks = terms.document_frequency(connection, words.union(small) - few)
    return Frequencies(total, {**chunks, **terms.counted(connection, few, int(_most(total)) + 1)})


def _most(total: int) -> float:
    return max(total * COMMON, min(total / 2, SOME))


def of_question(connection: Connection, query: str, counted: Counted | None = None) -> Frequencies:
    """Of the words of a question."""
    words, small = set(terms.words_of(query)), FUNCTION_WORDS[language_of(query)]
    return frequencies(connection, words - small, words & small, counted)


def bm25(connection: Connection, query: str, k: int, allowed: Allowed, known: Frequencies | None = None) -> Ranking:
    """BM25 (FTS5's: k1 = 1.2, b = 0.75) over title and text of each chunk; any word of the query may match.

    Common words are not looked up, unless there are no others; in half of the chunks they have no weight in BM25.
    ``known`` are the frequencies of the query's words, where they were asked for already.
    """
    words = list(dict.fromkeys(terms.words_of(query)))
    known = known or of_question(connection, query)
    # A single character of writing without spaces matches pairs, which have frequencies of their own.
    found = [word for word in words if 0 < known.chunks.get(word, len(word) == 1) <= known.most]
    if not found:
        known = frequencies(connection, words)
        found = [word for word in words if word in known.chunks]
    rarest = sorted(found, key=lambda word: known.chunks.get(word, 0))[:MOST_WORDS]
    scored = None
    if known.postings is not None and known.postings.can_rank(rarest):
        scored = known.postings.bm25(connection, rarest, k, WEIGHTS, allowed)
    if scored is None:
        scored = terms.bm25(connection, rarest, k, WEIGHTS, allowed)
    return ranking(connection, "lexical", scored, k)


def word_for_word(connection: Connection, retriever: str, wanted: Sequence[str], k: int, allowed: Allowed) -> Ranking:
    """Chunks that hold codes or phrases word for word (RAGdb, Sec. 4.2, mended).

    The paper lifts a text that holds the whole query as a substring: that does nothing for a question, and finds
    INV-2024 inside INV-20245. Here each code counts by itself, at word boundaries.

    Parameters
    ----------
    connection:
        A read transaction.
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
        rows = terms.phrase(connection, text, CANDIDATES, allowed)
        for row, titled in zip(rows, readable.titled_texts(connection, rows), strict=True):
            worth = _worth(text, "\n".join(titled))
            if worth > 0:
                found[row] = found.get(row, 0.0) + worth / len(wanted)
    return ranking(connection, retriever, found.items(), k)


def matches(connection: Connection, query: str, k: int, allowed: Allowed) -> list[Ranking]:
    """The chunks that hold the query's codes, and those that hold its quoted phrases, word for word."""
    return [
        word_for_word(connection, "exact", codes(query), k, allowed),
        word_for_word(connection, "phrase", phrases(query), k, allowed),
    ]


def substring(connection: Connection, query: str, k: int, allowed: Allowed) -> Ranking:
    """Chunks whose text holds the whole query as a substring, case and accents aside; each scores 1."""
    needle = terms.fold(query.strip())
    rows = terms.containing(connection, needle, CANDIDATES, allowed)
    texts = readable.titled_texts(connection, rows)
    held = ((row, 1.0) for row, (_, text) in zip(rows, texts, strict=True) if needle in terms.fold(text))
    return ranking(connection, "substring", held, k)


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


def _worth(code: str, text: str) -> float:
    """1 where the code stands alone, LOOSE where it is a whole word of a longer code, else 0."""
    folded, pattern = terms.fold(text), re.escape(terms.fold(code.strip()))
    if re.search(rf"(?<!\w)(?<!\w{_JOINED}){pattern}(?!\w)(?!{_JOINED}\w)", folded):
        return 1.0
    return LOOSE if re.search(rf"(?<!\w){pattern}(?!\w)", folded) else 0.0
