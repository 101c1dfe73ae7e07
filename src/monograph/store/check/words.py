"""Rules for the inverted index: it is compared with an index that is built again from the same texts.

Both indexes are reduced to a few sums that do not depend on the order of terms or chunks. So neither index has to be in
memory: the texts are indexed in parts, and the sums of all parts are added.
"""

# ruff: noqa: S608 - every statement is made of constants

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from itertools import chain, islice
from typing import TypeAlias

from monograph.store.check.rules import DERIVE, CheckedRows, Rule
from monograph.store.documents import chunks, documents
from monograph.store.file import encryption
from monograph.store.file.checksums import checksum
from monograph.store.file.database import Connection, memory_connection
from monograph.store.file.errors import sqlite_errors
from monograph.store.file.rows import scalar
from monograph.store.file.schema import INVERTED_INDEX, LENGTHS
from monograph.store.words import terms
from monograph.values import Finding

TABLES = ("words", "trigrams")
CHUNKS_AT_ONCE = 2_048
"""Number of chunks in one part. The chunks of a part are indexed together."""
_PRIME = (1 << 61) - 1
_COLUMN = "CASE col WHEN 'title' THEN 0 WHEN 'text' THEN 1 ELSE 2 END"  # A damaged position may be in no column.
_POSITION = f"(doc * 1000003 + COALESCE(offset, 0) * 3 + {_COLUMN}) & 1073741823"
"""SQL of a number below 2^30 for a position of a term in a chunk. SQLite can hold the sum of 2^33 such numbers."""

Sums: TypeAlias = Counter[str]
"""Sums of an index, by name: sums over terms and their positions, sums over chunks and their lengths, and FTS5's
totals."""


def _compute_sums(connection: Connection, table: str, *, looked_up: bool) -> Sums:
    """Return the sums of the index ``table``. With ``looked_up``, look up each term."""
    connection.execute(f"CREATE VIRTUAL TABLE temp.places USING fts5vocab(main, {table}, instance)")
    try:
        columns = f"count(*), COALESCE(sum({_POSITION}), 0) FROM temp.places"
        query, values = f"SELECT term, {columns} GROUP BY term", [()]
        # A lookup of a term, as a search does it, reads other rows than a scan of all terms.
        if looked_up:
            query = f"SELECT ?1, {columns} WHERE term = ?1"
            values = connection.execute("SELECT DISTINCT term FROM temp.places").fetchall()
        results = (row for value in values for row in connection.execute(query, value).fetchall())
        of_terms = sum(checksum(term) * (count * 1_000_003 + position_sum) for term, count, position_sum in results)
    finally:
        connection.execute("DROP TABLE temp.places")
    of_lengths = sum(checksum(*row) for row in connection.execute(f"SELECT id, sz FROM {table}_docsize"))
    record = scalar(connection, f"SELECT block FROM {table}_data WHERE id = 1")  # Numbers of rows and of words.
    totals = {f"total {index}": count for index, count in enumerate(terms.varints(record or b""))}
    return Counter({"terms": of_terms % _PRIME, "lengths": of_lengths % _PRIME, **totals})


def _load_config(connection: Connection, table: str) -> dict[bytes, int]:
    return dict(connection.execute(f"SELECT CAST(k AS BLOB), v FROM {table}_config"))


def _find_faults(checked: CheckedRows) -> Iterator[Finding]:
    """Yield the differences between the inverted index and an index that is built from the texts of the chunks."""
    connection = checked.connection
    expected: dict[str, Sums] = {table: Counter() for table in TABLES}
    config: dict[str, dict[bytes, int]] = {}
    remaining = entries(connection)
    batch = list(islice(remaining, CHUNKS_AT_ONCE))
    while batch or not config:
        with closing(memory_connection(encrypted=encryption.is_encrypted(connection))) as rebuilt:
            for statement in (*INVERTED_INDEX, LENGTHS):
                rebuilt.execute(statement)
            rebuilt.execute("BEGIN")
            has_trigrams = terms.has_trigrams(connection)
            terms.add(rebuilt, batch, trigrams=has_trigrams)
            if not has_trigrams:
                indexed = terms.with_trigrams(connection, [entry.chunk for entry in batch])
                terms.add_trigrams(rebuilt, [entry for entry in batch if entry.chunk in indexed])
            for table in TABLES:
                expected[table].update(_compute_sums(rebuilt, table, looked_up=False))
                config[table] = _load_config(rebuilt, table)
        batch = list(islice(remaining, CHUNKS_AT_ONCE))
    for table in TABLES:
        try:
            stored_sums = _compute_sums(connection, table, looked_up=True)
            stored_config = _load_config(connection, table)
        except sqlite_errors() as error:
            yield Finding(table, f"the index is damaged: {error}", repairable=True)
            continue
        if stored_config != config[table]:
            yield Finding(table, "the index has an unexpected configuration", repairable=True)
        names = stored_sums.keys() | expected[table].keys()
        if any((stored_sums[name] - expected[table][name]) % _PRIME for name in names):
            yield Finding(table, "the index does not match the texts", repairable=True)


def _table_rules(table: str, indexed: str) -> tuple[Rule, Rule]:
    """Return the rules for a table of the index. ``indexed`` is the SQL condition for the chunks that belong in it."""
    return (
        Rule(table, f"{{}} chunks that are not in the index of {table}",
             f"SELECT 1 FROM chunks WHERE chunk NOT IN (SELECT id FROM {table}_docsize) AND {indexed}", DERIVE),
        Rule(table, f"{{}} index rows of {table} without a chunk",
             f"SELECT 1 FROM {table}_docsize WHERE id NOT IN (SELECT chunk FROM chunks)", DERIVE),
    )  # fmt: skip


_HAS_TRIGRAMS = """NOT EXISTS (SELECT 1 FROM settings WHERE name = 'build' AND value LIKE '%"graph": false%')"""
RULES = (
    *_table_rules("words", "TRUE"),
    *_table_rules("trigrams", _HAS_TRIGRAMS),
    Rule("words", "{}", _find_faults, DERIVE),
    Rule("lengths", "the lengths of chunks do not match the inverted index",
         lambda checked: () if terms.lengths_are_right(checked.connection) else ("",), DERIVE),
)  # fmt: skip


def fts5_fault(connection: Connection) -> Finding | None:
    """Return the first fault that FTS5's own check of the inverted index finds; None if there is none.

    FTS5's check is an INSERT statement, so it needs a write transaction.
    """
    for table in TABLES:
        try:
            connection.execute(f"INSERT INTO {table} ({table}) VALUES ('integrity-check')")
        except sqlite_errors() as error:
            return Finding(table, f"the index is damaged: {error}", repairable=True)
    return None


def rebuild(connection: Connection) -> None:
    """Build the inverted index again from the texts. The present index may be in any state."""
    with closing(memory_connection(encrypted=encryption.is_encrypted(connection))) as empty:
        for statement in INVERTED_INDEX:
            empty.execute(statement)
        for table in TABLES:
            # Without a readable configuration and structure, FTS5 cannot even drop the table.
            for part in ("config", "data"):
                connection.execute(f"DELETE FROM {table}_{part}")
                rows = empty.execute(f"SELECT * FROM {table}_{part}").fetchall()
                connection.executemany(f"INSERT INTO {table}_{part} VALUES (?, ?)", rows)
            connection.execute(f"DROP TABLE {table}")
    for statement in INVERTED_INDEX:
        connection.execute(statement)
    connection.execute("DELETE FROM lengths")
    terms.add(connection, entries(connection), trigrams=terms.has_trigrams(connection))


def rebuild_index(connection: Connection) -> None:
    """Empty the inverted index, which must be undamaged, and fill it again from the texts."""
    for table in TABLES:
        connection.execute(f"INSERT INTO {table} ({table}) VALUES ('delete-all')")
    connection.execute("DELETE FROM lengths")
    terms.add(connection, entries(connection), trigrams=terms.has_trigrams(connection))


def entries(connection: Connection) -> Iterator[terms.Entry]:
    """Yield the entry of each chunk for the inverted index: its row, title and text.

    Bytes of a title or text that are not valid UTF-8 are replaced by U+FFFD.
    """
    return chain.from_iterable(entries_of(connection, row) for row in documents.numbers(connection))


def entries_of(connection: Connection, document: int) -> Iterator[terms.Entry]:
    """Yield the entries of a document's chunks for the inverted index.

    ``document`` is the row number of the document.
    """
    title, text = documents.titled(connection, document)
    for chunk, start, end in chunks.spans_of(connection, document):
        yield terms.Entry(chunk, title, text[max(start, 0) : max(end, 0)])
