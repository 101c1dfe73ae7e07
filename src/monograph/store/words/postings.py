"""Postings of a question's words, read from FTS5's own pages.

FTS5 goes through the chunks that have a word one by one, at more than a microsecond each; the pages that it reads tell
the same in a few nanoseconds. Where pages are not as they are known here, or FTS5's tokenizer may cut one of the words,
:mod:`monograph.store.words.terms` asks FTS5 itself, with the same results to the bit.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from monograph.regex import regex
from monograph.store.documents import filters
from monograph.store.documents.filters import EVERYTHING, Allowed
from monograph.store.file.database import Connection
from monograph.store.words import terms
from monograph.store.words.inverted import _inverted
from monograph.store.words.prefetch import Prefetcher

_VERSION = 4
"""Of FTS5's format."""
_ALL = 1 << 62
_GROWTH = 8
_WEIGHTS = (1.0, 1.0)
"""Weights of title and text."""
_MOST_COUNTED = 16_384
_MOST_BLOCKS = 1_024
"""Of lengths of chunks: 4 MB."""
_MOST_KEPT = 32 << 20
"""Bytes of words' postings: three a chunk that has the word."""
_IS_ONE_WORD = regex("[0-9a-z\u0430-\u044f\u3041-\u3096\u30a1-\u30fa\u3400-\u4db5\u4e00-\u9fa5\uac00-\ud7a3]+")
"""Folded words that the tokenizer takes as they are; it may cut or change others."""

_HEAD = """SELECT (SELECT v FROM words_config WHERE k = 'version'),
    (SELECT block FROM words_data WHERE id = 1), (SELECT block FROM words_data WHERE id = 10)"""
_FIRST_PAGES = """SELECT
    (SELECT pgno FROM words_idx WHERE segid = s.value AND term <= w.term ORDER BY term DESC LIMIT 1),
    (SELECT pgno FROM words_idx WHERE segid = s.value AND term > w.term ORDER BY term LIMIT 1)
    FROM (SELECT key AS place, CAST('0' || value AS BLOB) AS term FROM json_each(?)) AS w
    CROSS JOIN json_each(?) AS s"""
_PAGES = """SELECT r.key, d.block FROM json_each(?) AS r CROSS JOIN words_data AS d
    ON d.id BETWEEN json_extract(r.value, '$[0]') AND json_extract(r.value, '$[1]')"""

MOST = 16
"""Filters that are remembered."""

MOST_ROWS = 1 << 22
"""Chunks of all of them together that are kept, 8 bytes each; those of a filter that allows more are not."""

WORTH = 2
"""To hold a chunk against a filter by itself takes so many times as long as in passing through all."""


@dataclass(frozen=True, slots=True, eq=False)
class Postings:
    """Postings of folded words, each with its number of chunks.

    ``chunks`` are these numbers, by word; ``whole`` are the words that were counted to the last chunk.
    """

    chunks: Mapping[str, int]
    whole: frozenset[str]
    _words: _inverted.Words
    _totals: tuple[int, int]
    _counted: Counted

    def can_rank(self, words: Sequence[str]) -> bool:
        """Whether :meth:`bm25` knows all of some words, each of which is one to the tokenizer too."""
        each = (_IS_ONE_WORD.fullmatch(word) and not terms.is_half(word) for word in words)
        return self.whole.issuperset(words) and all(each)

    def bm25(
        self,
        connection: Connection,
        words: Sequence[str],
        k: int,
        allowed: Allowed,
        counts: terms.CorpusCounts | None = None,
    ) -> list[tuple[int, float]] | None:
        """Return what :func:`monograph.store.words.terms.bm25` does, highest first; None if a length is not known.

        :meth:`can_rank` must hold for the words. ``counts`` are those of all files if this file is one of several.
        """
        if k <= 0 or not words:
            return []
        totals: tuple[float, float] = self._totals if counts is None else (counts.chunks, counts.words)
        having = None if counts is None else [counts.having[word] for word in words]
        held = self._counted.lengths_of(connection, self._words.blocks(words))
        rows = self._counted.allowed
        among = None if allowed == EVERYTHING else rows.every(connection, allowed, self._totals[0])
        asked = k if among is not None or allowed == EVERYTHING else 4 * k
        kept: list[tuple[int, float]] = []
        seen = 0
        while True:
            best = self._words.best(words, held, totals, _WEIGHTS, asked, among, having)
            if best is None or asked == k:
                self._counted.ahead.chunks(connection, [row for row, _ in best or ()])
                return best
            may_be = rows.among(connection, allowed, [row for row, _ in best[seen:]])
            kept += [pair for pair in best[seen:] if pair[0] in may_be]
            if len(kept) >= k or len(best) < asked:
                return [pair for pair in kept if pair[1] >= kept[min(k, len(kept)) - 1][1]]
            seen, asked = len(best), asked * _GROWTH


class Counted:
    """Cache of one state of a file: counts and postings of words, lengths of chunks, rows that filters allow.

    Safe for use by many threads.

    Parameters
    ----------
    ahead:
        Announces the pages that are about to be read.
    """

    def __init__(self, ahead: Prefetcher | None = None) -> None:
        self.ahead = ahead or Prefetcher()
        self.allowed = AllowedRows()
        """Which chunks filters let through."""
        self.exact: dict[str, int] = {}
        self.common: set[str] = set()
        self._lengths: dict[int, tuple[int, bytes, int]] = {}
        self.kept = _inverted.Kept(_MOST_KEPT)
        """Postings of the words that were asked for last."""

    def lengths_of(self, connection: Connection, blocks: Sequence[int]) -> list[tuple[int, bytes, int]]:
        """Return (block, uint16 of each of its chunks, the least of them) of those of some blocks that have any."""
        held = self._lengths
        missing = [block for block in blocks if block not in held]
        if len(held) + len(missing) > _MOST_BLOCKS:
            # Another thread may be reading the old one.
            self._lengths = held = {}
            missing = list(blocks)
        self.ahead.lengths(connection, missing)
        for block, counts in terms.lengths(connection, missing):
            held[block] = block, counts, _inverted.shortest(counts)
        return [held[block] for block in blocks if block in held]

    def learn(self, exact: Mapping[str, int], common: Collection[str]) -> None:
        """Remember counts of words; if there are too many, forget all that were there."""
        if len(self.exact) + len(self.common) > _MOST_COUNTED:
            self.exact, self.common = {}, set()
        self.exact.update(exact)
        self.common.update(common)


def read(
    connection: Connection, words: Collection[str], few: Collection[str], most: int, counted: Counted | None = None
) -> Postings | None:
    """Return the postings of some folded words, in a read transaction.

    Parameters
    ----------
    words:
        Counted to the last chunk.
    few:
        Other words, counted no further than ``most``.
    counted:
        A cache of the same state of the file and the same ``most``: its words are not read again.

    Returns
    -------
    None if the pages are not as expected here.
    """
    held = counted or Counted()
    version, totals, layout = connection.execute(_HEAD).fetchone()
    sums = terms.totals_of(totals) if isinstance(totals, bytes) else (0, 0)
    if version != _VERSION or sums[0] <= 0 or not isinstance(layout, bytes):
        return None
    chunks = {word: held.exact[word] for word in words if held.exact.get(word, -1) >= most}
    chunks.update((word, most) for word in few if word not in words and word in held.common)
    asked = sorted({*words, *few}.difference(chunks))
    limits = [most if word in few and word not in words else _ALL for word in asked]
    known = _inverted.Words(layout, asked, limits, held.kept)
    if not known.known:
        return None
    missing = known.missing
    held.ahead.terms(connection, missing, known.segments)
    first = []
    if missing:
        first = connection.execute(_FIRST_PAGES, (json.dumps(missing, ensure_ascii=False), known.segments)).fetchall()
    pages = known.begin(first)
    while pages:
        held.ahead.words(connection, pages)
        pages = known.read(connection.execute(_PAGES, (pages,)).fetchall())
    if pages is None:
        return None
    known.keep(held.kept)
    whole = {word: number for word, number, limit in zip(asked, known.count, limits, strict=True) if number < limit}
    common = [word for word in asked if word not in whole]
    held.learn(whole, common)
    chunks.update(whole)
    chunks.update((word, most) for word in common)
    chunks = {word: number for word, number in chunks.items() if number}
    return Postings(chunks, frozenset(whole).intersection(chunks), known, sums, held)


class AllowedRows:
    """Chunks that filters allow, in one state of a file.

    All chunks that a filter allows are read as soon as single chunks were tested as often as that takes.
    """

    def __init__(self) -> None:
        self._held: dict[Allowed, npt.NDArray[np.int64]] = {}
        self._looked: dict[Allowed, int] = {}

    def every(self, connection: Connection, allowed: Allowed, total: int) -> npt.NDArray[np.int64] | None:
        """Return all allowed chunks, of ``total``, ascending; None if testing single chunks is still cheaper."""
        found = self._held.get(allowed)
        if found is None and (allowed.indexed or WORTH * self._looked.get(allowed, 0) >= total):
            found = filters.rows(connection, allowed)
            if len(self._held) >= MOST or sum(map(len, self._held.values())) + len(found) > MOST_ROWS:
                self._held = {}
            if len(found) <= MOST_ROWS:
                self._held[allowed] = found
        return found

    def among(self, connection: Connection, allowed: Allowed, rows: list[int]) -> set[int]:
        """Return those of some chunks that are allowed."""
        if len(self._looked) >= MOST and allowed not in self._looked:
            self._looked = {}
        self._looked[allowed] = self._looked.get(allowed, 0) + len(rows)
        return filters.among(connection, allowed, rows)
