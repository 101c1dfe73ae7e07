"""Lexical search: BM25 over the rarest words of a query, TF-IDF, and exact matches of codes and quoted phrases."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from monograph.derive.extract.function_words import FUNCTION_WORDS, language_of
from monograph.regex import regex
from monograph.search import rerank
from monograph.search.fusion import best_hits, ranking
from monograph.search.reader import PoolRequest
from monograph.store.words import terms

if TYPE_CHECKING:
    from monograph.search.fusion import Ranking
    from monograph.search.query import Query
    from monograph.search.reader import Counts, Pool, Reader, WalkRequest
    from monograph.store.documents.filters import CompiledFilter
    from monograph.values import Float32, Hit

MOST_WORDS = 64
"""Most words of a query that are looked up. Of a longer query, only the rarest words are looked up."""

COMMON = 0.08
SOME = 250
"""A word is common if the number of chunks that contain it is above two limits. The first limit is COMMON, a share of
all chunks. The second limit is SOME chunks; in a corpus of fewer than 2 * SOME chunks it is half of all chunks. Common
words are looked up only if the query has no other words: they cost most and matter least."""

CANDIDATES = 256
"""Most chunks whose text is read to verify one code or phrase."""

TFIDF_CANDIDATES = 64
"""Least number of candidates for which TF-IDF scores are computed: the chunks with the best BM25 scores. A search for k
hits takes 4 * k candidates if that is more. Chunks that contain a code or the whole query are further candidates."""

LOOSE = 0.5
"""Score of a code in a chunk that contains it only as a part of a longer code (INV-2024 in INV-2024-A)."""

_QUOTED = regex(r'"([^"]{2,200})"|“([^”]{2,200})”|„([^“]{2,200})“|«([^»]{2,200})»')
_JOINED = r"[-_./:#@+]"
_CODE = regex(rf"\w+(?:{_JOINED}\w+)*")
_YEARS = regex(r"\d{4}[-/]\d{4}")


def common_word_limit(total: int) -> float:
    """Return the number of chunks above which a word is common: a word in more chunks is common (see SOME).

    ``total`` is the number of chunks in the corpus.
    """
    return max(total * COMMON, min(total / 2, SOME))


def count(reader: Reader, query: Query, counted: tuple[Collection[str], Collection[str]] | None = None) -> Counts:
    """Return the counts of a query's words, and the chunks that contain its codes and quoted phrases.

    ``counted`` is (content words, function words): these words are counted instead of the words of the query.
    """
    if counted is None:
        words, small = set(terms.words_of(query.text)), FUNCTION_WORDS[language_of(query.text)]
        counted = words - small, words & small
    return reader.count(*counted, [*codes(query.text), *phrases(query.text)], allowed=query.filter)


def pool(
    reader: Reader, query: Query, counts: Counts, k: int, vector: Float32 | None = None, walk: WalkRequest | None = None
) -> tuple[Pool, list[Ranking]]:
    """Return (candidates of a search, rankings of these candidates).

    The first ranking is by BM25. The second is by cosine to ``vector``; it is left out if there is no vector. Each
    ranking has at most ``k`` chunks. If the lexical ranking has fewer, it has all chunks that contain a looked-up word,
    and is marked as exhaustive. Common words are looked up only if the query has no other words. BM25 gives no weight
    to a word that half of the chunks contain. ``counts`` are the counts of the query's words. ``walk`` requests the
    additional data that a graph search needs; None for other searches.
    """
    words = list(dict.fromkeys(terms.words_of(query.text)))
    # A single character of a script without spaces matches all pairs that begin with it; only the pairs have counts.
    chunk_counts, most = counts.chunks, common_word_limit(counts.total)
    frequencies = {
        word: chunk_counts.get(word, 0) for word in words if 0 < chunk_counts.get(word, len(word) == 1) <= most
    }
    if not frequencies:
        counts = reader.count(words, allowed=query.filter)
        frequencies = {word: counts.chunks[word] for word in words if word in counts.chunks}
    rarest = sorted(frequencies, key=frequencies.__getitem__)[:MOST_WORDS]
    candidates = reader.pool(PoolRequest(k, query.filter, rarest, counts, vector, stop=query.stop, walk=walk))
    lexical = ranking(reader, "lexical", candidates.lexical, k)
    rankings = [replace(lexical, is_exhaustive=len(lexical.rows) < k)]
    if vector is not None:
        rankings.append(ranking(reader, "dense", candidates.dense, k, candidates.effort))
    return candidates, rankings


def exact_matches(reader: Reader, retriever: str, counts: Counts, wanted: Sequence[str], k: int) -> Ranking:
    """Return the ranking of the chunks that contain codes or phrases word for word (RAGdb, Sec. 4.2, corrected).

    The paper raises the score of a text that contains the whole query as a substring. A text hardly ever contains a
    whole question, and a substring search finds INV-2024 inside INV-20245. Here each code counts separately, at word
    boundaries.

    ``wanted`` are the codes or phrases. ``retriever`` is the name of the ranking: ``exact`` if ``wanted`` are
    :func:`codes`, ``phrase`` if they are :func:`phrases`. A chunk scores 1 for a code or phrase that it contains by
    itself, 0.5 for one that it contains only as a part of a longer code, and else 0. The chunk's score is the mean of
    these scores, in (0, 1]. Chunks that contain no code or phrase are left out. The ranking has at most ``k`` chunks.
    """
    scores: dict[int, float] = {}
    for text in wanted:
        for row, value in counts.held.get(text, ()):
            if value > 0:
                scores[row] = scores.get(row, 0.0) + value / len(wanted)
    return ranking(reader, retriever, scores.items(), k)


def matches(reader: Reader, query: Query, counts: Counts, k: int) -> list[Ranking]:
    """Return two rankings: chunks that contain the query's codes, and chunks that contain its quoted phrases.

    The list is empty if the query has no codes and no phrases.
    """
    if not counts.held:
        return []
    return [
        exact_matches(reader, "exact", counts, codes(query.text), k),
        exact_matches(reader, "phrase", counts, phrases(query.text), k),
    ]


def substring(reader: Reader, query: str, k: int, allowed: CompiledFilter) -> Ranking:
    """Return the ranking of the chunks that contain the whole query; each scores 1.

    Case and accents are ignored. At most CANDIDATES chunks are read, and at most k returned.
    """
    needle = terms.fold(query.strip())
    rows = reader.containing(needle, CANDIDATES, allowed)
    texts = reader.titled_texts(rows)
    scored = ((row, 1.0) for row, (_, text) in zip(rows, texts, strict=True) if needle in terms.fold(text))
    return ranking(reader, "substring", scored, k)


def codes(query: str) -> list[str]:
    """Return the parts of a query that look like codes: INV-2024, UNIQUE_CODE_7, XK42B, x.25, 555-123-4567.

    A part with a digit and a letter is a code if it begins with a letter or contains a capital. A part without letters
    is a code if it has at least eight digits and a joining mark (one of ``-_./:#@+``), and is not a pair of years.
    2024, 3rd, 24-yard and the years 1992-93 are not codes.
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
    """Return the phrases of a query that are in quotation marks, in order, without the marks."""
    return [next(part for part in groups if part) for groups in _QUOTED.findall(query)]


def worth(code: str, text: str) -> float:
    """Return 1 if the text contains the code by itself, LOOSE if only as a part of a longer code, else 0.

    The code must begin and end at word boundaries. Case and accents are ignored.
    """
    folded, pattern = terms.fold(text), re.escape(terms.fold(code.strip()))
    if re.search(rf"(?<!\w)(?<!\w{_JOINED}){pattern}(?!\w)(?!{_JOINED}\w)", folded):
        return 1.0
    return LOOSE if re.search(rf"(?<!\w){pattern}(?!\w)", folded) else 0.0


def search_tfidf(reader: Reader, query: Query, alpha: float, beta: float) -> list[Hit]:
    """Return hits by RAGdb's hybrid score (Sec. 4): ``alpha`` * cosine + ``beta`` * word-for-word match.

    The cosine is that of sublinear TF-IDF vectors of unit length, with tf = 1 + ln f and idf = ln(N / (1 + df)) + 1.
    The match is 1 for a text that contains the whole query, else the score of :func:`exact_matches` for codes.
    The paper's code stores the vectors, which become wrong as soon as one document changes N or df. Here only the
    counts of the index are stored, and idf is computed when a query is searched for.
    """
    counts = count(reader, query)
    k = rerank.most(query)
    most = max(TFIDF_CANDIDATES, 4 * k)
    exact = exact_matches(reader, "exact", counts, codes(query.text), most)
    lifted = dict(zip(exact.rows, exact.scores, strict=True))
    lifted.update((row, 1.0) for row in substring(reader, query.text, most, query.filter).rows)
    _, (lexical,) = pool(reader, query, counts, most)
    rows = list(dict.fromkeys([*lexical.rows, *lifted]))
    texts = [Counter(terms.words_of("\n".join(titled))) for titled in reader.titled_texts(rows)]
    query_words = Counter(terms.words_of(query.text))
    vocabulary = {word for count in [query_words, *texts] for word in count}
    frequencies = reader.document_frequency(vocabulary).items()
    idf = {word: math.log(counts.total / (1 + frequency)) + 1 for word, frequency in frequencies}
    vector = unit_vector(query_words, idf)
    scored = []
    for row, text_words in zip(rows, texts, strict=True):
        other = unit_vector(text_words, idf)
        cosine = sum(weight * other.get(word, 0.0) for word, weight in vector.items())
        scored.append((row, alpha * cosine + beta * lifted.get(row, 0.0)))
    ranked = ranking(reader, "tfidf", scored, k)
    scores = dict(zip(ranked.rows, ranked.scores, strict=True))
    return rerank.hits(query, best_hits(reader, scores, [ranked], k))


def unit_vector(counts: Mapping[str, int], idf: Mapping[str, float]) -> dict[str, float]:
    """Return the TF-IDF vector of word counts: (1 + ln f) * idf of each word, scaled to unit length.

    ``counts`` has the number of occurrences f of each word. Words without an idf are left out.
    """
    weights = {word: (1 + math.log(count)) * idf[word] for word, count in counts.items() if word in idf}
    length = math.sqrt(sum(weight * weight for weight in weights.values()))
    return {word: weight / length for word, weight in weights.items()} if length > 0 else {}
