"""What the inverted index knows of a question's words, read out of FTS5's own pages.

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
from monograph.store.documents.counts import Counts, totals_of
from monograph.store.documents.filters import EVERYTHING, Allowed
from monograph.store.file.database import Connection
from monograph.store.words import lengths
from monograph.store.words.inverted import _inverted
from monograph.store.words.prefetch import Prefetcher
from monograph.store.words.terms import Weights, is_half

_VERSION = 4
"""Of FTS5's format."""
_ALL = 1 << 62
_GROWTH = 8
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
    """In how many ``chunks`` each of some folded words stands, and for those that were not cut short, in which."""

    chunks: Mapping[str, int]
    whole: frozenset[str]
    _words: _inverted.Words
    _totals: tuple[int, int]
    _counted: Counted

    def can_rank(self, words: Sequence[str]) -> bool:
        """Whether :meth:`bm25` knows all of some words, each of which is one to the tokenizer too."""
        return self.whole.issuperset(words) and all(_IS_ONE_WORD.fullmatch(one) and not is_half(one) for one in words)

    def bm25(
        self,
        connection: Connection,
        words: Sequence[str],
        k: int,
        weights: Weights,
        allowed: Allowed,
        counts: Counts | None = None,
    ) -> list[tuple[int, float]] | None:
        """Return what :func:`monograph.store.words.terms.bm25` does for words it can rank; None if a length is unknown.

        ``counts`` are those of all files, where this is one of several.
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
            best = self._words.best(words, held, totals, (weights.title, weights.text), asked, among, having)
            if best is None or asked == k:
                self._counted.ahead.chunks(connection, [row for row, _ in best or ()])
                return best
            may_be = rows.among(connection, allowed, [row for row, _ in best[seen:]])
            kept += [pair for pair in best[seen:] if pair[0] in may_be]
            if len(kept) >= k or len(best) < asked:
                return [pair for pair in kept if pair[1] >= kept[min(k, len(kept)) - 1][1]]
            seen, asked = len(best), asked * _GROWTH


class Counted:
    """What is known of words in one state of a file: in how many chunks they stand, or that they are in too many.

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
        """Return chunk lengths as :func:`monograph.store.words.lengths.of_blocks` does, and the least of each block."""
        held = self._lengths
        missing = [block for block in blocks if block not in held]
        if len(held) + len(missing) > _MOST_BLOCKS:
            # Another thread may be reading the old one.
            self._lengths = held = {}
            missing = list(blocks)
        self.ahead.lengths(connection, missing)
        for block, counts in lengths.of_blocks(connection, missing):
            held[block] = block, counts, _inverted.shortest(counts)
        return [held[block] for block in blocks if block in held]

    def learn(self, exact: Mapping[str, int], common: Collection[str]) -> None:
        """Words that were counted. When there are too many, all that were there are let go."""
        if len(self.exact) + len(self.common) > _MOST_COUNTED:
            self.exact, self.common = {}, set()
        self.exact.update(exact)
        self.common.update(common)


def read(
    connection: Connection, words: Collection[str], few: Collection[str], most: int, counted: Counted | None = None
) -> Postings | None:
    """What is known of some folded words, in a read transaction.

    Parameters
    ----------
    words:
        Counted to the last chunk.
    few:
        Other words, counted no further than ``most``.
    counted:
        Of the same state of the file and the same ``most``; what stands in as many chunks by that is not read again.

    Returns
    -------
    None where the pages are not as they are known here.
    """
    held = counted or Counted()
    version, totals, layout = connection.execute(_HEAD).fetchone()
    sums = _totals(totals) if isinstance(totals, bytes) else None
    if version != _VERSION or sums is None or not isinstance(layout, bytes):
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


def _totals(record: bytes) -> tuple[int, int] | None:
    """(chunks, words of all of them), of FTS5's record of averages."""
    found = totals_of(record)
    return found if found[0] > 0 else None


class AllowedRows:
    """The chunks that filters allow, in one state of a file.

    All that a filter allows is looked for once as many chunks were held against it as that takes: until then no more
    was spent than has to be, and from then on nothing.
    """

    def __init__(self) -> None:
        self._held: dict[Allowed, npt.NDArray[np.int64]] = {}
        self._looked: dict[Allowed, int] = {}

    def every(self, connection: Connection, allowed: Allowed, total: int) -> npt.NDArray[np.int64] | None:
        """All chunks that are allowed of so many, ascending; None as long as they are not looked for."""
        found = self._held.get(allowed)
        if found is None and (allowed.indexed or WORTH * self._looked.get(allowed, 0) >= total):
            found = filters.rows(connection, allowed)
            if len(self._held) >= MOST or sum(map(len, self._held.values())) + len(found) > MOST_ROWS:
                self._held = {}
            if len(found) <= MOST_ROWS:
                self._held[allowed] = found
        return found

    def among(self, connection: Connection, allowed: Allowed, rows: list[int]) -> set[int]:
        """Those of some chunks that are allowed."""
        if len(self._looked) >= MOST and allowed not in self._looked:
            self._looked = {}
        self._looked[allowed] = self._looked.get(allowed, 0) + len(rows)
        return filters.among(connection, allowed, rows)
