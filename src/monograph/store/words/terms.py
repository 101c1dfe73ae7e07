"""Rows of ``words`` and ``trigrams``: the inverted index, one row a chunk, under the chunk's row number.

Text is folded before it is indexed and before it is asked for: case and accents go, and writing without spaces
(Chinese, Japanese, Thai …) becomes overlapping pairs of characters, which SQLite's tokenizer would otherwise keep as
one endless word. Both tables hold no text of their own, so a row is taken out by giving the very text that was put
in.
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
from monograph.store.documents.filters import EVERYTHING, Allowed
from monograph.store.file import settings
from monograph.store.file.database import Connection
from monograph.store.file.rows import select
from monograph.text_pass import compiled

_UNSPACED = regex(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]+"
)
_WORD = regex(r"[\w\u0300-\u036f]+")
_LENGTH_OF_TRIGRAM = 3
_AT_ONCE = 1_024
"""Chunks whose folded text is held in memory."""
_SPARE = 16
"""Results asked for beyond the k best, which mostly show where those that tie with the last end."""
_K1, _B = 1.2, 0.75
"""Parameters of BM25, as FTS5 has them."""
_LEAST_WEIGHT = 1e-6
"""The weight of a word that stands in half of the chunks or more, as FTS5 has it."""
_CHUNKS_A_ROW = 2_000
"""Chunks whose lengths are in one row of ``lengths``, which fits a page."""
_LONGEST = 0xFFFF
"""The length that is stored for chunks with so many words or more."""
_LENGTHS = np.dtype("<u2")


@dataclass(frozen=True, slots=True)
class Entry:
    """A chunk's row in the index: the title of its document, and its text."""

    chunk: int
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class CorpusCounts:
    """Counts over several files: chunks, their words, and the number of chunks that have each of some words."""

    chunks: int
    words: int
    having: Mapping[str, int]


def fold(text: str) -> str:
    """Text without case and accents: what is compared when words are compared."""
    return folded_and_paired(text)[0]


def folded_and_paired(text: str) -> tuple[str, str]:
    """A text without case and accents, and that with writing without spaces in pairs of characters."""
    if text.isascii():
        folded = text.lower().replace("\0", " ")
        return folded, folded
    return compiled.fold_and_pair(text)


def words_of(text: str) -> list[str]:
    """The words of a text as the index holds them, in order, repeats included."""
    return _WORD.findall(folded_and_paired(text)[1])


def has_trigrams(connection: Connection) -> bool:
    """Whether trigrams are indexed with the words."""
    return settings.has_graph(connection)


def add(connection: Connection, entries: Iterable[Entry], *, trigrams: bool) -> None:
    """Index chunks, with their trigrams or without."""
    waiting = iter(entries)
    while some := [(one.chunk, *indexed(one)) for one in islice(waiting, _AT_ONCE)]:
        connection.executemany(
            "INSERT INTO words (rowid, title, text) VALUES (?, ?, ?)",
            ((chunk, title, text) for chunk, title, text, _ in some),
        )
        _store_lengths(connection, (chunk for chunk, *_ in some))
        if trigrams:
            _add_trigrams(connection, ((chunk, folded) for chunk, _, _, folded in some))


def add_trigrams(connection: Connection, entries: Iterable[Entry]) -> None:
    """Index the trigrams of chunks that are indexed without."""
    _add_trigrams(connection, ((one.chunk, fold(one.text)) for one in entries))


def _add_trigrams(connection: Connection, folded: Iterable[tuple[int, str]]) -> None:
    connection.executemany("INSERT INTO trigrams (rowid, text) VALUES (?, ?)", folded)


def with_trigrams(connection: Connection, chunks: Sequence[int]) -> set[int]:
    """Return those of some chunks whose trigrams are indexed."""
    return {int(row) for (row,) in select(connection, "SELECT id FROM trigrams_docsize WHERE id IN", chunks)}


def remove(connection: Connection, entries: Sequence[Entry]) -> None:
    """Delete chunks from the index; each entry must be as it was added."""
    rows = [entry.chunk for entry in entries]
    whole = set(rows) if has_trigrams(connection) else with_trigrams(connection, rows)
    for entry in entries:
        title, text, folded = indexed(entry)
        connection.execute(
            "INSERT INTO words (words, rowid, title, text) VALUES ('delete', ?, ?, ?)", (entry.chunk, title, text)
        )
        if entry.chunk in whole:
            connection.execute(
                "INSERT INTO trigrams (trigrams, rowid, text) VALUES ('delete', ?, ?)", (entry.chunk, folded)
            )
    _store_lengths(connection, rows)


def indexed(entry: Entry) -> tuple[str, str, str]:
    """Return the texts of a chunk that are indexed: title and text in pairs, and the folded text."""
    folded, paired = folded_and_paired(entry.text)
    return folded_and_paired(entry.title)[1], paired, folded


def clear(connection: Connection) -> None:
    """Empty the index."""
    connection.execute("INSERT INTO words (words) VALUES ('delete-all')")
    connection.execute("INSERT INTO trigrams (trigrams) VALUES ('delete-all')")
    connection.execute("DELETE FROM lengths")


def merge(connection: Connection) -> None:
    """Merge all segments into one, which drops the postings of removed chunks from the bytes of the file."""
    connection.execute("INSERT INTO words (words) VALUES ('optimize')")
    connection.execute("INSERT INTO trigrams (trigrams) VALUES ('optimize')")


def keeps_removed(connection: Connection) -> bool:
    """Whether words of removed chunks may be left where all segments are merged into one.

    FTS5 drops the marks of what is removed only in the highest level of its segments, and an index that once was larger
    has levels above that one, which are empty: two zeros each, at the end of the record.
    """
    tables = ("words_data", "trigrams_data")
    layouts = (connection.execute(f"SELECT block FROM {table} WHERE id = 10").fetchone() for table in tables)  # noqa: S608
    return any(row is not None and bytes(row[0]).endswith(b"\0\0") for row in layouts)


def varints(data: bytes) -> Iterator[int]:
    """Yield the numbers of a record of FTS5's, seven bits a byte: those of counts have no more than eight bytes."""
    value = 0
    for byte in data:
        value = value << 7 | byte & 127
        if byte < 128:
            yield value
            value = 0


def _store_lengths(connection: Connection, chunks: Iterable[int]) -> None:
    """Store how many words each of some chunks has in the index, 0 for one that is not there.

    FTS5 has the same in a row a chunk, which takes longer to look up than all else that BM25 does with a chunk.
    """
    for block, some in groupby(sorted(set(chunks)), key=lambda chunk: chunk // _CHUNKS_A_ROW):
        rows = list(some)
        sizes = dict(select(connection, "SELECT id, sz FROM words_docsize WHERE id IN", rows))
        before = dict(lengths(connection, [block])).get(block)
        packed = _pack_lengths(block, ((row, sizes.get(row, b"")) for row in rows), before)
        if packed:
            connection.execute("INSERT OR REPLACE INTO lengths VALUES (?, ?)", (block, packed))
        else:
            connection.execute("DELETE FROM lengths WHERE block = ?", (block,))


def _pack_lengths(block: int, sizes: Iterable[tuple[int, bytes]], before: bytes | None = None) -> bytes:
    """Return a row of ``lengths`` with the words of title and text of some chunks set; empty if all are 0."""
    made = np.zeros(_CHUNKS_A_ROW, _LENGTHS) if before is None else np.frombuffer(before, _LENGTHS).copy()
    for row, size in sizes:
        made[row - block * _CHUNKS_A_ROW] = min(sum(varints(size)), _LONGEST)
    return made.tobytes() if made.any() else b""


def lengths(connection: Connection, blocks: Sequence[int]) -> list[tuple[int, bytes]]:
    """Return (block, uint16 of each of its chunks) of those of some blocks that have any; skip damaged ones."""
    found = select(connection, "SELECT block, counts FROM lengths WHERE block IN", blocks)
    whole = _CHUNKS_A_ROW * _LENGTHS.itemsize
    return [(block, packed) for block, packed in found if isinstance(packed, bytes) and len(packed) == whole]


def lengths_are_right(connection: Connection) -> bool:
    """Whether the stored lengths of chunks are those of the inverted index."""
    sizes = groupby(
        connection.execute("SELECT id, sz FROM words_docsize ORDER BY id"), key=lambda row: row[0] // _CHUNKS_A_ROW
    )
    wanted = ((block, packed) for block, some in sizes if (packed := _pack_lengths(block, some)))
    held = connection.execute("SELECT block, counts FROM lengths ORDER BY block").fetchall()
    return all(one == other for one, other in zip_longest(held, wanted))


def count(connection: Connection) -> int:
    """Return the number of chunks in the index, in a read transaction: without those that are not committed."""
    return totals(connection)[0]


def totals(connection: Connection) -> tuple[int, int]:
    """Return (chunks, words of all of them), in a read transaction."""
    row = connection.execute("SELECT block FROM words_data WHERE id = 1").fetchone()
    return (0, 0) if row is None else totals_of(row[0])


def totals_of(record: bytes) -> tuple[int, int]:
    """Return (chunks, words of all of them) from FTS5's record of averages."""
    chunks, *words = [*varints(record)] or [0]
    return chunks, sum(words)


def document_frequency(connection: Connection, words: Iterable[str]) -> dict[str, int]:
    """Return the number of chunks that have each folded word; words that none has are left out."""
    asked = json.dumps(sorted(set(words)), ensure_ascii=False)
    return dict(
        connection.execute(
            "SELECT v.term, v.doc FROM json_each(?) AS w CROSS JOIN vocabulary AS v WHERE v.term = w.value", (asked,)
        )
    )


def having(connection: Connection, words: Iterable[str]) -> dict[str, int]:
    """Return the number of chunks in which each word is found; a half pair is found in all pairs that begin with it."""
    query = "SELECT count(*) FROM words WHERE words MATCH ?"
    found = {word: connection.execute(query, (any_of(word),)).fetchone()[0] for word in words}
    return {word: number for word, number in found.items() if number}


def bm25(connection: Connection, words: Sequence[str], k: int, allowed: Allowed) -> list[tuple[int, float]]:
    """Return the chunks that have any of the words, ranked by FTS5's BM25.

    Parameters
    ----------
    words:
        Folded words, or pairs of characters, as :func:`words_of` gives them.
    k:
        Number of chunks; all that tie with the last of them are returned too.
    allowed:
        Which chunks may be found.

    Returns
    -------
    (chunk row, score), highest first; scores are above 0. Those that tie come in any order.
    """
    if not words or k <= 0:
        return []
    match = " OR ".join(any_of(word) for word in words)
    scored = f"""SELECT rowid, -bm25(words) AS score FROM words
        WHERE words MATCH ? AND {allowed.on_each("words.rowid")}"""  # noqa: S608
    asked = (match, *allowed.parameters)
    found = connection.execute(f"{scored} ORDER BY score DESC LIMIT ?", (*asked, k + _SPARE)).fetchall()
    if len(found) < k:
        return found
    least = found[k - 1][1]
    if len(found) == k + _SPARE and found[-1][1] == least:
        return connection.execute(
            f"SELECT rowid, score FROM ({scored}) WHERE score >= ? ORDER BY score DESC",  # noqa: S608
            (*asked, least),
        ).fetchall()
    return [pair for pair in found if pair[1] >= least]


def bm25_of_all(
    connection: Connection, words: Sequence[str], k: int, counts: CorpusCounts, allowed: Allowed
) -> list[tuple[int, float]]:
    """Return what :func:`bm25` would give of this file's chunks if all files were one, to the bit.

    FTS5 counts in one file. How often a word stands in a chunk follows from FTS5's score and the chunk's length.
    """
    if k <= 0:
        return []
    own_chunks, own_words = totals(connection)
    often: dict[str, list[tuple[int, float]]] = {}
    sizes: dict[int, int] = {}
    for word in words:
        query = "SELECT rowid, -bm25(words) FROM words WHERE words MATCH ?"
        found = connection.execute(query, (any_of(word),)).fetchall()
        rows = [row for row, _ in found if row not in sizes]
        sized = "SELECT r.value, d.sz FROM json_each(?) AS r CROSS JOIN words_docsize AS d WHERE d.id = r.value"
        sizes.update((row, sum(varints(size))) for row, size in connection.execute(sized, (str(rows),)))
        own, often[word] = _weight(own_chunks, len(found)), []
        for row, score in found:
            share = score / own
            norm = _K1 * (1 - _B + _B * sizes[row] / (own_words / own_chunks))
            often[word].append((row, float(round(share * norm / (_K1 + 1.0 - share)))))
    scores = dict.fromkeys(sorted(sizes), 0.0)
    for word in words:
        weight = _weight(counts.chunks, counts.having.get(word, 0))
        for row, times in often[word]:
            norm = _K1 * (1 - _B + _B * float(sizes[row]) / (counts.words / counts.chunks))
            scores[row] += weight * ((times * (_K1 + 1.0)) / (times + norm))
    if allowed != EVERYTHING:
        let_through = filters.among(connection, allowed, list(scores))
        scores = {row: score for row, score in scores.items() if row in let_through}
    best = sorted(scores.items(), key=lambda pair: -pair[1])
    return best if len(best) <= k else [pair for pair in best if pair[1] >= best[k - 1][1]]


def _weight(chunks: int, having: int) -> float:
    """Return the weight of a word that so many chunks have."""
    value = math.log((chunks - having + 0.5) / (having + 0.5))
    return _LEAST_WEIGHT if value <= 0.0 else value


def phrase(connection: Connection, text: str, k: int, allowed: Allowed) -> list[int]:
    """Chunks whose title or text has the words of ``text`` one after the other: row numbers, ascending.

    At most k; of more those whose ids come first.
    """
    words = words_of(text)
    return _matching(connection, "words", _quoted(" ".join(words)), k, allowed) if words else []


def _matching(connection: Connection, table: str, match: str, k: int, allowed: Allowed) -> list[int]:
    query = f"SELECT rowid FROM {table} WHERE {table} MATCH ? AND {allowed.on_each(f'{table}.rowid')}"  # noqa: S608
    asked = (match, *allowed.parameters)
    found = connection.execute(f"{query} LIMIT ?", (*asked, k + 1)).fetchall()
    if len(found) > k:
        # Along the index of ids: so many match that it soon comes by the first k.
        index = "" if allowed.view else "INDEXED BY sqlite_autoindex_chunks_1"  # A view's chunks are no table.
        found = connection.execute(
            f"""SELECT chunk FROM chunks {index}
            WHERE chunk IN ({query}) ORDER BY id LIMIT ?""",  # noqa: S608
            (*asked, k),
        ).fetchall()
    return sorted(row for (row,) in found)


def containing(connection: Connection, text: str, k: int, allowed: Allowed) -> list[int]:
    """Chunks that may hold ``text`` as a substring, for the caller to verify: all its trigrams stand in them.

    Returns
    -------
    At most k row numbers, ascending, of more those of the chunks whose ids come first; none when the folded text is
    shorter than three characters.
    """
    folded = fold(text)
    trigrams = {folded[at : at + _LENGTH_OF_TRIGRAM] for at in range(len(folded) - _LENGTH_OF_TRIGRAM + 1)}
    if not trigrams:
        return []
    match = " AND ".join(_quoted(trigram) for trigram in sorted(trigrams))
    return _matching(connection, "trigrams", match, k, allowed)


def is_half(word: str) -> bool:
    """Whether a word is one character of writing without spaces, which is in the index as the first of a pair."""
    return len(word) == 1 and _UNSPACED.match(word) is not None


def any_of(word: str) -> str:
    """Return FTS5's query for a folded word: for a half pair, all pairs that begin with it."""
    return _quoted(word) + (" *" if is_half(word) else "")


def _quoted(text: str) -> str:
    """Return an FTS5 string, in which no character acts as syntax."""
    return '"' + text.replace('"', '""') + '"'
