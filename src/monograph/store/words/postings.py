"""Postings of a question's words, read from FTS5's own pages.

FTS5 visits the chunks that have a word one by one, in more than a microsecond each. Reading its pages directly takes a
few nanoseconds a chunk. If the pages have an unknown format, or FTS5's tokenizer might split one of the words,
:mod:`monograph.store.words.terms` queries FTS5 instead, with results that are the same to the bit.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from monograph.regex import regex
from monograph.store.documents import filters
from monograph.store.documents.filters import EVERYTHING, CompiledFilter
from monograph.store.file.database import Connection
from monograph.store.words import terms
from monograph.store.words.inverted import _inverted
from monograph.store.words.prefetch import Prefetcher

_VERSION = 4
"""The version of FTS5's format that this module can read."""
_NO_LIMIT = 1 << 62
_GROWTH_FACTOR = 8
_WEIGHTS = (1.0, 1.0)
"""BM25 weights of the title and the text."""
_CACHED_COUNTS = 16_384
_CACHED_BLOCKS = 1_024
"""Largest number of rows of the table ``lengths`` that are cached. They take 4 MB."""
_CACHED_BYTES = 32 << 20
"""Size of the cache of postings, in bytes. A word takes three bytes for each chunk that has it."""
_IS_ONE_WORD = regex("[0-9a-z\u0430-\u044f\u3041-\u3096\u30a1-\u30fa\u3400-\u4db5\u4e00-\u9fa5\uac00-\ud7a3]+")
"""Pattern of folded words that FTS5's tokenizer keeps unchanged. It may split or change other words."""

_HEADER_QUERY = """SELECT (SELECT v FROM words_config WHERE k = 'version'),
    (SELECT block FROM words_data WHERE id = 1), (SELECT block FROM words_data WHERE id = 10)"""
_FIRST_PAGES_QUERY = """SELECT
    (SELECT pgno FROM words_idx WHERE segid = s.value AND term <= w.term ORDER BY term DESC LIMIT 1),
    (SELECT pgno FROM words_idx WHERE segid = s.value AND term > w.term ORDER BY term LIMIT 1)
    FROM (SELECT key AS place, CAST('0' || value AS BLOB) AS term FROM json_each(?)) AS w
    CROSS JOIN json_each(?) AS s"""
_PAGES_QUERY = """SELECT r.key, d.block FROM json_each(?) AS r CROSS JOIN words_data AS d
    ON d.id BETWEEN json_extract(r.value, '$[0]') AND json_extract(r.value, '$[1]')"""

MOST = 16
"""Largest number of filters whose chunks are cached."""

MOST_ROWS = 1 << 22
"""Largest number of chunk rows that are cached for all filters together. Each takes 8 bytes.

A filter that allows more chunks than this is not cached.
"""

WORTH = 2
"""Cost of testing a single chunk against a filter, relative to the cost per chunk in a scan of all chunks."""


@dataclass(frozen=True, slots=True, eq=False)
class Postings:
    """Postings of folded words, and the number of chunks that have each word.

    ``chunks`` is the number of chunks that have each word, by word; words that no chunk has are left out. For some
    frequent words, the number is the limit at which counting stopped: see ``few`` of :func:`read`. ``whole`` has the
    words whose postings are loaded completely.
    """

    chunks: Mapping[str, int]
    whole: frozenset[str]
    _words: _inverted.Words
    _totals: tuple[int, int]
    _counted: WordCountCache

    def can_rank(self, words: Sequence[str]) -> bool:
        """Return whether :meth:`bm25` can rank chunks by the words.

        It can if the postings of all words are loaded completely, and FTS5's tokenizer keeps each of them as one word.
        """
        each = (_IS_ONE_WORD.fullmatch(word) and not terms.is_half(word) for word in words)
        return self.whole.issuperset(words) and all(each)

    def bm25(
        self,
        connection: Connection,
        words: Sequence[str],
        k: int,
        allowed: CompiledFilter,
        counts: terms.CorpusCounts | None = None,
    ) -> list[tuple[int, float]] | None:
        """Return the result of :func:`monograph.store.words.terms.bm25`; None if the length of a chunk is not stored.

        :meth:`can_rank` must be true for the words. ``counts`` are counts over all files of a shelf: with them, scores
        are the same as if all chunks were in one file.
        """
        if k <= 0 or not words:
            return []
        totals: tuple[float, float] = self._totals if counts is None else (counts.chunks, counts.words)
        chunks_with = None if counts is None else [counts.chunks_with[word] for word in words]
        lengths = self._counted.lengths_of(connection, self._words.blocks(words))
        allowed_chunks = None
        if allowed != EVERYTHING:
            allowed_chunks = self._counted.allowed_rows(connection, allowed, self._totals[0])
        limit = k if allowed_chunks is not None or allowed == EVERYTHING else 4 * k
        matching: list[tuple[int, float]] = []
        seen = 0
        while True:
            best = self._words.best(words, lengths, totals, _WEIGHTS, limit, allowed_chunks, chunks_with)
            if best is None or limit == k:
                self._counted.ahead.chunks(connection, [row for row, _ in best or ()])
                return best
            allowed_rows = self._counted.allowed_among(connection, allowed, [row for row, _ in best[seen:]])
            matching += [pair for pair in best[seen:] if pair[0] in allowed_rows]
            if len(matching) >= k or len(best) < limit:
                return [pair for pair in matching if pair[1] >= matching[min(k, len(matching)) - 1][1]]
            seen, limit = len(best), limit * _GROWTH_FACTOR


class WordCountCache:
    """Cache for one state of a file: counts and postings of words, lengths of chunks, and the rows that filters allow.

    Safe for use by many threads. ``ahead`` asks the system to read pages before SQLite reads them.
    """

    def __init__(self, ahead: Prefetcher | None = None) -> None:
        self.ahead = ahead or Prefetcher()
        self._rows_by_filter: dict[CompiledFilter, npt.NDArray[np.int64]] = {}
        self._tested_counts: dict[CompiledFilter, int] = {}
        self.exact: dict[str, int] = {}
        """Exact number of chunks that have each word."""
        self.common: set[str] = set()
        """Words for which counting stopped at its limit, because too many chunks have them."""
        self._lengths: dict[int, tuple[int, bytes, int]] = {}
        self.kept = _inverted.Kept(_CACHED_BYTES)
        """Postings of recently requested words."""

    def lengths_of(self, connection: Connection, blocks: Sequence[int]) -> list[tuple[int, bytes, int]]:
        """Return (block, lengths of its chunks as bytes of uint16, shortest length that is not 0) of the given blocks.

        A block is a row of the table ``lengths``, with the lengths of 2,000 chunks in words. Blocks that are not stored
        are left out.
        """
        cached = self._lengths
        missing = [block for block in blocks if block not in cached]
        if len(cached) + len(missing) > _CACHED_BLOCKS:
            # A new dict, because another thread may be reading the old one.
            self._lengths = cached = {}
            missing = list(blocks)
        self.ahead.lengths(connection, missing)
        for block, counts in terms.lengths(connection, missing):
            cached[block] = block, counts, _inverted.shortest(counts)
        return [cached[block] for block in blocks if block in cached]

    def allowed_rows(self, connection: Connection, allowed: CompiledFilter, total: int) -> npt.NDArray[np.int64] | None:
        """Return the rows of all chunks that a filter allows, ascending; None if reading them does not pay yet.

        After None, the caller tests single chunks by :meth:`allowed_among`. If SQLite finds the rows by an index, the
        first call reads them. Otherwise they are read when the tests of single chunks have taken as long as a scan of
        all chunks. ``total`` is the number of chunks in the file.
        """
        rows = self._rows_by_filter.get(allowed)
        if rows is None and (allowed.indexed or WORTH * self._tested_counts.get(allowed, 0) >= total):
            rows = filters.rows(connection, allowed)
            cached = self._rows_by_filter.values()
            if len(cached) >= MOST or sum(map(len, cached)) + len(rows) > MOST_ROWS:
                self._rows_by_filter = {}
            if len(rows) <= MOST_ROWS:
                self._rows_by_filter[allowed] = rows
        return rows

    def allowed_among(self, connection: Connection, allowed: CompiledFilter, rows: list[int]) -> set[int]:
        """Return the rows of the given chunks that the filter allows. ``rows`` are row numbers of chunks."""
        if len(self._tested_counts) >= MOST and allowed not in self._tested_counts:
            self._tested_counts = {}
        self._tested_counts[allowed] = self._tested_counts.get(allowed, 0) + len(rows)
        return filters.among(connection, allowed, rows)


def read(
    connection: Connection,
    words: Collection[str],
    few: Collection[str],
    most: int,
    counted: WordCountCache | None = None,
) -> Postings | None:
    """Return the postings of folded words; None if FTS5's pages do not have the expected format.

    Call it in a read transaction. For a word in ``words``, all chunks that have the word are counted. For a word that
    is only in ``few``, counting stops at ``most`` chunks. ``counted`` is a cache for one state of the file and one
    value of ``most``. No postings are loaded for a word whose cached count is ``most`` or more.
    """
    cache = counted or WordCountCache()
    version, totals, layout = connection.execute(_HEADER_QUERY).fetchone()
    sums = terms.totals_of(totals) if isinstance(totals, bytes) else (0, 0)
    if version != _VERSION or sums[0] <= 0 or not isinstance(layout, bytes):
        return None
    chunks = {word: cache.exact[word] for word in words if cache.exact.get(word, -1) >= most}
    chunks.update((word, most) for word in few if word not in words and word in cache.common)
    sorted_words = sorted({*words, *few}.difference(chunks))
    limits = [most if word in few and word not in words else _NO_LIMIT for word in sorted_words]
    reader = _inverted.Words(layout, sorted_words, limits, cache.kept)
    if not reader.known:
        return None
    missing = reader.missing
    cache.ahead.terms(connection, missing, reader.segments)
    parameters = json.dumps(missing, ensure_ascii=False), reader.segments
    pages = reader.begin(connection.execute(_FIRST_PAGES_QUERY, parameters).fetchall() if missing else [])
    while pages:
        cache.ahead.words(connection, pages)
        pages = reader.read(connection.execute(_PAGES_QUERY, (pages,)).fetchall())
    if pages is None:
        return None
    reader.keep(cache.kept)
    counts = zip(sorted_words, reader.count, limits, strict=True)
    exact = {word: count for word, count, limit in counts if count < limit}
    common = [word for word in sorted_words if word not in exact]
    if len(cache.exact) + len(cache.common) > _CACHED_COUNTS:
        cache.exact, cache.common = {}, set()
    cache.exact.update(exact)
    cache.common.update(common)
    chunks |= exact | dict.fromkeys(common, most)
    chunks = {word: count for word, count in chunks.items() if count}
    return Postings(chunks, frozenset(exact).intersection(chunks), reader, sums, cache)
