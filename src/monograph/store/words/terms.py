"""Inverted index: the FTS5 tables ``words`` and ``trigrams``, with one row for each chunk, by the chunk's row number.

Text is folded before it is indexed and before it is searched: case and accents are removed. Writing without spaces
(Chinese, Japanese, Thai …) is also split into overlapping pairs of characters, because SQLite's tokenizer would treat a
whole sentence as one word. Both tables are contentless: FTS5 does not store the texts. To delete a row, FTS5 needs
exactly the texts that were inserted.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, islice, zip_longest

import numpy as np

from monograph.regex import regex
from monograph.store.documents import filters
from monograph.store.documents.filters import EVERYTHING, CompiledFilter
from monograph.store.file import settings
from monograph.store.file.database import Connection
from monograph.store.file.rows import integer, lookup, scalar, select
from monograph.text_pass import compiled

_UNSPACED = regex(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]+"
)
_WORD = regex(r"[\w\u0300-\u036f]+")
_TRIGRAM_LENGTH = 3
_CHUNKS_PER_BATCH = 1_024
"""Number of chunks that are folded and written at a time. Only their folded texts are in memory."""
_EXTRA_RESULTS = 16
"""Results requested beyond the k best. They usually include all chunks whose score equals the k-th score."""
_K1, _B = 1.2, 0.75
"""Parameters of BM25, as in FTS5."""
_LEAST_WEIGHT = 1e-6
"""Inverse document frequency (idf) of a word that occurs in half of the chunks or more, as in FTS5."""
_CHUNKS_PER_ROW = 2_000
"""Number of chunks in one row (a block) of the table ``lengths``. At two bytes for each, a row fits a page."""
_LONGEST_LENGTH = 0xFFFF
"""Largest number of words that can be stored as length of a chunk; also stored for longer chunks."""
_LENGTH_TYPE = np.dtype("<u2")
_INSERT_TRIGRAMS = "INSERT INTO trigrams (rowid, text) VALUES (?, ?)"
_BYTES_PER_ROW = _CHUNKS_PER_ROW * _LENGTH_TYPE.itemsize


@dataclass(frozen=True, slots=True)
class Entry:
    """Indexed texts of a chunk: the document's title and the chunk's text. ``chunk`` is the chunk's row number."""

    chunk: int
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class CorpusCounts:
    """Counts over several files.

    ``chunks`` is the number of chunks. ``words`` is the number of words in all chunks together; repeated words count
    each time. ``chunks_with`` maps a word to the number of chunks that have it.
    """

    chunks: int
    words: int
    chunks_with: Mapping[str, int]


def fold(text: str) -> str:
    """Return a text without case and accents. Words are compared in this form."""
    return folded_and_paired(text)[0]


def folded_and_paired(text: str) -> tuple[str, str]:
    """Return (folded text, folded text with pairs).

    Folding removes case and accents. In the second text, writing without spaces, such as Chinese, is also split into
    overlapping pairs of characters.
    """
    if text.isascii():
        folded = text.lower().replace("\0", " ")
        return folded, folded
    return compiled.fold_and_pair(text)


def words_of(text: str) -> list[str]:
    """Return the words of a text as the index stores them, in order, with repeated words."""
    return _WORD.findall(folded_and_paired(text)[1])


def has_trigrams(connection: Connection) -> bool:
    """Return whether the file indexes trigrams in addition to words."""
    return settings.has_graph(connection)


def add(connection: Connection, entries: Iterable[Entry], *, trigrams: bool) -> None:
    """Index the words of chunks, and store each chunk's number of words. With ``trigrams``, index trigrams, too."""
    remaining = iter(entries)
    while batch := [(entry.chunk, *indexed(entry)) for entry in islice(remaining, _CHUNKS_PER_BATCH)]:
        connection.executemany("INSERT INTO words (rowid, title, text) VALUES (?, ?, ?)", (row[:3] for row in batch))
        _store_lengths(connection, (chunk for chunk, *_ in batch))
        if trigrams:
            connection.executemany(_INSERT_TRIGRAMS, ((chunk, folded) for chunk, _, _, folded in batch))


def add_trigrams(connection: Connection, entries: Iterable[Entry]) -> None:
    """Index the trigrams of chunks whose words are indexed already."""
    connection.executemany(_INSERT_TRIGRAMS, ((entry.chunk, fold(entry.text)) for entry in entries))


def with_trigrams(connection: Connection, chunks: Sequence[int]) -> set[int]:
    """Return the row numbers of those chunks among ``chunks`` whose trigrams are indexed."""
    return {int(row) for (row,) in select(connection, "SELECT id FROM trigrams_docsize WHERE id IN", chunks)}


def remove(connection: Connection, entries: Sequence[Entry]) -> None:
    """Delete chunks from the index. Each entry must have the same title and text as when it was added."""
    rows = [entry.chunk for entry in entries]
    indexed_trigrams = set(rows) if has_trigrams(connection) else with_trigrams(connection, rows)
    delete = "INSERT INTO words (words, rowid, title, text) VALUES ('delete', ?, ?, ?)"
    remaining = iter(entries)
    while batch := [(entry.chunk, *indexed(entry)) for entry in islice(remaining, _CHUNKS_PER_BATCH)]:
        connection.executemany(delete, (row[:3] for row in batch))
        trigrams = ((chunk, folded) for chunk, _, _, folded in batch if chunk in indexed_trigrams)
        connection.executemany("INSERT INTO trigrams (trigrams, rowid, text) VALUES ('delete', ?, ?)", trigrams)
    _store_lengths(connection, rows)


def indexed(entry: Entry) -> tuple[str, str, str]:
    """Return the strings that are indexed for a chunk: (title, text, text for trigrams).

    All three are folded. In the title and the text, which are indexed by word, writing without spaces is also split
    into pairs of characters. The text for trigrams is the chunk's text without this split.
    """
    folded, paired = folded_and_paired(entry.text)
    return folded_and_paired(entry.title)[1], paired, folded


def merge(connection: Connection) -> None:
    """Merge all segments of the index into one. This drops the postings of removed chunks."""
    connection.execute("INSERT INTO words (words) VALUES ('optimize')")
    connection.execute("INSERT INTO trigrams (trigrams) VALUES ('optimize')")


def may_hold_removed_words(connection: Connection) -> bool:
    """Return whether the index may still have words of removed chunks after :func:`merge`.

    FTS5 keeps the segments of its index in levels. It drops deletion marks, which contain the words of removed chunks,
    only when it merges into the highest level. If the index once had more levels than now, empty levels remain above
    the level of the merged segment. FTS5's structure record then ends in two zero bytes for each empty level.
    """
    tables = ("words_data", "trigrams_data")
    layouts = (scalar(connection, f"SELECT block FROM {table} WHERE id = 10") for table in tables)  # noqa: S608
    return any(bytes(layout or b"").endswith(b"\0\0") for layout in layouts)


def varints(data: bytes) -> Iterator[int]:
    """Yield the variable-length integers of an FTS5 record, which have seven bits in each byte.

    Integers of nine bytes, whose last byte has eight bits, are not supported. Counts never need more than eight bytes.
    """
    value = 0
    for byte in data:
        value = value << 7 | byte & 127
        if byte < 128:
            yield value
            value = 0


def _store_lengths(connection: Connection, chunks: Iterable[int]) -> None:
    """Store the length of each given chunk: the number of its words in the index; 0 if it is not indexed."""
    for block, group in groupby(sorted(set(chunks)), key=lambda chunk: chunk // _CHUNKS_PER_ROW):
        rows = list(group)
        # FTS5 stores these numbers in one row for each chunk. A lookup of it takes longer than the rest of BM25.
        sizes = dict(select(connection, "SELECT id, sz FROM words_docsize WHERE id IN", rows))
        previous = dict(lengths(connection, [block])).get(block)
        packed = _pack_lengths(block, ((row, sizes.get(row, b"")) for row in rows), previous)
        if packed:
            connection.execute("INSERT OR REPLACE INTO lengths VALUES (?, ?)", (block, packed))
        else:
            connection.execute("DELETE FROM lengths WHERE block = ?", (block,))


def _pack_lengths(block: int, sizes: Iterable[tuple[int, bytes]], previous: bytes | None = None) -> bytes:
    """Return the block ``previous`` with lengths from ``sizes``: (chunk, FTS5's record); empty if all lengths are 0."""
    counts = np.frombuffer(previous or bytes(_BYTES_PER_ROW), _LENGTH_TYPE).copy()
    for row, size in sizes:
        counts[row - block * _CHUNKS_PER_ROW] = min(sum(varints(size)), _LONGEST_LENGTH)
    return counts.tobytes() if counts.any() else b""


def lengths(connection: Connection, blocks: Sequence[int]) -> list[tuple[int, bytes]]:
    """Load rows of the table ``lengths``: return (block, packed lengths) for each of the given block numbers.

    A block is a row of this table, for 2,000 successive chunks. The packed lengths are one little-endian uint16 for
    each of these chunks: its number of words. Missing blocks, and blocks with a wrong number of bytes, are left out.
    """
    rows = select(connection, "SELECT block, counts FROM lengths WHERE block IN", blocks)
    return [(block, packed) for block, packed in rows if isinstance(packed, bytes) and len(packed) == _BYTES_PER_ROW]


def lengths_are_right(connection: Connection) -> bool:
    """Return whether the stored lengths of all chunks agree with the lengths in the inverted index."""
    sizes = groupby(
        connection.execute("SELECT id, sz FROM words_docsize ORDER BY id"), key=lambda row: row[0] // _CHUNKS_PER_ROW
    )
    expected = ((block, packed) for block, rows in sizes if (packed := _pack_lengths(block, rows)))
    stored = connection.execute("SELECT block, counts FROM lengths ORDER BY block").fetchall()
    return all(stored_row == expected_row for stored_row, expected_row in zip_longest(stored, expected))


def count(connection: Connection) -> int:
    """Return the number of chunks in the index. Use it in a read transaction: only committed chunks count."""
    return totals(connection)[0]


def totals(connection: Connection) -> tuple[int, int]:
    """Return (number of chunks, number of their words) in the index. Use it in a read transaction."""
    return totals_of(scalar(connection, "SELECT block FROM words_data WHERE id = 1") or b"")


def totals_of(record: bytes) -> tuple[int, int]:
    """Return (number of chunks, number of their words) from the bytes of FTS5's record of averages."""
    chunks, *words = [*varints(record)] or [0]
    return chunks, sum(words)


def document_frequency(connection: Connection, words: Iterable[str]) -> dict[str, int]:
    """Return the number of chunks that have each folded word, by word; words that no chunk has are left out."""
    query = "SELECT v.term, v.doc FROM json_each(?) AS w CROSS JOIN vocabulary AS v WHERE v.term = w.value"
    return dict(connection.execute(query, (json.dumps(sorted(set(words)), ensure_ascii=False),)))


def count_chunks(connection: Connection, words: Iterable[str]) -> dict[str, int]:
    """Return the number of chunks that match each word, by word; words that no chunk matches are left out.

    Each word is searched with the query of :func:`any_of`. So a single character of writing without spaces also counts
    where it begins a pair. :func:`document_frequency` does not count such pairs.
    """
    query = "SELECT count(*) FROM words WHERE words MATCH ?"
    counts = {word: integer(connection, query, any_of(word)) for word in words}
    return {word: number for word, number in counts.items() if number}


def bm25(connection: Connection, words: Sequence[str], k: int, allowed: CompiledFilter) -> list[tuple[int, float]]:
    """Return (chunk row, score) of the k best allowed chunks by FTS5's BM25, highest score first.

    A chunk matches if it has any of the words. ``words`` are folded words or pairs of characters, as :func:`words_of`
    returns them. All chunks that tie with the k-th are returned, too. Scores are above 0. Chunks with equal scores are
    in any order.
    """
    if not words or k <= 0:
        return []
    match = " OR ".join(any_of(word) for word in words)
    query = f"""SELECT rowid, -bm25(words) AS score FROM words
        WHERE words MATCH ? AND {allowed.on_each("words.rowid")}"""  # noqa: S608
    parameters = (match, *allowed.parameters)
    results = connection.execute(f"{query} ORDER BY score DESC LIMIT ?", (*parameters, k + _EXTRA_RESULTS)).fetchall()
    if len(results) < k:
        return results
    least = results[k - 1][1]
    if len(results) == k + _EXTRA_RESULTS and results[-1][1] == least:
        ties = f"SELECT rowid, score FROM ({query}) WHERE score >= ? ORDER BY score DESC"  # noqa: S608
        return connection.execute(ties, (*parameters, least)).fetchall()
    return [pair for pair in results if pair[1] >= least]


def bm25_of_all(
    connection: Connection, words: Sequence[str], k: int, counts: CorpusCounts, allowed: CompiledFilter
) -> list[tuple[int, float]]:
    """Return (chunk row, score) of this file's k best allowed chunks, scored with the counts of all files.

    The scores are bit-identical to the scores that :func:`bm25` would return if one file had the chunks of all files.
    All chunks that tie with the k-th are returned, too.

    FTS5 scores with the counts of its own file only. Each of its scores is therefore converted: the chunk's length and
    FTS5's score give the number of times that the word occurs in the chunk. BM25 of this number is then computed with
    ``counts``, the counts of all files.
    """
    if k <= 0:
        return []
    own_chunks, own_words = totals(connection)
    occurrences: dict[str, list[tuple[int, float]]] = {}
    sizes: dict[int, int] = {}
    for word in words:
        query = "SELECT rowid, -bm25(words) FROM words WHERE words MATCH ?"
        results = connection.execute(query, (any_of(word),)).fetchall()
        rows = [row for row, _ in results if row not in sizes]
        sizes_rows = lookup(connection, "d.id, d.sz", "words_docsize AS d WHERE d.id = w.value", rows)
        sizes.update((row, sum(varints(size))) for row, size in sizes_rows)
        own_weight, occurrences[word] = _weight(own_chunks, len(results)), []
        for row, score in results:
            share = score / own_weight
            norm = _K1 * (1 - _B + _B * sizes[row] / (own_words / own_chunks))
            occurrences[word].append((row, float(round(share * norm / (_K1 + 1.0 - share)))))
    scores = dict.fromkeys(sorted(sizes), 0.0)
    for word in words:
        weight = _weight(counts.chunks, counts.chunks_with.get(word, 0))
        for row, times in occurrences[word]:
            norm = _K1 * (1 - _B + _B * float(sizes[row]) / (counts.words / counts.chunks))
            scores[row] += weight * ((times * (_K1 + 1.0)) / (times + norm))
    if allowed != EVERYTHING:
        allowed_rows = filters.among(connection, allowed, list(scores))
        scores = {row: score for row, score in scores.items() if row in allowed_rows}
    best = sorted(scores.items(), key=lambda pair: -pair[1])
    return best if len(best) <= k else [pair for pair in best if pair[1] >= best[k - 1][1]]


def _weight(chunks: int, chunks_with: int) -> float:
    """Return the inverse document frequency of a word in BM25."""
    value = math.log((chunks - chunks_with + 0.5) / (chunks_with + 0.5))
    return _LEAST_WEIGHT if value <= 0.0 else value


def phrase(connection: Connection, text: str, k: int, allowed: CompiledFilter) -> list[int]:
    """Return the row numbers of allowed chunks whose title or text contains the words of ``text`` as a phrase.

    The row numbers are ascending. At most k chunks are returned. If more match, the k chunks whose ids come first in
    alphabetical order are returned. If ``text`` has no words, no chunk is returned.
    """
    words = words_of(text)
    return _select_matching(connection, "words", _quote(" ".join(words)), k, allowed) if words else []


def _select_matching(connection: Connection, table: str, match: str, k: int, allowed: CompiledFilter) -> list[int]:
    query = f"SELECT rowid FROM {table} WHERE {table} MATCH ? AND {allowed.on_each(f'{table}.rowid')}"  # noqa: S608
    parameters = (match, *allowed.parameters)
    rows = connection.execute(f"{query} LIMIT ?", (*parameters, k + 1)).fetchall()
    if len(rows) > k:
        # Scan the index of ids: so many chunks match that the first k are found soon.
        index = "" if allowed.view else "INDEXED BY sqlite_autoindex_chunks_1"  # In a view, chunks is not a table.
        by_id = f"SELECT chunk FROM chunks {index} WHERE chunk IN ({query}) ORDER BY id LIMIT ?"  # noqa: S608
        rows = connection.execute(by_id, (*parameters, k)).fetchall()
    return sorted(row for (row,) in rows)


def containing(connection: Connection, text: str, k: int, allowed: CompiledFilter) -> list[int]:
    """Return the row numbers of allowed chunks that have all trigrams of ``text``, in ascending order.

    A returned chunk may lack ``text`` itself, so the caller must search the chunk's text for it. At most k chunks are
    returned. If more match, the k chunks whose ids come first in alphabetical order are returned. If the folded
    ``text`` has fewer than three characters, no chunk is returned.
    """
    folded = fold(text)
    trigrams = {folded[start : start + _TRIGRAM_LENGTH] for start in range(len(folded) - _TRIGRAM_LENGTH + 1)}
    if not trigrams:
        return []
    match = " AND ".join(_quote(trigram) for trigram in sorted(trigrams))
    return _select_matching(connection, "trigrams", match, k, allowed)


def is_half(word: str) -> bool:
    """Return whether a word is one character of writing without spaces.

    Such a character is indexed only within pairs.
    """
    return len(word) == 1 and _UNSPACED.match(word) is not None


def any_of(word: str) -> str:
    """Return the FTS5 query for a folded word.

    Writing without spaces, such as Chinese, is indexed as pairs of characters. The query for a single character of such
    writing matches every pair that begins with it.
    """
    return _quote(word) + (" *" if is_half(word) else "")


def _quote(text: str) -> str:
    """Return a text as an FTS5 string, in which no character is syntax."""
    return '"' + text.replace('"', '""') + '"'
