"""BM25 where a file is one of several: what is counted of all of them weighs its words.

FTS5's own function counts in one file. Of a chunk it tells how often a word stands there, since it was made of nothing
else that is not known: from that and the length of the chunk it is reckoned anew.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from monograph.store.documents import filters
from monograph.store.documents.cells import varints
from monograph.store.documents.filters import EVERYTHING, Allowed
from monograph.store.file.database import Connection
from monograph.store.words import terms

_K1, _B = 1.2, 0.75
_LEAST = 1e-6
"""What a word weighs that stands in half of the chunks."""
_WEIGHTS = terms.Weights()


@dataclass(frozen=True, slots=True)
class Counts:
    """``chunks`` of all files, their ``words``, and how many chunks have each of some words (``having``)."""

    chunks: int
    words: int
    having: Mapping[str, int]


def totals(connection: Connection) -> tuple[int, int]:
    """(chunks, words of all of them) in one file, in a read transaction."""
    row = connection.execute("SELECT block FROM words_data WHERE id = 1").fetchone()
    return (0, 0) if row is None else totals_of(row[0])


def totals_of(record: bytes) -> tuple[int, int]:
    """The same, of FTS5's record of averages."""
    chunks, *words = [*varints(record)] or [0]
    return chunks, sum(words)


def having(connection: Connection, words: Iterable[str]) -> dict[str, int]:
    """How many chunks each of some words is found in: a half pair is found in all pairs that begin with it."""
    found = {
        word: connection.execute(
            "SELECT count(*) FROM words WHERE words MATCH ?",
            (terms.any_of(word),),
        ).fetchone()[0]
        for word in words
    }
    return {word: number for word, number in found.items() if number}


def bm25(
    connection: Connection, words: Sequence[str], k: int, counts: Counts, allowed: Allowed
) -> list[tuple[int, float]]:
    """What :func:`monograph.store.words.terms.bm25` would give of this file's chunks, were all files one, to the bit.

    Weights of title and text are 1.
    """
    if k <= 0:
        return []
    own = totals(connection)
    often = {word: _often(connection, word, own) for word in words}
    rows = {row for some in often.values() for row in some}
    lengths = _lengths(connection, rows)
    scores = dict.fromkeys(sorted(rows), 0.0)
    for word in words:
        weight = _weight(counts.chunks, counts.having.get(word, 0))
        for row, times in often[word].items():
            norm = _K1 * (1 - _B + _B * float(lengths[row]) / (counts.words / counts.chunks))
            scores[row] += weight * ((times * (_K1 + 1.0)) / (times + norm))
    if allowed != EVERYTHING:
        let_through = filters.among(connection, allowed, list(scores))
        scores = {row: score for row, score in scores.items() if row in let_through}
    best = sorted(scores.items(), key=lambda pair: -pair[1])
    return best if len(best) <= k else [pair for pair in best if pair[1] >= best[k - 1][1]]


def _weight(chunks: int, having: int) -> float:
    value = math.log((chunks - having + 0.5) / (having + 0.5))
    return _LEAST if value <= 0.0 else value


def _often(connection: Connection, word: str, own: tuple[int, int]) -> dict[int, float]:
    """How often a word stands in each chunk that has it."""
    found = connection.execute(
        "SELECT rowid, -bm25(words, ?, ?) FROM words WHERE words MATCH ?",
        (_WEIGHTS.title, _WEIGHTS.text, terms.any_of(word)),
    ).fetchall()
    weight = _weight(own[0], len(found))
    lengths = _lengths(connection, [row for row, _ in found])
    often = {}
    for row, score in found:
        share = score / weight
        norm = _K1 * (1 - _B + _B * lengths[row] / (own[1] / own[0]))
        often[row] = float(round(share * norm / (_K1 + 1.0 - share)))
    return often


def _lengths(connection: Connection, rows: Iterable[int]) -> dict[int, int]:
    """Words of chunks, title and text, by row."""
    found = connection.execute(
        "SELECT r.value, d.sz FROM json_each(?) AS r CROSS JOIN words_docsize AS d WHERE d.id = r.value",
        (str(list(rows)),),
    )
    return {row: sum(varints(sizes)) for row, sizes in found}
