"""Rules for the inverted index: it is compared with an index that is built again from the same texts.

Both are reduced to a few sums that do not depend on the order of terms or chunks, so that neither has to be in memory:
the texts are indexed in parts, and the sums of all parts are added.
"""

# ruff: noqa: S608 - every statement is made of constants

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from itertools import chain, islice
from typing import TypeAlias

from monograph.store.check.rules import DERIVE, Checked, Rule
from monograph.store.documents import chunks, documents
from monograph.store.file import encryption
from monograph.store.file.checksums import checksum
from monograph.store.file.database import Connection, memory_connection
from monograph.store.file.errors import sqlite_errors
from monograph.store.file.schema import INVERTED_INDEX, LENGTHS
from monograph.store.words import terms
from monograph.values import Finding

TABLES = ("words", "trigrams")
CHUNKS_AT_ONCE = 2_048
"""Chunks of one part, which are indexed together."""
_PRIME = (1 << 61) - 1
_PLACE = "(doc * 1000003 + COALESCE(offset, 0) * 2 + (COALESCE(col, '') = 'title')) & 1073741823"
"""SQL of a number below 2^30 for a position of a term; SQLite can hold the sum of 2^33 of them."""

Sums: TypeAlias = Counter[str]
"""Sums of an index: over terms and their positions, over chunks and their lengths, and FTS5's totals."""


def _sums(connection: Connection, table: str, *, looked_up: bool) -> Sums:
    """Return the sums of an index; ``looked_up`` looks up each term as a search does, which reads other rows."""
    connection.execute(f"CREATE VIRTUAL TABLE temp.places USING fts5vocab(main, {table}, instance)")
    try:
        columns = f"count(*), COALESCE(sum({_PLACE}), 0) FROM temp.places"
        if looked_up:
            every = connection.execute("SELECT DISTINCT term FROM temp.places").fetchall()
            found = (
                (term, *connection.execute(f"SELECT {columns} WHERE term = ?", (term,)).fetchone()) for (term,) in every
            )
        else:
            found = (row for row in connection.execute(f"SELECT term, {columns} GROUP BY term").fetchall())
        of_terms = sum(checksum(term) * (count * 1_000_003 + place) for term, count, place in found)
    finally:
        connection.execute("DROP TABLE temp.places")
    of_lengths = sum(checksum(*row) for row in connection.execute(f"SELECT id, sz FROM {table}_docsize"))
    row = connection.execute(f"SELECT block FROM {table}_data WHERE id = 1").fetchone()  # Numbers of rows and of words.
    totals = {f"total {at}": count for at, count in enumerate(terms.varints(row[0]) if row is not None else ())}
    return Counter({"terms": of_terms % _PRIME, "lengths": of_lengths % _PRIME, **totals})


def _config(connection: Connection, table: str) -> dict[bytes, int]:
    return dict(connection.execute(f"SELECT CAST(k AS BLOB), v FROM {table}_config"))


def _faults(checked: Checked) -> Iterator[Finding]:
    """Yield the differences between the inverted index and one that is built from the texts of the chunks."""
    connection = checked.connection
    wanted: dict[str, Sums] = {table: Counter() for table in TABLES}
    config: dict[str, dict[bytes, int]] = {}
    waiting = entries(connection)
    part = list(islice(waiting, CHUNKS_AT_ONCE))
    while part or not config:
        with closing(memory_connection(encrypted=encryption.is_encrypted(connection))) as made:
            for statement in (*INVERTED_INDEX, LENGTHS):
                made.execute(statement)
            made.execute("BEGIN")
            has_trigrams = terms.has_trigrams(connection)
            terms.add(made, part, trigrams=has_trigrams)
            if not has_trigrams:
                held = terms.with_trigrams(connection, [one.chunk for one in part])
                terms.add_trigrams(made, [one for one in part if one.chunk in held])
            for table in TABLES:
                wanted[table].update(_sums(made, table, looked_up=False))
                config[table] = _config(made, table)
        part = list(islice(waiting, CHUNKS_AT_ONCE))
    for table in TABLES:
        try:
            held_sums, said = _sums(connection, table, looked_up=True), _config(connection, table)
        except sqlite_errors() as error:
            yield Finding(table, f"the index is damaged: {error}", repairable=True)
            continue
        if said != config[table]:
            yield Finding(table, "the index has an unexpected configuration", repairable=True)
        names = held_sums.keys() | wanted[table].keys()
        if any((held_sums[one] - wanted[table][one]) % _PRIME for one in names):
            yield Finding(table, "the index does not match the texts", repairable=True)


def _of_table(table: str, indexed: str) -> tuple[Rule, Rule]:
    """Return the rules for a table of the index; ``indexed`` is the SQL condition of the chunks that belong in it."""
    return (
        Rule(table, f"{{}} chunks that are not in the index of {table}",
             f"SELECT 1 FROM chunks WHERE chunk NOT IN (SELECT id FROM {table}_docsize) AND {indexed}", DERIVE),
        Rule(table, f"{{}} index rows of {table} without a chunk",
             f"SELECT 1 FROM {table}_docsize WHERE id NOT IN (SELECT chunk FROM chunks)", DERIVE),
    )  # fmt: skip


_HAS_TRIGRAMS = """NOT EXISTS (SELECT 1 FROM settings WHERE name = 'build' AND value LIKE '%"graph": false%')"""
RULES = (
    *_of_table("words", "TRUE"),
    *_of_table("trigrams", _HAS_TRIGRAMS),
    Rule("words", "{}", _faults, DERIVE),
    Rule(
        "lengths",
        "the lengths of chunks do not match the inverted index",
        lambda checked: () if terms.lengths_are_right(checked.connection) else ("",),
        DERIVE,
    ),
)


def own_fault(connection: Connection) -> Finding | None:
    """Return the first fault that FTS5's own check of the inverted index finds; None if there is none.

    The check is an INSERT, so it needs a write transaction.
    """
    for table in TABLES:
        try:
            connection.execute(f"INSERT INTO {table} ({table}) VALUES ('integrity-check')")
        except sqlite_errors() as error:
            return Finding(table, f"the index is damaged: {error}", repairable=True)
    return None


def rebuild(connection: Connection) -> None:
    """Build the inverted index again from the texts, whatever state it is in."""
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


def index_anew(connection: Connection) -> None:
    """Empty an undamaged inverted index, and fill it again from the texts."""
    terms.clear(connection)
    terms.add(connection, entries(connection), trigrams=terms.has_trigrams(connection))


def entries(connection: Connection) -> Iterator[terms.Entry]:
    """Yield the index entries of all chunks; bytes of texts that are no UTF-8 are replaced."""
    return chain.from_iterable(entries_of(connection, row) for row in documents.numbers(connection))


def entries_of(connection: Connection, document: int) -> Iterator[terms.Entry]:
    """Yield the index entries of a document's chunks; ``document`` is its row number."""
    title, text = documents.titled(connection, document)
    for chunk, start, end in chunks.spans_of(connection, document):
        yield terms.Entry(chunk, title, text[max(start, 0) : max(end, 0)])
